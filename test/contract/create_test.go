package contract

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func createAssigned(b *bench) {
	ids := b.create(assigned("ca-orders", map[string]string{"min.insync.replicas": "2"}, []int32{3, 1, 2}, []int32{2, 4, 1}))
	equal(b, "partitions", []state{
		{Leader: 3, Replicas: []int32{3, 1, 2}, ISR: []int32{1, 2, 3}},
		{Leader: 2, Replicas: []int32{2, 4, 1}, ISR: []int32{1, 2, 4}},
	}, b.states("ca-orders"))
	equal(b, "topic ID", ids["ca-orders"], b.describe("ca-orders").TopicID)
	equal(b, "min.insync.replicas", setting{"2", topicSource}, b.configs("ca-orders", "min.insync.replicas")["min.insync.replicas"])
}

func createAnswer(b *bench) {
	t := ask[*kmsg.CreateTopicsResponse](b, createRequest(assigned("cw-answer", map[string]string{"retention.ms": "5"}, []int32{1, 2}, []int32{2, 3}))).Topics[0]
	equal(b, "partitions", 2, t.NumPartitions)
	equal(b, "replication factor", 2, t.ReplicationFactor)
	shown := map[string]string{}
	for _, c := range t.Configs {
		if c.Value != nil {
			shown[c.Name] = *c.Value
		}
	}
	for key, want := range map[string]string{"retention.ms": "5", "min.insync.replicas": minISR, "cleanup.policy": "delete"} {
		equal(b, key, want, shown[key])
	}
}

func createRefusals(b *bench) {
	b.create(assigned("cr.taken", nil, []int32{1}))
	for name, c := range map[string]struct {
		spec spec
		want string
	}{
		"taken name":           {assigned("cr.taken", nil, []int32{1}), "TOPIC_ALREADY_EXISTS"},
		"colliding name":       {assigned("cr_taken", nil, []int32{1}), "INVALID_TOPIC_EXCEPTION"},
		"bad character":        {assigned("cr/x", nil, []int32{1}), "INVALID_TOPIC_EXCEPTION"},
		"dots":                 {assigned("..", nil, []int32{1}), "INVALID_TOPIC_EXCEPTION"},
		"long name":            {assigned(strings.Repeat("x", 250), nil, []int32{1}), "INVALID_TOPIC_EXCEPTION"},
		"cluster metadata":     {assigned("__cluster_metadata", nil, []int32{1}), "INVALID_REQUEST"},
		"unregistered broker":  {assigned("cr-unregistered", nil, []int32{1, 42}), "INVALID_REPLICA_ASSIGNMENT"},
		"broker twice":         {assigned("cr-twice", nil, []int32{1, 1}), "INVALID_REPLICA_ASSIGNMENT"},
		"no replica":           {assigned("cr-none", nil, []int32{}), "INVALID_REPLICA_ASSIGNMENT"},
		"uneven factors":       {assigned("cr-uneven", nil, []int32{1, 2}, []int32{1}), "INVALID_REPLICA_ASSIGNMENT"},
		"assignment and count": {spec{name: "cr-count", assign: [][]int32{{1}}, parts: 1, factor: -1}, "INVALID_REQUEST"},
		"assignment and RF":    {spec{name: "cr-factor", assign: [][]int32{{1}}, parts: -1, factor: 1}, "INVALID_REQUEST"},
		"too many replicas":    {spec{name: "cr-many", parts: 1, factor: 5}, "INVALID_REPLICATION_FACTOR"},
		"RF zero":              {spec{name: "cr-rf0", parts: 1, factor: 0}, "INVALID_REPLICATION_FACTOR"},
		"no partition":         {spec{name: "cr-p0", parts: 0, factor: 1}, "INVALID_PARTITIONS"},
		"unknown config":       {assigned("cr-key", map[string]string{"bogus.key": "1"}, []int32{1}), "INVALID_CONFIG"},
		"bad config":           {assigned("cr-value", map[string]string{"min.insync.replicas": "abc"}, []int32{1}), "INVALID_CONFIG"},
		"null config":          {spec{name: "cr-null", assign: [][]int32{{1}}, parts: -1, factor: -1, null: "retention.ms"}, "INVALID_CONFIG"},
		"min.insync above RF":  {assigned("cr-min", map[string]string{"min.insync.replicas": "7"}, []int32{1}), "NONE"},
	} {
		// Each refusal is that of one topic: another one of the same request is made all the same.
		other := "cr-with-" + strings.ReplaceAll(name, " ", "-")
		got := b.createCodes(createRequest(c.spec, assigned(other, nil, []int32{1})))
		equal(b, name, map[string]string{c.spec.name: c.want, other: "NONE"}, got)
	}
	gap := createRequest(assigned("cr-gap", nil, []int32{1}, []int32{1}))
	gap.Topics[0].ReplicaAssignment[1].Partition = 2
	equal(b, "gap in the partitions", map[string]string{"cr-gap": "INVALID_REPLICA_ASSIGNMENT"}, b.createCodes(gap))
	again := createRequest(assigned("cr-again", nil, []int32{1}, []int32{1}))
	again.Topics[0].ReplicaAssignment[1].Partition = 0
	equal(b, "partition twice", map[string]string{"cr-again": "INVALID_REPLICA_ASSIGNMENT"}, b.createCodes(again))
	equal(b, "name twice in a request", map[string]string{"cr-dup": "INVALID_REQUEST", "cr-single": "NONE"},
		b.createCodes(createRequest(assigned("cr-dup", nil, []int32{1}), assigned("cr-single", nil, []int32{1}), assigned("cr-dup", nil, []int32{1}))))
	equal(b, "collision within a request", map[string]string{"cr.batch": "NONE", "cr_batch": "NONE"},
		b.createCodes(createRequest(assigned("cr.batch", nil, []int32{1}), assigned("cr_batch", nil, []int32{1}))))
}

