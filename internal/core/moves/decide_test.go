package moves

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/core/topictest"
)

var now = topictest.Now

// scene is six brokers in three racks, the topic orders, and room for ten moves under a throttle.
func scene(partitions ...string) Input {
	return Input{
		Now:      now,
		Brokers:  topictest.Cluster("a a b b c c").Brokers,
		Settings: Settings{MaxConcurrent: 10, BytesPerSecond: 1000, StallTimeout: 10 * time.Minute},
		Facts:    map[string]Fact{"orders": {Topic: topictest.Topic(partitions...), ReadAt: now}},
	}
}

func (in Input) with(change func(*Input)) Input { change(&in); return in }

func move(partition int32, from, to []int32) Move {
	return Move{Topic: "orders", TopicID: topictest.ID.String(), Partition: partition, From: from, To: to, Throttled: true,
		Began: now.Add(-time.Minute)}
}

func candidate(partition int32, from, to []int32) Candidate {
	return Candidate{Topic: "orders", TopicID: topictest.ID.String(), Partition: partition, From: from, To: to, MinInSync: 2}
}

func ids(list ...int32) []int32 { return list }

func TestStateOf(t *testing.T) {
	m := move(0, ids(1, 2, 3), ids(1, 3, 5))
	tests := map[string]struct {
		fact string
		set  func(*Fact)
		want State
	}{
		"runs":                          {"1 3 5 2 isr 1 2 3 adding 5 removing 2", nil, Running},
		"runs, all in sync":             {"1 3 5 2 adding 5 removing 2", nil, Running},
		"has ended":                     {"1 3 5", nil, Done},
		"has ended, one out of sync":    {"1 3 5 isr 1 3", nil, Done},
		"never began":                   {"1 2 3", nil, NotRunning},
		"has not begun yet":             {"1 2 3", func(f *Fact) { f.ReadAt = m.Began.Add(Settle - 1) }, Unclear},
		"was cancelled":                 {"1 2 3 isr 1", nil, NotRunning},
		"moved elsewhere":               {"4 5 6", nil, NotRunning},
		"another one runs":              {"1 3 6 2 adding 6 removing 2", nil, Overtaken},
		"the topic is another":          {"1 3 5", func(f *Fact) { f.Topic.ID[0]++ }, Gone},
		"the topic is gone":             {"1 3 5", func(f *Fact) { f.Gone, f.Topic = true, nil }, Gone},
		"nothing is known":              {"1 3 5", func(f *Fact) { f.Topic = nil }, Unclear},
		"the facts are of before":       {"1 2 3", func(f *Fact) { f.ReadAt = m.Began }, Unclear},
		"the partition is not shown":    {"", func(f *Fact) { f.Topic.Partitions = nil }, Unclear},
		"same replicas in other order":  {"3 1 5", nil, NotRunning},
		"same target, order as planned": {"1 3 5 2 isr 1 adding 5 removing 2", nil, Running},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := Fact{Topic: topictest.Topic(tc.fact), ReadAt: now}
			if tc.set != nil {
				tc.set(&f)
			}
			if got := StateOf(m, f); got != tc.want {
				t.Errorf("state %d, want %d", got, tc.want)
			}
		})
	}
}

