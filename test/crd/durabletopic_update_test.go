package crd

import (
	"testing"
)

// Names, clusters and partitions may not be changed by any way around: not by a field that appears, nor by one that
// disappears.
func TestDurableTopicUpdate(t *testing.T) {
	const (
		nameFixed      = "`topicName` may not change"
		clusterFixed   = "`clusterRef.name` may not change"
		growOnly       = "`partitions` must be at least what it was"
		notYetRemoved  = "`partitions` may not be removed before the topic has that many"
		internalForbid = "`topicName` may not be an internal topic"
	)
	tests := map[string]struct {
		before string
		status string
		after  string
		want   []string // parts of the refusal; none where the update is accepted
	}{
		"nothing": {before: `{profile: critical}`, after: `{profile: critical}`},
		"every field that may change": {
			before: `{profile: critical}`,
			after:  `{profile: telemetry, replicationFactor: 5, config: {retention.ms: "1"}, owner: me, enforcement: Suspended}`,
		},

		"topic name edited":                     {before: `{profile: critical, topicName: a}`, after: `{profile: critical, topicName: b}`, want: []string{"spec.topicName", nameFixed}},
		"topic name edited in case":             {before: `{profile: critical, topicName: a}`, after: `{profile: critical, topicName: A}`, want: []string{"spec.topicName", nameFixed}},
		"topic name appears":                    {before: `{profile: critical}`, after: `{profile: critical, topicName: other}`, want: []string{"spec.topicName", nameFixed}},
		"topic name disappears":                 {before: `{profile: critical, topicName: other}`, after: `{profile: critical}`, want: []string{"spec.topicName", nameFixed}},
		"topic name is set to null":             {before: `{profile: critical, topicName: other}`, after: `{profile: critical, topicName: null}`, want: []string{"spec.topicName", nameFixed}},
		"topic name appears, the same":          {before: `{profile: critical}`, after: `{profile: critical, topicName: updated}`},
		"topic name disappears, the same":       {before: `{profile: critical, topicName: updated}`, after: `{profile: critical}`},
		"topic name becomes an internal topic":  {before: `{profile: critical}`, after: `{profile: critical, topicName: __consumer_offsets}`, want: []string{"spec.topicName", nameFixed, internalForbid}},
		"cluster edited":                        {before: `{profile: critical, clusterRef: {name: a}}`, after: `{profile: critical, clusterRef: {name: b}}`, want: []string{"spec.clusterRef", clusterFixed}},
		"cluster appears":                       {before: `{profile: critical}`, after: `{profile: critical, clusterRef: {name: b}}`, want: []string{"spec.clusterRef", clusterFixed}},
		"cluster disappears":                    {before: `{profile: critical, clusterRef: {name: a}}`, after: `{profile: critical}`, want: []string{"spec.clusterRef", clusterFixed}},
		"cluster name disappears":               {before: `{profile: critical, clusterRef: {name: a}}`, after: `{profile: critical, clusterRef: {}}`, want: []string{"spec.clusterRef", clusterFixed}},
		"cluster appears, the default one":      {before: `{profile: critical}`, after: `{profile: critical, clusterRef: {name: default}}`},
		"cluster disappears, the default one":   {before: `{profile: critical, clusterRef: {name: default}}`, after: `{profile: critical}`},
		"name and cluster edited, both refused": {before: `{profile: critical, topicName: a}`, after: `{profile: critical, topicName: b, clusterRef: {name: b}}`, want: []string{nameFixed, clusterFixed}},

		"partitions grow":                 {before: `{profile: critical, partitions: 6}`, after: `{profile: critical, partitions: 7}`},
		"partitions shrink":               {before: `{profile: critical, partitions: 6}`, after: `{profile: critical, partitions: 5}`, want: []string{"spec.partitions", growOnly}},
		"partitions appear on a new":      {before: `{profile: critical}`, after: `{profile: critical, partitions: 1}`},
		"partitions appear, as many":      {before: `{profile: critical}`, status: `{status: {partitions: 6}}`, after: `{profile: critical, partitions: 6}`},
		"partitions appear, more":         {before: `{profile: critical}`, status: `{status: {partitions: 6}}`, after: `{profile: critical, partitions: 12}`},
		"partitions appear, fewer":        {before: `{profile: critical}`, status: `{status: {partitions: 6}}`, after: `{profile: critical, partitions: 5}`, want: []string{"spec.partitions", growOnly}},
		"partitions disappear, unmet":     {before: `{profile: critical, partitions: 6}`, after: `{profile: critical}`, want: []string{"spec.partitions", notYetRemoved}},
		"partitions disappear, half way":  {before: `{profile: critical, partitions: 6}`, status: `{status: {partitions: 3}}`, after: `{profile: critical}`, want: []string{"spec.partitions", notYetRemoved}},
		"partitions set to null, unmet":   {before: `{profile: critical, partitions: 6}`, after: `{profile: critical, partitions: null}`, want: []string{"spec.partitions", notYetRemoved}},
		"partitions disappear, met":       {before: `{profile: critical, partitions: 6}`, status: `{status: {partitions: 6}}`, after: `{profile: critical}`},
		"fewer than the topic has, kept":  {before: `{profile: critical, partitions: 3}`, status: `{status: {partitions: 6}}`, after: `{profile: telemetry, partitions: 3}`},
		"fewer than the topic has, grown": {before: `{profile: critical, partitions: 3}`, status: `{status: {partitions: 6}}`, after: `{profile: critical, partitions: 6}`},

		"config gets a reserved key": {before: `{profile: critical}`, after: `{profile: critical, config: {min.insync.replicas: "1"}}`, want: []string{"spec.config", "may not contain min.insync.replicas"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := onServer(t)
			if _, err := s.create(t, topics, topicDocument("updated", tc.before)); err != nil {
				t.Fatalf("create: %v", err)
			}
			if tc.status != "" {
				if err := s.setStatus(t, topics, "updated", tc.status); err != nil {
					t.Fatalf("set status: %v", err)
				}
			}
			_, err := s.replace(t, topics, "updated", topicDocument("updated", tc.after))
			if tc.want != nil {
				requireRefusal(t, err, tc.want...)
			} else if err != nil {
				t.Errorf("refused: %v", err)
			}
		})
	}
}

