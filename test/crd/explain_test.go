package crd

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// publishing bounds the wait for the API server to publish the schemas of new kinds.
const publishing = 30 * time.Second

// fieldLine is a line of kubectl explain that begins a field.
var fieldLine = regexp.MustCompile(`^  (\w+)\t<`)

// kubectl explain must say something about every field of ours.
func TestExplain(t *testing.T) {
	s := onServer(t)
	tests := map[string]struct {
		path string
		want []string
	}{
		"topic":          {"durabletopic", []string{"declares a Kafka topic and the guarantees it must have", "spec", "status"}},
		"topic spec":     {"durabletopic.spec", []string{"profile <string> -required-", "no confirmed record is lost", "enum: critical, telemetry", "clusterRef", "topicName", "partitions", "replicationFactor", "config", "owner", "enforcement", "deletionPolicy"}},
		"topic status":   {"durabletopic.status", []string{"topicID", "ownedConfig", "lastDrift", "minInSyncReplicas"}},
		"drift":          {"durabletopic.status.lastDrift.changes", []string{"key", "from", "to"}},
		"cluster":        {"kafkacluster", []string{"belongs to the platform team", "spec", "status"}},
		"cluster spec":   {"kafkacluster.spec", []string{"bootstrapServers <[]string> -required-", "clusterID", "checkIntervalSeconds", "rackAwareness", "placement", "profiles"}},
		"cluster status": {"kafkacluster.status", []string{"brokers", "racks", "topics", "missingPermissions"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			text := s.explain(t, tc.path)
			unwrapped := strings.Join(strings.Fields(text), " ")
			for _, part := range tc.want {
				if !strings.Contains(unwrapped, part) {
					t.Errorf("explain %s does not have %q:\n%s", tc.path, part, text)
				}
			}
			lines := strings.Split(text, "\n")
			for i, line := range lines {
				if field := fieldLine.FindStringSubmatch(line); field != nil && strings.Contains(lines[i+1], "<no description>") && field[1] != "metadata" {
					t.Errorf("field %s of %s has no description", field[1], tc.path)
				}
			}
		})
	}
}

// explain returns what kubectl explain prints, once the API server has published the kind's schema.
func (s *apiServer) explain(t *testing.T, path string) string {
	t.Helper()
	deadline := time.Now().Add(publishing)
	for {
		command := exec.CommandContext(t.Context(), s.bed.Kubectl(), "--kubeconfig", s.bed.Kubeconfig(), "explain", path)
		text, err := command.CombinedOutput()
		if err == nil {
			return string(text)
		}
		if time.Now().After(deadline) {
			t.Fatalf("kubectl explain %s: %v\n%s", path, err, text)
		}
		time.Sleep(100 * time.Millisecond) // the schema is published without an event to wait for
	}
}
