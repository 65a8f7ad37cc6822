package statuswriter

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"durabletopic.io/operator/api/v1alpha1"
)

// slow is an API server that answers status writes only when it is released.
type slow struct {
	client.SubResourceWriter
	release chan struct{}

	mu             sync.Mutex
	inFlight, most int
}

// slowClient has nothing but that.
type slowClient struct {
	client.Client
	status *slow
}

func (c slowClient) Status() client.SubResourceWriter { return c.status }

func (s *slow) Patch(ctx context.Context, _ client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	s.count(1)
	defer s.count(-1)
	select {
	case <-s.release:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *slow) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight += n
	s.most = max(s.most, s.inFlight)
}

// A crowd of statuses leaves room in the API server's queue for the lease; nobody who gives up keeps a place.
func TestFewWritesAreInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{release: make(chan struct{})}
		w := New[*v1alpha1.KafkaCluster](slowClient{status: s})
		write := func(ctx context.Context, i int) (bool, error) {
			before := &v1alpha1.KafkaCluster{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i)}}
			after := before.DeepCopy()
			after.Status.ClusterID = "kraft"
			return w.Patch(ctx, before, after)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var gaveUp, stayed sync.WaitGroup
		for i := range AtOnce + 100 {
			gaveUp.Go(func() {
				if changed, err := write(ctx, i); changed || err != nil {
					t.Errorf("given up, got %v, %v", changed, err)
				}
			})
		}
		synctest.Wait()
		if s.inFlight != AtOnce {
			t.Errorf("%d writes are in flight, want %d", s.inFlight, AtOnce)
		}
		cancel()
		gaveUp.Wait()
		for i := range 3 * AtOnce {
			stayed.Go(func() {
				if changed, err := write(t.Context(), i); !changed || err != nil {
					t.Errorf("got %v, %v", changed, err)
				}
			})
		}
		synctest.Wait()
		close(s.release)
		stayed.Wait()
		if s.most != AtOnce || s.inFlight != 0 {
			t.Errorf("at most %d writes were in flight, want %d; %d still are", s.most, AtOnce, s.inFlight)
		}
	})
}
