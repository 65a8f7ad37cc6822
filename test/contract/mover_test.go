package contract

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
	"durabletopic.io/operator/internal/kafka"
)

// These behaviours go through the adapter, as the mover does.

// wire lends the cluster to a client.
type wire struct{ cluster }

func (wire) Close() {}

func (b *bench) client() *kafka.Client {
	return kafka.NewClient(wire{b.cluster}, kafka.Options{ReadTimeout: 10 * time.Second})
}

func part(name string, partition int32) topic.TopicPartition {
	return topic.TopicPartition{Topic: name, Partition: partition}
}

// said is what a fault comes to: its class and reason, "done" if there is none.
func said(err error) string {
	if err == nil {
		return "done"
	}
	f := fault.As(err)
	class := map[fault.Class]string{fault.Transient: "transient", fault.Waiting: "waiting", fault.Blocked: "blocked", fault.Invalid: "invalid"}
	return class[f.Class] + " " + f.Reason
}

func saidOf[K cmp.Ordered](outcome map[K]error) map[K]string {
	out := map[K]string{}
	for k, err := range outcome {
		out[k] = said(err)
	}
	return out
}

// reassigns moves partition 0 of topics and gives what is said of each; nil replicas cancel.
func (b *bench) reassigns(c *kafka.Client, targets map[string][]int32) map[string]string {
	b.Helper()
	var moves []kafka.Move
	for name, replicas := range targets {
		moves = append(moves, kafka.Move{TopicPartition: part(name, 0), Replicas: replicas})
	}
	out := map[string]string{}
	for p, err := range c.Reassign(b.ctx, asked, moves) {
		out[p.Topic] = said(err)
	}
	return out
}

// running gives the running reassignments of topics with a prefix.
func (b *bench) running(c *kafka.Client, prefix string) []topic.Reassignment {
	b.Helper()
	list, err := c.Reassignments(b.ctx, asked)
	if err != nil {
		b.Fatal(err)
	}
	for i := range list {
		list[i].Adding, list[i].Removing = sorted(list[i].Adding), sorted(list[i].Removing)
	}
	return slices.DeleteFunc(list, func(r topic.Reassignment) bool { return !strings.HasPrefix(r.Topic, prefix) })
}

func raise(b *bench) {
	c := b.client()
	b.create(assigned("ra-one", nil, []int32{1}), assigned("ra-two", nil, []int32{2, 1}))
	equal(b, "raise", map[string]string{"ra-one": "done", "ra-two": "done", "ra-none": "waiting " + v1alpha1.ReasonTopicNotFound},
		b.reassigns(c, map[string][]int32{"ra-one": {1, 2, 3}, "ra-two": {2, 1, 4}, "ra-none": {1}}))
	b.becomes("ra-one", state{Leader: 1, Replicas: []int32{1, 2, 3}, ISR: []int32{1, 2, 3}}) // to add costs no epoch
	b.becomes("ra-two", state{Leader: 2, Replicas: []int32{2, 1, 4}, ISR: []int32{1, 2, 4}})
	equal(b, "nothing runs", 0, len(b.running(c, "ra-")))
	equal(b, "refusals", map[string]string{"ra-one": "waiting " + v1alpha1.ReasonWaitingForBrokers, "ra-two": "waiting " + v1alpha1.ReasonMovingReplicas},
		b.reassigns(c, map[string][]int32{"ra-one": {1, 42}, "ra-two": nil}))
}