func TestBegin(t *testing.T) {
	raise := candidate(0, ids(1), ids(1, 3, 5))
	tests := map[string]struct {
		in    Input
		cand  Candidate
		begin bool
		why   string
	}{
		"a move":                 {scene("1 2 3"), candidate(0, ids(1, 2, 3), ids(1, 3, 5)), true, ""},
		"out of sync":            {scene("1 2 3 isr 2"), candidate(0, ids(1, 2, 3), ids(1, 3, 5)), true, ""},
		"without a leader":       {scene("1 2 3 leader -"), candidate(0, ids(1, 2, 3), ids(1, 3, 5)), false, "the partition has no leader"},
		"moved by somebody else": {scene("1 2 3 6 adding 6 removing 2"), candidate(0, ids(1, 2, 3), ids(1, 3, 5)), false, "somebody else's reassignment of this partition runs"},
		"changed meanwhile":      {scene("1 2 4"), candidate(0, ids(1, 2, 3), ids(1, 3, 5)), false, "its replicas have changed since it was planned"},
		"another topic": {scene("1 2 3").with(func(in *Input) { in.Facts["orders"].Topic.ID[1]++ }),
			candidate(0, ids(1, 2, 3), ids(1, 3, 5)), false, "the topic is about to be read again"},
		"suspended": {scene("1 2 3").with(func(in *Input) { in.Settings.Suspended = true }),
			candidate(0, ids(1, 2, 3), ids(1, 3, 5)), false, "enforcement Suspended begins no move"},
		"more replicas than in sync, min.insync.replicas 2": {scene("1"), raise, false, "min.insync.replicas has to be held down first"},
		"more replicas than in sync, held down": {scene("1").with(func(in *Input) {
			topictest.Config(in.Facts["orders"].Topic, topic.MinInSyncReplicas, topic.TypeInt, "1")
		}), raise, true, ""},
		"min.insync.replicas not known": {scene("1").with(func(in *Input) { delete(in.Facts["orders"].Topic.Configs, topic.MinInSyncReplicas) }),
			raise, false, "min.insync.replicas has to be held down first"},
		"from 2 replicas in sync to 3": {scene("1 2"), candidate(0, ids(1, 2), ids(1, 2, 5)), true, ""},
		"from 2 replicas to 3, already waiting": {scene("1 2 isr 1"), candidate(0, ids(1, 2), ids(1, 2, 5)), true,
			""},
		"fewer replicas, min.insync.replicas still made for more": {scene("1 3 5 6 2").with(func(in *Input) {
			topictest.Config(in.Facts["orders"].Topic, topic.MinInSyncReplicas, topic.TypeInt, "3")
		}), candidate(0, ids(1, 3, 5, 6, 2), ids(1, 3, 5)), false, "min.insync.replicas has to be lowered first"},
		"fewer replicas": {scene("1 3 5 6"), candidate(0, ids(1, 3, 5, 6), ids(1, 3, 5)), true, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.in.Candidates = []Candidate{tc.cand}
			d := Decide(tc.in)
			if got := len(d.Begin) == 1; got != tc.begin {
				t.Errorf("begins %v, want %v: %+v", got, tc.begin, d.Waiting)
			}
			if tc.why != "" && (len(d.Waiting) != 1 || d.Waiting[0].Why != tc.why) {
				t.Errorf("waits for %+v, want %q", d.Waiting, tc.why)
			}
		})
	}
}

// What copies nothing is not throttled, and needs no rate.
func TestOnlyCopiesAreThrottled(t *testing.T) {
	in := scene("1 3 5 6", "1 2 3")
	in.Candidates = []Candidate{candidate(0, ids(1, 3, 5, 6), ids(1, 3, 5))}
	if d := Decide(in); d.Begin[0].Throttled || d.SetRates != (Rates{}) {
		t.Errorf("a removal is throttled: %+v", d)
	}
	in.Candidates = append(in.Candidates, candidate(1, ids(1, 2, 3), ids(1, 3, 5)))
	if d := Decide(in); !d.Begin[1].Throttled || d.SetRates != (Rates{1000, 1000}) {
		t.Errorf("a copy is not throttled: %+v", d)
	}
	in.Settings.BytesPerSecond = 0
	if d := Decide(in); d.Begin[1].Throttled || d.SetRates != (Rates{}) {
		t.Errorf("Unlimited is throttled: %+v", d)
	}
}

func TestRates(t *testing.T) {
	running := move(0, ids(1, 2, 3), ids(1, 3, 5))
	ours := func(leader, follower int64) Journal {
		return Journal{Moves: []Move{running}, Rates: Rates{leader, follower}}
	}
	tests := map[string]struct {
		journal Journal
		foreign Rates
		fact    string
		want    Rates
		drop    bool
	}{
		"none yet":                  {journal: ours(0, 0), fact: "1 3 5 2 adding 5 removing 2", want: Rates{1000, 1000}},
		"set already":               {journal: ours(1000, 1000), fact: "1 3 5 2 adding 5 removing 2"},
		"another was declared":      {journal: ours(500, 500), fact: "1 3 5 2 adding 5 removing 2", want: Rates{1000, 1000}},
		"somebody else's":           {journal: ours(0, 0), foreign: Rates{7, 7}, fact: "1 3 5 2 adding 5 removing 2"},
		"half is somebody else's":   {journal: ours(0, 0), foreign: Rates{Leader: 7}, fact: "1 3 5 2 adding 5 removing 2", want: Rates{Follower: 1000}},
		"the last move is over":     {journal: ours(1000, 1000), fact: "1 3 5", drop: true},
		"over, with foreign rates":  {journal: ours(0, 0), foreign: Rates{7, 7}, fact: "1 3 5"},
		"over, with half of theirs": {journal: ours(0, 1000), foreign: Rates{Leader: 7}, fact: "1 3 5", drop: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := scene(tc.fact)
			in.Journal, in.Foreign = tc.journal, tc.foreign
			d := Decide(in)
			if d.SetRates != tc.want || d.DropRates != tc.drop {
				t.Errorf("set %v, drop %v; want %v, %v", d.SetRates, d.DropRates, tc.want, tc.drop)
			}
		})
	}
}

