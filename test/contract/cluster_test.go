package contract

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func features(b *bench) {
	req := kmsg.NewPtrApiVersionsRequest()
	equal(b, "without a software name", "INVALID_REQUEST", code(ask[*kmsg.ApiVersionsResponse](b, req).ErrorCode))
	req.ClientSoftwareName, req.ClientSoftwareVersion = "durabletopic", "v1"
	resp := ask[*kmsg.ApiVersionsResponse](b, req)
	equal(b, "code", "NONE", code(resp.ErrorCode))
	levels := map[string]int16{}
	for _, f := range resp.FinalizedFeatures {
		levels[f.Name] = f.MaxVersionLevel
	}
	equal(b, "eligible.leader.replicas.version", 1, levels["eligible.leader.replicas.version"])
	have := map[int16]int16{}
	for _, k := range resp.ApiKeys {
		have[k.ApiKey] = k.MaxVersion
	}
	// The versions that bring what the operator uses: topic IDs, fenced brokers, no change of replication factor.
	for key, least := range map[kmsg.Key]int16{
		kmsg.DescribeTopicPartitions: 0, kmsg.DescribeCluster: 2, kmsg.CreateTopics: 7, kmsg.DeleteTopics: 6,
		kmsg.AlterPartitionAssignments: 1, kmsg.ListPartitionReassignments: 0, kmsg.ElectLeaders: 2,
		kmsg.IncrementalAlterConfigs: 1, kmsg.DescribeConfigs: 4, kmsg.CreatePartitions: 3, kmsg.Metadata: 12,
	} {
		if got, ok := have[key.Int16()]; !ok || got < least {
			b.Errorf("%s: newest version %d (there: %t), want at least %d", key.Name(), got, ok, least)
		}
	}
}

type brokerState struct {
	Rack   string
	Fenced bool
}

func (b *bench) brokers(fenced bool) map[int32]brokerState {
	b.Helper()
	req := kmsg.NewPtrDescribeClusterRequest()
	req.IncludeFencedBrokers = fenced
	resp := ask[*kmsg.DescribeClusterResponse](b, req)
	if resp.ErrorCode != 0 || resp.ClusterID == "" {
		b.Errorf("DescribeCluster: %s, cluster %q", code(resp.ErrorCode), resp.ClusterID)
	}
	out := map[int32]brokerState{}
	for _, x := range resp.Brokers {
		s := brokerState{Fenced: x.IsFenced}
		if x.Rack != nil {
			s.Rack = *x.Rack
		}
		out[x.NodeID] = s
	}
	return out
}

func brokers(b *bench) {
	equal(b, "brokers", map[int32]brokerState{1: {Rack: "a"}, 2: {Rack: "b"}, 3: {Rack: "c"}, 4: {Rack: "c"}}, b.brokers(true))
	b.Run("of the controllers' endpoint", func(t *testing.T) {
		b := &bench{T: t, ctx: b.ctx, cluster: b.cluster}
		req := kmsg.NewPtrDescribeClusterRequest()
		req.EndpointType = 2
		equal(b, "code", "MISMATCHED_ENDPOINT_TYPE", code(ask[*kmsg.DescribeClusterResponse](b, req).ErrorCode))
	})
}
