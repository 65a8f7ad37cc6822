package crd

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/testbed/kubebed"
)

const (
	systemNamespace = "durabletopic-system"
	manager         = "durabletopic-controller-manager"
)

// The operator may do what it does, and nothing else.
func TestRightsOfTheOperator(t *testing.T) {
	s := onServer(t)
	objects, err := kubebed.Manifests(filepath.Join(configDir, "rbac"))
	if err != nil {
		t.Fatalf("read manifests: %v", err)
	}
	if err := s.bed.Apply(t.Context(), objects...); err != nil {
		t.Fatalf("apply manifests: %v", err)
	}
	user, err := s.bed.ServiceAccount(t.Context(), systemNamespace, manager)
	if err != nil {
		t.Fatalf("become the operator: %v", err)
	}
	clients, err := kubernetes.NewForConfig(user.Config)
	if err != nil {
		t.Fatalf("build client: %v", err)
	}

	type attributes = authorizationv1.ResourceAttributes
	const group = "durabletopic.io"
	tests := map[string]struct {
		attributes attributes
		want       bool
	}{
		"watch topics":                    {attributes{Group: group, Resource: "durabletopics", Verb: "watch"}, true},
		"list topics":                     {attributes{Group: group, Resource: "durabletopics", Verb: "list"}, true},
		"write the status of topics":      {attributes{Group: group, Resource: "durabletopics", Subresource: "status", Verb: "patch", Namespace: "any"}, true},
		"watch clusters":                  {attributes{Group: group, Resource: "kafkaclusters", Verb: "watch"}, true},
		"write the status of clusters":    {attributes{Group: group, Resource: "kafkaclusters", Subresource: "status", Verb: "patch"}, true},
		"emit events":                     {attributes{Group: "events.k8s.io", Resource: "events", Verb: "create", Namespace: "any"}, true},
		"fold events":                     {attributes{Group: "events.k8s.io", Resource: "events", Verb: "patch", Namespace: "any"}, true},
		"take the lease":                  {attributes{Group: "coordination.k8s.io", Resource: "leases", Verb: "create", Namespace: systemNamespace}, true},
		"keep the lease":                  {attributes{Group: "coordination.k8s.io", Resource: "leases", Verb: "update", Namespace: systemNamespace}, true},
		"create topics":                   {attributes{Group: group, Resource: "durabletopics", Verb: "create", Namespace: "any"}, false},
		"delete topics":                   {attributes{Group: group, Resource: "durabletopics", Verb: "delete", Namespace: "any"}, false},
		"edit the spec of topics":         {attributes{Group: group, Resource: "durabletopics", Verb: "patch", Namespace: "any"}, false},
		"create clusters":                 {attributes{Group: group, Resource: "kafkaclusters", Verb: "create"}, false},
		"edit the spec of clusters":       {attributes{Group: group, Resource: "kafkaclusters", Verb: "patch"}, false},
		"take leases of others":           {attributes{Group: "coordination.k8s.io", Resource: "leases", Verb: "update", Namespace: "kube-system"}, false},
		"read Secrets":                    {attributes{Resource: "secrets", Verb: "get", Namespace: "any"}, false},
		"read Secrets of its namespace":   {attributes{Resource: "secrets", Verb: "list", Namespace: systemNamespace}, false},
		"read ConfigMaps":                 {attributes{Resource: "configmaps", Verb: "get", Namespace: "any"}, false},
		"give itself more rights":         {attributes{Group: "rbac.authorization.k8s.io", Resource: "clusterroles", Verb: "patch"}, false},
		"edit CustomResourceDefinitions":  {attributes{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Verb: "patch"}, false},
		"do anything with resources":      {attributes{Group: "*", Resource: "*", Verb: "*"}, false},
		"delete events":                   {attributes{Group: "events.k8s.io", Resource: "events", Verb: "delete", Namespace: "any"}, false},
		"delete namespaces":               {attributes{Resource: "namespaces", Verb: "delete"}, false},
		"impersonate":                     {attributes{Resource: "users", Verb: "impersonate"}, false},
		"run programs in pods":            {attributes{Resource: "pods", Subresource: "exec", Verb: "create", Namespace: "any"}, false},
		"mint tokens of service accounts": {attributes{Resource: "serviceaccounts", Subresource: "token", Verb: "create", Namespace: systemNamespace}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			review, err := clients.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &tc.attributes},
			}, metav1.CreateOptions{})
			if err != nil {
				t.Fatalf("ask: %v", err)
			}
			if review.Status.Allowed != tc.want {
				t.Errorf("allowed = %t, want %t (%s)", review.Status.Allowed, tc.want, review.Status.Reason)
			}
		})
	}
}

func TestNoRoleHasWildcards(t *testing.T) {
	objects, err := kubebed.Manifests(filepath.Join(configDir, "rbac"))
	if err != nil {
		t.Fatalf("read manifests: %v", err)
	}
	roles := 0
	for _, object := range objects {
		if kind := object.GetKind(); kind != "ClusterRole" && kind != "Role" {
			continue
		}
		var role rbacv1.ClusterRole // a Role has its rules in the same place
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
			t.Fatalf("convert %s: %v", object.GetName(), err)
		}
		roles++
		for _, rule := range role.Rules {
			for _, list := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs, rule.NonResourceURLs} {
				if slices.Contains(list, "*") {
					t.Errorf("%s %s has a wildcard: %v", object.GetKind(), role.Name, rule)
				}
			}
		}
	}
	if roles < 6 {
		t.Errorf("found %d roles, want at least the operator's two, two viewers and two editors", roles)
	}
}

func TestSamplesAreAccepted(t *testing.T) {
	s := onServer(t)
	objects, err := kubebed.Manifests(filepath.Join(configDir, "samples"))
	if err != nil {
		t.Fatalf("read samples: %v", err)
	}
	if err := s.bed.Apply(t.Context(), objects...); err != nil {
		t.Fatalf("apply samples: %v", err)
	}
	for _, object := range objects {
		var typed any
		switch object.GetKind() {
		case "DurableTopic":
			t.Cleanup(func() { s.remove(t, "namespaces/"+object.GetNamespace()+"/durabletopics", object.GetName()) })
			typed = &v1alpha1.DurableTopic{}
		case "KafkaCluster":
			t.Cleanup(func() { s.remove(t, clusters, object.GetName()) })
			typed = &v1alpha1.KafkaCluster{}
		default:
			continue
		}
		text, err := yaml.Marshal(object)
		if err != nil {
			t.Fatalf("write sample: %v", err)
		}
		if err := yaml.UnmarshalStrict(text, typed); err != nil {
			t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

func TestFreshCartSample(t *testing.T) {
	path := filepath.Join(configDir, "samples", "freshcart.yaml")
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	objects, err := kubebed.Manifests(path)
	if err != nil {
		t.Fatalf("read sample: %v", err)
	}
	got := map[string][]string{}
	for _, object := range objects {
		var topic v1alpha1.DurableTopic
		if object.GetKind() != "DurableTopic" {
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &topic); err != nil {
			t.Fatalf("convert %s: %v", object.GetName(), err)
		}
		got[string(topic.Spec.Profile)] = append(got[string(topic.Spec.Profile)], topic.KafkaTopicName())
	}
	want := map[string][]string{
		"critical":  {"orders", "payments", "stock-levels", "account-permissions", "invoice-ledger"},
		"telemetry": {"delivery-van-locations", "page-views", "app-clickstream", "freezer-temperatures"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("topics by profile (-want +got):\n%s", diff)
	}
}
