// Package observer is an informer for Kafka: one Observer per Kafka cluster sweeps the declared topics each interval,
// holds the newest facts it accepted and tells which topics changed. It writes nothing to Kafka and decides nothing
// about topics; it decides which reads to believe:
//
//   - Reads are pinned to one broker that is in service, so that the view moves forward only. A broker that fails or
//     hangs is left for another one and remembered for a while.
//   - Facts of another Kafka cluster than the bound one are never accepted.
//   - For one topic ID, leader epochs and the number of partitions never go back.
//   - That a topic is gone, or is another one of the same name, needs a second broker's word.
//   - What Kafka has confirmed to us is expected: until a read shows it, or half a minute has passed, an older fact is
//     a stale read and not a change.
//
// All reads of topics go through one goroutine, so that facts arrive in the order in which they were read. While
// nothing changes, a sweep calls nobody.
package observer
