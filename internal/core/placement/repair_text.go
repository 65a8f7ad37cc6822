package placement

import (
	"fmt"
	"strings"

	"durabletopic.io/operator/internal/core/topic"
)

// Text says a move in words, with the racks of the registered brokers: "orders/0 from [1 2 3] to [1 3 5]: adds broker 5 in
// rack c; removes broker 2 of rack a, which has too many; copies 1.0 GiB".
func (m Move) Text(registered []topic.Broker) string {
	racks := make(map[int32]string, len(registered))
	for _, b := range registered {
		racks[b.ID] = b.Rack
	}
	var parts []string
	if len(m.Added) > 0 {
		names := make([]string, 0, len(m.Added))
		for _, id := range m.Added {
			names = append(names, fmt.Sprintf("%d%s", id, inRackText(racks[id])))
		}
		parts = append(parts, "adds "+plural(len(m.Added), "broker")+" "+list(names))
	}
	for _, r := range m.Removed {
		parts = append(parts, r.text(racks[r.Broker]))
	}
	if len(m.Held) > 0 {
		parts = append(parts, fmt.Sprintf("keeps %s until the new ones are in sync", brokersWord(m.Held)))
	}
	if len(parts) == 0 {
		parts = append(parts, "lists every broker once")
	}
	if m.Bytes > 0 {
		parts = append(parts, "copies "+bytesText(m.Bytes))
	}
	return fmt.Sprintf("%s/%d from %v to %v: %s", m.Topic, m.Partition, m.From, m.Replicas, strings.Join(parts, "; "))
}

func (r Removal) text(rack string) string {
	why := ""
	switch r.Why {
	case MissingBroker:
		why = ", not registered"
	case LeavingBroker:
		why = ", which is to be left"
	case BrokerWithoutRack:
		why = ", without broker.rack"
	case RackRule:
		why = " of rack " + rack + ", which has too many"
		if rack == "" {
			why = " without rack, as too many are"
		}
	case TooManyReplicas:
		why = inRackText(rack) + ", one more than wanted"
	default:
	}
	return fmt.Sprintf("removes broker %d%s", r.Broker, why)
}

// String says why the partition is left as it is.
func (l Left) String() string {
	why := ""
	switch l.Reason {
	case Reassigning:
		why = "a reassignment is running"
	case Leaderless:
		why = "waits for a leader"
	case NothingInSync:
		why = "waits for an in-sync replica"
	case CatchingUp:
		why = fmt.Sprintf("waits for %s to be in sync: before that Kafka would not end a reassignment that only removes replicas",
			brokersWord(l.Brokers))
	case NoRoom:
		why = l.Shortage.String()
		if len(l.Leaving) > 0 {
			why += fmt.Sprintf("; %s not counted, to be left", brokersWord(l.Leaving))
		}
	}
	return fmt.Sprintf("%s/%d: %s", l.Topic, l.Partition, why)
}

func inRackText(rack string) string {
	if rack == "" {
		return " without rack"
	}
	return " in rack " + rack
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// bytesText gives a size in the largest unit of which there is one: "1.5 GiB".
func bytesText(n int64) string {
	units := []string{"KiB", "MiB", "GiB", "TiB", "PiB"}
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	size, unit := float64(n)/1024, 0
	for size >= 1024 && unit < len(units)-1 {
		size /= 1024
		unit++
	}
	return fmt.Sprintf("%.1f %s", size, units[unit])
}
