package crd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// withDefaults returns the spec of a critical topic as the API server fills it in, with further fields.
func withDefaults(fields map[string]any) map[string]any {
	spec := map[string]any{
		"clusterRef":     map[string]any{"name": "default"},
		"profile":        "critical",
		"enforcement":    "Enforce",
		"deletionPolicy": "Retain",
	}
	for name, value := range fields {
		spec[name] = value
	}
	return spec
}

func TestDurableTopicIsAccepted(t *testing.T) {
	longest := strings.Repeat("a", 249)
	tests := map[string]struct {
		spec     string
		wantSpec map[string]any
	}{
		"profile alone is a whole declaration": {
			spec:     `{profile: critical}`,
			wantSpec: withDefaults(nil),
		},
		"telemetry": {
			spec:     `{profile: telemetry}`,
			wantSpec: withDefaults(map[string]any{"profile": "telemetry"}),
		},
		"every field": {
			spec: `{clusterRef: {name: other.kafka}, topicName: shop.orders, profile: critical, partitions: 12, replicationFactor: 5,
			        config: {retention.ms: "604800000", cleanup.policy: "compact,delete"}, owner: team-shop, enforcement: Observe, deletionPolicy: Retain}`,
			wantSpec: map[string]any{
				"clusterRef": map[string]any{"name": "other.kafka"}, "topicName": "shop.orders", "profile": "critical",
				"partitions": float64(12), "replicationFactor": float64(5), "owner": "team-shop", "enforcement": "Observe",
				"deletionPolicy": "Retain",
				"config":         map[string]any{"retention.ms": "604800000", "cleanup.policy": "compact,delete"},
			},
		},
		"an empty clusterRef is the default one": {
			spec:     `{profile: critical, clusterRef: {}}`,
			wantSpec: withDefaults(nil),
		},
		"nulls are unset fields": {
			spec:     `{profile: critical, clusterRef: null, topicName: null, partitions: null, replicationFactor: null, config: null, owner: null, enforcement: null, deletionPolicy: null}`,
			wantSpec: withDefaults(nil),
		},
		"a null config value is an unset key": {
			spec:     `{profile: critical, config: {retention.ms: null}}`,
			wantSpec: withDefaults(map[string]any{"config": map[string]any{}}),
		},
		"an empty config": {
			spec:     `{profile: critical, config: {}}`,
			wantSpec: withDefaults(map[string]any{"config": map[string]any{}}),
		},
		"an empty config value": {
			spec:     `{profile: critical, config: {cleanup.policy: ""}}`,
			wantSpec: withDefaults(map[string]any{"config": map[string]any{"cleanup.policy": ""}}),
		},
		"numbers as strings stay as they are": {
			spec:     `{profile: critical, config: {retention.ms: "9223372036854775807", retention.bytes: "-1", min.cleanable.dirty.ratio: "0.50"}}`,
			wantSpec: withDefaults(map[string]any{"config": map[string]any{"retention.ms": "9223372036854775807", "retention.bytes": "-1", "min.cleanable.dirty.ratio": "0.50"}}),
		},
		"the longest config key and value": {
			spec:     `{profile: critical, config: {` + strings.Repeat("k", 80) + `: "` + strings.Repeat("v", 1024) + `"}}`,
			wantSpec: withDefaults(map[string]any{"config": map[string]any{strings.Repeat("k", 80): strings.Repeat("v", 1024)}}),
		},
		"a topic name that is no Kubernetes name": {
			spec:     `{profile: critical, topicName: _schemas}`,
			wantSpec: withDefaults(map[string]any{"topicName": "_schemas"}),
		},
		"upper case and underscores in the topic name": {
			spec:     `{profile: critical, topicName: Orders_V2}`,
			wantSpec: withDefaults(map[string]any{"topicName": "Orders_V2"}),
		},
		"the longest topic name": {
			spec:     `{profile: critical, topicName: ` + longest + `}`,
			wantSpec: withDefaults(map[string]any{"topicName": longest}),
		},
		"a topic name of dots": {
			spec:     `{profile: critical, topicName: "..."}`,
			wantSpec: withDefaults(map[string]any{"topicName": "..."}),
		},
		"a name that only looks internal": {
			spec:     `{profile: critical, topicName: __consumer_offsets_copy}`,
			wantSpec: withDefaults(map[string]any{"topicName": "__consumer_offsets_copy"}),
		},
		"the fewest partitions": {
			spec:     `{profile: critical, partitions: 1}`,
			wantSpec: withDefaults(map[string]any{"partitions": float64(1)}),
		},
		"the most partitions": {
			spec:     `{profile: critical, partitions: 10000}`,
			wantSpec: withDefaults(map[string]any{"partitions": float64(10000)}),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := onServer(t)
			object, err := s.create(t, topics, topicDocument("accepted", tc.spec))
			if err != nil {
				t.Fatalf("refused: %v", err)
			}
			if diff := cmp.Diff(tc.wantSpec, object["spec"]); diff != "" {
				t.Errorf("stored spec (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDurableTopicIsRefused(t *testing.T) {
	tests := map[string]struct {
		spec string
		want []string
	}{
		"no profile":         {`{}`, []string{"spec.profile", "Required value"}},
		"upper case profile": {`{profile: Critical}`, []string{"spec.profile", `"Critical"`, `supported values: "critical", "telemetry"`}},
		"unknown profile":    {`{profile: durable}`, []string{"spec.profile", `supported values: "critical", "telemetry"`}},
		"null profile":       {`{profile: null}`, []string{"spec.profile", "Required value"}},

		"empty topic name":    {`{profile: critical, topicName: ""}`, []string{"spec.topicName", "at least 1 chars"}},
		"topic name too long": {`{profile: critical, topicName: ` + strings.Repeat("a", 250) + `}`, []string{"spec.topicName", "may not be more than 249"}},
		"topic name dot":      {`{profile: critical, topicName: "."}`, []string{"spec.topicName", "`topicName` may not be '.' or '..'"}},
		"topic name dots":     {`{profile: critical, topicName: ".."}`, []string{"spec.topicName", "`topicName` may not be '.' or '..'"}},
		"topic name space":    {`{profile: critical, topicName: a b}`, []string{"spec.topicName", "`topicName` must consist of letters, digits"}},
		"topic name slash":    {`{profile: critical, topicName: a/b}`, []string{"spec.topicName", "`topicName` must consist of letters, digits"}},
		"topic name umlaut":   {`{profile: critical, topicName: größe}`, []string{"spec.topicName", "`topicName` must consist of letters, digits"}},
		"topic name newline":  {`{profile: critical, topicName: "orders\n"}`, []string{"spec.topicName", "`topicName` must consist of letters, digits"}},
		"topic name number":   {`{profile: critical, topicName: 42}`, []string{"spec.topicName", "must be of type string"}},

		"internal topic of groups":       {`{profile: critical, topicName: __consumer_offsets}`, []string{"spec.topicName", "`topicName` may not be an internal topic"}},
		"internal topic of transactions": {`{profile: critical, topicName: __transaction_state}`, []string{"spec.topicName", "`topicName` may not be an internal topic"}},
		"internal topic of share groups": {`{profile: critical, topicName: __share_group_state}`, []string{"spec.topicName", "`topicName` may not be an internal topic"}},
		"internal topic of KRaft":        {`{profile: critical, topicName: __cluster_metadata}`, []string{"spec.topicName", "`topicName` may not be an internal topic"}},
		"internal topic of tiering":      {`{profile: critical, topicName: __remote_log_metadata}`, []string{"spec.topicName", "`topicName` may not be an internal topic"}},

		"no partitions":         {`{profile: critical, partitions: 0}`, []string{"spec.partitions", "greater than or equal to 1"}},
		"negative partitions":   {`{profile: critical, partitions: -1}`, []string{"spec.partitions", "greater than or equal to 1"}},
		"too many partitions":   {`{profile: critical, partitions: 10001}`, []string{"spec.partitions", "less than or equal to 10000"}},
		"partitions as a text":  {`{profile: critical, partitions: "6"}`, []string{"spec.partitions", "must be of type integer"}},
		"a half partition":      {`{profile: critical, partitions: 1.5}`, []string{"spec.partitions", "must be of type integer"}},
		"partitions over int32": {`{profile: critical, partitions: 4294967302}`, []string{"spec.partitions"}},

		"replication factor 1": {`{profile: critical, replicationFactor: 1}`, []string{"spec.replicationFactor", `supported values: "3", "5"`}},
		"replication factor 2": {`{profile: critical, replicationFactor: 2}`, []string{"spec.replicationFactor", `supported values: "3", "5"`}},
		"replication factor 4": {`{profile: critical, replicationFactor: 4}`, []string{"spec.replicationFactor", `supported values: "3", "5"`}},
		"replication factor 0": {`{profile: critical, replicationFactor: 0}`, []string{"spec.replicationFactor", `supported values: "3", "5"`}},

		"config number":             {`{profile: critical, config: {retention.ms: 604800000}}`, []string{"spec.config.retention.ms", "must be of type string"}},
		"config number, exponent":   {`{profile: critical, config: {retention.ms: 6.048e+08}}`, []string{"spec.config.retention.ms", "must be of type string"}},
		"config number, largest":    {`{profile: critical, config: {retention.ms: 9223372036854775807}}`, []string{"spec.config.retention.ms", "must be of type string"}},
		"config number, negative":   {`{profile: critical, config: {retention.ms: -1}}`, []string{"spec.config.retention.ms", "must be of type string"}},
		"config boolean":            {`{profile: critical, config: {preallocate: true}}`, []string{"spec.config.preallocate", "must be of type string"}},
		"config list":               {`{profile: critical, config: {cleanup.policy: [compact, delete]}}`, []string{"spec.config.cleanup.policy", "must be of type string"}},
		"config map":                {`{profile: critical, config: {retention: {ms: "1"}}}`, []string{`unknown field "spec.config.retention.ms"`}},
		"config is a list":          {`{profile: critical, config: [retention.ms]}`, []string{"spec.config", "must be of type object"}},
		"config text with exponent": {`{profile: critical, config: {retention.ms: "6.048e+08"}}`, []string{"spec.config", "no value of `config` may be a number with an exponent", "write it out in digits"}},

		"config min.insync.replicas, nonsense": {`{profile: critical, config: {min.insync.replicas: asd}}`, []string{"spec.config", "`config` may not contain min.insync.replicas", "remove the key"}},
		"config min.insync.replicas, equal":    {`{profile: critical, config: {min.insync.replicas: "2"}}`, []string{"spec.config", "`config` may not contain min.insync.replicas"}},
		"config unclean election":              {`{profile: critical, config: {unclean.leader.election.enable: "true"}}`, []string{"spec.config", "`config` may not contain unclean.leader.election.enable", "remove the key"}},
		"config leader throttle":               {`{profile: critical, config: {leader.replication.throttled.replicas: "*"}}`, []string{"spec.config", "`config` may not contain leader.replication.throttled.replicas", "remove the keys"}},
		"config follower throttle":             {`{profile: critical, config: {follower.replication.throttled.replicas: ""}}`, []string{"spec.config", "`config` may not contain leader.replication.throttled.replicas or follower.replication.throttled.replicas"}},
		"config reserved key in upper case":    {`{profile: critical, config: {Min.insync.replicas: "1"}}`, []string{"spec.config", "every key of `config` must be the name of a Kafka topic config"}},
		"config reserved key with a space":     {`{profile: critical, config: {"min.insync.replicas ": "1"}}`, []string{"spec.config", "every key of `config` must be the name of a Kafka topic config"}},

		"config empty key":      {`{profile: critical, config: {"": "1"}}`, []string{"spec.config", "every key of `config` must be the name"}},
		"config key too long":   {`{profile: critical, config: {` + strings.Repeat("a", 81) + `: "1"}}`, []string{"spec.config", "every key of `config` must be the name", "up to 80"}},
		"config value too long": {`{profile: critical, config: {retention.ms: "` + strings.Repeat("1", 1025) + `"}}`, []string{"spec.config", "no value of `config` may be longer than 1024"}},
		"config too large":      {`{profile: critical, config: {` + entries(49) + `}}`, []string{"spec.config", "Too many", "48"}},
		"config huge":           {`{profile: critical, config: {` + entries(20000) + `}}`, []string{"spec.config", "Too many", "48"}},

		"upper case cluster name": {`{profile: critical, clusterRef: {name: Main}}`, []string{"spec.clusterRef.name", "`clusterRef.name` must be the name of a KafkaCluster"}},
		"empty cluster name":      {`{profile: critical, clusterRef: {name: ""}}`, []string{"spec.clusterRef.name", "at least 1 chars"}},
		"cluster as a text":       {`{profile: critical, clusterRef: default}`, []string{"spec.clusterRef", "must be of type object"}},
		"cluster name too long":   {`{profile: critical, clusterRef: {name: ` + strings.Repeat("a", 254) + `}}`, []string{"spec.clusterRef.name", "may not be more than 253"}},

		"lower case enforcement":  {`{profile: critical, enforcement: observe}`, []string{"spec.enforcement", `supported values: "Enforce", "Observe", "Suspended"`}},
		"deletion policy to come": {`{profile: critical, deletionPolicy: Delete}`, []string{"spec.deletionPolicy", `supported values: "Retain"`}},
		"empty owner":             {`{profile: critical, owner: ""}`, []string{"spec.owner", "at least 1 chars"}},

		"minISR is never chosen": {`{profile: critical, minInSyncReplicas: 1}`, []string{`unknown field "spec.minInSyncReplicas"`}},
		"misspelt field":         {`{profile: critical, partition: 6}`, []string{`unknown field "spec.partition"`}},
		"doubled field":          {`{profile: critical, partitions: 6, partitions: 12}`, []string{`already set`}},
		"spec is null":           {`null`, []string{"spec", "Required value"}},
		"spec is a text":         {`critical`, []string{"spec", "must be of type object"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := onServer(t)
			_, err := s.create(t, topics, topicDocument("refused", tc.spec))
			requireRefusal(t, err, tc.want...)
		})
	}
}

func TestDurableTopicWithoutSpecIsRefused(t *testing.T) {
	s := onServer(t)
	_, err := s.create(t, topics, "apiVersion: durabletopic.io/v1alpha1\nkind: DurableTopic\nmetadata: {name: refused}\n")
	requireRefusal(t, err, "spec", "Required value")
}

// The rules on the topic's name hold for metadata.name too, where it is the topic's name.
func TestLongObjectNameNeedsTopicName(t *testing.T) {
	s := onServer(t)
	name := strings.Repeat("a", 250)
	_, err := s.create(t, topics, topicDocument(name, `{profile: critical}`))
	requireRefusal(t, err, "spec.topicName", "`topicName` must be given when metadata.name is longer than the 249 characters")

	if _, err := s.create(t, topics, topicDocument(name, `{profile: critical, topicName: short}`)); err != nil {
		t.Errorf("with a topic name: %v", err)
	}
	if _, err := s.create(t, topics, topicDocument(name[:249], `{profile: critical}`)); err != nil {
		t.Errorf("with 249 characters: %v", err)
	}
}

// An object that nobody has judged yet must not count as healthy.
func TestStatusBeforeTheFirstJudgement(t *testing.T) {
	s := onServer(t)
	object, err := s.create(t, topics, topicDocument("unjudged", `{profile: critical}`)+"status: {observedGeneration: 1, partitions: 99}\n")
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
	want := map[string]any{"observedGeneration": float64(-1)}
	if diff := cmp.Diff(want, object["status"]); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// Server-side apply goes another way through the API server than a post, with other words.
func TestServerSideApply(t *testing.T) {
	s := onServer(t)
	_, err := s.apply(t, topics, "applied", topicDocument("applied", `{profile: critical, config: {retention.ms: 604800000}}`))
	if err == nil || !strings.Contains(err.Error(), ".spec.config.retention.ms: expected string") {
		t.Errorf("number as a config value: got %v, want a refusal naming the field", err)
	}

	t.Cleanup(func() { s.remove(t, topics, "applied") })
	if _, err := s.apply(t, topics, "applied", topicDocument("applied", `{profile: critical, config: {retention.ms: "1", segment.ms: "2"}}`)); err != nil {
		t.Fatalf("apply: %v", err)
	}
	object, err := s.apply(t, topics, "applied", topicDocument("applied", `{profile: critical, config: {segment.ms: "2"}}`))
	if err != nil {
		t.Fatalf("apply again: %v", err)
	}
	config, _, _ := unstructured.NestedMap(object, "spec", "config")
	if diff := cmp.Diff(map[string]any{"segment.ms": "2"}, config); diff != "" {
		t.Errorf("config after a key was dropped (-want +got):\n%s", diff)
	}
}
