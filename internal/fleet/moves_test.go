package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/core/moves"
	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/kafka"
	"durabletopic.io/operator/internal/kafka/kafkatest"
	"durabletopic.io/operator/internal/mover"
)

// journals are journals as an API server keeps them, by the ID of the Kafka cluster.
type journals struct {
	mu      sync.Mutex
	stored  []byte
	version int
	saves   int
	onSave  func() // before a journal is written; nil: nothing
}

type openJournal struct {
	all     *journals
	version int
}

func (j *journals) open(context.Context, string) (mover.Journal, moves.Journal, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return &openJournal{j, j.version}, j.content(), nil
}

// content is what is written. The caller holds j.mu.
func (j *journals) content() (content moves.Journal) {
	if len(j.stored) > 0 {
		if err := json.Unmarshal(j.stored, &content); err != nil {
			panic(err)
		}
	}
	return content
}

func (j *journals) now() moves.Journal {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.content()
}

func (o *openJournal) Save(ctx context.Context, content moves.Journal) error {
	if o.all.onSave != nil {
		o.all.onSave()
	}
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case o.version != o.all.version:
		return errors.New("conflict")
	}
	data, err := json.Marshal(content)
	o.all.stored, o.all.version = data, o.all.version+1
	o.all.saves++
	o.version = o.all.version
	return err
}

// world is one Kafka that outlives operators, and the journal that they leave each other.
type movingWorld struct {
	t        *testing.T
	kafka    *kafkatest.Cluster
	journals *journals
	settings mover.Settings
	wishes   map[string]moves.Wish
	ends     chan struct{} // of the ticks

	mu     sync.Mutex
	writes int // requests that change something, and journals
	killAt int // with which of them the operator ends; 0: never
	kill   context.CancelFunc
	most   int // partitions that moved at once
}

func inMovingWorld(t *testing.T, o kafkatest.Options, test func(w *movingWorld)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if o.MoveTicks == 0 {
			o.MoveTicks = 3
		}
		w := &movingWorld{
			t: t, kafka: kafkatest.New(o), journals: &journals{}, wishes: map[string]moves.Wish{},
			settings: mover.Settings{Settings: moves.Settings{MaxConcurrent: 4, BytesPerSecond: 1 << 20, StallTimeout: time.Minute}},
			ends:     make(chan struct{}),
		}
		w.journals.onSave = w.write
		var ticks sync.WaitGroup
		ticks.Go(w.tick)
		defer ticks.Wait()
		defer close(w.ends)
		test(w)
	})
}

// tick lets a second of Kafka pass each second and watches how much moves.
func (w *movingWorld) tick() {
	for {
		select {
		case <-w.ends:
			return
		case <-time.After(time.Second):
		}
		w.kafka.Tick()
		moving := 0
		for _, name := range w.kafka.TopicNames() {
			got, _ := w.kafka.Topic(name)
			for _, p := range got.Partitions {
				if p.Reassigning() {
					moving++
				}
			}
		}
		w.mu.Lock()
		w.most = max(w.most, moving)
		w.mu.Unlock()
	}
}

// write counts a write and ends the operator with one of them.
func (w *movingWorld) write() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes++
	if w.writes == w.killAt {
		w.kill()
	}
}

// killingWire ends the operator with one of its writes, which Kafka may or may not have taken.
type killingWire struct {
	kafka.Wire
	w *movingWorld
}

func (k killingWire) Request(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	switch req.(type) {
	case *kmsg.AlterPartitionAssignmentsRequest, *kmsg.IncrementalAlterConfigsRequest, *kmsg.ElectLeadersRequest:
		k.w.write()
	}
	if r, ok := req.(*kmsg.ApiVersionsRequest); ok {
		r.ClientSoftwareName, r.ClientSoftwareVersion = "durabletopic", "test"
	}
	return k.Wire.Request(ctx, broker, req)
}

