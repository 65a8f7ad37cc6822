package operator_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	coretopic "durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/kafka/kafkatest"
)

// judgeOfWrites follows what the operator writes to one Kafka.
type judgeOfWrites struct {
	throttled map[string][]string // entries like "0:1" by topic and key, as far as the operator put them there
	ever      map[string][]string // the same with those that it took away again
	rates     map[string]bool     // cluster-wide, as far as the operator set them
	troubles  []string
}

func (j *judgeOfWrites) fail(format string, args ...any) {
	j.troubles = append(j.troubles, fmt.Sprintf(format, args...))
}

// checkWrites: the operator creates topics, adds partitions, changes configs of topics, moves replicas under a throttle that
// is there first, and elects preferred leaders of partitions that it names. It never does anything else: no other config of
// a broker or the cluster, no deletion, no unclean election, and no entry of a throttle goes that is not its own.
func (w *world) checkWrites() {
	w.t.Helper()
	j := &judgeOfWrites{throttled: map[string][]string{}, ever: map[string][]string{}, rates: map[string]bool{}}
	for _, write := range w.kafka.Writes() {
		switch req := write.Request.(type) {
		case *kmsg.CreateTopicsRequest, *kmsg.CreatePartitionsRequest:
		case *kmsg.IncrementalAlterConfigsRequest:
			j.alteration(req)
		case *kmsg.AlterPartitionAssignmentsRequest:
			j.moves(req)
		case *kmsg.ElectLeadersRequest:
			if len(req.Topics) == 0 || req.ElectionType != 0 {
				j.fail("election of type %d for %v", req.ElectionType, write.Topics)
			}
		default:
			j.fail("%s for %v", write.Key.Name(), write.Topics)
		}
	}
	for _, trouble := range j.troubles {
		w.t.Errorf("sent %s", trouble)
	}
}

func (j *judgeOfWrites) alteration(req *kmsg.IncrementalAlterConfigsRequest) {
	for _, r := range req.Resources {
		for _, c := range r.Configs {
			switch {
			case r.ResourceType == kmsg.ConfigResourceTypeTopic && isThrottle(c.Name):
				j.throttle(r.ResourceName, c)
			case r.ResourceType == kmsg.ConfigResourceTypeTopic:
			case r.ResourceType == kmsg.ConfigResourceTypeBroker && r.ResourceName == "" && isRate(c.Name):
				set := c.Op == kmsg.IncrementalAlterConfigOpSet
				if !set && !j.rates[c.Name] {
					j.fail("delete of %s, which it had not set", c.Name)
				}
				j.rates[c.Name] = set
			default:
				j.fail("%s of %s %q", c.Name, r.ResourceType, r.ResourceName)
			}
		}
	}
}

func (j *judgeOfWrites) throttle(name string, c kmsg.IncrementalAlterConfigsRequestResourceConfig) {
	var entries []string
	if c.Value != nil {
		entries = strings.Split(*c.Value, ",")
	}
	at := name + " " + c.Name
	switch have := j.throttled[at]; c.Op {
	case kmsg.IncrementalAlterConfigOpAppend:
		j.throttled[at] = append(have, entries...)
		j.ever[at] = append(j.ever[at], entries...)
	case kmsg.IncrementalAlterConfigOpSubtract:
		for _, e := range entries {
			if !slices.Contains(j.ever[at], e) {
				j.fail("subtract of %s from %s, which it had not put there", e, at)
			}
		}
		j.throttled[at] = slices.DeleteFunc(have, func(e string) bool { return slices.Contains(entries, e) })
	case kmsg.IncrementalAlterConfigOpDelete:
		if len(have) > 0 {
			j.fail("delete of %s with %v in it", at, have)
		}
	case kmsg.IncrementalAlterConfigOpSet:
		j.fail("set of %s, which may hold what others put there", at)
	}
}

// moves: every replica of a partition that copies is on one of the topic's two lists, and both rates are set. A partition
// that is on neither copies nothing; who knows where its replicas were has to check that.
func (j *judgeOfWrites) moves(req *kmsg.AlterPartitionAssignmentsRequest) {
	for _, t := range req.Topics {
		lists := slices.Concat(j.throttled[t.Topic+" "+coretopic.LeaderThrottledReplicas], j.throttled[t.Topic+" "+coretopic.FollowerThrottledReplicas])
		for _, p := range t.Partitions {
			on := func(id int32) bool { return slices.Contains(lists, fmt.Sprintf("%d:%d", p.Partition, id)) }
			if p.Replicas == nil || !slices.ContainsFunc(p.Replicas, on) {
				continue
			}
			for _, id := range p.Replicas {
				if !on(id) {
					j.fail("a move of %s-%d to %v before a throttle of broker %d", t.Topic, p.Partition, p.Replicas, id)
				}
			}
			if !j.rates[coretopic.LeaderThrottledRate] || !j.rates[coretopic.FollowerThrottledRate] {
				j.fail("a move of %s-%d before both rates", t.Topic, p.Partition)
			}
		}
	}
}

