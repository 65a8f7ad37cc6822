package crd

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/testbed/kubebed"
)

const (
	topics   = "namespaces/default/durabletopics"
	clusters = "kafkaclusters"
)

// apiServer sends raw documents to the resources of the API group.
type apiServer struct {
	bed    *kubebed.Cluster
	client rest.Interface
}

func newAPIServer(bed *kubebed.Cluster) (*apiServer, error) {
	raw := bed.Config()
	raw.GroupVersion = &v1alpha1.GroupVersion
	raw.APIPath = "/apis"
	raw.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	raw.AcceptContentTypes = "application/json"
	raw.QPS = -1
	client, err := rest.RESTClientFor(raw)
	if err != nil {
		return nil, fmt.Errorf("build REST client: %w", err)
	}
	return &apiServer{bed: bed, client: client}, nil
}

// onServer skips the test where no API server runs.
func onServer(t *testing.T) *apiServer {
	t.Helper()
	if testing.Short() {
		t.Skip("needs an API server")
	}
	return server
}

// create posts a YAML document, with unknown and doubled fields refused, and removes the object after the test.
func (s *apiServer) create(t *testing.T, resource, document string) (map[string]any, error) {
	t.Helper()
	result := s.client.Post().AbsPath(s.path(resource)).
		Param("fieldValidation", "Strict").
		SetHeader("Content-Type", "application/yaml").
		Body([]byte(document)).Do(t.Context())
	object, err := decode(result)
	if err == nil {
		name, _, _ := unstructured.NestedString(object, "metadata", "name")
		t.Cleanup(func() { s.remove(t, resource, name) })
	}
	return object, err
}

// replace puts a YAML document in the place of the object of the same name, whatever its resource version.
func (s *apiServer) replace(t *testing.T, resource, name, document string) (map[string]any, error) {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(document), &object); err != nil {
		t.Fatalf("parse document: %v", err)
	}
	version, _, _ := unstructured.NestedString(s.get(t, resource, name), "metadata", "resourceVersion")
	if err := unstructured.SetNestedField(object, version, "metadata", "resourceVersion"); err != nil {
		t.Fatalf("set resource version: %v", err)
	}
	body, err := yaml.Marshal(object)
	if err != nil {
		t.Fatalf("write document: %v", err)
	}
	return decode(s.client.Put().AbsPath(s.path(resource), name).
		Param("fieldValidation", "Strict").
		SetHeader("Content-Type", "application/yaml").
		Body(body).Do(t.Context()))
}

// apply sends a YAML document as a server-side apply.
func (s *apiServer) apply(t *testing.T, resource, name, document string) (map[string]any, error) {
	t.Helper()
	return decode(s.client.Patch("application/apply-patch+yaml").AbsPath(s.path(resource), name).
		Param("fieldValidation", "Strict").Param("fieldManager", "test").
		Body([]byte(document)).Do(t.Context()))
}

// setStatus merges a YAML document into the status subresource.
func (s *apiServer) setStatus(t *testing.T, resource, name, status string) error {
	t.Helper()
	body, err := yaml.YAMLToJSON([]byte(status))
	if err != nil {
		t.Fatalf("parse status: %v", err)
	}
	_, err = decode(s.client.Patch("application/merge-patch+json").AbsPath(s.path(resource), name, "status").
		Param("fieldValidation", "Strict").
		Body(body).Do(t.Context()))
	return err
}

func (s *apiServer) get(t *testing.T, resource, name string) map[string]any {
	t.Helper()
	object, err := decode(s.client.Get().AbsPath(s.path(resource), name).Do(t.Context()))
	if err != nil {
		t.Fatalf("get %s %q: %v", resource, name, err)
	}
	return object
}

func (s *apiServer) remove(t *testing.T, resource, name string) {
	t.Helper()
	err := s.client.Delete().AbsPath(s.path(resource), name).Do(context.WithoutCancel(t.Context())).Error()
	if err != nil && !apierrors.IsNotFound(err) {
		t.Errorf("delete %s %q: %v", resource, name, err)
	}
}

func (s *apiServer) path(resource string) string {
	return "/apis/" + v1alpha1.GroupVersion.String() + "/" + resource
}

func decode(result rest.Result) (map[string]any, error) {
	if err := result.Error(); err != nil {
		return nil, err
	}
	raw, err := result.Raw()
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if err := yaml.Unmarshal(raw, &object); err != nil {
		return nil, fmt.Errorf("decode answer: %w", err)
	}
	return object, nil
}

// topicDocument returns a DurableTopic whose spec is the given YAML, a flow mapping such as {profile: critical}.
func topicDocument(name, spec string) string {
	return fmt.Sprintf("apiVersion: durabletopic.io/v1alpha1\nkind: DurableTopic\nmetadata: {name: %s}\nspec: %s\n", name, spec)
}

// clusterDocument returns a KafkaCluster whose spec is the given YAML.
func clusterDocument(name, spec string) string {
	return fmt.Sprintf("apiVersion: durabletopic.io/v1alpha1\nkind: KafkaCluster\nmetadata: {name: %s}\nspec: %s\n", name, spec)
}

// requireRefusal fails the test unless err is a refusal by the API server whose message has every part.
func requireRefusal(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("accepted, want a refusal with %q", parts)
	}
	if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
		t.Fatalf("error %v is no refusal of the object", err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("message %q does not contain %q", err.Error(), part)
		}
	}
}
