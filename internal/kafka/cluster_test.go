package kafka

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

// clusterScript is a scripted cluster of two brokers, the second one fenced.
type clusterScript struct {
	script
	versions  map[kmsg.Key]int16
	partition kmsg.DescribeConfigsResponseResource
	elr       int16
}

func newClusterScript() *clusterScript {
	s := &clusterScript{elr: 1, versions: map[kmsg.Key]int16{}}
	for _, r := range required {
		s.versions[r.key] = r.least
	}
	s.partition.Configs = []kmsg.DescribeConfigsResponseResourceConfig{{Name: keyNumPartitions, Value: new("6")}}
	s.answers = map[kmsg.Key]func(int32, kmsg.Request) (kmsg.Response, error){
		kmsg.ApiVersions: reply(func(_ *kmsg.ApiVersionsRequest, resp *kmsg.ApiVersionsResponse) {
			for key, version := range s.versions {
				resp.ApiKeys = append(resp.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: key.Int16(), MaxVersion: version})
			}
			resp.FinalizedFeatures = []kmsg.ApiVersionsResponseFinalizedFeature{{Name: topic.FeatureELR, MaxVersionLevel: s.elr}}
		}),
		kmsg.DescribeCluster: reply(func(req *kmsg.DescribeClusterRequest, resp *kmsg.DescribeClusterResponse) {
			resp.ClusterID = "abc"
			resp.Brokers = []kmsg.DescribeClusterResponseBroker{{NodeID: 2, IsFenced: true}, {NodeID: 1, Rack: new("a")}}
			if !req.IncludeFencedBrokers {
				resp.Brokers = resp.Brokers[1:]
			}
		}),
		kmsg.DescribeConfigs: reply(func(req *kmsg.DescribeConfigsRequest, resp *kmsg.DescribeConfigsResponse) {
			r := s.partition
			r.ResourceType, r.ResourceName = req.Resources[0].ResourceType, req.Resources[0].ResourceName
			resp.Resources = append(resp.Resources, r)
		}),
	}
	return s
}

func TestCluster(t *testing.T) {
	tests := map[string]struct {
		broker  int32
		change  func(*clusterScript)
		want    *topic.Cluster
		wantGap []string
	}{
		"of a broker": {1, nil, &topic.Cluster{DefaultPartitions: 6}, []string{}},
		"of any":      {AnyBroker, nil, &topic.Cluster{DefaultPartitions: 6}, []string{}},
		"without permission for configs": {
			1, func(s *clusterScript) {
				s.partition = kmsg.DescribeConfigsResponseResource{ErrorCode: kerr.ClusterAuthorizationFailed.Code}
			},
			&topic.Cluster{}, []string{"DESCRIBE_CONFIGS on the Cluster, to see the brokers' num.partitions"},
		},
		"configs do not answer": {
			1, func(s *clusterScript) { s.answers[kmsg.DescribeConfigs] = refuse(context.DeadlineExceeded) },
			&topic.Cluster{}, []string{},
		},
		"num.partitions is no number": {
			1, func(s *clusterScript) { s.partition.Configs[0].Value = new("many") }, &topic.Cluster{}, []string{},
		},
		"an API is missing": {
			1, func(s *clusterScript) { delete(s.versions, kmsg.DescribeTopicPartitions) },
			&topic.Cluster{Missing: []string{"DescribeTopicPartitions"}}, []string{},
		},
		"an API is too old": {
			1, func(s *clusterScript) { s.versions[kmsg.DescribeCluster] = 1 },
			&topic.Cluster{Missing: []string{"DescribeCluster version 2"}}, []string{},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newClusterScript()
			if tt.change != nil {
				tt.change(s)
			}
			c := NewClient(s, Options{})
			got, err := c.Cluster(t.Context(), tt.broker)
			if err != nil {
				t.Fatal(err)
			}
			tt.want.ID = "abc"
			tt.want.Brokers = []topic.Broker{{ID: 1, Rack: "a"}, {ID: 2, Fenced: true}}
			tt.want.Features = map[string]int16{topic.FeatureELR: 1}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.wantGap, c.MissingPermissions()); diff != "" {
				t.Errorf("missing permissions: %s", diff)
			}
		})
	}
}

