package kafkatest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/core/topic"
)

// maxRecords is how many metadata records, and how many new partitions, one request may make.
const maxRecords = 10_000

// created is a topic that a request will make, and what its record count is.
type created struct {
	at      int // index in the response
	record  *record
	records int
}

func (k *call) createTopics(req *kmsg.CreateTopicsRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
	partitions := 0
	for _, t := range req.Topics {
		partitions += k.partitionsOf(t)
	}
	if partitions > maxRecords {
		return errorResponse(req, *refuse(kerr.PolicyViolation, "Excessively large number of partitions per request."))
	}
	names := itemNames(req)
	var made []created
	records := 0
	for i, t := range req.Topics {
		x, v := k.newTopic(t, count(names, t.Topic) > 1)
		if v != nil {
			resp.Topics = append(resp.Topics, createdError(t.Topic, *v))
			continue
		}
		x.at = i
		records += x.records
		made = append(made, x)
		resp.Topics = append(resp.Topics, k.createdTopic(x.record))
	}
	if records > maxRecords {
		return errorResponse(req, *refuse(kerr.PolicyViolation, "Unable to perform excessively large batch operation."))
	}
	for _, x := range made {
		if !req.ValidateOnly {
			x.record.id = k.w.newID()
			k.w.put(x.record)
		}
		resp.Topics[x.at].TopicID = x.record.id
	}
	return resp
}

func count(names []string, name string) int {
	n := 0
	for _, other := range names {
		if other == name {
			n++
		}
	}
	return n
}

func (k *call) partitionsOf(t kmsg.CreateTopicsRequestTopic) int {
	switch {
	case len(t.ReplicaAssignment) > 0:
		return len(t.ReplicaAssignment)
	case t.NumPartitions == -1:
		return int(k.c.opts.DefaultPartitions)
	}
	return max(0, int(t.NumPartitions))
}

// newTopic checks one topic of a request and gives what it would become.
func (k *call) newTopic(t kmsg.CreateTopicsRequestTopic, twice bool) (created, *verdict) {
	if v := k.nameObjection(t.Topic, twice); v != nil {
		return created{}, v
	}
	configs, v := createdConfigs(t)
	if v != nil {
		return created{}, v
	}
	assignments, v := k.assignments(t)
	if v != nil {
		return created{}, v
	}
	if k.c.policy.Create != nil {
		if err := k.c.policy.Create(t.Topic, assignments, configs); err != nil {
			return created{}, refuse(kerr.PolicyViolation, err.Error())
		}
	}
	r := &record{name: t.Topic, configs: configs}
	for i, replicas := range assignments {
		r.parts = append(r.parts, k.w.newPartition(int32(i), replicas))
	}
	return created{record: r, records: 1 + len(r.parts) + len(configs)}, nil
}

// nameObjection is what stands against making a topic of that name.
func (k *call) nameObjection(name string, twice bool) *verdict {
	switch {
	case twice:
		return refuse(kerr.InvalidRequest, "Duplicate topic name.")
	case name == "__cluster_metadata":
		return refuse(kerr.InvalidRequest, "Creation of internal topic __cluster_metadata is prohibited.")
	case !k.mayCluster(kmsg.ACLOperationCreate) && !k.mayTopic(kmsg.ACLOperationCreate, name):
		return refuse(kerr.TopicAuthorizationFailed, "Authorization failed.")
	case k.w.topics[name] != nil:
		return refuse(kerr.TopicAlreadyExists, fmt.Sprintf("Topic '%s' already exists.", name))
	}
	if why := invalidName(name); why != "" {
		return refuse(kerr.InvalidTopicException, string(why))
	}
	if other := k.w.collision(name); other != "" {
		return refuse(kerr.InvalidTopicException, fmt.Sprintf("Topic '%s' collides with existing topic: %s", name, other))
	}
	return nil
}

// collision is an existing topic whose name is the same to Kafka's metrics.
func (w *world) collision(name string) string {
	if !strings.ContainsAny(name, "._") {
		return ""
	}
	for other := range w.topics {
		if other != name && topic.CollisionKey(other) == topic.CollisionKey(name) {
			return other
		}
	}
	return ""
}

func createdConfigs(t kmsg.CreateTopicsRequestTopic) (map[string]string, *verdict) {
	configs := map[string]string{}
	var empty []string
	for _, cfg := range t.Configs {
		if cfg.Value == nil {
			empty = append(empty, cfg.Name)
			continue
		}
		configs[cfg.Name] = *cfg.Value
	}
	if len(empty) > 0 {
		return nil, refuse(kerr.InvalidConfig, "Null value not supported for topic configs: "+strings.Join(empty, ","))
	}
	if why := validateTopicConfigs(configs); why != "" {
		return nil, refuse(kerr.InvalidConfig, string(why))
	}
	return configs, nil
}