// operate runs an operator until done, or until it is killed; it tells whether it was.
func (w *movingWorld) operate(done func() bool) (killed bool) {
	ctx, cancel := context.WithCancel(w.t.Context())
	w.mu.Lock()
	w.kill, w.writes = cancel, 0
	w.mu.Unlock()
	f := New(Options{
		Dial:    func(kafka.Config) (kafka.Wire, error) { return killingWire{w.kafka.Wire(), w}, nil },
		Journal: w.journals.open,
	})
	s := settings("k", w.kafka.ClusterID())
	s.Moves = w.settings
	c := f.Ensure("k", s)
	for name, wish := range w.wishes {
		c.Declare("ns/"+name, topic.Ask{Name: name, Keys: []string{topic.MinInSyncReplicas, topic.UncleanLeaderElection}}, true)
		c.Wish("ns/"+name, name, &wish)
	}
	ended := make(chan error)
	go func() { ended <- f.Start(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("fleet ended with %v", err)
		}
	}()
	for range 1200 {
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		if ctx.Err() != nil {
			return true
		}
		if done() {
			return false
		}
	}
	w.t.Fatalf("not done within ten minutes; journal %+v", w.journals.now())
	return false
}

// byHand makes a topic as somebody else has made it, and wishes it to be critical.
func (w *movingWorld) byHand(name string, replicas [][]int32, configs map[string]string) {
	w.kafka.CreateTopicByHand(name, replicas, configs)
	w.wishes[name] = moves.Wish{Rule: rule, Critical: true}
}

// quiet tells that every topic is as wished, nothing moves, and the journal is empty.
func (w *movingWorld) quiet() bool {
	for name, wish := range w.wishes {
		got, _ := w.kafka.Topic(name)
		if len(placement.Judge(w.kafka.Brokers(), placement.Targets(&got), wish.Rule)) > 0 {
			return false
		}
		for _, p := range got.Partitions {
			if p.Reassigning() {
				return false
			}
		}
	}
	return w.journals.now().Empty()
}

// clean checks that nothing of the operator's is left in Kafka.
func (w *movingWorld) clean() {
	w.t.Helper()
	for _, name := range w.kafka.TopicNames() {
		got, _ := w.kafka.Topic(name)
		for _, key := range []string{topic.LeaderThrottledReplicas, topic.FollowerThrottledReplicas} {
			if v, ok := got.Configs[key]; ok {
				w.t.Errorf("%s of %s is left: %q", key, name, v.Value)
			}
		}
	}
	for _, key := range []string{topic.LeaderThrottledRate, topic.FollowerThrottledRate} {
		if v, ok := w.kafka.ClusterConfigs()[key]; ok {
			w.t.Errorf("%s is left: %q", key, v)
		}
	}
}

var heldDown = map[string]string{topic.MinInSyncReplicas: "1"}

// shapes are topics in need of moves, with the fewest new replicas that make them right.
func (w *movingWorld) shapes() (fewest int) {
	w.byHand("one-rack", [][]int32{{1, 2, 7}, {2, 7, 1}}, nil)
	w.byHand("single", [][]int32{{1}, {3}, {5}}, heldDown)
	w.byHand("pairs", [][]int32{{1, 3}, {3, 1}}, heldDown)
	w.byHand("mixed", [][]int32{{1, 3, 5}, {1}, {1, 2, 3, 5}}, heldDown)
	w.byHand("right", [][]int32{{1, 3, 5}, {4, 6, 2}}, nil)
	return 2*2 + 3*2 + 2*1 + 2
}

func nineBrokers() kafkatest.Options {
	return kafkatest.Options{Racks: []string{"a", "a", "b", "b", "c", "c", "a"}}
}

// added counts replicas that are on other brokers than before.
func added(before, after topic.Topic) int {
	n := 0
	for i, p := range after.Partitions {
		for _, id := range p.Replicas {
			if !slices.Contains(before.Partitions[i].Replicas, id) {
				n++
			}
		}
	}
	return n
}

// Topics in every wrong state become right with the fewest new replicas, within the budget, and leave nothing behind.
func TestMovesMakeTopicsRight(t *testing.T) {
	inMovingWorld(t, nineBrokers(), func(w *movingWorld) {
		fewest := w.shapes()
		before := map[string]topic.Topic{}
		for name := range w.wishes {
			before[name], _ = w.kafka.Topic(name)
		}
		w.operate(w.quiet)
		n := 0
		for name := range w.wishes {
			after, _ := w.kafka.Topic(name)
			n += added(before[name], after)
		}
		if n != fewest {
			t.Errorf("%d replicas were made anew, want %d", n, fewest)
		}
		if w.most > w.settings.MaxConcurrent || w.most < 2 {
			t.Errorf("%d partitions moved at once, want up to %d", w.most, w.settings.MaxConcurrent)
		}
		for name := range w.wishes {
			after, _ := w.kafka.Topic(name)
			for _, p := range after.Partitions {
				if name != "right" && p.Leader != p.Replicas[0] {
					t.Errorf("%s/%d is led by %d, preferred is %d", name, p.Index, p.Leader, p.Replicas[0])
				}
			}
		}
		w.clean()
	})
}

