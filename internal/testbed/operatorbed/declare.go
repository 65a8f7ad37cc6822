//go:build unix

package operatorbed

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"durabletopic.io/operator/internal/testbed/kubebed"
)

// DeclareKafka applies a KafkaCluster of the given name that points to the given brokers.
func DeclareKafka(ctx context.Context, kube *kubebed.Cluster, name string, bootstrap []string) error {
	servers := make([]any, len(bootstrap))
	for i, server := range bootstrap {
		servers[i] = server
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "durabletopic.io/v1alpha1",
		"kind":       "KafkaCluster",
		"metadata":   map[string]any{"name": name},
		"spec":       map[string]any{"bootstrapServers": servers},
	}}
	return kube.Apply(ctx, object)
}
