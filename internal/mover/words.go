package mover

import (
	"fmt"
	"strings"
	"time"

	"durabletopic.io/operator/internal/core/moves"
)

// words says of each topic what keeps its moves, the worst of it first. Nothing in it changes while nothing does.
func words(d moves.Decision, foreign moves.Rates, planned map[string]string) map[string]string {
	said := map[string]string{}
	say := func(topicName, text string) {
		if said[topicName] == "" {
			said[topicName] = text
		}
	}
	for _, st := range d.Cancel {
		say(st.Move.Topic, fmt.Sprintf("partition %d cannot be copied to %s, out of service; it is moved elsewhere",
			st.Move.Partition, list(st.Fenced)))
	}
	for _, st := range d.Stuck {
		say(st.Move.Topic, fmt.Sprintf("partition %d makes no progress since %s: records come in faster than they are copied to %s. %s",
			st.Move.Partition, st.Since.UTC().Format(time.DateTime), list(st.Move.Adding()), slow(foreign)))
	}
	for _, w := range d.Waiting {
		say(w.Candidate.Topic, fmt.Sprintf("partition %d waits: %s", w.Candidate.Partition, w.Why))
	}
	for name, text := range planned {
		say(name, text)
	}
	return said
}

// slow says what would make copying faster.
func slow(foreign moves.Rates) string {
	if foreign != (moves.Rates{}) {
		return "A throttle rate that the operator has not set counts: see leader.replication.throttled.rate and " +
			"follower.replication.throttled.rate of the brokers"
	}
	return "Raise spec.reassignment.throttle.bytesPerSecond of the KafkaCluster, or look at the brokers"
}

func list(ids []int32) string {
	names := make([]string, 0, len(ids))
	for _, id := range ids {
		names = append(names, fmt.Sprintf("broker %d", id))
	}
	return strings.Join(names, ", ")
}
