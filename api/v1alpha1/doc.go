// Package v1alpha1 is the Kubernetes API of DurableTopic: the kinds KafkaCluster and DurableTopic, their validation
// rules (Common Expression Language, carried by the generated CustomResourceDefinitions) and the public vocabulary of
// condition types and reasons.
//
// The package only describes. It decides nothing, talks to nothing and imports k8s.io/apimachinery alone, so that other
// programs can import it at little cost.
//
// +kubebuilder:object:generate=true
// +groupName=durabletopic.io
package v1alpha1
