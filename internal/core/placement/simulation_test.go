package placement_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/core/topictest"
)

// simulation is a small cluster that does at once what it is told, and keeps a log.
type simulation struct {
	on     placement.Brokers
	topics []placement.Managed
	copied int // replicas that were copied
	log    strings.Builder
}

func newSimulation(on placement.Brokers, topics []placement.Managed) *simulation {
	s := &simulation{on: on, topics: slices.Clone(topics)}
	s.on.Registered, s.on.Load = slices.Clone(on.Registered), maps.Clone(on.Load)
	if s.on.Load == nil {
		s.on.Load = map[int32]topic.Load{}
	}
	for i := range s.topics {
		s.topics[i].Partitions = slices.Clone(s.topics[i].Partitions)
	}
	return s
}

func (s *simulation) count(replicas []int32, n int) {
	for i, id := range replicas {
		l := s.on.Load[id]
		l.Replicas += n
		if i == 0 {
			l.Leaders += n
		}
		s.on.Load[id] = l
	}
}

func (s *simulation) plan() placement.Plan { return placement.Repair(s.on, s.topics) }

func (s *simulation) partition(name string, index int32) *topic.Partition {
	for i := range s.topics {
		for k := range s.topics[i].Partitions {
			if p := &s.topics[i].Partitions[k]; s.topics[i].Name == name && p.Index == index {
				return p
			}
		}
	}
	panic("no such partition: " + name)
}

// apply carries out a move as Kafka does: what is added is in sync at the end, and after a leader that goes the first
// in-sync replica leads.
func (s *simulation) apply(m placement.Move) {
	p := s.partition(m.Topic, m.Partition)
	s.count(p.Replicas, -1)
	s.count(m.Replicas, 1)
	var isr []int32
	for _, id := range m.Replicas {
		if slices.Contains(p.ISR, id) || slices.Contains(m.Added, id) {
			isr = append(isr, id)
		}
	}
	p.Replicas, p.ISR = m.Replicas, isr
	if !slices.Contains(p.Replicas, p.Leader) {
		p.Leader = isr[0]
	}
	s.copied += len(m.Added)
}

// settle lets brokers in service catch up, drops others from the in-sync replicas, and elects leaders.
func (s *simulation) settle() {
	alive := func(id int32) bool {
		return slices.ContainsFunc(s.on.Registered, func(b topic.Broker) bool { return b.ID == id && !b.Fenced })
	}
	for i := range s.topics {
		for k := range s.topics[i].Partitions {
			p := &s.topics[i].Partitions[k]
			p.ISR = slices.DeleteFunc(slices.Clone(p.Replicas), func(id int32) bool { return !alive(id) })
			if !slices.Contains(p.ISR, p.Leader) {
				p.Leader = topic.NoLeader
				if len(p.ISR) > 0 {
					p.Leader = p.ISR[0]
				}
			}
		}
	}
}

// run plans, carries out the first two moves in the given order, and plans again, until there is nothing to do. Every plan
// must pass the judge, and planning again must not cost a copy more than the first plan asked for.
func (s *simulation) run(t *testing.T, order func([]placement.Move)) {
	t.Helper()
	before, want, said := s.copied, 0, map[string]bool{}
	for round := 0; ; round++ {
		p := s.plan()
		for _, o := range placement.JudgePlan(s.on, s.topics, p) {
			t.Errorf("%s", o)
		}
		if round == 0 {
			for _, m := range p.Moves {
				want += len(m.Added)
			}
		}
		s.logLeft(p.Left, said)
		if len(p.Moves) == 0 {
			break
		}
		if round > 1000 {
			t.Fatalf("does not get quiet:\n%s", s.log.String())
		}
		order(p.Moves)
		for _, m := range p.Moves[:min(2, len(p.Moves))] {
			fmt.Fprintf(&s.log, "move   %s [%s]\n", m.Text(s.on.Registered), join(m.Why))
			s.apply(m)
		}
		s.settle()
	}
	if got := s.copied - before; got != want {
		t.Errorf("%d replicas copied, the first plan asked for %d:\n%s", got, want, s.log.String())
	}
	fmt.Fprintf(&s.log, "quiet  after %d copies\n", s.copied-before)
	for _, b := range s.on.Registered {
		l, fenced := s.on.Load[b.ID], ""
		if b.Fenced {
			fenced = ", fenced"
		}
		fmt.Fprintf(&s.log, "       broker %d rack %s: %d preferred leaders, %d replicas%s\n", b.ID, b.Rack, l.Leaders, l.Replicas, fenced)
	}
}

// logLeft logs what is left and was not yet said, one line for each reason.
func (s *simulation) logLeft(left []placement.Left, said map[string]bool) {
	var reasons []string
	names := map[string][]string{}
	for _, l := range left {
		name, why, _ := strings.Cut(l.String(), ": ")
		if said[l.String()] {
			continue
		}
		said[l.String()] = true
		if names[why] == nil {
			reasons = append(reasons, why)
		}
		names[why] = append(names[why], name)
	}
	for _, why := range reasons {
		fmt.Fprintf(&s.log, "left   %s: %s\n", strings.Join(names[why], " "), why)
	}
}

func join(kinds []placement.ViolationKind) string {
	names := make([]string, 0, len(kinds))
	for _, k := range kinds {
		names = append(names, string(k))
	}
	return strings.Join(names, " ")
}

// event is something that happens to a quiet cluster.
type event struct {
	words string
	do    func(*simulation)
}

func (s *simulation) fence(fenced bool, ids ...int32) {
	for i, b := range s.on.Registered {
		if slices.Contains(ids, b.ID) {
			s.on.Registered[i].Fenced = fenced
		}
	}
}