// throttledCopying holds a copy back so that it can be looked at on its way.
func throttledCopying(b *bench) {
	const name, size, rate = "tc-raise", 6 << 20, 100 << 10
	c := b.client()
	b.create(assigned(name, nil, []int32{1}))
	equal(b, "produce", nil, b.Produce(b.ctx, name, size))
	one := part(name, 0)
	bytes := func(broker int32) int64 {
		sizes, err := c.LogDirs(b.ctx, broker, []topic.TopicPartition{one, part("tc-none", 0)})
		if err != nil {
			b.Fatal(err)
		}
		if _, ok := sizes[one]; !ok {
			return -1
		}
		return sizes[one].Bytes
	}
	if n := bytes(1); n < size || n > size*11/10 {
		b.Errorf("the leader has %d bytes of about %d", n, size)
	}
	equal(b, "a broker without replica", -1, bytes(2))

	throttling := []kafka.Throttling{{Topic: name, Leader: []topic.ThrottledReplica{{Partition: 0, Broker: 1}}, Follower: []topic.ThrottledReplica{{Partition: 0, Broker: 2}}}}
	equal(b, "throttle", map[string]string{name: "done"}, saidOf(c.AppendThrottled(b.ctx, asked, throttling)))
	rates := topic.Rates{Leader: topic.RateOf(rate), Follower: topic.RateOf(rate)}
	equal(b, "rates", "done", said(c.SetDefaultRates(b.ctx, asked, rates)))
	b.eventually("the brokers know the rates", func() (any, bool) {
		got, err := c.ThrottleRates(b.ctx, []topic.Broker{{ID: 2}})
		return got, err == nil && got.Default == rates
	})
	b.Wait()
	equal(b, "raise", map[string]string{name: "done"}, b.reassigns(c, map[string][]int32{name: {2, 1}}))
	b.becomes(name, state{Leader: 1, Replicas: []int32{2, 1}, ISR: []int32{1}}) // the new replica is in the list at once
	equal(b, "running", []topic.Reassignment{{TopicPartition: one, Replicas: []int32{2, 1}, Adding: []int32{2}}}, b.running(c, "tc-"))
	// The list is longer, so that the inherited minimum of two counts now.
	b.eventually("acks=all is refused", func() (any, bool) {
		err := b.Produce(b.ctx, name, 1)
		return err, errors.Is(err, kerr.NotEnoughReplicas)
	})
	b.eventually("the new replica shows", func() (any, bool) { n := bytes(2); return n, n > 0 })
	if n, whole := bytes(2), bytes(1); n >= whole {
		b.Errorf("the new replica has %d bytes of %d under a throttle of %d per second", n, whole, rate)
	}
	equal(b, "still running", 1, len(b.running(c, "tc-")))

	equal(b, "delete the rates", "done", said(c.DeleteDefaultRates(b.ctx, asked, rates)))
	b.becomes(name, state{Leader: 1, Replicas: []int32{2, 1}, ISR: []int32{1, 2}})
	equal(b, "whole", bytes(1), bytes(2))
	equal(b, "end the throttle", map[string]string{name: "done"}, saidOf(c.SubtractThrottled(b.ctx, asked, throttling)))
	empty := topic.ThrottledList{Set: true}
	b.listsAre(c, name, topic.Throttled{Leader: empty, Follower: empty})
}

// listsAre waits until a topic has these lists of throttled replicas.
func (b *bench) listsAre(c *kafka.Client, name string, want topic.Throttled) {
	b.Helper()
	b.eventually("throttled replicas of "+name, func() (any, bool) {
		got, err := c.Throttled(b.ctx, asked, []string{name})
		read := got[name]
		same := read.Leader.Raw == want.Leader.Raw && read.Leader.Set == want.Leader.Set && read.Leader.All == want.Leader.All
		same = same && read.Follower.Raw == want.Follower.Raw && read.Follower.Set == want.Follower.Set && read.Follower.All == want.Follower.All
		return read, err == nil && read.Err == nil && same
	})
}

