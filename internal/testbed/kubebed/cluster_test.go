//go:build unix

package kubebed_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"durabletopic.io/operator/internal/testbed/kubebed"
)

func start(t *testing.T, opts kubebed.Options) *kubebed.Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real API server")
	}
	opts.Log = t.Logf
	cluster, err := kubebed.Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Errorf("Stop() = %v", err)
		}
		if _, err := os.Stat(cluster.Dir()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the bed's directory is still there: %v", err)
		}
	})
	return cluster
}

// clientsOf reads the kubeconfig file, as kubectl would.
func clientsOf(t *testing.T, kubeconfig string) *kubernetes.Clientset {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return clients(t, config)
}

func clients(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestEveryIdentityHasOnlyItsOwnRights(t *testing.T) {
	cluster := start(t, kubebed.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	admin := clientsOf(t, cluster.Kubeconfig())
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "operator"}}
	if _, err := admin.CoreV1().ServiceAccounts("default").Create(ctx, account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	user, err := cluster.User("team:shop")
	if err != nil {
		t.Fatal(err)
	}
	robot, err := cluster.ServiceAccount(ctx, "default", "operator")
	if err != nil {
		t.Fatal(err)
	}
	chief, err := cluster.User("chief", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	list := func(set *kubernetes.Clientset) error {
		_, err := set.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
		return err
	}
	for name, set := range map[string]*kubernetes.Clientset{
		"user": clientsOf(t, user.Kubeconfig), "user's config": clients(t, user.Config),
		"service account": clientsOf(t, robot.Kubeconfig), "service account's config": clients(t, robot.Config),
	} {
		if err := list(set); !apierrors.IsForbidden(err) {
			t.Errorf("%s without a binding lists config maps: error %v, want Forbidden", name, err)
		}
	}
	if err := list(clientsOf(t, chief.Kubeconfig)); err != nil {
		t.Errorf("member of system:masters lists config maps: %v", err)
	}

	grant(ctx, t, admin, rbacv1.Subject{Kind: "User", Name: "team:shop"}, rbacv1.Subject{Kind: "ServiceAccount", Namespace: "default", Name: "operator"})
	for name, kubeconfig := range map[string]string{"user": user.Kubeconfig, "service account": robot.Kubeconfig} {
		set := clientsOf(t, kubeconfig)
		err := list(set)
		for apierrors.IsForbidden(err) && ctx.Err() == nil { // the authorizer reads bindings from a cache
			err = list(set)
		}
		if err != nil {
			t.Errorf("%s with a binding lists config maps: %v", name, err)
		}
	}
}

// grant lets subjects read config maps in namespace default.
func grant(ctx context.Context, t *testing.T, admin *kubernetes.Clientset, subjects ...rbacv1.Subject) {
	t.Helper()
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}},
	}
	if _, err := admin.RbacV1().Roles("default").Create(ctx, role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects:   subjects,
	}
	if _, err := admin.RbacV1().RoleBindings("default").Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lamps.bed.example}
spec:
  group: bed.example
  names: {kind: Lamp, plural: lamps}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`

func TestTwoBedsSideBySideAndCRDs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "crd.yaml")
	if err := os.WriteFile(path, []byte(crd), 0o600); err != nil {
		t.Fatal(err)
	}
	first, second := start(t, kubebed.Options{CRDPaths: []string{path}}), start(t, kubebed.Options{})
	for name, tc := range map[string]struct {
		cluster *kubebed.Cluster
		want    bool
	}{"with": {first, true}, "without": {second, false}} {
		_, err := clients(t, tc.cluster.Config()).Discovery().ServerResourcesForGroupVersion("bed.example/v1")
		if got := err == nil; got != tc.want {
			t.Errorf("bed %s the CRD serves it: %v (%v)", name, got, err)
		}
	}
}

func TestAMissingCRDPathIsAnError(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real API server")
	}
	cluster, err := kubebed.Start(t.Context(), kubebed.Options{CRDPaths: []string{filepath.Join(t.TempDir(), "none")}})
	if err == nil {
		_ = cluster.Stop()
		t.Fatal("Start() with a missing CRD path succeeded")
	}
}