func TestClusterErrors(t *testing.T) {
	code := func(e *kerr.Error) func(int32, kmsg.Request) (kmsg.Response, error) {
		return reply(func(_ *kmsg.DescribeClusterRequest, resp *kmsg.DescribeClusterResponse) { resp.ErrorCode = e.Code })
	}
	tests := map[string]struct {
		change func(*clusterScript)
		want   verdict
	}{
		"DescribeCluster is missing": {
			func(s *clusterScript) { delete(s.versions, kmsg.DescribeCluster) },
			verdict{fault.Blocked, v1alpha1.ReasonUnsupportedBrokers, false},
		},
		"no versions": {
			func(s *clusterScript) { s.answers[kmsg.ApiVersions] = refuse(context.DeadlineExceeded) },
			verdict{fault.Transient, v1alpha1.ReasonConnectionTimedOut, false},
		},
		"no answer": {
			func(s *clusterScript) { s.answers[kmsg.DescribeCluster] = refuse(errConnectionLost) },
			verdict{fault.Transient, v1alpha1.ReasonKafkaUnreachable, false},
		},
		"error code": {
			func(s *clusterScript) { s.answers[kmsg.DescribeCluster] = code(kerr.UnknownServerError) },
			verdict{fault.Transient, v1alpha1.ReasonRequestRejected, false},
		},
		"answer of another kind": {
			func(s *clusterScript) {
				s.answers[kmsg.DescribeCluster] = func(int32, kmsg.Request) (kmsg.Response, error) {
					return kmsg.NewPtrMetadataResponse(), nil
				}
			},
			verdict{fault.Transient, v1alpha1.ReasonKafkaUnreachable, false},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newClusterScript()
			tt.change(s)
			_, err := NewClient(s, Options{}).Cluster(t.Context(), 1)
			if diff := cmp.Diff(tt.want, verdictOf(t, err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A quiet cluster costs one request per call; features and configs are refreshed now and then, and for another broker.
func TestClusterRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newClusterScript()
		c := NewClient(s, Options{})
		read := func(broker int32) *topic.Cluster {
			got, err := c.Cluster(t.Context(), broker)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		counts := func() [3]int {
			return [3]int{s.count(kmsg.DescribeCluster), s.count(kmsg.ApiVersions), s.count(kmsg.DescribeConfigs)}
		}
		for range 5 {
			read(1)
			time.Sleep(10 * time.Second)
		}
		if got, want := counts(), [3]int{5, 1, 1}; got != want {
			t.Errorf("requests in 50 s: %v, want %v", got, want)
		}
		s.elr = 0
		s.partition.Configs[0].Value = new("12")
		time.Sleep(15 * time.Second)
		if got := read(1); got.ELR() || got.DefaultPartitions != 6 {
			t.Errorf("after a minute: ELR %v and %d partitions, want false and still 6", got.ELR(), got.DefaultPartitions)
		}
		time.Sleep(5 * time.Minute)
		if got := read(1); got.DefaultPartitions != 12 {
			t.Errorf("after five minutes %d partitions, want 12", got.DefaultPartitions)
		}
		read(2)
		if got, want := counts(), [3]int{8, 4, 3}; got != want {
			t.Errorf("requests in all: %v, want %v", got, want)
		}
	})
}

func TestOnRequest(t *testing.T) {
	s := newClusterScript()
	s.answers[kmsg.DescribeConfigs] = refuse(context.DeadlineExceeded)
	var got [][2]string
	c := NewClient(s, Options{OnRequest: func(api, result string, _ time.Duration) { got = append(got, [2]string{api, result}) }})
	if _, err := c.Cluster(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	want := [][2]string{{"ApiVersions", ResultAnswered}, {"DescribeCluster", ResultAnswered}, {"DescribeConfigs", ResultTimeout}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	got = nil
	_, err := c.Cluster(canceled, 1)
	if diff := cmp.Diff([][2]string{{"DescribeCluster", ResultCanceled}}, got); diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
}

// Reads have their own deadlines, longer for more.
func TestReadDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hung := hangs{}
		c := NewClient(hung, Options{ReadTimeout: time.Second})
		for size, want := range map[int]time.Duration{0: time.Second, 500: 1500 * time.Millisecond, 5000: 2 * time.Second} {
			start := time.Now()
			_, err := c.read(t.Context(), 1, size, kmsg.NewPtrDescribeClusterRequest())
			if took := time.Since(start); took != want {
				t.Errorf("a read of %d took %v, want %v", size, took, want)
			}
			if diff := cmp.Diff(verdict{fault.Transient, v1alpha1.ReasonConnectionTimedOut, false}, verdictOf(t, err)); diff != "" {
				t.Error(diff)
			}
		}
	})
}

// hangs is a wire whose broker accepts requests and never answers.
type hangs struct{}

func (hangs) Request(ctx context.Context, _ int32, _ kmsg.Request) (kmsg.Response, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (hangs) Close() {}
