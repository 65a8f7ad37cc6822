package placement

import (
	"cmp"
	"slices"

	"durabletopic.io/operator/internal/core/topic"
)

// ShortageKind names why a partition cannot be placed.
type ShortageKind string

// Why a partition cannot be placed. The insufficient ones last until brokers are added or given a rack; waiting ends by
// itself when fenced brokers return.
const (
	// InsufficientBrokers: fewer brokers are registered than the replication factor.
	InsufficientBrokers ShortageKind = "InsufficientBrokers"
	// InsufficientRacks: enough brokers are registered, but not in enough racks.
	InsufficientRacks ShortageKind = "InsufficientRacks"
	// WaitingForBrokers: the registered brokers would do, but too many of them are fenced.
	WaitingForBrokers ShortageKind = "WaitingForBrokers"
)

// Shortage says why a partition cannot be placed and what is missing. String gives it in words.
type Shortage struct {
	Kind ShortageKind
	Rule Rule
	// NeededRacks is the smallest number of racks that can meet the rule; zero with best effort.
	NeededRacks int32
	// Registered and Available (not fenced) count brokers, those without a rack too.
	Registered, Available int32
	// Room is how many replicas of one partition the rule lets be placed: on registered brokers for the insufficient
	// kinds, on available ones for WaitingForBrokers. Always less than the replication factor.
	Room int32
	// Racks are the registered racks by name. With best effort, brokers without a rack are the rack "".
	Racks []Rack
	// WithoutRack are the brokers that hold nothing because they have no rack, ascending; empty with best effort.
	WithoutRack []int32
	// WaitsFor are the fenced brokers of which some must return, ascending; only with WaitingForBrokers.
	WaitsFor []int32
}

// Rack is one rack and its registered brokers.
type Rack struct {
	Name    string
	Brokers []int32 // ascending, fenced ones too
	Fenced  []int32 // ascending
}

// available counts the brokers that are not fenced.
func (r Rack) available() int32 { return int32(len(r.Brokers) - len(r.Fenced)) }

// Feasible tells whether one more partition could be placed: nil when it could.
func Feasible(brokers []topic.Broker, rule Rule) *Shortage {
	brokers = sorted(brokers)
	s := &Shortage{Rule: rule, NeededRacks: rule.neededRacks(), Registered: int32(len(brokers))}
	for _, b := range brokers {
		if !b.Fenced {
			s.Available++
		}
		if b.Rack == "" && !rule.BestEffort {
			s.WithoutRack = append(s.WithoutRack, b.ID)
		}
	}
	s.Racks = racks(brokers, rule.BestEffort)
	registered, available := s.room()
	switch {
	case rule.possible() && available >= rule.ReplicationFactor:
		return nil
	case rule.possible() && registered >= rule.ReplicationFactor:
		s.Kind, s.Room, s.WaitsFor = WaitingForBrokers, available, s.helpful()
	case rule.possible() && s.Registered < rule.ReplicationFactor:
		s.Kind, s.Room = InsufficientBrokers, registered
	default:
		s.Kind, s.Room = InsufficientRacks, registered
	}
	return s
}

// room counts the replicas of one partition that fit on registered and on available brokers.
func (s *Shortage) room() (registered, available int32) {
	for _, r := range s.Racks {
		registered += s.fit(int32(len(r.Brokers)))
		available += s.fit(r.available())
	}
	return registered, available
}

// fit is how many replicas of one partition may be in a rack of so many brokers.
func (s *Shortage) fit(brokers int32) int32 {
	if s.Rule.BestEffort {
		return brokers
	}
	return max(0, min(brokers, s.Rule.MaxPerRack()))
}

// helpful lists the fenced brokers of those racks that could hold more if they returned.
func (s *Shortage) helpful() []int32 {
	var ids []int32
	for _, r := range s.Racks {
		if s.fit(r.available()) < s.fit(int32(len(r.Brokers))) {
			ids = append(ids, r.Fenced...)
		}
	}
	slices.Sort(ids)
	return ids
}

// racks groups brokers, which are sorted, by rack name.
func racks(brokers []topic.Broker, withUnnamed bool) []Rack {
	var out []Rack
	at := map[string]int{}
	for _, b := range brokers {
		if b.Rack == "" && !withUnnamed {
			continue
		}
		i, ok := at[b.Rack]
		if !ok {
			i = len(out)
			at[b.Rack] = i
			out = append(out, Rack{Name: b.Rack})
		}
		out[i].Brokers = append(out[i].Brokers, b.ID)
		if b.Fenced {
			out[i].Fenced = append(out[i].Fenced, b.ID)
		}
	}
	slices.SortFunc(out, func(a, b Rack) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// sorted gives the brokers by ID, each once, whatever order they came in.
func sorted(brokers []topic.Broker) []topic.Broker {
	out := slices.Clone(brokers)
	slices.SortFunc(out, func(a, b topic.Broker) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Rack, b.Rack), boolOrder(a.Fenced, b.Fenced))
	})
	return slices.CompactFunc(out, func(a, b topic.Broker) bool { return a.ID == b.ID })
}

// boolOrder puts false before true.
func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