// Whenever the operator is killed, its successor ends what was begun and cleans up.
func TestMovesSurviveDeathAtAnyWrite(t *testing.T) {
	for at := 1; ; at++ {
		killed := false
		t.Run(fmt.Sprintf("with write %d", at), func(t *testing.T) {
			inMovingWorld(t, nineBrokers(), func(w *movingWorld) {
				w.shapes()
				w.killAt = at
				if killed = w.operate(w.quiet); killed {
					w.killAt = 0
					w.operate(w.quiet)
				}
				w.clean()
			})
		})
		if !killed {
			if at < 10 {
				t.Errorf("only %d writes in all", at)
			}
			return
		}
	}
}

// What others have set stays as it is, byte for byte: throttles, rates, and reassignments.
func TestMovesRespectOthers(t *testing.T) {
	o := nineBrokers()
	o.MoveTicks = 20
	inMovingWorld(t, o, func(w *movingWorld) {
		theirs := map[string]string{
			topic.LeaderThrottledReplicas: "7:1,0:1,0:2", topic.FollowerThrottledReplicas: "*", topic.MinInSyncReplicas: "2",
		}
		w.byHand("orders", [][]int32{{1, 2, 7}, {2, 7, 1}}, theirs)
		w.kafka.SetClusterConfig(topic.LeaderThrottledRate, "777")
		w.kafka.MoveByHand("orders", 1, []int32{2, 7, 4})
		w.operate(func() bool { return w.quiet() })
		got, _ := w.kafka.Topic("orders")
		for key, want := range theirs {
			if v := got.Configs[key].Value; v != want {
				t.Errorf("%s is %q, was %q", key, v, want)
			}
		}
		if v := w.kafka.ClusterConfigs()[topic.LeaderThrottledRate]; v != "777" {
			t.Errorf("somebody else's rate is %q", v)
		}
		if v, ok := w.kafka.ClusterConfigs()[topic.FollowerThrottledRate]; ok {
			t.Errorf("the other rate is left: %q", v)
		}
		// theirs ended where they wanted, and only then was it set right
		if !slices.Contains(got.Partitions[1].Replicas, 4) {
			t.Errorf("somebody else's reassignment was overtaken: %v", got.Partitions[1].Replicas)
		}
	})
}

// A move to a broker that goes out of service is given up after the stall timeout and goes elsewhere; the old replicas stay
// in sync all the while.
func TestMovesToAFencedBrokerGoElsewhere(t *testing.T) {
	o := kafkatest.Options{Racks: []string{"a", "b", "c", "c", "b"}, MoveTicks: 5}
	inMovingWorld(t, o, func(w *movingWorld) {
		w.byHand("orders", [][]int32{{1, 2, 5}}, nil)
		var target int32
		w.operate(func() bool {
			got, _ := w.kafka.Topic("orders")
			if p := got.Partitions[0]; target == 0 && p.Reassigning() {
				target = p.Adding[0]
				w.kafka.Fence(target)
			}
			for _, id := range []int32{1, 2, 5} {
				if p := got.Partitions[0]; target != 0 && p.Reassigning() && !slices.Contains(p.ISR, id) {
					t.Errorf("broker %d fell out of sync", id)
				}
			}
			return target != 0 && w.quiet()
		})
		got, _ := w.kafka.Topic("orders")
		if slices.Contains(got.Partitions[0].Replicas, target) {
			t.Errorf("the replicas are %v, broker %d is out of service", got.Partitions[0].Replicas, target)
		}
		w.clean()
	})
}

// Without a wish nothing begins; what has begun is brought to an end and cleaned up after.
func TestMovesEndWhenTheirTopicIsNoLongerDeclared(t *testing.T) {
	inMovingWorld(t, nineBrokers(), func(w *movingWorld) {
		w.byHand("orders", [][]int32{{1, 2, 7}}, nil)
		w.operate(func() bool { return !w.journals.now().Empty() })
		w.wishes = map[string]moves.Wish{}
		w.operate(func() bool { return w.journals.now().Empty() })
		w.clean()
	})
}

