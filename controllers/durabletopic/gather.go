package durabletopic

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/durability"
	"durabletopic.io/operator/internal/core/moves"
	"durabletopic.io/operator/internal/core/ownership"
	"durabletopic.io/operator/internal/core/plan"
	"durabletopic.io/operator/internal/core/profile"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/core/verdict"
	"durabletopic.io/operator/internal/fault"
)

// pass is one reconcile of one object: what was gathered, then what became of it.
type pass struct {
	c       *Controller
	key     string
	object  *v1alpha1.DurableTopic
	desired profile.Desired
	wanted  map[string]string // all keys the declaration speaks about, with their values
	memory  *memory
	refusal *fault.Fault
	kafka   Kafka // nil: not connected yet
	view    topic.View

	plan     plan.Plan // of the facts as they are now
	failures []*fault.Fault
	owned    []string
	rounds   int // of planning and executing
}

// gather reads what a decision needs, all of it from memory.
func (c *Controller) gather(ctx context.Context, t *v1alpha1.DurableTopic) (*pass, error) {
	key := client.ObjectKeyFromObject(t).String()
	p := &pass{c: c, key: key, object: t, memory: c.memories.of(key, t), owned: t.Status.OwnedConfig}
	cluster := &v1alpha1.KafkaCluster{}
	err := c.Client.Get(ctx, client.ObjectKey{Name: t.ClusterName()}, cluster)
	p.desired = profile.Desire(t, cluster.Spec)
	p.wanted = wanted(p.desired)
	switch {
	case apierrors.IsNotFound(err):
		p.refusal = fault.New(fault.Blocked, v1alpha1.ReasonKafkaClusterNotFound,
			"there is no KafkaCluster %q: create it, or name another in a new object", t.ClusterName())
	case err != nil:
		return nil, err
	default:
		if p.refusal, err = c.rival(ctx, t, cluster); err != nil {
			return nil, err
		}
	}
	p.connect()
	return p, nil
}

// connect declares the topic to its Kafka cluster and takes a view; an object that does not act takes its declaration back.
func (p *pass) connect() {
	acts := p.acts()
	cluster, name := p.object.ClusterName(), p.desired.Topic
	if !acts || p.memory.cluster != cluster || p.memory.topic != name {
		p.c.withdraw(p.key, p.memory)
	}
	p.view = topic.View{Contact: topic.Contact{Since: p.now(), Grace: time.Minute}}
	if !acts {
		return
	}
	kafka, ok := p.c.Cluster(cluster)
	if !ok {
		return
	}
	p.kafka = kafka
	p.c.memories.declare(p.key, p.memory, cluster, name)
	kafka.Declare(p.key, topic.Ask{Name: name, Keys: p.keys()}, p.known())
	p.view = kafka.View(name)
	p.refuseUnfit()
	p.meet()
	kafka.Wish(p.key, name, p.wish())
}

// wish is where the replicas should be moved to; nil: they stay where they are.
func (p *pass) wish() *moves.Wish {
	if p.refusal != nil || !p.desired.MovesReplicas() {
		return nil
	}
	return &moves.Wish{Rule: p.desired.Rule, Critical: p.desired.Profile == v1alpha1.ProfileCritical}
}

// preview says where replicas would be moved if that were allowed.
func (p *pass) preview(ctx context.Context) []string {
	if p.desired.Mode != v1alpha1.EnforcementObserve || p.desired.ByBroker || !slices.ContainsFunc(p.plan.Held, func(h plan.Held) bool {
		return h.Difference.Kind == durability.ReplicasViolate
	}) {
		return nil
	}
	return p.kafka.PreviewMoves(ctx, p.desired.Topic, moves.Wish{Rule: p.desired.Rule})
}

// acts tells whether the object looks at Kafka at all.
func (p *pass) acts() bool {
	return p.refusal == nil && p.desired.Mode != v1alpha1.EnforcementSuspended
}

// keys are the configs to read: those wanted and those that may have to go.
func (p *pass) keys() []string {
	keys := slices.Collect(maps.Keys(p.desired.Locks()))
	keys = slices.AppendSeq(keys, maps.Keys(p.desired.Config))
	keys = append(keys, p.object.Status.OwnedConfig...)
	slices.Sort(keys)
	return slices.Compact(keys)
}

// known tells whether the topic was seen before.
func (p *pass) known() bool { return p.object.Status.TopicID != "" && !p.memory.awaited }

func (p *pass) now() time.Time { return p.c.Now() }

