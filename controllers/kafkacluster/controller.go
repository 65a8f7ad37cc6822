// Package kafkacluster reconciles KafkaClusters: it has the fleet connect to them, records which Kafka each of them
// stands for before anything is written there, and reports how they are. It never speaks Kafka.
package kafkacluster

import (
	"cmp"
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
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fleet"
	"durabletopic.io/operator/internal/metrics"
	"durabletopic.io/operator/internal/mover"
	"durabletopic.io/operator/internal/statuswriter"
	"durabletopic.io/operator/internal/wakeup"
)

// +kubebuilder:rbac:groups=durabletopic.io,resources=kafkaclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=durabletopic.io,resources=kafkaclusters/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Fleet connects to Kafka clusters.
type Fleet interface {
	Ensure(name string, s fleet.Settings) *fleet.Cluster
	Remove(name string)
}

// Metrics count topics and take what is found out about clusters.
type Metrics interface {
	TopicCounts(cluster string) []v1alpha1.TopicCount
	Brokers(cluster string, racks []metrics.RackBrokers)
	Forget(cluster string)
}

// Options of a Controller.
type Options struct {
	Client   client.Client
	Recorder events.EventRecorder
	Fleet    Fleet
	Metrics  Metrics
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// Controller reconciles KafkaClusters.
type Controller struct {
	Options
	status *statuswriter.Writer[*v1alpha1.KafkaCluster]
	queue  wakeup.Queue
	counts counts
}

// New makes a controller.
func New(o Options) *Controller {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Controller{
		Options: o, status: statuswriter.New[*v1alpha1.KafkaCluster](o.Client), counts: counts{at: map[string]time.Time{}},
	}
}

// conflictRetry is after how long a status is written again that somebody's edit came before.
const conflictRetry = time.Second

// Reconcile connects to one Kafka cluster as its object declares, and says how it stands.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (ctrl.Result, error) {
	cached := &v1alpha1.KafkaCluster{}
	err := c.Client.Get(ctx, req.NamespacedName, cached)
	if apierrors.IsNotFound(err) || err == nil && !cached.DeletionTimestamp.IsZero() {
		c.forget(req)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	var all v1alpha1.KafkaClusterList
	if err := c.Client.List(ctx, &all); err != nil {
		return ctrl.Result{}, err
	}
	before := c.status.Base(cached)
	after := before.DeepCopy()
	after.Status = Judge(c.gather(before, all.Items))
	// Only if nobody has edited the object meanwhile: what may be written to Kafka depends on what is recorded.
	changed, err := c.status.Patch(ctx, before, after)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: conflictRetry}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if changed {
		c.counts.wrote(after.Name, numbersOf(before.Status), numbersOf(after.Status), c.Now())
		c.tell(before, after)
		log.FromContext(ctx).V(1).Info("wrote status", "cluster", after.Name)
	}
	if after.Status.ClusterID != before.Status.ClusterID && changed {
		c.connect(after, all.Items)
	}
	return ctrl.Result{RequeueAfter: countsEvery}, nil
}

// forget drops everything that is kept of an object that is gone.
func (c *Controller) forget(req reconcile.Request) {
	c.Fleet.Remove(req.Name)
	c.Metrics.Forget(req.Name)
	c.status.Forget(req.NamespacedName)
	c.counts.forget(req.Name)
}

// gather connects, and reads what is known.
func (c *Controller) gather(o *v1alpha1.KafkaCluster, all []v1alpha1.KafkaCluster) Input {
	in := Input{Now: c.Now(), Object: o, ClusterID: o.Status.ClusterID}
	kafka := c.connect(o, all)
	present := numbers{topics: c.Metrics.TopicCounts(o.Name)}
	if kafka != nil {
		present.moves = moveCounts(kafka.Moves())
	}
	counted := c.counts.due(o, present, in.Now)
	in.Topics, in.Moves = counted.topics, counted.moves
	if kafka == nil {
		c.Metrics.Brokers(o.Name, nil)
		return in
	}
	in.Facts, in.Contact = kafka.Facts()
	in.MissingPermissions = kafka.MissingPermissions()
	in.ClusterID = identify(o, in.Facts, in.Contact)
	recorded := o.DeepCopy()
	recorded.Status.ClusterID = in.ClusterID
	in.Acting = Acting(with(all, recorded))[o.Name]
	c.measure(o.Name, in.Facts)
	return in
}

// connect has the fleet connect as the object says; nil if it is suspended.
func (c *Controller) connect(o *v1alpha1.KafkaCluster, all []v1alpha1.KafkaCluster) *fleet.Cluster {
	if o.Spec.Enforcement == v1alpha1.EnforcementSuspended {
		c.Fleet.Remove(o.Name)
		return nil
	}
	return c.Fleet.Ensure(o.Name, fleet.Settings{
		BootstrapServers: o.Spec.BootstrapServers,
		Interval:         interval(o),
		ClusterID:        bound(o),
		Moves:            movesOf(o.Spec.Reassignment),
		Refusal:          refusal(o, Acting(with(all, o))[o.Name]),
	})
}

// movesOf are the bounds of moves, with the defaults where an object was made before there were any.
func movesOf(r v1alpha1.Reassignment) mover.Settings {
	s := mover.Settings{
		Settings: moves.Settings{
			MaxConcurrent: int(cmp.Or(r.MaxConcurrentPartitionMoves, v1alpha1.DefaultMaxConcurrentPartitionMoves)),
			StallTimeout:  time.Duration(cmp.Or(r.StallTimeoutSeconds, v1alpha1.DefaultStallTimeoutSeconds)) * time.Second,
		},
		ReplaceFencedAfter: time.Duration(r.ReplaceFencedBrokersAfterSeconds) * time.Second,
	}
	if r.Throttle.Mode != v1alpha1.ThrottleUnlimited {
		s.BytesPerSecond = cmp.Or(r.Throttle.BytesPerSecond, v1alpha1.DefaultThrottleBytesPerSecond)
	}
	return s
}

func interval(o *v1alpha1.KafkaCluster) time.Duration {
	seconds := o.Spec.CheckIntervalSeconds
	if seconds == 0 {
		seconds = v1alpha1.DefaultCheckIntervalSeconds
	}
	return time.Duration(seconds) * time.Second
}

func (c *Controller) measure(name string, facts *topic.Cluster) {
	if facts == nil {
		return
	}
	var racks []metrics.RackBrokers
	for rack, n := range countRacks(facts.Brokers) {
		racks = append(racks, metrics.RackBrokers{
			Rack: rack, Available: int(n.Available), Fenced: int(n.Registered - n.Available),
		})
	}
	c.Metrics.Brokers(name, racks)
}
