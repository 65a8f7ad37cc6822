package fleet

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/plan"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
	"durabletopic.io/operator/internal/kafka"
	"durabletopic.io/operator/internal/kafka/kafkatest"
)

var (
	rule  = placement.Rule{ReplicationFactor: 3, MinInSyncReplicas: 2}
	locks = map[string]string{topic.MinInSyncReplicas: "2", topic.UncleanLeaderElection: "false"}
)

// bed is a fleet over clusters in memory, in a bubble of false time. The bootstrap server "x:9092" leads to kafkas["x"].
type bed struct {
	t      *testing.T
	fleet  *Fleet
	kafkas map[string]*kafkatest.Cluster

	mu      sync.Mutex
	batches []string
	free    []string
	news    []string
	closed  int
}

// inBubble runs a test with a fleet that has started, and checks that everything ends with it.
func inBubble(t *testing.T, o Options, test func(t *testing.T, b *bed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bed{t: t, kafkas: map[string]*kafkatest.Cluster{}}
		o.Dial = b.dial
		o.Recorder = b
		o.OnFree = func(_, key string) { b.note(&b.free, key) }
		o.OnCluster = func(name string) { b.note(&b.news, name) }
		b.fleet = New(o)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- b.fleet.Start(ctx) }()
		synctest.Wait()
		defer func() {
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("fleet ended with %v", err)
			}
		}()
		test(t, b)
	})
}

// wire counts how often it is closed.
type wire struct {
	*kafkatest.Wire
	b *bed
}

// Request names the client as the brokers demand it.
func (w wire) Request(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	if r, ok := req.(*kmsg.ApiVersionsRequest); ok {
		r.ClientSoftwareName, r.ClientSoftwareVersion = "durabletopic", "test"
	}
	return w.Wire.Request(ctx, broker, req)
}

func (w wire) Close() {
	w.Wire.Close()
	w.b.mu.Lock()
	defer w.b.mu.Unlock()
	w.b.closed++
}

func (b *bed) dial(c kafka.Config) (kafka.Wire, error) {
	var name string
	if _, err := fmt.Sscanf(c.BootstrapServers[0], "%1s:9092", &name); err != nil {
		return nil, fault.New(fault.Invalid, "NameResolutionFailed", "malformed")
	}
	return wire{b.kafkas[name].Wire(), b}, nil
}

func (b *bed) note(list *[]string, what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*list = append(*list, what)
}

// taken gives a list and empties it.
func (b *bed) taken(list *[]string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	got := *list
	*list = nil
	return got
}

func (b *bed) Request(string, string, string, time.Duration) {}
func (b *bed) Sweep(string, time.Duration, int, error)       {}
func (b *bed) Batch(_, kind string, n int)                   { b.note(&b.batches, fmt.Sprintf("%s %d", kind, n)) }

// connect adds a cluster that is bound and in touch.
func (b *bed) connect(name string, o kafkatest.Options) (*kafkatest.Cluster, *Cluster) {
	b.t.Helper()
	k := kafkatest.New(o)
	b.kafkas[name] = k
	c := b.fleet.Ensure(name, settings(name, k.ClusterID()))
	b.inTouch(c)
	k.Reset()
	return k, c
}

func settings(name, clusterID string) Settings {
	return Settings{BootstrapServers: []string{name + ":9092"}, Interval: 10 * time.Second, ClusterID: clusterID}
}

func (b *bed) inTouch(c *Cluster) {
	b.t.Helper()
	b.until("contact", func() bool { _, contact := c.Facts(); return contact.InTouch })
}

// until lets false time pass until something is true, for at most five minutes.
func (b *bed) until(what string, is func() bool) {
	b.t.Helper()
	for range 3000 {
		synctest.Wait()
		if is() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	b.t.Fatalf("no %s within five minutes", what)
}

// declare has topics observed, as the controller does before it executes anything.
func declare(c *Cluster, names ...string) {
	for _, name := range names {
		c.Declare("ns/"+name, topic.Ask{Name: name, Keys: []string{topic.MinInSyncReplicas, topic.UncleanLeaderElection}}, false)
	}
}

func create(name string) plan.CreateTopic {
	return plan.CreateTopic{Name: name, Partitions: 3, Rule: rule, Locks: locks}
}

func alter(name, key, value string) plan.AlterConfigs {
	return plan.AlterConfigs{Name: name, Changes: []plan.ConfigChange{{Key: key, To: &value}}}
}

// execute carries out steps at the same time and gives the fault of each.
func execute(t *testing.T, c *Cluster, steps ...plan.Step) []error {
	errs := make([]error, len(steps))
	var all sync.WaitGroup
	for i, s := range steps {
		all.Go(func() { errs[i] = c.Execute(t.Context(), s) })
		synctest.Wait() // in this order
	}
	all.Wait()
	return errs
}

// reason gives the reason of a fault; empty for none.
func reason(err error) string {
	if err == nil {
		return ""
	}
	return fault.As(err).Reason
}

func names(prefix string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%s%03d", prefix, i)
	}
	return list
}