func TestWhatIsOverIsCleanedUp(t *testing.T) {
	in := scene("5 1 3 leader 1", "1 3 5", "5 1 3 isr 1 3 leader 1", "1 2 3", "4 5 6 2 adding 6 removing 2")
	for i, to := range [][]int32{ids(5, 1, 3), ids(1, 3, 5), ids(5, 1, 3), ids(5, 1, 3), ids(4, 5, 1)} {
		in.Journal.Moves = append(in.Journal.Moves, move(int32(i), ids(1, 2, 3), to))
	}
	d := Decide(in)
	var states []State
	for _, e := range d.Clean {
		states = append(states, e.State)
	}
	if diff := cmp.Diff([]State{Done, Done, Done, NotRunning, Overtaken}, states); diff != "" {
		t.Error(diff)
	}
	// not one that leads already, nor one that is not in sync, nor what somebody else moves
	if diff := cmp.Diff([]topic.TopicPartition{{Topic: "orders", Partition: 0}}, d.Elect); diff != "" {
		t.Errorf("elections (-want +got):\n%s", diff)
	}
}

func TestStalls(t *testing.T) {
	m := move(0, ids(1, 2, 3), ids(1, 3, 5))
	m.Began = now.Add(-time.Hour)
	in := scene("1 3 5 2 isr 1 2 3 adding 5 removing 2")
	in.Journal.Moves = []Move{m}
	in.Progress = map[topic.TopicPartition]Progress{m.Key(): {Last: now.Add(-10*time.Minute + time.Second)}}
	if d := Decide(in); len(d.Running) != 1 {
		t.Errorf("a move that made progress lately: %+v", d)
	}
	in.Progress[m.Key()] = Progress{Last: now.Add(-10 * time.Minute)}
	if d := Decide(in); len(d.Stuck) != 1 || len(d.Cancel) != 0 {
		t.Errorf("a slow move is left alone and told: %+v", d)
	}
	in.Brokers = topictest.Cluster("a a b b c! c").Brokers
	want := []Stalled{{Move: m, Since: now.Add(-10 * time.Minute), Fenced: ids(5)}}
	if d := Decide(in); !cmp.Equal(d.Cancel, want) || len(d.Stuck) != 0 {
		t.Errorf("a move to a broker out of service: %+v", d)
	}
	in.Brokers = topictest.Cluster("a a! b b c c").Brokers
	if d := Decide(in); len(d.Cancel) != 0 {
		t.Errorf("that an old replica's broker is out of service does not stop the move: %+v", d)
	}
}

// While a move is to be cancelled or cleaned up after, its partition does not begin another.
func TestOneMoveAtATimeOfAPartition(t *testing.T) {
	for _, fact := range []string{"1 2 3", "1 3 5 2 adding 5 removing 2"} {
		in := scene(fact)
		in.Journal.Moves = []Move{move(0, ids(1, 2, 3), ids(1, 3, 5))}
		in.Candidates = []Candidate{candidate(0, ids(1, 2, 3), ids(1, 3, 6))}
		if d := Decide(in); len(d.Begin) != 0 {
			t.Errorf("%s: begins %+v", fact, d.Begin)
		}
	}
}

