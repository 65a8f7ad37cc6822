package statuswriter

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"durabletopic.io/operator/api/v1alpha1"
)

var resource = schema.GroupResource{Group: "durabletopic.io", Resource: "kafkaclusters"}

// server is an API server with one KafkaCluster whose status writes are counted, and may be answered by fail instead.
type server struct {
	client.Client
	patches []string
	fail    error
}

func newServer(t *testing.T, obj *v1alpha1.KafkaCluster) *server {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	s := &server{}
	s.Client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(obj).WithStatusSubresource(obj).
		WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client, sub string,
			obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			data, err := patch.Data(obj)
			if err != nil {
				return err
			}
			s.patches = append(s.patches, string(data))
			if s.fail != nil {
				return s.fail
			}
			return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
		}}).Build()
	return s
}

func (s *server) get(t *testing.T) *v1alpha1.KafkaCluster {
	t.Helper()
	var c v1alpha1.KafkaCluster
	if err := s.Get(context.Background(), client.ObjectKey{Name: "default"}, &c); err != nil {
		t.Fatal(err)
	}
	return &c
}

func cluster() *v1alpha1.KafkaCluster {
	return &v1alpha1.KafkaCluster{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "uid-1"},
		Spec:   v1alpha1.KafkaClusterSpec{BootstrapServers: []string{"k:9092"}},
		Status: v1alpha1.KafkaClusterStatus{ObservedGeneration: -1}}
}

func TestPatchWritesOnlyDifferencesOfTheStatus(t *testing.T) {
	s := newServer(t, cluster())
	w := New[*v1alpha1.KafkaCluster](s)
	before := w.Base(s.get(t))
	after := before.DeepCopy()
	after.Spec.BootstrapServers = []string{"evil:1"}

	changed, err := w.Patch(t.Context(), before, after)
	if changed || err != nil || len(s.patches) != 0 {
		t.Fatalf("equal statuses: changed %v, err %v, writes %v", changed, err, s.patches)
	}
	after.Status.ClusterID = "id-1"
	changed, err = w.Patch(t.Context(), before, after)
	if !changed || err != nil {
		t.Fatalf("other status: changed %v, err %v", changed, err)
	}
	want := []string{`{"metadata":{"resourceVersion":"` + before.ResourceVersion + `"},"status":{"clusterID":"id-1"}}`}
	if diff := cmp.Diff(want, s.patches); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	got := s.get(t)
	if got.Status.ClusterID != "id-1" || got.Spec.BootstrapServers[0] != "k:9092" {
		t.Errorf("stored %+v", got)
	}
}

// The cache shows the object as it was before our own write: the next difference is against the write all the same.
func TestBaseWhileTheCacheLags(t *testing.T) {
	s := newServer(t, cluster())
	w := New[*v1alpha1.KafkaCluster](s)
	stale := s.get(t)
	before := w.Base(stale)
	after := before.DeepCopy()
	after.Status.ClusterID, after.Status.ObservedGeneration = "id-1", 1
	if _, err := w.Patch(t.Context(), before, after); err != nil {
		t.Fatal(err)
	}

	base := w.Base(stale)
	if base.Status.ClusterID != "id-1" {
		t.Fatalf("base on a stale cache has cluster ID %q", base.Status.ClusterID)
	}
	again := base.DeepCopy()
	again.Status.ClusterID, again.Status.ObservedGeneration = "id-1", 1
	if changed, err := w.Patch(t.Context(), base, again); changed || err != nil {
		t.Fatalf("the same status was written again: %v, %v", changed, err)
	}

	fresh := s.get(t)
	fresh.Labels = map[string]string{"edited": "yes"}
	if err := s.Update(t.Context(), fresh); err != nil {
		t.Fatal(err)
	}
	if base := w.Base(s.get(t)); base.Labels["edited"] != "yes" {
		t.Error("base does not follow the cache once it has caught up")
	}
	if len(w.last) != 0 {
		t.Error("an own write is remembered although the cache has shown it")
	}
}

