package crd

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKafkaClusterIsAccepted(t *testing.T) {
	tests := map[string]struct {
		spec string
		want map[string]any // fields that differ from the defaults
	}{
		"bootstrap servers alone": {spec: `{bootstrapServers: ["kafka.freshcart.example:9093"]}`, want: map[string]any{
			"bootstrapServers": []any{"kafka.freshcart.example:9093"},
		}},
		"every form of address": {spec: `{bootstrapServers: ["localhost:1", "kafka_1:9092", "10.0.0.1:65535", "[::1]:9092", "[2001:db8::10.0.0.1]:9092", "b-1.Main.example.:9092"]}`, want: map[string]any{
			"bootstrapServers": []any{"localhost:1", "kafka_1:9092", "10.0.0.1:65535", "[::1]:9092", "[2001:db8::10.0.0.1]:9092", "b-1.Main.example.:9092"},
		}},
		"every field": {
			spec: `{bootstrapServers: ["a:1"], clusterID: "MkU3OEVBNTcwNTJENDM2Qg==", securityProtocol: PLAINTEXT, enforcement: Observe, checkIntervalSeconds: 3600,
			        placement: Broker, rackAwareness: BestEffort, profiles: {critical: {replicationFactor: 5}, telemetry: {replicationFactor: 3}}}`,
			want: map[string]any{
				"bootstrapServers": []any{"a:1"}, "clusterID": "MkU3OEVBNTcwNTJENDM2Qg==", "enforcement": "Observe",
				"checkIntervalSeconds": float64(3600), "placement": "Broker", "rackAwareness": "BestEffort",
				"profiles": map[string]any{"critical": map[string]any{"replicationFactor": float64(5)}, "telemetry": map[string]any{"replicationFactor": float64(3)}},
			},
		},
		"one profile": {spec: `{bootstrapServers: ["a:1"], profiles: {critical: {replicationFactor: 5}}}`, want: map[string]any{
			"bootstrapServers": []any{"a:1"},
			"profiles":         map[string]any{"critical": map[string]any{"replicationFactor": float64(5)}, "telemetry": map[string]any{"replicationFactor": float64(3)}},
		}},
		"unlimited moves": {spec: `{bootstrapServers: ["a:1"], reassignment: {maxConcurrentPartitionMoves: 1000, throttle: {mode: Unlimited}, stallTimeoutSeconds: 10, replaceFencedBrokersAfterSeconds: 3600}}`, want: map[string]any{
			"bootstrapServers": []any{"a:1"},
			"reassignment": reassignment(map[string]any{
				"maxConcurrentPartitionMoves": float64(1000), "throttle": map[string]any{"mode": "Unlimited"}, "stallTimeoutSeconds": float64(10),
				"replaceFencedBrokersAfterSeconds": float64(3600),
			}),
		}},
		"a rate of moves": {spec: `{bootstrapServers: ["a:1"], reassignment: {throttle: {mode: Limited, bytesPerSecond: 1024}}}`, want: map[string]any{
			"bootstrapServers": []any{"a:1"},
			"reassignment":     reassignment(map[string]any{"throttle": map[string]any{"mode": "Limited", "bytesPerSecond": float64(1024)}}),
		}},
		"nulls are unset fields": {spec: `{bootstrapServers: ["a:1"], clusterID: null, securityProtocol: null, enforcement: null, checkIntervalSeconds: null, placement: null, rackAwareness: null, profiles: null}`, want: map[string]any{
			"bootstrapServers": []any{"a:1"},
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := onServer(t)
			object, err := s.create(t, clusters, clusterDocument("accepted", tc.spec))
			if err != nil {
				t.Fatalf("refused: %v", err)
			}
			want := map[string]any{
				"securityProtocol": "PLAINTEXT", "enforcement": "Enforce", "checkIntervalSeconds": float64(10),
				"placement": "Operator", "rackAwareness": "Required",
				"reassignment": reassignment(nil),
				"profiles":     map[string]any{"critical": map[string]any{"replicationFactor": float64(3)}, "telemetry": map[string]any{"replicationFactor": float64(3)}},
			}
			for field, value := range tc.want {
				want[field] = value
			}
			if diff := cmp.Diff(want, object["spec"]); diff != "" {
				t.Errorf("stored spec (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(map[string]any{"observedGeneration": float64(-1)}, object["status"]); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKafkaClusterIsRefused(t *testing.T) {
	const (
		form = "every entry of `bootstrapServers` must have the form host:port"
		port = "every port in `bootstrapServers` must be from 1 to 65535"
	)
	tests := map[string]struct {
		spec string
		want []string
	}{
		"no servers":            {`{}`, []string{"spec.bootstrapServers", "Required value"}},
		"empty servers":         {`{bootstrapServers: []}`, []string{"spec.bootstrapServers", "at least 1 items"}},
		"too many servers":      {`{bootstrapServers: [` + servers(33) + `]}`, []string{"spec.bootstrapServers", "at most 32 items"}},
		"servers as one text":   {`{bootstrapServers: "a:9092,b:9092"}`, []string{"spec.bootstrapServers", "must be of type array"}},
		"one server twice":      {`{bootstrapServers: ["a:9092", "a:9092"]}`, []string{"spec.bootstrapServers[1]", "Duplicate value"}},
		"two servers in one":    {`{bootstrapServers: ["a:9092,b:9092"]}`, []string{"spec.bootstrapServers", form}},
		"no port":               {`{bootstrapServers: ["kafka"]}`, []string{"spec.bootstrapServers", form}},
		"no host":               {`{bootstrapServers: [":9092"]}`, []string{"spec.bootstrapServers", form}},
		"scheme":                {`{bootstrapServers: ["PLAINTEXT://a:9092"]}`, []string{"spec.bootstrapServers", form, "without a scheme"}},
		"port is a word":        {`{bootstrapServers: ["a:kafka"]}`, []string{"spec.bootstrapServers", form}},
		"port 0":                {`{bootstrapServers: ["a:0"]}`, []string{"spec.bootstrapServers", port}},
		"port 65536":            {`{bootstrapServers: ["a:65536"]}`, []string{"spec.bootstrapServers", port}},
		"port 99999":            {`{bootstrapServers: ["a:99999"]}`, []string{"spec.bootstrapServers", port}},
		"bare IPv6":             {`{bootstrapServers: ["::1:9092"]}`, []string{"spec.bootstrapServers", form, "square brackets"}},
		"space":                 {`{bootstrapServers: ["a :9092"]}`, []string{"spec.bootstrapServers", form}},
		"null server":           {`{bootstrapServers: [null]}`, []string{"spec.bootstrapServers[0]", "must be of type string"}},
		"one of two is wrong":   {`{bootstrapServers: ["a:9092", "b"]}`, []string{"spec.bootstrapServers", form}},
		"server too long":       {`{bootstrapServers: ["` + strings.Repeat("a", 262) + `:1"]}`, []string{"spec.bootstrapServers[0]", "may not be more than 262"}},
		"empty cluster ID":      {`{bootstrapServers: ["a:1"], clusterID: ""}`, []string{"spec.clusterID", "at least 1 chars"}},
		"cluster ID with space": {`{bootstrapServers: ["a:1"], clusterID: a b}`, []string{"spec.clusterID", "`clusterID` must be a Kafka cluster ID"}},

		"security protocol to come": {`{bootstrapServers: ["a:1"], securityProtocol: SASL_SSL}`, []string{"spec.securityProtocol", `supported values: "PLAINTEXT"`}},
		"tls to come":               {`{bootstrapServers: ["a:1"], tls: {}}`, []string{`unknown field "spec.tls"`}},
		"sasl to come":              {`{bootstrapServers: ["a:1"], sasl: {mechanism: PLAIN}}`, []string{`unknown field "spec.sasl"`}},
		"tenancy to come":           {`{bootstrapServers: ["a:1"], tenancy: []}`, []string{`unknown field "spec.tenancy"`}},

		"no move at a time":      {`{bootstrapServers: ["a:1"], reassignment: {maxConcurrentPartitionMoves: 0}}`, []string{"spec.reassignment.maxConcurrentPartitionMoves", "greater than or equal to 1"}},
		"1001 moves at a time":   {`{bootstrapServers: ["a:1"], reassignment: {maxConcurrentPartitionMoves: 1001}}`, []string{"spec.reassignment.maxConcurrentPartitionMoves", "less than or equal to 1000"}},
		"stall of 9 s":           {`{bootstrapServers: ["a:1"], reassignment: {stallTimeoutSeconds: 9}}`, []string{"spec.reassignment.stallTimeoutSeconds", "greater than or equal to 10"}},
		"replaced at once":       {`{bootstrapServers: ["a:1"], reassignment: {replaceFencedBrokersAfterSeconds: 9}}`, []string{"spec.reassignment.replaceFencedBrokersAfterSeconds", "greater than or equal to 10"}},
		"limited to nothing":     {`{bootstrapServers: ["a:1"], reassignment: {throttle: {mode: Limited, bytesPerSecond: 0}}}`, []string{"spec.reassignment.throttle.bytesPerSecond", "greater than or equal to 1024"}},
		"limited without a rate": {`{bootstrapServers: ["a:1"], reassignment: {throttle: {mode: Limited}}}`, []string{"spec.reassignment.throttle", "`bytesPerSecond` must be set with `mode` Limited"}},
		"unlimited with a rate":  {`{bootstrapServers: ["a:1"], reassignment: {throttle: {mode: Unlimited, bytesPerSecond: 4096}}}`, []string{"spec.reassignment.throttle", "must not be with Unlimited"}},
		"a rate without a mode":  {`{bootstrapServers: ["a:1"], reassignment: {throttle: {bytesPerSecond: 4096}}}`, []string{"spec.reassignment.throttle.mode", "Required value"}},

		"interval 0":       {`{bootstrapServers: ["a:1"], checkIntervalSeconds: 0}`, []string{"spec.checkIntervalSeconds", "greater than or equal to 2"}},
		"interval 1":       {`{bootstrapServers: ["a:1"], checkIntervalSeconds: 1}`, []string{"spec.checkIntervalSeconds", "greater than or equal to 2"}},
		"interval 3601":    {`{bootstrapServers: ["a:1"], checkIntervalSeconds: 3601}`, []string{"spec.checkIntervalSeconds", "less than or equal to 3600"}},
		"interval as text": {`{bootstrapServers: ["a:1"], checkIntervalSeconds: 10s}`, []string{"spec.checkIntervalSeconds", "must be of type integer"}},
		"enforcement":      {`{bootstrapServers: ["a:1"], enforcement: "true"}`, []string{"spec.enforcement", `supported values: "Enforce", "Observe", "Suspended"`}},
		"placement":        {`{bootstrapServers: ["a:1"], placement: operator}`, []string{"spec.placement", `supported values: "Operator", "Broker"`}},
		"rack awareness":   {`{bootstrapServers: ["a:1"], rackAwareness: None}`, []string{"spec.rackAwareness", `supported values: "Required", "BestEffort"`}},
		"RF 4":             {`{bootstrapServers: ["a:1"], profiles: {critical: {replicationFactor: 4}}}`, []string{"spec.profiles.critical.replicationFactor", `supported values: "3", "5"`}},
		"RF 1":             {`{bootstrapServers: ["a:1"], profiles: {telemetry: {replicationFactor: 1}}}`, []string{"spec.profiles.telemetry.replicationFactor", `supported values: "3", "5"`}},
		"unknown profile":  {`{bootstrapServers: ["a:1"], profiles: {gold: {}}}`, []string{`unknown field "spec.profiles.gold"`}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := onServer(t)
			_, err := s.create(t, clusters, clusterDocument("refused", tc.spec))
			requireRefusal(t, err, tc.want...)
		})
	}
}

func TestKafkaClusterWithoutSpecIsRefused(t *testing.T) {
	s := onServer(t)
	_, err := s.create(t, clusters, "apiVersion: durabletopic.io/v1alpha1\nkind: KafkaCluster\nmetadata: {name: refused}\n")
	requireRefusal(t, err, "spec", "Required value")
}

// servers returns n bootstrap servers as the entries of a flow sequence.
func servers(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%q", fmt.Sprintf("broker-%d:9092", i))
	}
	return strings.Join(list, ", ")
}

// entries returns n config entries as the entries of a flow mapping.
func entries(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("key.%d: v", i)
	}
	return strings.Join(list, ", ")
}

// reassignment is the stored form of spec.reassignment where the fields given differ from the defaults.
func reassignment(fields map[string]any) map[string]any {
	stored := map[string]any{
		"maxConcurrentPartitionMoves": float64(10), "stallTimeoutSeconds": float64(600),
		"throttle": map[string]any{"mode": "Limited", "bytesPerSecond": float64(50 << 20)},
	}
	for field, value := range fields {
		stored[field] = value
	}
	return stored
}