func TestBudget(t *testing.T) {
	var partitions []string
	for range 40 {
		partitions = append(partitions, "1 2 3")
	}
	in := scene(partitions...)
	for i := range int32(40) {
		in.Candidates = append(in.Candidates, candidate(i, ids(1, 2, 3), ids(1, 3, 5)))
	}
	// 2*10/6: no broker reads for more than three, whatever the room
	if d := Decide(in); len(d.Begin) != 3 || len(d.Waiting) != 37 {
		t.Errorf("begins %d of one leader, want 3", len(d.Begin))
	}
	for i := range in.Facts["orders"].Topic.Partitions {
		in.Facts["orders"].Topic.Partitions[i].Leader = int32(1 + i%3)
		in.Candidates[i].To = []int32{1, 3, int32(4 + i%3)}
	}
	if d := Decide(in); len(d.Begin) != 9 {
		t.Errorf("begins %d with leaders and targets spread over three brokers each, want 9", len(d.Begin))
	}
	in.Settings.MaxConcurrent = 4
	in.Journal.Moves = []Move{move(39, ids(4, 2, 3), ids(4, 3, 1))}
	in.Facts["orders"].Topic.Partitions[39] = topictest.Partition("4 3 1 2 adding 1 removing 2")
	in.Facts["orders"].Topic.Partitions[39].Index = 39
	if d := Decide(in); len(d.Begin) != 3 {
		t.Errorf("begins %d beside one that runs, want 3", len(d.Begin))
	}
}

// Whatever the journal and the facts: never more moves than allowed, never two of a partition, never one over a foreign
// reassignment or without a leader, and everything of the journal is accounted for once.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shapes := []string{"1 2 3", "1 3 5", "1 3 5 2 adding 5 removing 2", "1 3 5 2 isr 1 adding 5 removing 2",
			"1 2 6 3 adding 6 removing 3", "1 2 3 leader -", "1 2 3 isr 2", "1"}
		n := rapid.IntRange(1, 12).Draw(t, "partitions")
		var partitions []string
		for range n {
			partitions = append(partitions, rapid.SampledFrom(shapes).Draw(t, "shape"))
		}
		in := scene(partitions...)
		in.Settings.MaxConcurrent = rapid.IntRange(1, 6).Draw(t, "most")
		in.Brokers = topictest.Cluster(rapid.SampledFrom([]string{"a a b b c c", "a a b b c! c", "a a b b x c", "a! a! b b c c"}).Draw(t, "brokers")).Brokers
		for i := range int32(n) {
			if rapid.Bool().Draw(t, "journalled") {
				m := move(i, ids(1, 2, 3), ids(1, 3, 5))
				m.Began = now.Add(-time.Duration(rapid.IntRange(0, 1200).Draw(t, "age")) * time.Second)
				in.Journal.Moves = append(in.Journal.Moves, m)
			}
			if rapid.Bool().Draw(t, "wanted") {
				in.Candidates = append(in.Candidates, candidate(i, in.Facts["orders"].Topic.Partitions[i].Replicas, ids(1, 3, 5)))
			}
		}
		d := Decide(in)
		seen := map[topic.TopicPartition]int{}
		for _, m := range slices.Concat(d.Running, d.Begin) {
			seen[m.Key()]++
		}
		for _, s := range slices.Concat(d.Cancel, d.Stuck) {
			seen[s.Move.Key()]++
		}
		under := len(seen) - len(d.Begin)
		if len(d.Begin) > max(0, in.Settings.MaxConcurrent-under) {
			t.Fatalf("begins %d beside %d, at most %d", len(d.Begin), under, in.Settings.MaxConcurrent)
		}
		for _, e := range d.Clean {
			seen[e.Move.Key()]++
		}
		for k, times := range seen {
			if times > 1 {
				t.Fatalf("partition %d counts %d times", k.Partition, times)
			}
		}
		for _, m := range in.Journal.Moves {
			if seen[m.Key()] == 0 {
				t.Fatalf("the move of partition %d is forgotten", m.Partition)
			}
		}
		for _, m := range d.Begin {
			p := in.Facts["orders"].Topic.Partitions[m.Partition]
			if p.Reassigning() || p.Leader == topic.NoLeader {
				t.Fatalf("partition %d begins to move: %+v", m.Partition, p)
			}
		}
		if len(d.Begin)+len(d.Waiting) != len(in.Candidates) {
			t.Fatalf("%d candidates, %d begin and %d wait", len(in.Candidates), len(d.Begin), len(d.Waiting))
		}
	})
}
