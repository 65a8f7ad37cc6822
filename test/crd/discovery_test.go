package crd

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What kubectl shows and finds: columns, names and field selectors.

func TestColumns(t *testing.T) {
	tests := map[string]struct {
		resource string
		want     []string
		wantWide []string
	}{
		"DurableTopic": {topics, []string{"Name", "Topic", "Profile", "RF", "MinISR", "Durable", "Ready", "Age"}, []string{"Cluster", "Partitions", "Racks", "Message"}},
		"KafkaCluster": {clusters, []string{"Name", "Ready", "Brokers", "Racks", "Cluster ID", "Age"}, []string{"Enforcement", "Message"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := onServer(t)
			raw, err := s.client.Get().AbsPath(s.path(tc.resource)).
				SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
			if err != nil {
				t.Fatalf("get table: %v", err)
			}
			var table metav1.Table
			if err := json.Unmarshal(raw, &table); err != nil {
				t.Fatalf("decode table: %v", err)
			}
			var columns, wide []string
			for _, column := range table.ColumnDefinitions {
				if column.Priority == 0 {
					columns = append(columns, column.Name)
				} else {
					wide = append(wide, column.Name)
				}
			}
			if diff := cmp.Diff(tc.want, columns); diff != "" {
				t.Errorf("columns (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantWide, wide); diff != "" {
				t.Errorf("wide columns (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNames(t *testing.T) {
	s := onServer(t)
	raw, err := s.client.Get().AbsPath(s.path("")).DoRaw(t.Context())
	if err != nil {
		t.Fatalf("discover: %v", err)
	}
	var resources metav1.APIResourceList
	if err := json.Unmarshal(raw, &resources); err != nil {
		t.Fatalf("decode resources: %v", err)
	}
	type names struct {
		Short, Categories []string
		Namespaced        bool
	}
	got := map[string]names{}
	for _, r := range resources.APIResources {
		got[r.Name] = names{r.ShortNames, r.Categories, r.Namespaced}
	}
	want := map[string]names{
		"durabletopics":        {Short: []string{"dtopic"}, Categories: []string{"kafka"}, Namespaced: true},
		"durabletopics/status": {Namespaced: true},
		"kafkaclusters":        {Categories: []string{"kafka"}},
		"kafkaclusters/status": {},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
}

func TestFieldSelectors(t *testing.T) {
	s := onServer(t)
	for name, spec := range map[string]string{
		"one":   `{profile: critical}`,
		"two":   `{profile: telemetry}`,
		"three": `{profile: critical, clusterRef: {name: other}}`,
	} {
		if _, err := s.create(t, topics, topicDocument(name, spec)); err != nil {
			t.Fatalf("create %q: %v", name, err)
		}
	}
	for selector, want := range map[string][]string{
		"spec.profile=critical":                               {"one", "three"},
		"spec.profile=telemetry":                              {"two"},
		"spec.clusterRef.name=default":                        {"one", "two"},
		"spec.clusterRef.name=other,spec.profile=critical":    {"three"},
		"spec.clusterRef.name=nowhere":                        nil,
		"spec.clusterRef.name!=default,spec.profile=critical": {"three"},
	} {
		raw, err := s.client.Get().AbsPath(s.path(topics)).Param("fieldSelector", selector).DoRaw(t.Context())
		if err != nil {
			t.Fatalf("list by %q: %v", selector, err)
		}
		var list metav1.PartialObjectMetadataList
		if err := json.Unmarshal(raw, &list); err != nil {
			t.Fatalf("decode list: %v", err)
		}
		var got []string
		for _, item := range list.Items {
			got = append(got, item.Name)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("topics by %q (-want +got):\n%s", selector, diff)
		}
	}
}
