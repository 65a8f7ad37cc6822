package contract

import (
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"
)

type page struct {
	Topics []string // name:number of partitions, or name:CODE
	Next   string
	At     int32
}

func (b *bench) page(req *kmsg.DescribeTopicPartitionsRequest) page {
	b.Helper()
	resp := ask[*kmsg.DescribeTopicPartitionsResponse](b, req)
	var p page
	for _, t := range resp.Topics {
		what := code(t.ErrorCode)
		if t.ErrorCode == 0 {
			what = strconv.Itoa(len(t.Partitions))
		}
		p.Topics = append(p.Topics, *t.Topic+":"+what)
	}
	if resp.NextCursor != nil {
		p.Next, p.At = resp.NextCursor.Topic, resp.NextCursor.Partition
	}
	return p
}

func describePages(b *bench) {
	b.create(assigned("dp-a", nil, []int32{1}, []int32{2}, []int32{1}), assigned("dp-b", nil, []int32{1}), assigned("dp-c", nil, []int32{1}, []int32{2}))
	all := []string{"dp-c", "dp-a", "dp-none", "dp-b"}
	for name, c := range map[string]struct {
		names []string
		limit int32
		start string
		at    int32
		want  page
	}{
		"sorted, unknown ones too": {all, 2000, "", 0, page{Topics: []string{"dp-a:3", "dp-b:1", "dp-c:2", "dp-none:UNKNOWN_TOPIC_OR_PARTITION"}}},
		"within a topic":           {all, 2, "", 0, page{Topics: []string{"dp-a:2"}, Next: "dp-a", At: 2}},
		"at the end of a topic":    {all, 3, "", 0, page{Topics: []string{"dp-a:3"}, Next: "dp-b"}},
		"going on":                 {all, 2, "dp-a", 2, page{Topics: []string{"dp-a:1", "dp-b:1"}, Next: "dp-c"}},
		"to the end":               {all, 9, "dp-c", 1, page{Topics: []string{"dp-c:1", "dp-none:UNKNOWN_TOPIC_OR_PARTITION"}}},
		"just the limit":           {[]string{"dp-a", "dp-b"}, 4, "", 0, page{Topics: []string{"dp-a:3", "dp-b:1"}}},
		"limit of zero":            {[]string{"dp-a"}, 0, "", 0, page{Topics: []string{"dp-a:1"}, Next: "dp-a", At: 1}},
		"behind the last":          {[]string{"dp-a"}, 9, "dp-a", 3, page{Topics: []string{"dp-a:0"}}},
		"name twice":               {[]string{"dp-b", "dp-b"}, 9, "", 0, page{Topics: []string{"dp-b:1"}}},
		"impossible name":          {[]string{"dp/x"}, 9, "", 0, page{Topics: []string{"dp/x:INVALID_TOPIC_EXCEPTION"}}},
		"cursor of another topic":  {[]string{"dp-a"}, 9, "dp-b", 0, page{Topics: []string{"dp-a:INVALID_REQUEST"}}},
		"negative cursor":          {[]string{"dp-a"}, 9, "dp-a", -1, page{Topics: []string{"dp-a:INVALID_REQUEST"}}},
	} {
		req := describeRequest(c.names...)
		req.ResponsePartitionLimit = c.limit
		if c.start != "" {
			cur := kmsg.NewDescribeTopicPartitionsRequestCursor()
			cur.Topic, cur.Partition = c.start, c.at
			req.Cursor = &cur
		}
		equal(b, name, c.want, b.page(req))
	}
	req := describeRequest()
	cur := kmsg.NewDescribeTopicPartitionsRequestCursor()
	cur.Topic = "dp-aa" // no such topic: everything behind it
	req.Cursor, req.ResponsePartitionLimit = &cur, 1
	equal(b, "all, from a cursor", page{Topics: []string{"dp-b:1"}, Next: "dp-c"}, b.page(req))
}

func metadataRequest(names ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
	}
	return req
}