// assignments gives the replica lists of a new topic: those asked for, or the brokers' choice.
func (k *call) assignments(t kmsg.CreateTopicsRequestTopic) ([][]int32, *verdict) {
	switch {
	case len(t.ReplicaAssignment) > 0:
		return k.manual(t)
	case t.ReplicationFactor < -1 || t.ReplicationFactor == 0:
		return nil, refuse(kerr.InvalidReplicationFactor, "Replication factor must be larger than 0, or -1 to use the default value.")
	case t.NumPartitions < -1 || t.NumPartitions == 0:
		return nil, refuse(kerr.InvalidPartitions, "Number of partitions was set to an invalid non-positive value.")
	}
	factor := int(t.ReplicationFactor)
	if factor == -1 {
		factor = int(k.c.opts.DefaultReplicationFactor)
	}
	return k.w.place(k.partitionsOf(t), factor)
}

func (k *call) manual(t kmsg.CreateTopicsRequestTopic) ([][]int32, *verdict) {
	const words = "A manual partition assignment was specified, but %s was not set to -1."
	if t.ReplicationFactor != -1 {
		return nil, refuse(kerr.InvalidRequest, fmt.Sprintf(words, "replication factor"))
	}
	if t.NumPartitions != -1 {
		return nil, refuse(kerr.InvalidRequest, fmt.Sprintf(words, "numPartitions"))
	}
	out := make([][]int32, len(t.ReplicaAssignment))
	factor := 0
	for _, a := range t.ReplicaAssignment {
		if v := k.w.checkAssignment(a.Replicas, factor, a.Partition); v != nil {
			return nil, v
		}
		factor = len(a.Replicas)
		if a.Partition < 0 || int(a.Partition) >= len(out) {
			return nil, refuse(kerr.InvalidReplicaAssignment, "partitions should be a consecutive 0-based integer sequence")
		}
		if out[a.Partition] != nil {
			return nil, refuse(kerr.InvalidReplicaAssignment, fmt.Sprintf("Found multiple manual partition assignments for partition %d", a.Partition))
		}
		out[a.Partition] = a.Replicas
	}
	return out, nil
}

// checkAssignment checks a replica list for a new partition; factor 0 means any length.
func (w *world) checkAssignment(replicas []int32, factor int, partition int32) *verdict {
	if why := w.checkReplicas(replicas); why != "" {
		return refuse(kerr.InvalidReplicaAssignment, string(why))
	}
	if factor != 0 && len(replicas) != factor {
		return refuse(kerr.InvalidReplicaAssignment, fmt.Sprintf("The manual partition assignment includes a partition with %d replica(s), but this is not consistent with previous partitions, which have %d replica(s).", len(replicas), factor))
	}
	if !slices.ContainsFunc(replicas, w.active) {
		return refuse(kerr.InvalidReplicaAssignment, fmt.Sprintf("All brokers specified in the manual partition assignment for partition %d are fenced or in controlled shutdown.", partition))
	}
	return nil
}

// checkReplicas checks what every replica list must be: registered brokers, each once, none of them cordoned.
func (w *world) checkReplicas(replicas []int32) objection {
	const words = "The manual partition assignment includes "
	if len(replicas) == 0 {
		return words + "an empty replica list."
	}
	sorted := slices.Sorted(slices.Values(replicas))
	for i, id := range sorted {
		if _, ok := w.brokers[id]; !ok {
			return objection(fmt.Sprintf(words+"broker %d, but no such broker is registered.", id))
		}
		if i > 0 && sorted[i-1] == id {
			return objection(fmt.Sprintf(words+"the broker %d more than once.", id))
		}
		if w.cordoned(id) {
			return objection(fmt.Sprintf(words+"broker %d, but all its log directories are cordoned.", id))
		}
	}
	return ""
}

// newPartition is a partition as it is born: the live replicas are in sync and the first of them leads.
func (w *world) newPartition(index int32, replicas []int32) topic.Partition {
	var isr []int32
	for _, id := range replicas {
		if w.active(id) {
			isr = append(isr, id)
		}
	}
	return topic.Partition{Index: index, Leader: isr[0], Replicas: slices.Clone(replicas), ISR: isr}
}

// createdTopic is the answer for a topic that was made; it shows all configs, to those who may see them.
func (k *call) createdTopic(r *record) kmsg.CreateTopicsResponseTopic {
	t := kmsg.NewCreateTopicsResponseTopic()
	t.Topic = r.name
	t.NumPartitions, t.ReplicationFactor = int32(len(r.parts)), int16(len(r.parts[0].Replicas))
	if !k.mayTopic(kmsg.ACLOperationDescribeConfigs, r.name) {
		t.ConfigErrorCode = kerr.TopicAuthorizationFailed.Code
		t.NumPartitions, t.ReplicationFactor = -1, -1
		return t
	}
	for _, key := range topicConfigNames {
		e := k.topicEntry(r, key, false)
		x := kmsg.NewCreateTopicsResponseTopicConfig()
		x.Name, x.Value, x.Source = key, e.Value, int8(e.Source)
		t.Configs = append(t.Configs, x)
	}
	return t
}