func fence(ids ...int32) event {
	return event{fmt.Sprintf("brokers %v are fenced", ids), func(s *simulation) { s.fence(true, ids...) }}
}

func back(ids ...int32) event {
	return event{fmt.Sprintf("brokers %v are back", ids), func(s *simulation) { s.fence(false, ids...) }}
}

func leave(ids ...int32) event {
	return event{fmt.Sprintf("brokers %v are to be left", ids), func(s *simulation) { s.on.Leaving = ids }}
}

func register(b topic.Broker) event {
	return event{
		fmt.Sprintf("broker %d registers in rack %s", b.ID, b.Rack),
		func(s *simulation) { s.on.Registered = append(s.on.Registered, b) },
	}
}

func unregister(id int32) event {
	return event{fmt.Sprintf("broker %d is unregistered", id), func(s *simulation) {
		s.on.Registered = slices.DeleteFunc(s.on.Registered, func(b topic.Broker) bool { return b.ID == id })
	}}
}

// shop makes topics of FreshCart by what their partitions are like.
func shop(rule placement.Rule, partitions map[string][]string) []placement.Managed {
	var out []placement.Managed
	for _, name := range slices.Sorted(maps.Keys(partitions)) {
		m := placement.Managed{Name: name, Rule: rule, Critical: name == "orders" || name == "payments"}
		m.Partitions = topictest.Topic(partitions[name]...).Partitions
		for i := range m.Partitions {
			m.Bytes = append(m.Bytes, int64(i+1)<<28)
		}
		out = append(out, m)
	}
	return out
}

var simulations = map[string]struct {
	racks  string
	topics []placement.Managed
	events []event
}{
	// What people make by hand, adopted all at once.
	"by-hand": {
		"a a b b c c x x c!",
		shop(three, map[string][]string{
			"orders":         {"1 2 3", "2 1 3 isr 2 3", "4 3 6", "5 6 1 leader 6"},
			"payments":       {"1", "1", "1"},
			"invoice-ledger": {"1 3", "3 5", "1", "1 3 5 6", "8 1 3 isr 1 3"},
			"page-views":     {"1 3 5", "2 4 6"},
			"stock-levels":   {"9 isr leader -", "1 3 4 adding 4 removing 3"},
		}),
		nil,
	},
	// The three replicas of each partition share a rack of three brokers.
	"one-rack": {
		"a a a b b b c c c",
		shop(three, map[string][]string{
			"orders": {"1 2 3", "2 3 1", "3 1 2"}, "payments": {"4 5 6", "7 8 9 isr 7", "5 6 4 isr 5 6"},
		}),
		nil,
	},
	"bad-night": {
		"a a b b c c",
		shop(three, map[string][]string{
			"orders": {"1 3 5", "3 5 1", "5 1 3", "2 4 6"}, "payments": {"4 6 2", "6 2 4", "1 4 5"},
			"page-views": {"2 3 6", "3 6 2", "6 2 3"},
		}),
		[]event{
			fence(1, 2, 3), back(1, 2, 3), fence(5), leave(5), register(topic.Broker{ID: 7, Rack: "c"}), unregister(5),
			leave(), leave(3, 4), register(topic.Broker{ID: 8, Rack: "d"}),
		},
	},
	"best-effort": {
		"a a a b b",
		shop(bestEffort(three), map[string][]string{"orders": {"1 2 3", "1 2 4", "4 5 1"}, "page-views": {"2", "3 1"}}),
		[]event{fence(4, 5), back(4, 5), register(topic.Broker{ID: 6, Rack: "c"}), leave(1)},
	},
	"five-replicas": {
		"a a a b b c c",
		shop(five, map[string][]string{"orders": {"1 2 3 4 6", "1 4 6", "1 2 4 5 6 7 isr 1 4 5 6 7"}, "payments": {"1 2 3"}}),
		[]event{leave(4), register(topic.Broker{ID: 8, Rack: "b"})},
	},
}

// orders in which planned moves are carried out.
func seeded(seed uint64) func([]placement.Move) {
	chance := rand.New(rand.NewPCG(seed, 7))
	return func(moves []placement.Move) {
		chance.Shuffle(len(moves), func(i, k int) { moves[i], moves[k] = moves[k], moves[i] })
	}
}

// Plans are carried out step by step, with a new plan after every two moves, until it is quiet; then the next thing
// happens. The logs are to be read.
func TestSimulations(t *testing.T) {
	fresh := rand.Uint64()
	for name, tt := range simulations {
		for order, by := range map[string]func([]placement.Move){
			"endangered": placement.MostEndangeredFirst, "seeded": seeded(1), "fresh": seeded(fresh),
		} {
			t.Run(name+"/"+order, func(t *testing.T) {
				s := newSimulation(placement.Brokers{Registered: topictest.Cluster(tt.racks).Brokers}, tt.topics)
				for _, m := range s.topics {
					for _, p := range m.Partitions {
						s.count(p.Replicas, 1)
					}
				}
				s.run(t, by)
				for _, e := range tt.events {
					fmt.Fprintf(&s.log, "\nevent  %s\n", e.words)
					e.do(s)
					s.settle()
					s.run(t, by)
				}
				if order == "fresh" {
					if t.Failed() {
						t.Logf("seed %d\n%s", fresh, s.log.String())
					}
					return
				}
				checkGolden(t, filepath.Join("testdata", "repair-"+name+"-"+order+".golden"), s.log.String())
			})
		}
	}
}

func checkGolden(t *testing.T, golden, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the log changed; with -update the file follows (-want +got):\n%s", diff)
	}
}
