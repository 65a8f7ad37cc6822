// Package contract pins down what this project takes for granted about Kafka. One suite of behaviours runs on the
// in-memory cluster that most tests use and, unless -short is given, on real brokers: where the two differ, the
// in-memory cluster is wrong.
package contract