func describeNames(b *bench) {
	id := b.create(assigned("dn-here", nil, []int32{2, 1}))["dn-here"]
	resp := ask[*kmsg.MetadataResponse](b, metadataRequest("dn-here", "dn-none", "dn/none"))
	got := map[string]string{}
	for _, t := range resp.Topics {
		got[*t.Topic] = code(t.ErrorCode)
	}
	equal(b, "by name", map[string]string{"dn-here": "NONE", "dn-none": "UNKNOWN_TOPIC_OR_PARTITION", "dn/none": "INVALID_TOPIC_EXCEPTION"}, got)

	byID := func(id [16]byte) kmsg.MetadataResponseTopic {
		req := kmsg.NewPtrMetadataRequest()
		t := kmsg.NewMetadataRequestTopic()
		t.TopicID = id
		req.Topics = append(req.Topics, t)
		return ask[*kmsg.MetadataResponse](b, req).Topics[0]
	}
	if t := byID(id); t.ErrorCode != 0 || t.Topic == nil || *t.Topic != "dn-here" || t.Partitions[0].Leader != 2 {
		b.Errorf("metadata by ID: %+v", t)
	}
	equal(b, "by another ID", "UNKNOWN_TOPIC_ID", code(byID([16]byte{1}).ErrorCode))
	none := kmsg.NewPtrMetadataRequest()
	none.Topics = []kmsg.MetadataRequestTopic{}
	equal(b, "of no topic", 0, len(ask[*kmsg.MetadataResponse](b, none).Topics))
}

func deleteRequest(topics ...kmsg.DeleteTopicsRequestTopic) *kmsg.DeleteTopicsRequest {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = 15_000
	req.Topics = topics
	return req
}

func byName(name string) kmsg.DeleteTopicsRequestTopic {
	t := kmsg.NewDeleteTopicsRequestTopic()
	t.Topic = &name
	return t
}

func byID(id [16]byte) kmsg.DeleteTopicsRequestTopic {
	t := kmsg.NewDeleteTopicsRequestTopic()
	t.TopicID = id
	return t
}

func (b *bench) deleteCodes(topics ...kmsg.DeleteTopicsRequestTopic) []string {
	b.Helper()
	var out []string
	for _, t := range ask[*kmsg.DeleteTopicsResponse](b, deleteRequest(topics...)).Topics {
		out = append(out, code(t.ErrorCode))
	}
	return out
}

// compact is codes without repetitions.
func compact(codes []string) []string { return slices.Compact(slices.Sorted(slices.Values(codes))) }

func deleteTopics(b *bench) {
	first := b.create(assigned("dt-topic", map[string]string{"retention.ms": "1"}, []int32{1}))["dt-topic"]
	equal(b, "unknown ID", []string{"UNKNOWN_TOPIC_ID"}, b.deleteCodes(byID([16]byte{7})))
	equal(b, "unknown name", []string{"UNKNOWN_TOPIC_OR_PARTITION"}, b.deleteCodes(byName("dt-none")))
	both := byName("dt-topic")
	both.TopicID = first
	equal(b, "name and ID", []string{"INVALID_REQUEST"}, b.deleteCodes(both))
	equal(b, "name twice", []string{"INVALID_REQUEST"}, compact(b.deleteCodes(byName("dt-topic"), byName("dt-topic"))))
	equal(b, "name, and ID of the same topic", []string{"INVALID_REQUEST"}, compact(b.deleteCodes(byName("dt-topic"), byID(first))))
	equal(b, "neither", []string{"INVALID_REQUEST"}, b.deleteCodes(kmsg.NewDeleteTopicsRequestTopic()))

	equal(b, "by ID", []string{"NONE"}, b.deleteCodes(byID(first)))
	b.eventually("the topic is gone", func() (any, bool) {
		c := code(b.describe("dt-topic").ErrorCode)
		return c, c == "UNKNOWN_TOPIC_OR_PARTITION"
	})
	second := b.create(assigned("dt-topic", nil, []int32{1}))["dt-topic"]
	if first == second {
		b.Errorf("the same name created again has the same ID")
	}
	b.configIs("dt-topic", "retention.ms", setting{"604800000", defaultSource})
	equal(b, "by the old ID", []string{"UNKNOWN_TOPIC_ID"}, b.deleteCodes(byID(first)))
	equal(b, "by name", []string{"NONE"}, b.deleteCodes(byName("dt-topic")))
}

func offsets(b *bench) {
	b.create(assigned("of-log", nil, []int32{2, 1}))
	for name, c := range map[string]struct {
		broker, replica int32
		want            string
	}{
		"leader":             {2, -1, "NONE"},
		"follower":           {1, -1, "NOT_LEADER_FOR_PARTITION"},
		"follower for debug": {1, -2, "NONE"},
		"stranger for debug": {3, -2, "NOT_LEADER_FOR_PARTITION"},
	} {
		req := kmsg.NewPtrListOffsetsRequest()
		req.ReplicaID = c.replica
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = "of-log"
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Timestamp, p.CurrentLeaderEpoch = -1, -1
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
		b.eventually(name+" answers "+c.want, func() (any, bool) {
			got := code(askBroker[*kmsg.ListOffsetsResponse](b, c.broker, req).Topics[0].Partitions[0].ErrorCode)
			return got, got == c.want
		})
	}
}