func createPlaced(b *bench) {
	b.create(spec{name: "cp-placed", parts: 12, factor: 3}, spec{name: "cp-default", parts: -1, factor: -1})
	for i, p := range b.states("cp-placed") {
		onC := 0
		for _, id := range p.Replicas {
			if racks[id-1] == "c" {
				onC++
			}
		}
		if len(p.Replicas) != 3 || onC != 1 || p.Leader != p.Replicas[0] || len(p.ISR) != 3 {
			b.Errorf("partition %d: %+v, want one replica in each of the three racks, led by the first", i, p)
		}
	}
	equal(b, "partitions by default", 1, len(b.states("cp-default")))
}

func createValidateOnly(b *bench) {
	req := createRequest(assigned("cv-dry", nil, []int32{1, 2}), assigned("cv-bad", nil, []int32{99}))
	req.ValidateOnly = true
	equal(b, "codes", map[string]string{"cv-dry": "NONE", "cv-bad": "INVALID_REPLICA_ASSIGNMENT"}, b.createCodes(req))
	b.Wait()
	equal(b, "afterwards", "UNKNOWN_TOPIC_OR_PARTITION", code(b.describe("cv-dry").ErrorCode))
}

func createLimits(b *bench) {
	for name, c := range map[string]struct {
		partitions []int32
		configs    map[string]string
		want       string
	}{
		"10 000 records":                {[]int32{9998}, map[string]string{"retention.ms": "1"}, "NONE"},
		"one record more":               {[]int32{9998, 1}, nil, "POLICY_VIOLATION"},
		"one config more":               {[]int32{9998}, map[string]string{"retention.ms": "1", "segment.ms": "1"}, "POLICY_VIOLATION"},
		"more than 10 000 partitions":   {[]int32{6000, 4001}, nil, "POLICY_VIOLATION"},
		"an invalid topic among others": {[]int32{10_001, 0}, nil, "POLICY_VIOLATION"},
	} {
		var specs []spec
		want := map[string]string{}
		for i, n := range c.partitions {
			s := spec{name: fmt.Sprintf("cl-%d", i), parts: n, factor: 1, configs: c.configs}
			specs = append(specs, s)
			want[s.name] = c.want
		}
		req := createRequest(specs...)
		req.ValidateOnly = true
		equal(b, name, want, b.createCodes(req))
	}
}

func addRequest(name string, total int32, replicas ...[]int32) *kmsg.CreatePartitionsRequest {
	req := kmsg.NewPtrCreatePartitionsRequest()
	t := kmsg.NewCreatePartitionsRequestTopic()
	t.Topic, t.Count = name, total
	for _, list := range replicas {
		a := kmsg.NewCreatePartitionsRequestTopicAssignment()
		a.Replicas = list
		t.Assignment = append(t.Assignment, a)
	}
	req.Topics = append(req.Topics, t)
	return req
}

func (b *bench) addCode(req *kmsg.CreatePartitionsRequest) string {
	b.Helper()
	resp := ask[*kmsg.CreatePartitionsResponse](b, req)
	return code(resp.Topics[0].ErrorCode)
}

func addPartitions(b *bench) {
	b.create(assigned("ap-grow", nil, []int32{1, 2}, []int32{2, 1}))
	for name, c := range map[string]struct {
		req  *kmsg.CreatePartitionsRequest
		want string
	}{
		"the same count":        {addRequest("ap-grow", 2), "INVALID_PARTITIONS"},
		"a lower count":         {addRequest("ap-grow", 1), "INVALID_PARTITIONS"},
		"another factor":        {addRequest("ap-grow", 3, []int32{1, 2, 3}), "INVALID_REPLICA_ASSIGNMENT"},
		"too few assignments":   {addRequest("ap-grow", 4, []int32{1, 2}), "INVALID_REPLICA_ASSIGNMENT"},
		"too many assignments":  {addRequest("ap-grow", 3, []int32{1, 2}, []int32{1, 2}), "INVALID_REPLICA_ASSIGNMENT"},
		"broker twice":          {addRequest("ap-grow", 3, []int32{1, 1}), "INVALID_REPLICA_ASSIGNMENT"},
		"unregistered broker":   {addRequest("ap-grow", 3, []int32{1, 42}), "INVALID_REPLICA_ASSIGNMENT"},
		"unknown topic":         {addRequest("ap-none", 3), "UNKNOWN_TOPIC_OR_PARTITION"},
		"more than the records": {addRequest("ap-grow", 10_003), "POLICY_VIOLATION"},
	} {
		equal(b, name, c.want, b.addCode(c.req))
	}
	twice := addRequest("ap-grow", 3, []int32{1, 2})
	twice.Topics = append(twice.Topics, twice.Topics[0])
	equal(b, "topic twice", "INVALID_REQUEST", b.addCode(twice))
	dry := addRequest("ap-grow", 3, []int32{1, 2})
	dry.ValidateOnly = true
	equal(b, "validate only", "NONE", b.addCode(dry))

	equal(b, "assigned", "NONE", b.addCode(addRequest("ap-grow", 3, []int32{3, 1})))
	b.eventually("the third partition is visible", func() (any, bool) {
		s := b.states("ap-grow")
		return s, len(s) == 3
	})
	equal(b, "third partition", state{Leader: 3, Replicas: []int32{3, 1}, ISR: []int32{1, 3}}, b.states("ap-grow")[2])
	equal(b, "placed", "NONE", b.addCode(addRequest("ap-grow", 5)))
	b.eventually("five partitions are visible", func() (any, bool) {
		s := b.states("ap-grow")
		return s, len(s) == 5 && len(s[4].Replicas) == 2
	})
}
