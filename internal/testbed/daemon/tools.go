//go:build unix

package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"durabletopic.io/operator/internal/testbed/assets"
	"durabletopic.io/operator/internal/testbed/guard"
	"durabletopic.io/operator/internal/testbed/kafkabed"
)

// kafkaTools are Kafka's command line tools, by the name of the script in Kafka's distribution, with their main class.
var kafkaTools = map[string]string{
	"kafka-acls.sh":                   "org.apache.kafka.tools.AclCommand",
	"kafka-broker-api-versions.sh":    "org.apache.kafka.tools.BrokerApiVersionsCommand",
	"kafka-client-metrics.sh":         "org.apache.kafka.tools.ClientMetricsCommand",
	"kafka-cluster.sh":                "org.apache.kafka.tools.ClusterTool",
	"kafka-configs.sh":                "org.apache.kafka.tools.ConfigCommand",
	"kafka-console-consumer.sh":       "org.apache.kafka.tools.consumer.ConsoleConsumer",
	"kafka-console-producer.sh":       "org.apache.kafka.tools.ConsoleProducer",
	"kafka-console-share-consumer.sh": "org.apache.kafka.tools.consumer.ConsoleShareConsumer",
	"kafka-consumer-groups.sh":        "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
	"kafka-consumer-perf-test.sh":     "org.apache.kafka.tools.ConsumerPerformance",
	"kafka-delegation-tokens.sh":      "org.apache.kafka.tools.DelegationTokenCommand",
	"kafka-delete-records.sh":         "org.apache.kafka.tools.DeleteRecordsCommand",
	"kafka-dump-log.sh":               "org.apache.kafka.tools.DumpLogSegments",
	"kafka-features.sh":               "org.apache.kafka.tools.FeatureCommand",
	"kafka-get-offsets.sh":            "org.apache.kafka.tools.GetOffsetShell",
	"kafka-groups.sh":                 "org.apache.kafka.tools.GroupsCommand",
	"kafka-leader-election.sh":        "org.apache.kafka.tools.LeaderElectionCommand",
	"kafka-log-dirs.sh":               "org.apache.kafka.tools.LogDirsCommand",
	"kafka-metadata-quorum.sh":        "org.apache.kafka.tools.MetadataQuorumCommand",
	"kafka-producer-perf-test.sh":     "org.apache.kafka.tools.ProducerPerformance",
	"kafka-reassign-partitions.sh":    "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
	"kafka-replica-verification.sh":   "org.apache.kafka.tools.ReplicaVerificationTool",
	"kafka-share-groups.sh":           "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
	"kafka-storage.sh":                "kafka.tools.StorageTool",
	"kafka-topics.sh":                 "org.apache.kafka.tools.TopicCommand",
	"kafka-transactions.sh":           "org.apache.kafka.tools.TransactionsCommand",
	"kafka-verifiable-consumer.sh":    "org.apache.kafka.tools.VerifiableConsumer",
	"kafka-verifiable-producer.sh":    "org.apache.kafka.tools.VerifiableProducer",
}

// writeTools fills dir with kubectl and with scripts for Kafka's tools. They print warnings and errors to standard
// error, and start with the class-data archive.
func writeTools(dir string, kafka assets.Kafka, kubectl string) error {
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return fmt.Errorf("make directory of tools: %w", err)
	}
	log4j := filepath.Join(dir, "tools-log4j2.properties")
	if err := os.WriteFile(log4j, []byte(toolsLog4j), 0o644); err != nil {
		return fmt.Errorf("write log configuration of tools: %w", err)
	}
	args := append([]string{kafka.Java, "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"},
		kafkabed.ArchiveArgs(kafka)...)
	args = append(args, "-Dlog4j2.configurationFile="+log4j, "-cp", kafka.Classpath)
	for i, arg := range args {
		args[i] = guard.Quote(arg)
	}
	for script, class := range kafkaTools {
		text := fmt.Sprintf("#!/bin/sh\nexec %s %s \"$@\"\n", strings.Join(args, " "), class)
		if err := os.WriteFile(filepath.Join(dir, script), []byte(text), 0o755); err != nil {
			return fmt.Errorf("write tool: %w", err)
		}
	}
	if _, err := os.Stat(kubectl); errors.Is(err, os.ErrNotExist) {
		return nil // KUBEBUILDER_ASSETS need not have one
	}
	if err := os.Symlink(kubectl, filepath.Join(dir, "kubectl")); err != nil {
		return fmt.Errorf("link kubectl: %w", err)
	}
	return nil
}

const toolsLog4j = `status = error
appenders = err
appender.err.type = Console
appender.err.name = E
appender.err.target = SYSTEM_ERR
appender.err.layout.type = PatternLayout
appender.err.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = warn
rootLogger.appenderRefs = e
rootLogger.appenderRef.e.ref = E
`
