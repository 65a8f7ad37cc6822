// Package durabletopic reconciles DurableTopics: it gathers what is known, lets the pure core decide, has the steps
// executed and reports the verdict with one status write. It decides nothing about topics and never speaks Kafka.
package durabletopic

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/moves"
	"durabletopic.io/operator/internal/core/plan"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/core/verdict"
	"durabletopic.io/operator/internal/statuswriter"
	"durabletopic.io/operator/internal/wakeup"
)

// +kubebuilder:rbac:groups=durabletopic.io,resources=durabletopics,verbs=get;list;watch
// +kubebuilder:rbac:groups=durabletopic.io,resources=durabletopics/status,verbs=patch
// +kubebuilder:rbac:groups=durabletopic.io,resources=kafkaclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Facts are what is known of one Kafka cluster. No method blocks.
type Facts interface {
	View(topicName string) topic.View
	// Declare asks for facts about a topic on behalf of a claimant. With known the topic was seen before.
	Declare(claimant string, ask topic.Ask, known bool)
	Forget(claimant string)
}

// Hands change one Kafka cluster.
type Hands interface {
	// Enter takes one of the places for reconciles that may wait for the cluster. If none is free, key comes back
	// through Controller.Enqueue when one is.
	Enter(key string) bool
	Leave(key string)
	// Execute does one step together with those of other topics and returns when it was answered and the topic was
	// read again. Its errors are *fault.Fault.
	Execute(ctx context.Context, step plan.Step) error
}

// Contact sees to it that facts come.
type Contact interface {
	// NotifyOnContact enqueues the objects of a topic as soon as the cluster is in touch.
	NotifyOnContact(topicName string)
	// Refresh reads a topic again and returns when that is done.
	Refresh(ctx context.Context, topicName string) error
}

// Mover moves replicas.
type Mover interface {
	// Wish says where an object wants the replicas of its topic; nil: it wants none moved.
	Wish(claimant, topicName string, w *moves.Wish)
	// MoveWords says what keeps the moves of a topic; empty: nothing.
	MoveWords(topicName string) string
	// PreviewMoves says in words where the replicas would be moved.
	PreviewMoves(ctx context.Context, topicName string, w moves.Wish) []string
}

// Work is what changes one Kafka cluster, on its own behalf or in its own time.
type Work interface {
	Hands
	Mover
}

// Kafka is one connected Kafka cluster.
type Kafka interface {
	Facts
	Contact
	Work
}

// Inventory is told how objects stand.
type Inventory interface {
	TopicJudged(object, cluster string, t *v1alpha1.DurableTopic)
	TopicForgotten(object string)
}

// Metrics are told what happens to topics.
type Metrics interface {
	Inventory
	Drift(cluster, kind string, corrected bool)
	// TopicRecreated: a topic had vanished, with its records, and was created again.
	TopicRecreated(cluster string)
}

// Options of a Controller.
type Options struct {
	Client   client.Client
	Recorder events.EventRecorder
	// Cluster finds the connection that belongs to a KafkaCluster by name.
	Cluster func(name string) (Kafka, bool)
	Metrics Metrics
	// Workers is how many reconciles may run at a time; most of them wait for Kafka.
	Workers int
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// Controller reconciles DurableTopics.
type Controller struct {
	Options
	status   *statuswriter.Writer[*v1alpha1.DurableTopic]
	memories *memories
	queue    wakeup.Queue
}

// New makes a controller.
func New(o Options) *Controller {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Controller{
		Options: o, status: statuswriter.New[*v1alpha1.DurableTopic](o.Client), memories: newMemories(),
	}
}

// Reconcile brings one topic closer to its declaration and says how it stands.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (ctrl.Result, error) {
	cached := &v1alpha1.DurableTopic{}
	if err := c.Client.Get(ctx, req.NamespacedName, cached); err != nil {
		if apierrors.IsNotFound(err) {
			c.forget(req)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !cached.DeletionTimestamp.IsZero() {
		c.forget(req)
		return ctrl.Result{}, nil
	}
	before := c.status.Base(cached)
	p, err := c.gather(ctx, before)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !p.acted(ctx) {
		return ctrl.Result{}, nil
	}
	return c.report(ctx, before, p)
}

// forget drops everything that is kept of an object that is gone. Its topic stays as it is.
func (c *Controller) forget(req reconcile.Request) {
	key := req.String()
	c.status.Forget(req.NamespacedName)
	c.Metrics.TopicForgotten(key)
	if m := c.memories.drop(key); m != nil {
		c.withdraw(key, m)
	}
}

// withdraw takes back the declaration of an object.
func (c *Controller) withdraw(key string, m *memory) {
	if m.cluster == "" {
		return
	}
	if kafka, ok := c.Cluster(m.cluster); ok {
		kafka.Forget(key)
	}
	c.memories.declare(key, m, "", "")
}

// report writes the status if it differs, tells events once it is written, and says when to come back.
func (c *Controller) report(ctx context.Context, before *v1alpha1.DurableTopic, p *pass) (ctrl.Result, error) {
	v := verdict.Judge(p.verdictInput())
	after := before.DeepCopy()
	after.Status = v.Status
	changed, err := c.status.Patch(ctx, before, after)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: time.Second}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	c.Metrics.TopicJudged(p.key, after.ClusterName(), after)
	if !v.Quiet {
		p.memory.told()
		c.tell(after, v.Events)
	}
	if changed {
		p.memory.wroteAt = p.now()
		log.FromContext(ctx).V(1).Info("wrote status", "topic", p.desired.Topic, "events", len(v.Events))
	}
	return ctrl.Result{RequeueAfter: p.returnAfter(v.RequeueAfter)}, nil
}

// connectionWait is how soon an object looks again for a connection that is about to be made.
const connectionWait = 500 * time.Millisecond

func (p *pass) returnAfter(wait time.Duration) time.Duration {
	if p.acts() && p.kafka == nil {
		return connectionWait
	}
	return p.memory.backoff(p.memory.calm(wait, p.now()), len(p.failures) > 0)
}
