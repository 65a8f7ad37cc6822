package kafkatest

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"

	"durabletopic.io/operator/internal/core/topic"
)

// record is one topic in an image. It is never changed after it was put there; neither are its slices and maps.
type record struct {
	name    string
	id      topic.ID
	parts   []topic.Partition
	configs map[string]string // topic-level overrides, raw as they were set
}

// image is the metadata as one broker sees it. Inner maps other than topics and ids are replaced, never changed.
type image struct {
	topics   map[string]*record
	ids      map[topic.ID]string
	brokers  map[int32]topic.Broker
	defaults map[string]string           // cluster-level dynamic broker configs
	nodes    map[int32]map[string]string // dynamic configs by broker
}

func (im *image) clone() *image {
	c := *im
	c.topics, c.ids = maps.Clone(im.topics), maps.Clone(im.ids)
	return &c
}

func (im *image) set(name string, r *record) {
	if old := im.topics[name]; old != nil {
		delete(im.ids, old.id)
		delete(im.topics, name)
	}
	if r != nil {
		im.topics[name] = r
		im.ids[r.id] = name
	}
}

func (im *image) sortedNames() []string { return slices.Sorted(maps.Keys(im.topics)) }

func (im *image) sortedBrokers() []topic.Broker {
	return slices.SortedFunc(maps.Values(im.brokers), func(a, b topic.Broker) int { return int(a.ID) - int(b.ID) })
}

func (im *image) active(id int32) bool {
	b, ok := im.brokers[id]
	return ok && !b.Fenced
}

// delta is what one commit changed.
type delta struct {
	topics   map[string]*record // nil: removed
	brokers  map[int32]topic.Broker
	defaults map[string]string
	nodes    map[int32]map[string]string
}

func (d *delta) empty() bool {
	return len(d.topics) == 0 && d.brokers == nil && d.defaults == nil && d.nodes == nil
}

func (d *delta) applyTo(im *image) {
	for name, r := range d.topics {
		im.set(name, r)
	}
	if d.brokers != nil {
		im.brokers = d.brokers
	}
	if d.defaults != nil {
		im.defaults = d.defaults
	}
	if d.nodes != nil {
		im.nodes = d.nodes
	}
}

// spot names one replica, or with replica 0 one partition, of one creation of a topic.
type spot struct {
	id        topic.ID
	partition int32
	replica   int32
}

// world is the active controller's state. Every method needs the cluster's lock.
type world struct {
	opts Options
	image
	pending delta
	commits int64
	made    uint64 // topics ever made, for their IDs
	placed  int    // partitions ever placed by the brokers
	// unsettled are the topics that have something to catch up, to elect or to move.
	unsettled map[string]bool
	stalled   map[spot]bool // live replicas that do not catch up
	progress  map[spot]int  // ticks a replica has been catching up
	ends      map[spot]int64
	bytes     map[spot]int64 // size of each partition's log
	copied    map[spot]int64 // what replicas have of it that are not in sync
	dirty     map[int32]bool // brokers that went down without a controlled shutdown
}

func newWorld(o Options) *world {
	w := &world{opts: o, unsettled: map[string]bool{}, stalled: map[spot]bool{}, progress: map[spot]int{}, ends: map[spot]int64{}, bytes: map[spot]int64{}, copied: map[spot]int64{}, dirty: map[int32]bool{}}
	w.image = image{topics: map[string]*record{}, ids: map[topic.ID]string{}, brokers: map[int32]topic.Broker{}, defaults: map[string]string{}, nodes: map[int32]map[string]string{}}
	for _, b := range o.Brokers {
		w.brokers[b.ID] = b
	}
	if o.ELR {
		value := o.MinInSyncReplicas
		if value == "" {
			value = "1"
		}
		w.defaults[topic.MinInSyncReplicas] = value
	}
	return w
}

func (w *world) elr() bool { return w.opts.Features[topic.FeatureELR] > 0 }

// put makes r the state of its topic.
func (w *world) put(r *record) {
	w.set(r.name, r)
	w.note(r.name, r)
	if settled(r) {
		delete(w.unsettled, r.name)
	} else {
		w.unsettled[r.name] = true
	}
}

func (w *world) remove(name string) {
	w.set(name, nil)
	w.note(name, nil)
	delete(w.unsettled, name)
}

func (w *world) note(name string, r *record) {
	if w.pending.topics == nil {
		w.pending.topics = map[string]*record{}
	}
	w.pending.topics[name] = r
}

func settled(r *record) bool {
	for _, p := range r.parts {
		if p.Leader == topic.NoLeader || len(p.ISR) != len(p.Replicas) || p.Reassigning() {
			return false
		}
	}
	return true
}

func (w *world) putBroker(b topic.Broker) {
	w.brokers = maps.Clone(w.brokers)
	w.brokers[b.ID] = b
	w.pending.brokers = w.brokers
}

func (w *world) dropBroker(id int32) {
	w.brokers = maps.Clone(w.brokers)
	delete(w.brokers, id)
	w.pending.brokers = w.brokers
}

// newID makes the next topic ID: the same in every run, and printed without a leading dash as Kafka takes care of.
func (w *world) newID() topic.ID {
	for {
		w.made++
		sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte(w.opts.ClusterID), w.made))
		id := topic.ID(sum[:16])
		if id.String()[0] != '-' {
			return id
		}
	}
}

// withPart gives a copy of r in which one partition is replaced.
func (r *record) withPart(p topic.Partition) *record {
	c := *r
	c.parts = slices.Clone(r.parts)
	c.parts[p.Index] = p
	return &c
}

func (r *record) withConfigs(configs map[string]string) *record {
	c := *r
	c.configs = configs
	return &c
}
