// Package kafkatest is an in-memory model of a KRaft Kafka cluster that answers raw kmsg requests, for tests of all code
// that speaks Kafka. It models what an administrator sees: brokers and racks, topics, replica lists, in-sync and
// eligible leader replicas (KIP-966), leaders and epochs, dynamic configs and their sources, reassignments (KIP-455),
// elections (KIP-460), and what goes wrong: late metadata, paused and dead brokers, lost answers, refusals. It carries
// no records, only the sizes of logs, so that copying can take time and be throttled (KIP-73).
//
// Nothing happens by itself. Time is Tick, so that a test sees every state it asks for, and two runs see the same. The
// rules follow Kafka 4.4 (ReplicationControlManager, PartitionChangeBuilder, ConfigurationControlManager); the contract
// suite in test/contract runs the same assertions on this model and on real brokers.
package kafkatest