func isThrottle(key string) bool {
	return key == coretopic.LeaderThrottledReplicas || key == coretopic.FollowerThrottledReplicas
}

func isRate(key string) bool {
	return key == coretopic.LeaderThrottledRate || key == coretopic.FollowerThrottledRate
}

// cleanedUp waits until nothing of a throttle is left in Kafka, and no reassignment.
func (w *world) cleanedUp() {
	w.t.Helper()
	if w.t.Failed() || len(moves(w.kafka)) == 0 {
		return
	}
	w.within(30*time.Second, "moves to be over and cleaned up after", func() string {
		for _, name := range w.kafka.TopicNames() {
			made, _ := w.kafka.Topic(name)
			for key, c := range made.Configs {
				if isThrottle(key) {
					return fmt.Sprintf("%s has %s=%q", name, key, c.Value)
				}
			}
			for _, p := range made.Partitions {
				if p.Reassigning() {
					return fmt.Sprintf("%s-%d moves to %v", name, p.Index, p.Target())
				}
			}
		}
		for key, value := range w.kafka.ClusterConfigs() {
			if isRate(key) {
				return fmt.Sprintf("%s is %s", key, value)
			}
		}
		return ""
	})
}

// move is a reassignment that the operator asked for; At is its place among all writes.
type move struct {
	At        int
	Topic     string
	Partition int32
	To        []int32
}

// moves gives all reassignments in the order in which they were asked for.
func moves(k *kafkatest.Cluster) []move {
	var all []move
	for i, write := range k.Writes() {
		if req, ok := write.Request.(*kmsg.AlterPartitionAssignmentsRequest); ok {
			for _, t := range req.Topics {
				for _, p := range t.Partitions {
					all = append(all, move{i, t.Topic, p.Partition, p.Replicas})
				}
			}
		}
	}
	return all
}

// firstMove is the place among all writes of the first reassignment of a topic; -1 if there is none.
func firstMove(k *kafkatest.Cluster, topic string) int {
	all := moves(k)
	i := slices.IndexFunc(all, func(m move) bool { return m.Topic == topic })
	if i < 0 {
		return -1
	}
	return all[i].At
}

// setsOf gives the values that a request gives to a key.
func setsOf(req kmsg.Request, key string) []string {
	alter, ok := req.(*kmsg.IncrementalAlterConfigsRequest)
	if !ok {
		return nil
	}
	var values []string
	for _, r := range alter.Resources {
		for _, c := range r.Configs {
			if c.Name == key && c.Value != nil {
				values = append(values, *c.Value)
			}
		}
	}
	return values
}

// minISRWrites gives the places among all writes of changes of a topic's min.insync.replicas, and the values, in order.
func minISRWrites(k *kafkatest.Cluster, topic string) (at []int, values []string) {
	for i, write := range k.Writes() {
		req, ok := write.Request.(*kmsg.IncrementalAlterConfigsRequest)
		if !ok {
			continue
		}
		for _, r := range req.Resources {
			if r.ResourceName != topic {
				continue
			}
			alone := *req
			alone.Resources = []kmsg.IncrementalAlterConfigsRequestResource{r}
			for _, value := range setsOf(&alone, minISR) {
				at, values = append(at, i), append(values, value)
			}
		}
	}
	return at, values
}

// brake keeps the mover from beginning anything, since it cannot read the throttle rates, until the brake is let go.
func (w *world) brake() (letGo func()) {
	return w.kafka.Fail(kafkatest.Fault{
		APIKey: kmsg.DescribeConfigs, TopLevel: true, Code: unknownServerError, Count: kafkatest.Always,
		When: func(req kmsg.Request) bool {
			read, ok := req.(*kmsg.DescribeConfigsRequest)
			return ok && slices.ContainsFunc(read.Resources, func(r kmsg.DescribeConfigsRequestResource) bool {
				return slices.ContainsFunc(r.ConfigNames, isRate)
			})
		},
	}).Remove
}

// unknownServerError is UNKNOWN_SERVER_ERROR.
const unknownServerError = -1

// tickUntilReady lets time pass in Kafka until the topics are ready.
func (w *world) tickUntilReady(names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.tickUntil(name+" to be ready", func() string {
			if t := w.get(name); !has(t.Status.Conditions, t.Generation, "Ready=True") {
				return conditions(t.Generation, t.Status.Conditions)
			}
			return ""
		})
	}
}

// tickUntil lets time pass in Kafka until done gives "".
func (w *world) tickUntil(what string, done func() string) {
	w.t.Helper()
	w.eventually(what, func() string {
		w.kafka.Tick()
		return done()
	})
}

// replicas of a topic by partition.
func (w *world) replicas(name string) [][]int32 {
	made, _ := w.kafka.Topic(name)
	var all [][]int32
	for _, p := range made.Partitions {
		all = append(all, p.Replicas)
	}
	return all
}
