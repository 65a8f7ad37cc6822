//go:build unix

package e2e_test

import (
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/testbed/kubebed"
)

// The running example of the project, as its sample declares it.
func TestFreshCart(t *testing.T) {
	w := enter(t, "freshcart")
	w.prefix = "" // the topics have plain names; nothing else is in this Kafka
	objects, err := kubebed.Manifests(filepath.Join("..", "..", "config", "samples", "freshcart.yaml"))
	w.must(err)
	w.must(w.kube.Apply(w.ctx, objects...))
	t.Logf("nine topics Ready after %s", rounded(w.untilAll(9, "Ready=True", "Durable=True", "!Drifted", "!Reconciling")))

	declared := w.list()
	names := make([]string, 0, len(declared))
	for _, d := range declared {
		names = append(names, d.Name)
	}
	w.shown(9)
	w.must(w.main.bed.WaitFullISR(w.ctx, names...))
	shown, err := w.main.partitions(w.ctx, "")
	w.must(err)
	configs, err := w.main.onTopic(w.ctx, names)
	w.must(err)
	leaders := map[int32]int{}
	for _, d := range declared {
		if got := len(shown[d.Name]); got != int(d.Spec.Partitions) {
			t.Errorf("%s has %d partitions, want %d", d.Name, got, d.Spec.Partitions)
		}
		for _, p := range shown[d.Name] {
			leaders[p.Leader]++
			if wrong := w.main.placed(p); wrong != "" {
				t.Error(wrong)
			}
		}
		want := map[string]string{minISR: "2", unclean: strconv.FormatBool(d.Spec.Profile == v1alpha1.ProfileTelemetry)}
		for key, value := range d.Spec.Config {
			want[key] = value
		}
		for key, value := range want {
			if got := configs[d.Name][key]; got != value {
				t.Errorf("%s: %s on the topic is %q, want %q", d.Name, key, got, value)
			}
		}
		if len(configs[d.Name]) != len(want) {
			t.Errorf("%s: %v is set on the topic, want %v", d.Name, configs[d.Name], want)
		}
	}
	var counts []int
	for _, id := range w.main.bed.Brokers() {
		counts = append(counts, leaders[id])
	}
	if slices.Max(counts)-slices.Min(counts) > 1 {
		t.Errorf("leaders by broker: %v, want them even", leaders)
	}
}