// A number of partitions that disappears is remembered by the topic itself, so it cannot come back lower.
func TestPartitionsCannotShrinkByDisappearing(t *testing.T) {
	s := onServer(t)
	if _, err := s.create(t, topics, topicDocument("updated", `{profile: critical, partitions: 12}`)); err != nil {
		t.Fatalf("create: %v", err)
	}
	if err := s.setStatus(t, topics, "updated", `{status: {observedGeneration: 1, partitions: 12}}`); err != nil {
		t.Fatalf("set status: %v", err)
	}
	if _, err := s.replace(t, topics, "updated", topicDocument("updated", `{profile: critical}`)); err != nil {
		t.Fatalf("remove partitions: %v", err)
	}
	_, err := s.replace(t, topics, "updated", topicDocument("updated", `{profile: critical, partitions: 6}`))
	requireRefusal(t, err, "spec.partitions", "`partitions` must be at least what it was, or what the topic has")
}

// What Kafka shows must always be storable, also when a topic was replaced by a smaller one.
func TestStatusIsNotBoundByTheRulesOfTheSpec(t *testing.T) {
	tests := map[string]struct {
		spec, status, next string
	}{
		"fewer partitions than before":   {`{profile: critical}`, `{status: {partitions: 12}}`, `{status: {partitions: 1}}`},
		"fewer partitions than declared": {`{profile: critical, partitions: 12}`, `{status: {partitions: 12}}`, `{status: {partitions: 1}}`},
		"no partitions any more":         {`{profile: critical, partitions: 12}`, `{status: {partitions: 12}}`, `{status: {partitions: null}}`},
		"more partitions than allowed":   {`{profile: critical}`, `{status: {partitions: 12}}`, `{status: {partitions: 200000}}`},
		"one replica":                    {`{profile: critical}`, `{status: {replicationFactor: 3}}`, `{status: {replicationFactor: 1, maxReplicationFactor: 4, minInSyncReplicas: 1, racks: 1}}`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := onServer(t)
			if _, err := s.create(t, topics, topicDocument("judged", tc.spec)); err != nil {
				t.Fatalf("create: %v", err)
			}
			for _, status := range []string{tc.status, tc.next} {
				if err := s.setStatus(t, topics, "judged", status); err != nil {
					t.Errorf("set status %s: %v", status, err)
				}
			}
		})
	}
}
