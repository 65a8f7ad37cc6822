package observer_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/observer"
)

// call is one read that a broker was asked for.
type call struct {
	kind   string
	broker int32
	names  []string
	at     time.Time
}

// script is a scripted cluster: each broker shows its own image of the topics, and may fail or hang.
type script struct {
	mu             sync.Mutex
	id             string
	ids            map[int32]string // of brokers that belong elsewhere
	brokers        []topic.Broker
	seenBy         map[int32][]topic.Broker // brokers as one of them sees them
	images         map[int32]map[string]topic.Read
	names          map[string]topic.ID
	missing        []string
	hang           map[int32]bool
	fail           map[int32]error
	took           time.Duration // of each read of topics
	clusterTook    time.Duration
	onTopics       func(broker int32, asks []topic.Ask) error // before an answer
	calls          []call
	bootstrapFails int   // how many reads fail before one of the bootstrap servers answers
	defaults       int32 // num.partitions
	onListing      func(broker int32) error
	leftOut        map[string]bool // from answers
}

func newScript(brokers int32) *script {
	k := &script{
		id: "cluster-1", ids: map[int32]string{}, seenBy: map[int32][]topic.Broker{}, images: map[int32]map[string]topic.Read{},
		hang: map[int32]bool{}, fail: map[int32]error{}, names: map[string]topic.ID{},
	}
	for b := int32(1); b <= brokers; b++ {
		k.brokers = append(k.brokers, topic.Broker{ID: b, Rack: string('a' + (b-1)%3)})
		k.images[b] = map[string]topic.Read{}
	}
	return k
}

var errDown = errors.New("connection refused")

// do changes the script.
func (k *script) do(change func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	change()
}

// set has brokers, all if none is named, answer with r for a topic.
func (k *script) set(name string, r topic.Read, brokers ...int32) {
	k.do(func() {
		if len(brokers) == 0 {
			brokers = slices.Collect(maps.Keys(k.images))
		}
		for _, b := range brokers {
			k.images[b][name] = r
		}
	})
}

func (k *script) fence(id int32, fenced bool) {
	k.do(func() {
		k.brokers = slices.Clone(k.brokers)
		for i := range k.brokers {
			if k.brokers[i].ID == id {
				k.brokers[i].Fenced = fenced
			}
		}
	})
}

// trouble hangs or fails a call as scripted.
func (k *script) trouble(ctx context.Context, kind string, broker int32, names []string) error {
	k.mu.Lock()
	k.calls = append(k.calls, call{kind, broker, names, time.Now()})
	hang, err := k.hang[broker], k.fail[broker]
	if broker == observer.AnyBroker {
		hang, err = k.hang[1], k.fail[1]
		if k.bootstrapFails > 0 {
			k.bootstrapFails--
			err = errDown
		}
	}
	k.mu.Unlock()
	if hang {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

func (k *script) Cluster(ctx context.Context, broker int32) (*topic.Cluster, error) {
	if err := k.trouble(ctx, "cluster", broker, nil); err != nil {
		return nil, err
	}
	if k.clusterTook > 0 {
		time.Sleep(k.clusterTook)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	c := &topic.Cluster{ID: k.id, Brokers: slices.Clone(k.brokers), Missing: k.missing, DefaultPartitions: k.defaults, Features: map[string]int16{}}
	if id, ok := k.ids[broker]; ok {
		c.ID = id
	}
	if seen, ok := k.seenBy[broker]; ok {
		c.Brokers = seen
	}
	return c, nil
}

func (k *script) Topics(ctx context.Context, broker int32, asks []topic.Ask) (map[string]topic.Read, error) {
	var names []string
	for _, a := range asks {
		names = append(names, a.Name)
	}
	if err := k.trouble(ctx, "topics", broker, names); err != nil {
		return nil, err
	}
	k.mu.Lock()
	took, hook := k.took, k.onTopics
	k.mu.Unlock()
	if hook != nil {
		if err := hook(broker, asks); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	reads := k.read(broker, asks)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(took):
		return reads, nil
	}
}

func (k *script) read(broker int32, asks []topic.Ask) map[string]topic.Read {
	k.mu.Lock()
	defer k.mu.Unlock()
	reads := map[string]topic.Read{}
	for _, a := range asks {
		r, ok := k.images[broker][a.Name]
		if !ok {
			r.Unknown = true
		}
		if r.Topic != nil {
			t := *r.Topic
			t.Configs = map[string]topic.Config{}
			for _, key := range a.Keys {
				if c, ok := r.Topic.Configs[key]; ok {
					t.Configs[key] = c
				}
			}
			t.Partitions = slices.Clone(t.Partitions)
			r.Topic = &t
		}
		if !k.leftOut[a.Name] {
			reads[a.Name] = r
		}
	}
	return reads
}

func (k *script) Listing(ctx context.Context, broker int32) (*topic.Listing, error) {
	if err := k.trouble(ctx, "listing", broker, nil); err != nil {
		return nil, err
	}
	k.mu.Lock()
	hook := k.onListing
	k.mu.Unlock()
	if hook != nil {
		if err := hook(broker); err != nil {
			return nil, err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return &topic.Listing{Names: maps.Clone(k.names)}, nil
}

// since gives the calls of a kind from a time on; "" is any kind.
func (k *script) since(at time.Time, kind string) []call {
	k.mu.Lock()
	defer k.mu.Unlock()
	var found []call
	for _, c := range k.calls {
		if !c.at.Before(at) && (kind == "" || c.kind == kind) {
			found = append(found, c)
		}
	}
	return found
}

func (k *script) clearCalls() { k.do(func() { k.calls = nil }) }

// note is one notification.
type note struct {
	name    string
	urgency observer.Urgency
	at      time.Time
}

// world is an observer at work on a scripted cluster, in a bubble of fake time.
type world struct {
	*observer.Observer
	t       *testing.T
	kafka   *script
	mu      sync.Mutex
	names   []string
	notes   []note
	cluster int
	sweeps  []error
	left    []int32 // brokers that were left
}

const interval = 10 * time.Second

// within runs body with an observer bound to the cluster and running.
func within(t *testing.T, k *script, body func(t *testing.T, w *world)) {
	t.Helper()
	withinOptions(t, k, observer.Options{Interval: interval, ClusterID: "cluster-1"}, body)
}

func withinOptions(t *testing.T, k *script, opts observer.Options, body func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, kafka: k}
		opts.Changed = w.changed
		opts.ClusterChanged = func() { w.locked(func() { w.cluster++ }) }
		opts.OnSweep = func(_ time.Duration, _ int, err error) { w.locked(func() { w.sweeps = append(w.sweeps, err) }) }
		opts.OnFailover = func(b int32, _ error) { w.locked(func() { w.left = append(w.left, b) }) }
		w.Observer = observer.New(k, opts)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		body(t, w)
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run ended with %v, want the error of its context", err)
		}
	})
}

func (w *world) locked(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do()
}

func (w *world) changed(names []string, u observer.Urgency) {
	w.locked(func() {
		for _, n := range names {
			w.notes = append(w.notes, note{n, u, time.Now()})
		}
	})
}

// settle lets everything happen that happens now.
func (w *world) settle() { synctest.Wait() }

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// told takes the notifications since the last call, as "urgent name" and "calm name".
func (w *world) told() []string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	var told []string
	for _, n := range w.notes {
		word := "calm "
		if n.urgency == observer.Urgent {
			word = "urgent "
		}
		told = append(told, word+n.name)
	}
	w.notes = nil
	slices.Sort(told)
	return told
}