// refuseUnfit refuses what only Kafka itself can tell: brokers too old, topics that are Kafka's own.
func (p *pass) refuseUnfit() {
	switch {
	case p.view.Cluster != nil && len(p.view.Cluster.Missing) > 0:
		p.refusal = fault.New(fault.Blocked, v1alpha1.ReasonUnsupportedBrokers,
			"the brokers lack the Kafka APIs %v; Apache Kafka 4.0 or newer is needed", p.view.Cluster.Missing)
	case p.view.Topic != nil && p.view.Topic.Internal:
		p.refusal = fault.New(fault.Blocked, v1alpha1.ReasonInternalTopic,
			"topic %q is one of Kafka's internal topics and is left alone: delete this object", p.desired.Topic)
	}
}

// meet recognises the topic: ours that became visible, or another one under the same name.
func (p *pass) meet() {
	if p.view.Presence != topic.Present {
		return
	}
	id := p.view.Topic.ID.String()
	if before := p.object.Status.TopicID; before != "" && before != id && !p.memory.awaited {
		p.memory.deeds.Replaced = true
		p.memory.did(p.now())
	}
	p.memory.awaited = false
	if len(p.memory.settled) == 0 && p.wasReady(id) {
		p.memory.settled = p.wanted
	}
}

// wasReady tells whether the last status says that this topic was as this generation declares.
func (p *pass) wasReady(id string) bool {
	s := p.object.Status
	return s.TopicID == id && s.ObservedGeneration == p.object.Generation &&
		meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionReady)
}

// wanted are the configs that are declared, and what else can differ.
func wanted(d profile.Desired) map[string]string {
	wanted := d.Locks()
	maps.Copy(wanted, d.Config)
	wanted["topic"] = d.Topic
	wanted["replicas"] = strconv.Itoa(int(d.Rule.ReplicationFactor))
	if d.Partitions > 0 {
		wanted["partitions"] = strconv.Itoa(int(d.Partitions))
	}
	return wanted
}

// rival finds who acts instead of this object: an older KafkaCluster on the same Kafka, or an older object for the
// same topic.
func (c *Controller) rival(ctx context.Context, t *v1alpha1.DurableTopic, own *v1alpha1.KafkaCluster) (*fault.Fault, error) {
	var clusters v1alpha1.KafkaClusterList
	if err := c.Client.List(ctx, &clusters); err != nil {
		return nil, err
	}
	var topics v1alpha1.DurableTopicList
	if err := c.Client.List(ctx, &topics, client.MatchingFields{indexTopicName: t.KafkaTopicName()}); err != nil {
		return nil, err
	}
	acting := ownership.ActingClusters(clusters.Items)
	owner := ownership.Owner(claims(topics.Items, ownership.Identity(own), acting))
	if owner != nil && owner.UID != string(t.UID) {
		return fault.New(fault.Blocked, v1alpha1.ReasonTopicOwnedByAnother,
			"topic %q belongs to the older DurableTopic %s; this object neither changes nor deletes it: delete one of the two",
			t.KafkaTopicName(), owner), nil
	}
	if winner := acting[ownership.Identity(own)]; winner.UID != string(own.UID) {
		return fault.New(fault.Blocked, v1alpha1.ReasonKafkaOwnedByAnother,
			"KafkaCluster %q reaches the same Kafka as the older KafkaCluster %q, which alone acts: declare the topic there",
			own.Name, winner.Name), nil
	}
	return nil, nil
}

// claims are the objects that name a topic of the Kafka with that identity through the KafkaCluster that acts for it.
func claims(topics []v1alpha1.DurableTopic, kafka string, acting map[string]ownership.Claim) []ownership.Claim {
	list := make([]ownership.Claim, 0, len(topics))
	for i := range topics {
		t := &topics[i]
		list = append(list, ownership.Claim{
			Namespace: t.Namespace, Name: t.Name, UID: string(t.UID), Created: t.CreationTimestamp.Time,
			Eligible: t.DeletionTimestamp.IsZero() && t.ClusterName() == acting[kafka].Name,
		})
	}
	return list
}

// verdictInput hands over what became of the pass.
func (p *pass) verdictInput() verdict.Input {
	now := p.now()
	return verdict.Input{
		Now: now, Generation: p.object.Generation, Previous: p.object.Status, Desired: p.desired, View: p.view,
		Refusal: p.refusal, Remaining: p.plan, Failures: p.failures, Owned: p.owned, Did: p.memory.deeds,
		DoneAt: p.memory.doneAt, WroteAt: p.memory.wroteAt, Fights: p.fights(now),
	}
}
