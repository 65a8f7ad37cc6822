package kafkatest

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"durabletopic.io/operator/internal/core/topic"
)

// rackRow are the brokers of one rack that may take replicas.
type rackRow struct {
	live, fenced []int32
}

// place chooses replicas as Kafka's StripedReplicaPlacer does: racks in turn, one broker of each, live ones first; the
// first replica is always on a live broker. Brokers without a rack are a rack of their own. Kafka starts at a random
// place, the model where it stopped last.
func (w *world) place(partitions, factor int) ([][]int32, *verdict) {
	rows, brokers, live := w.rows()
	words := fmt.Sprintf("Unable to replicate the partition %d time(s): ", factor)
	if factor > brokers {
		return nil, refuse(kerr.InvalidReplicationFactor, fmt.Sprintf("%sThe target replication factor of %d cannot be reached because only %d broker(s) are registered.", words, factor, brokers))
	}
	if live == 0 {
		return nil, refuse(kerr.InvalidReplicationFactor, words+"All brokers are currently fenced.")
	}
	out := make([][]int32, partitions)
	for i := range out {
		out[i] = placeOne(rows, factor, w.placed)
		w.placed++
	}
	return out, nil
}

// rows groups the registered brokers that are not cordoned by rack.
func (w *world) rows() (rows []rackRow, brokers, live int) {
	racks := map[string]*rackRow{}
	for _, b := range w.sortedBrokers() {
		if w.cordoned(b.ID) {
			continue
		}
		row := racks[b.Rack]
		if row == nil {
			row = &rackRow{}
			racks[b.Rack] = row
		}
		brokers++
		if b.Fenced {
			row.fenced = append(row.fenced, b.ID)
			continue
		}
		live++
		row.live = append(row.live, b.ID)
	}
	for _, rack := range sortedKeys(racks) {
		rows = append(rows, *racks[rack])
	}
	return rows, brokers, live
}

// placeOne chooses the replicas of one partition, the turn-th one.
func placeOne(rows []rackRow, factor, turn int) []int32 {
	taken := make([]int, len(rows)) // replicas taken of each rack
	first := turn % len(rows)
	for len(rows[first].live) == 0 {
		first = (first + 1) % len(rows)
	}
	round := turn / len(rows)
	replicas := []int32{rows[first].at(round, 0)}
	taken[first]++
	for i := first + 1; len(replicas) < factor; i++ {
		row := i % len(rows)
		if taken[row] == len(rows[row].live)+len(rows[row].fenced) {
			continue
		}
		replicas = append(replicas, rows[row].at(round, taken[row]))
		taken[row]++
	}
	return replicas
}

// at is the n-th broker of a rack for a partition of one round.
func (r rackRow) at(round, n int) int32 {
	if n < len(r.live) {
		return r.live[(round+n)%len(r.live)]
	}
	return r.fenced[(round+n)%len(r.fenced)]
}

// mustTopic finds a topic for a test's own control and panics when the test is wrong.
func (w *world) mustTopic(name string) *record {
	r := w.topics[name]
	if r == nil {
		panic(fmt.Sprintf("kafkatest: there is no topic %q", name))
	}
	return r
}

// mustPart finds a partition likewise.
func (w *world) mustPart(name string, partition int32) topic.Partition {
	r := w.mustTopic(name)
	i := slices.IndexFunc(r.parts, func(p topic.Partition) bool { return p.Index == partition })
	if i < 0 {
		panic(fmt.Sprintf("kafkatest: topic %q has no partition %d", name, partition))
	}
	return r.parts[i]
}
