package placement

import (
	"fmt"
	"strconv"
	"strings"
)

// maxNamed bounds how many racks or brokers a text names, so that it fits a condition on a cluster of any size.
const maxNamed = 8

// String says what is missing and what would fix it. The text of the insufficient kinds does not change when brokers
// are fenced or return.
func (s *Shortage) String() string {
	switch {
	case !s.Rule.possible():
		return fmt.Sprintf("no cluster can place replication factor %d with min.insync.replicas %d: lower min.insync.replicas below the replication factor",
			s.Rule.ReplicationFactor, s.Rule.MinInSyncReplicas)
	case s.Kind == InsufficientBrokers:
		return s.brokersText()
	case s.Kind == InsufficientRacks:
		return s.racksText()
	}
	return s.waitingText()
}

func (s *Shortage) brokersText() string {
	missing := s.Rule.ReplicationFactor - s.Registered
	text := fmt.Sprintf("replication factor %d needs %s, registered: %d; add %s",
		s.Rule.ReplicationFactor, count(s.Rule.ReplicationFactor, "broker"), s.Registered, count(missing, "broker"))
	if !s.Rule.BestEffort {
		text += fmt.Sprintf(", so that there are %s with at most %s of a partition in each",
			count(s.NeededRacks, "rack"), count(s.Rule.MaxPerRack(), "replica"))
	}
	return text
}

func (s *Shortage) racksText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "replication factor %d with min.insync.replicas %d needs %s or more (at most %s of a partition in one rack), ",
		s.Rule.ReplicationFactor, s.Rule.MinInSyncReplicas, count(s.NeededRacks, "rack"), count(s.Rule.MaxPerRack(), "replica"))
	fmt.Fprintf(&b, "registered: %s, room for %s", s.registeredText(), count(s.Room, "replica"))
	missing := count(s.Rule.ReplicationFactor-s.Room, "broker")
	if len(s.WithoutRack) > 0 {
		fmt.Fprintf(&b, "; set broker.rack on %s, or", brokersWord(s.WithoutRack))
	} else {
		b.WriteString(";")
	}
	fmt.Fprintf(&b, " add %s in %s", missing, s.whereText())
	if s.Rule.ReplicationFactor-s.Room > s.Rule.MaxPerRack() {
		fmt.Fprintf(&b, " (no more than %d count in one rack)", s.Rule.MaxPerRack())
	}
	b.WriteString(", or let the KafkaCluster have rackAwareness BestEffort")
	return b.String()
}

// registeredText names the racks with their number of brokers: "2 racks: a (2 brokers), b (1 broker)".
func (s *Shortage) registeredText() string {
	if len(s.Racks) == 0 {
		return "no rack"
	}
	names := make([]string, 0, len(s.Racks))
	for _, r := range s.Racks {
		names = append(names, fmt.Sprintf("%s (%s)", r.Name, count(int32(len(r.Brokers)), "broker")))
	}
	return fmt.Sprintf("%s: %s", count(int32(len(s.Racks)), "rack"), list(names))
}

// whereText says in which racks a further broker would count.
func (s *Shortage) whereText() string {
	var names []string
	for _, r := range s.Racks {
		if int32(len(r.Brokers)) < s.Rule.MaxPerRack() {
			names = append(names, r.Name)
		}
	}
	if len(names) == 0 {
		return "further racks"
	}
	return "further racks or in rack " + list(names)
}

func (s *Shortage) waitingText() string {
	var b strings.Builder
	missing := s.Rule.ReplicationFactor - s.Room
	fmt.Fprintf(&b, "waits for %s to return, of ", count(missing, "fenced broker"))
	if s.Rule.BestEffort {
		b.WriteString(brokersWord(s.WaitsFor))
	} else {
		b.WriteString(list(s.waitedRacks()))
	}
	fmt.Fprintf(&b, "; replication factor %d", s.Rule.ReplicationFactor)
	if !s.Rule.BestEffort {
		fmt.Fprintf(&b, " with at most %s of a partition in one rack", count(s.Rule.MaxPerRack(), "replica"))
	}
	fmt.Fprintf(&b, " has room for %s on the available brokers (%d of %d registered)",
		count(s.Room, "replica"), s.Available, s.Registered)
	return b.String()
}

// waitedRacks names each rack that lacks brokers with its fenced ones: "rack c (brokers 5, 6)".
func (s *Shortage) waitedRacks() []string {
	var out []string
	for _, r := range s.Racks {
		if s.fit(r.available()) < s.fit(int32(len(r.Brokers))) {
			out = append(out, fmt.Sprintf("rack %s (%s)", r.Name, brokersWord(r.Fenced)))
		}
	}
	return out
}

// brokersWord names brokers: "broker 1" or "brokers 1, 2".
func brokersWord(ids []int32) string {
	names := make([]string, 0, len(ids))
	for _, id := range ids {
		names = append(names, strconv.Itoa(int(id)))
	}
	if len(ids) == 1 {
		return "broker " + names[0]
	}
	return "brokers " + list(names)
}

// list joins names and cuts a long list.
func list(names []string) string {
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}

// count gives a number and its noun: "1 rack", "2 racks".
func count(n int32, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
