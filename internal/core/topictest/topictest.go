// Package topictest builds clusters, topics and views in a few words, for the tests of the packages that decide on them.
package topictest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"durabletopic.io/operator/internal/core/topic"
)

// Now is the moment at which views are taken.
var Now = time.Date(2026, time.March, 1, 2, 0, 0, 0, time.UTC)

// Grace is how long views stay good without contact.
const Grace = 2 * time.Minute

// ID is the ID of every topic made here.
var ID = topic.ID{0xf2, 0x1e, 1}

// Cluster reads a rack for each broker, from broker 1 on: "a a b! -" are brokers 1 and 2 in rack a, 3 fenced in rack b, 4
// without rack; "x" is a broker that is not registered.
func Cluster(racks string) *topic.Cluster {
	c := &topic.Cluster{ID: "kafka-of-freshcart", DefaultPartitions: 1}
	for i, word := range strings.Fields(racks) {
		if word == "x" {
			continue
		}
		rack, fenced := strings.CutSuffix(word, "!")
		if rack == "-" {
			rack = ""
		}
		c.Brokers = append(c.Brokers, topic.Broker{ID: int32(i + 1), Rack: rack, Fenced: fenced})
	}
	return c
}

// WithELR switches eligible leader replicas on.
func WithELR(c *topic.Cluster) *topic.Cluster {
	c.Features = map[string]int16{topic.FeatureELR: 1}
	return c
}

// Partition reads a partition: its replicas, then what else is to be said, as in "1 3 5 isr 1 3 elr 5 known 1 adding 5
// removing 1 leader 3". All replicas are in sync unless there is an isr; the first in-sync one leads unless there is a
// leader, "-" being none.
func Partition(words string) topic.Partition {
	lists := map[string][]int32{}
	at, leader := "replicas", ""
	for _, word := range strings.Fields(words) {
		switch word {
		case "isr", "elr", "known", "adding", "removing", "leader":
			at = word
			lists[at] = []int32{}
			continue
		case "-":
			leader = word
			continue
		}
		id, err := strconv.ParseInt(word, 10, 32)
		if err != nil {
			panic(fmt.Sprintf("partition %q: %v", words, err))
		}
		lists[at] = append(lists[at], int32(id))
	}
	p := topic.Partition{
		Replicas: lists["replicas"], ISR: lists["isr"], ELR: lists["elr"], LastKnownELR: lists["known"],
		Adding: lists["adding"], Removing: lists["removing"], Leader: topic.NoLeader,
	}
	if lists["isr"] == nil {
		p.ISR = lists["replicas"]
	}
	switch {
	case leader == "-":
	case len(lists["leader"]) > 0:
		p.Leader = lists["leader"][0]
	case len(p.ISR) > 0:
		p.Leader = p.ISR[0]
	}
	return p
}

// Topic makes topic orders as profile critical wants it with three replicas, with these partitions (see Partition).
func Topic(partitions ...string) *topic.Topic {
	t := &topic.Topic{Name: "orders", ID: ID, Configs: map[string]topic.Config{
		topic.MinInSyncReplicas:     {Value: "2", Type: topic.TypeInt, OnTopic: true},
		topic.UncleanLeaderElection: {Value: "false", Type: topic.TypeBoolean, OnTopic: true},
	}}
	for i, words := range partitions {
		p := Partition(words)
		p.Index = int32(i)
		t.Partitions = append(t.Partitions, p)
	}
	return t
}

// Config sets a config of a topic, on the topic itself.
func Config(t *topic.Topic, key string, kind topic.ConfigType, value string) *topic.Topic {
	t.Configs[key] = topic.Config{Value: value, Type: kind, OnTopic: true}
	return t
}

// View shows a topic as it was read just Now; nil: a topic that is not known to any broker.
func View(c *topic.Cluster, t *topic.Topic) topic.View {
	v := topic.View{
		Cluster: c, Presence: topic.Missing,
		Contact: topic.Contact{InTouch: true, Last: Now, Since: Now.Add(-time.Hour), Grace: Grace},
	}
	if t != nil {
		v.Presence, v.Topic, v.ReadAt = topic.Present, t, Now
	}
	return v
}