func throttledReplicas(b *bench) {
	c := b.client()
	entry := func(partition, broker int32) topic.ThrottledReplica {
		return topic.ThrottledReplica{Partition: partition, Broker: broker}
	}
	lists := func(leader, follower string) topic.Throttled {
		var t topic.Throttled
		if leader != "unset" {
			t.Leader = topic.ParseThrottled(leader)
		}
		if follower != "unset" {
			t.Follower = topic.ParseThrottled(follower)
		}
		return t
	}
	foreign := map[string]string{topic.LeaderThrottledReplicas: "7:3,0:2,007:4", topic.FollowerThrottledReplicas: "*"}
	b.create(assigned("tr-foreign", foreign, []int32{1, 2}), assigned("tr-plain", nil, []int32{1, 2}))
	b.listsAre(c, "tr-foreign", lists("7:3,0:2,007:4", "*"))
	b.listsAre(c, "tr-plain", lists("unset", "unset"))

	ours := []kafka.Throttling{
		{Topic: "tr-foreign", Leader: []topic.ThrottledReplica{entry(0, 1), entry(0, 2), entry(1, 3)}},
		{Topic: "tr-plain", Follower: []topic.ThrottledReplica{entry(0, 3)}},
		{Topic: "tr-none", Leader: []topic.ThrottledReplica{entry(0, 1)}},
	}
	want := map[string]string{"tr-foreign": "done", "tr-plain": "done", "tr-none": "waiting " + v1alpha1.ReasonTopicNotFound}
	equal(b, "append", want, saidOf(c.AppendThrottled(b.ctx, asked, ours)))
	b.listsAre(c, "tr-foreign", lists("7:3,0:2,007:4,0:1,1:3", "*"))
	b.listsAre(c, "tr-plain", lists("unset", "0:3"))
	equal(b, "append to all", map[string]string{"tr-foreign": "blocked " + v1alpha1.ReasonRequestRejected},
		saidOf(c.AppendThrottled(b.ctx, asked, []kafka.Throttling{{Topic: "tr-foreign", Follower: []topic.ThrottledReplica{entry(0, 1)}}})))

	ours[0].Leader = []topic.ThrottledReplica{entry(1, 3), entry(0, 1), entry(7, 4), entry(9, 9)}
	ours[1].Leader = []topic.ThrottledReplica{entry(0, 3)} // of a list that is not set
	equal(b, "subtract", want, saidOf(c.SubtractThrottled(b.ctx, asked, ours)))
	b.listsAre(c, "tr-foreign", lists("7:3,0:2,007:4", "*"))
	b.listsAre(c, "tr-plain", lists("", "")) // what is left is an empty override
	outcome := c.AlterConfigs(b.ctx, asked, []kafka.Alteration{{Topic: "tr-plain", Delete: []string{topic.LeaderThrottledReplicas, topic.FollowerThrottledReplicas}}})
	equal(b, "delete", map[string]string{"tr-plain": "done"}, saidOf(outcome))
	b.listsAre(c, "tr-plain", lists("unset", "unset"))
}

func throttleRates(b *bench) {
	c := b.client()
	all := []topic.Broker{{ID: 1}, {ID: 2}, {ID: 3}, {ID: 4}}
	ratesAre := func(what string, want topic.ThrottleRates) {
		b.Helper()
		var last topic.ThrottleRates
		b.eventually(what, func() (any, bool) {
			got, err := c.ThrottleRates(b.ctx, all)
			if err != nil {
				b.Fatal(err)
			}
			last = got
			same := got.Default == want.Default && len(got.Brokers) == len(want.Brokers) && len(got.Unread) == 0
			for id, r := range want.Brokers {
				same = same && got.Brokers[id] == r
			}
			return last, same
		})
	}
	ratesAre("no rates", topic.ThrottleRates{})
	half := topic.Rates{Leader: topic.RateOf(2_000_000)}
	equal(b, "set one side", "done", said(c.SetDefaultRates(b.ctx, asked, half)))
	equal(b, "set for a broker", "NONE", b.alterBroker(2, "2", set(topic.FollowerThrottledRate, "0")))
	alone := map[int32]topic.Rates{2: {Follower: topic.RateOf(0)}}
	ratesAre("one side", topic.ThrottleRates{Default: half, Brokers: alone})
	both := topic.Rates{Leader: topic.RateOf(3_000_000), Follower: topic.RateOf(1)}
	equal(b, "set both sides", "done", said(c.SetDefaultRates(b.ctx, asked, both)))
	ratesAre("both sides", topic.ThrottleRates{Default: both, Brokers: alone})
	equal(b, "below zero", "invalid "+v1alpha1.ReasonRequestRejected, said(c.SetDefaultRates(b.ctx, asked, topic.Rates{Leader: topic.RateOf(-1)})))

	equal(b, "delete one side", "done", said(c.DeleteDefaultRates(b.ctx, asked, half)))
	ratesAre("the other side", topic.ThrottleRates{Default: topic.Rates{Follower: topic.RateOf(1)}, Brokers: alone})
	equal(b, "delete both sides", "done", said(c.DeleteDefaultRates(b.ctx, asked, both)))
	ratesAre("the broker's own", topic.ThrottleRates{Brokers: alone})
	equal(b, "delete for the broker", "NONE", b.alterBroker(2, "2", drop(topic.FollowerThrottledRate)))
	ratesAre("no rates again", topic.ThrottleRates{})
}

