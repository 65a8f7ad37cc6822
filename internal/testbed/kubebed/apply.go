//go:build unix

package kubebed

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fieldOwner is the manager of the fields that Apply sets.
const fieldOwner = "bed"

// Manifests reads the objects of YAML files; a directory stands for its *.yaml files. Kustomizations are left out.
func Manifests(paths ...string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, path := range paths {
		files := []string{path}
		if info, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("read manifests: %w", err)
		} else if info.IsDir() {
			if files, err = filepath.Glob(filepath.Join(path, "*.yaml")); err != nil {
				return nil, fmt.Errorf("read manifests: %w", err)
			}
		}
		for _, file := range files {
			found, err := readManifest(file)
			if err != nil {
				return nil, fmt.Errorf("read manifest %s: %w", file, err)
			}
			objects = append(objects, found...)
		}
	}
	return objects, nil
}

func readManifest(file string) ([]*unstructured.Unstructured, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			return nil, err
		}
		if len(object.Object) > 0 && !strings.HasPrefix(object.GetAPIVersion(), "kustomize.") {
			objects = append(objects, object)
		}
	}
}

// Apply applies objects on the server side as cluster admin: namespaces and CRDs first, and the others once the CRDs
// are established.
func (c *Cluster) Apply(ctx context.Context, objects ...*unstructured.Unstructured) error {
	api, err := client.New(c.Config(), client.Options{})
	if err != nil {
		return fmt.Errorf("make kubernetes client: %w", err)
	}
	var first, rest []*unstructured.Unstructured
	for _, object := range objects {
		if slices.Contains([]string{"Namespace", crdKind}, object.GetKind()) {
			first = append(first, object)
		} else {
			rest = append(rest, object)
		}
	}
	for _, object := range first {
		if err := apply(ctx, api, object); err != nil {
			return err
		}
	}
	for _, object := range first {
		if err := waitEstablished(ctx, api, object); err != nil {
			return err
		}
	}
	for _, object := range rest {
		if err := apply(ctx, api, object); err != nil {
			return err
		}
	}
	return nil
}

const crdKind = "CustomResourceDefinition"

func apply(ctx context.Context, api client.Client, object *unstructured.Unstructured) error {
	config := client.ApplyConfigurationFromUnstructured(object.DeepCopy())
	if err := api.Apply(ctx, config, client.FieldOwner(fieldOwner), client.ForceOwnership); err != nil {
		return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// waitEstablished returns when the API server serves the CRD and its kind can be looked up; at once for other objects.
func waitEstablished(ctx context.Context, api client.Client, object *unstructured.Unstructured) error {
	if object.GetKind() != crdKind {
		return nil
	}
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		crd := &unstructured.Unstructured{}
		crd.SetGroupVersionKind(object.GroupVersionKind())
		if err := api.Get(ctx, client.ObjectKeyFromObject(object), crd); err != nil {
			return false, err
		}
		if !established(crd) {
			return false, nil
		}
		group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
		plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
		_, err := api.RESTMapper().ResourceFor(schema.GroupVersionResource{Group: group, Resource: plural})
		return err == nil, ignoreNoMatch(err)
	})
	if err != nil {
		return fmt.Errorf("wait for CRD %s: %w", object.GetName(), err)
	}
	return nil
}

func ignoreNoMatch(err error) error {
	if meta.IsNoMatchError(err) {
		return nil
	}
	return err
}

func established(crd *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(condition any) bool {
		fields, _ := condition.(map[string]any)
		return fields["type"] == "Established" && fields["status"] == "True"
	})
}
