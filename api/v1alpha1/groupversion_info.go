package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "durabletopic.io", Version: "v1alpha1"}

var schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

// AddToScheme registers the kinds of this package, so that clients and decoders built on the scheme know them.
var AddToScheme = schemeBuilder.AddToScheme

// Resource qualifies the plural name of a resource, such as "durabletopics", with the group of this package.
func Resource(resource string) schema.GroupResource {
	return GroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&KafkaCluster{}, &KafkaClusterList{},
		&DurableTopic{}, &DurableTopicList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