// toldCluster takes how often a change of the cluster was told since the last call.
func (w *world) toldCluster() int {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.cluster
	w.cluster = 0
	return n
}

func (w *world) wantPresence(name string, want topic.Presence) {
	w.t.Helper()
	synctest.Wait()
	if got := w.View(name).Presence; got != want {
		w.t.Fatalf("presence of %q is %d, want %d", name, got, want)
	}
}

func (w *world) wantConfig(name, key, want string) {
	w.t.Helper()
	synctest.Wait()
	v := w.View(name)
	if v.Topic == nil {
		w.t.Fatalf("topic %q was never seen", name)
	}
	if got := v.Topic.Configs[key].Value; got != want {
		w.t.Fatalf("%s of %q is %q, want %q", key, name, got, want)
	}
}

// shape changes a topic that orders builds.
type shape func(*topic.Topic)

// orders is a healthy topic of two partitions.
func orders(shapes ...shape) topic.Read { return named("orders", shapes...) }

func named(name string, shapes ...shape) topic.Read {
	t := &topic.Topic{Name: name, ID: topic.ID{1}, Configs: map[string]topic.Config{
		minISR: {Value: "2", Type: topic.TypeInt, OnTopic: true},
	}}
	for i := range int32(2) {
		t.Partitions = append(t.Partitions, topic.Partition{
			Index: i, Leader: 1, LeaderEpoch: 5, Replicas: []int32{1, 2, 3}, ISR: []int32{1, 2, 3},
		})
	}
	for _, s := range shapes {
		s(t)
	}
	return topic.Read{Topic: t}
}

const minISR = topic.MinInSyncReplicas

var keys = []string{minISR}

func withID(id byte) shape { return func(t *topic.Topic) { t.ID = topic.ID{id} } }

func withMin(v string) shape {
	return func(t *topic.Topic) { t.Configs[minISR] = topic.Config{Value: v, Type: topic.TypeInt, OnTopic: true} }
}

func withoutMin() shape {
	return func(t *topic.Topic) { t.Configs[minISR] = topic.Config{Value: "1", Type: topic.TypeInt} }
}

func withISR(isr ...int32) shape { return func(t *topic.Topic) { t.Partitions[0].ISR = isr } }

func withEpoch(e int32) shape { return func(t *topic.Topic) { t.Partitions[0].LeaderEpoch = e } }

func withPartitions(n int32) shape {
	return func(t *topic.Topic) {
		p := t.Partitions[0]
		t.Partitions = nil
		for i := range n {
			p.Index = i
			t.Partitions = append(t.Partitions, p)
		}
	}
}

var unknown = topic.Read{Unknown: true}

// many declares and creates n topics.
func (w *world) many(n int) (names []string) {
	for i := range n {
		name := "topic-" + strconv.Itoa(1000+i)
		names = append(names, name)
		w.kafka.set(name, named(name))
		w.Declare(name, keys, false)
	}
	return names
}