// electExactly: preferred leaders of the partitions that are named, and of no other.
func electExactly(b *bench) {
	c := b.client()
	list := []int32{1, 2}
	b.create(assigned("ee-some", nil, list, list, list), assigned("ee-other", nil, list))
	var moves []kafka.Move
	for _, p := range []topic.TopicPartition{part("ee-some", 0), part("ee-some", 1), part("ee-other", 0)} {
		moves = append(moves, kafka.Move{TopicPartition: p, Replicas: []int32{2, 1}})
	}
	for p, err := range c.Reassign(b.ctx, asked, moves) {
		equal(b, "reorder "+p.String(), "done", said(err))
	}
	outcome, err := c.ElectPreferred(b.ctx, asked, []topic.TopicPartition{part("ee-some", 1), part("ee-some", 2), part("ee-some", 3)})
	equal(b, "elect", "done", said(err))
	got := map[string]string{}
	for p, err := range outcome {
		got[p.String()] = said(err)
	}
	equal(b, "elections", map[string]string{"ee-some-1": "done", "ee-some-2": "done", "ee-some-3": "waiting " + v1alpha1.ReasonTopicNotFound}, got)
	turned := []int32{2, 1}
	b.eventually("the named one is led by its first replica", func() (any, bool) {
		s := b.states("ee-some")
		return s, s[1].Leader == 2 && s[1].Epoch == 1
	})
	equal(b, "the others are not", []state{
		{Leader: 1, Replicas: turned, ISR: list}, {Leader: 2, Epoch: 1, Replicas: turned, ISR: list}, {Leader: 1, Replicas: list, ISR: list},
	}, b.states("ee-some"))
	equal(b, "nor another topic's", state{Leader: 1, Replicas: turned, ISR: list}, b.state("ee-other"))
	_, err = c.ElectPreferred(b.ctx, asked, nil)
	equal(b, "nothing named", "invalid "+v1alpha1.ReasonRequestRejected, said(err))
}

// nightMover: what the mover meets while a broker is down.
func nightMover(b *bench) {
	c := b.client()
	const name = "bn-mover"
	one := part(name, 0)
	equal(b, "move to a fenced broker", map[string]string{name: "done"}, b.reassigns(c, map[string][]int32{name: {stale, 1}}))
	stalled := state{Leader: 1, Replicas: []int32{stale, 1, 2}, ISR: []int32{1, 2}}
	b.becomes(name, stalled)
	b.stays(name, stalled)
	equal(b, "running", []topic.Reassignment{{TopicPartition: one, Replicas: stalled.Replicas, Adding: []int32{stale}, Removing: []int32{2}}}, b.running(c, name))
	elected, err := c.ElectPreferred(b.ctx, asked, []topic.TopicPartition{one})
	equal(b, "preferred leader is fenced", "done waiting "+v1alpha1.ReasonWaitingForBrokers, said(err)+" "+said(elected[one]))

	rates, err := c.ThrottleRates(b.ctx, []topic.Broker{{ID: asked}, {ID: stale}, {ID: clean}})
	equal(b, "rates", "done", said(err))
	equal(b, "brokers that are down", []int32{stale}, rates.Unread)
	if _, err := c.LogDirs(b.ctx, stale, []topic.TopicPartition{one}); err == nil || fault.As(err).Class != fault.Transient {
		b.Errorf("sizes at a broker that is down: %v", err)
	}

	equal(b, "another target", map[string]string{name: "done"}, b.reassigns(c, map[string][]int32{name: {clean, 1}}))
	b.becomes(name, state{Leader: 1, Epoch: 1, Replicas: []int32{clean, 1}, ISR: []int32{1, clean}})
	equal(b, "nothing to cancel", map[string]string{name: "waiting " + v1alpha1.ReasonMovingReplicas}, b.reassigns(c, map[string][]int32{name: nil}))
	equal(b, "stalled again", map[string]string{name: "done"}, b.reassigns(c, map[string][]int32{name: {clean, 1, stale}}))
	equal(b, "cancel", map[string]string{name: "done"}, b.reassigns(c, map[string][]int32{name: nil}))
	b.becomes(name, state{Leader: 1, Epoch: 2, Replicas: []int32{clean, 1}, ISR: []int32{1, clean}})
	equal(b, "nothing runs", 0, len(b.running(c, name)))
}