func TestBaseIsACopy(t *testing.T) {
	s := newServer(t, cluster())
	w := New[*v1alpha1.KafkaCluster](s)
	cached := s.get(t)
	w.Base(cached).Status.ClusterID = "changed"
	if cached.Status.ClusterID != "" {
		t.Error("a change of the base reached the cached object")
	}
}

func TestBaseOfAReplacedObject(t *testing.T) {
	s := newServer(t, cluster())
	w := New[*v1alpha1.KafkaCluster](s)
	before := w.Base(s.get(t))
	after := before.DeepCopy()
	after.Status.ClusterID = "id-1"
	if _, err := w.Patch(t.Context(), before, after); err != nil {
		t.Fatal(err)
	}
	replaced := cluster()
	replaced.UID, replaced.ResourceVersion = "uid-2", "1"
	if base := w.Base(replaced); base.Status.ClusterID != "" {
		t.Error("the status of a deleted object is taken for that of its successor")
	}
}

func TestForget(t *testing.T) {
	s := newServer(t, cluster())
	w := New[*v1alpha1.KafkaCluster](s)
	stale := s.get(t)
	before := w.Base(stale)
	after := before.DeepCopy()
	after.Status.ClusterID = "id-1"
	if _, err := w.Patch(t.Context(), before, after); err != nil {
		t.Fatal(err)
	}
	w.Forget(types.NamespacedName{Name: "default"})
	if base := w.Base(stale); base.Status.ClusterID != "" {
		t.Error("a forgotten write is still remembered")
	}
}

func TestPatchErrors(t *testing.T) {
	other := apierrors.NewInvalid(schema.GroupKind{Kind: "KafkaCluster"}, "default",
		field.ErrorList{field.Invalid(field.NewPath("status", "racks"), "", "too many")})
	tests := map[string]struct {
		fail         error
		ending       bool
		wantErr      bool
		wantConflict bool
	}{
		"gone":            {fail: apierrors.NewNotFound(resource, "default")},
		"conflict":        {fail: apierrors.NewConflict(resource, "default", errors.New("modified")), wantErr: true, wantConflict: true},
		"invalid status":  {fail: other, wantErr: true},
		"server is down":  {fail: apierrors.NewServiceUnavailable("down"), wantErr: true},
		"connection lost": {fail: errors.New("EOF"), wantErr: true},
		"process ends":    {fail: context.Canceled, ending: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, cluster())
			s.fail = tc.fail
			w := New[*v1alpha1.KafkaCluster](s)
			stale := s.get(t)
			before := w.Base(stale)
			after := before.DeepCopy()
			after.Status.ClusterID = "id-1"
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tc.ending {
				cancel()
			}
			changed, err := w.Patch(ctx, before, after)
			if changed || (err != nil) != tc.wantErr {
				t.Errorf("changed %v, err %v; want an error: %v", changed, err, tc.wantErr)
			}
			if apierrors.IsConflict(err) != tc.wantConflict {
				t.Errorf("a conflict: %v, want %v", err, tc.wantConflict)
			}
			if tc.wantErr && !errors.Is(err, tc.fail) {
				t.Errorf("the cause is lost: %v", err)
			}
			if base := w.Base(stale); base.Status.ClusterID != "" {
				t.Error("a write that failed is remembered")
			}
		})
	}
}

func TestPatchOverAnEdit(t *testing.T) {
	s := newServer(t, cluster())
	w := New[*v1alpha1.KafkaCluster](s)
	before := w.Base(s.get(t))
	edited := s.get(t)
	edited.Labels = map[string]string{"edited": "yes"}
	if err := s.Update(t.Context(), edited); err != nil {
		t.Fatal(err)
	}
	after := before.DeepCopy()
	after.Status.ClusterID = "id-1"
	if changed, err := w.Patch(t.Context(), before, after); changed || !apierrors.IsConflict(err) {
		t.Fatalf("a write over an edit: changed %v, err %v", changed, err)
	}
	before = w.Base(s.get(t))
	after = before.DeepCopy()
	after.Status.ClusterID = "id-1"
	if changed, err := w.Patch(t.Context(), before, after); !changed || err != nil {
		t.Errorf("a write that knows of the edit: changed %v, err %v", changed, err)
	}
}