// A topic that is deleted while it moves leaves nothing to clean up, and holds up nothing.
func TestMovesOfATopicThatIsDeleted(t *testing.T) {
	inMovingWorld(t, nineBrokers(), func(w *movingWorld) {
		w.byHand("orders", [][]int32{{1, 2, 7}}, nil)
		w.byHand("payments", [][]int32{{1, 2, 7}}, nil)
		w.operate(func() bool {
			got, ok := w.kafka.Topic("orders")
			if ok && got.Partitions[0].Reassigning() {
				w.kafka.DeleteTopicByHand("orders")
				delete(w.wishes, "orders")
			}
			return !ok && w.quiet()
		})
		w.clean()
	})
}

// The replicas of a broker that stays out of service are made anew elsewhere only if that is wished, and only after its time.
func TestMovesAwayFromAFencedBroker(t *testing.T) {
	for name, after := range map[string]time.Duration{"never": 0, "after two minutes": 2 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			inMovingWorld(t, nineBrokers(), func(w *movingWorld) {
				w.settings.ReplaceFencedAfter = after
				w.byHand("orders", [][]int32{{1, 3, 5}}, nil)
				began, gone := time.Now(), time.Duration(0)
				fenced := false
				w.operate(func() bool {
					if since := time.Since(began); since > 10*time.Second && !fenced {
						fenced, began = true, time.Now()
						w.kafka.Fence(5)
					}
					got, _ := w.kafka.Topic("orders")
					if gone == 0 && !slices.Contains(got.Partitions[0].Target(), 5) {
						gone = time.Since(began)
					}
					return fenced && (time.Since(began) > 8*time.Minute || gone > 0 && w.quiet())
				})
				got, _ := w.kafka.Topic("orders")
				switch {
				case after == 0 && gone > 0:
					t.Errorf("moved after %s: %v", gone, got.Partitions[0].Replicas)
				case after > 0 && (gone < after || gone > after+30*time.Second):
					t.Errorf("moved after %s, want %s", gone, after)
				case after > 0 && !slices.Equal(got.Partitions[0].Replicas, []int32{1, 3, 6}):
					t.Errorf("moved to %v, want broker 6 of the same rack", got.Partitions[0].Replicas)
				}
				w.clean()
			})
		})
	}
}

// A broker that comes back in another rack moves nothing for five minutes: it may go home again.
func TestMovesWaitForRacksToSettle(t *testing.T) {
	inMovingWorld(t, nineBrokers(), func(w *movingWorld) {
		w.byHand("orders", [][]int32{{1, 3, 5}}, nil)
		began := time.Now()
		stage := 0
		var left time.Duration
		w.operate(func() bool {
			since := time.Since(began)
			got, _ := w.kafka.Topic("orders")
			switch {
			case stage == 0 && since > 10*time.Second: // goes, and comes back
				w.kafka.SetRack(5, "b")
				stage = 1
			case stage == 1 && since > 3*time.Minute:
				w.kafka.SetRack(5, "c")
				stage = 2
			case stage == 2 && since > 4*time.Minute: // goes for good
				w.kafka.SetRack(5, "b")
				stage, began = 3, time.Now()
			}
			if stage < 3 && !slices.Equal(got.Partitions[0].Replicas, []int32{1, 3, 5}) {
				t.Fatalf("moved in stage %d: %v", stage, got.Partitions[0].Replicas)
			}
			if stage == 3 && left == 0 && got.Partitions[0].Reassigning() {
				left = time.Since(began)
			}
			return stage == 3 && left > 0 && w.quiet()
		})
		if left < 5*time.Minute || left > 6*time.Minute+10*time.Second {
			t.Errorf("moved after %s, want a little more than five minutes", left)
		}
		w.clean()
	})
}

// When the preferred leader is a new replica, it is elected once it is in sync, and no other partition is touched.
func TestMovesElectThePreferredLeader(t *testing.T) {
	inMovingWorld(t, kafkatest.Options{Racks: []string{"a", "b", "c", "a", "a"}}, func(w *movingWorld) {
		w.byHand("orders", slices.Repeat([][]int32{{5, 2, 3}}, 8), nil)
		w.kafka.Unregister(5)
		w.operate(w.quiet)
		got, _ := w.kafka.Topic("orders")
		preferred := map[int32]int{}
		for _, p := range got.Partitions {
			preferred[p.Replicas[0]]++
			if p.Leader != p.Replicas[0] {
				t.Errorf("partition %d is led by %d, preferred is %d", p.Index, p.Leader, p.Replicas[0])
			}
		}
		if len(preferred) < 4 {
			t.Errorf("preferred leaders %v, want them over all brokers", preferred)
		}
	})
}
