package kafka

import "durabletopic.io/operator/internal/core/topic"

// NewTopic is one topic to create. Assignments, if set, hold one replica list per partition; else Kafka places
// Partitions (-1: the brokers' num.partitions) with ReplicationFactor.
type NewTopic struct {
	Name              string
	Assignments       [][]int32
	Partitions        int32
	ReplicationFactor int16
	Configs           map[string]string
}

// Created is the answer for one topic of a create request.
type Created struct {
	ID  topic.ID
	Err error // *fault.Fault
}

// Alteration changes some configs of one topic, by incremental alter only (KIP-339).
type Alteration struct {
	Topic  string
	Set    map[string]string
	Delete []string
}

// NewPartitions raises the partition count of one topic to Total. Assignments, if set, hold one replica list for each
// added partition.
type NewPartitions struct {
	Topic       string
	Total       int32
	Assignments [][]int32
}
