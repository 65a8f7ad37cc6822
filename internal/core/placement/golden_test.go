package placement_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"durabletopic.io/operator/internal/core/placement"
)

var update = flag.Bool("update", false, "write the golden files anew")

// A batch of nine topics on six brokers in three racks, as text: any change of the algorithm shows here.
func TestPlaceGolden(t *testing.T) {
	brokers, wishes := cluster("a a b b c c"), freshCart(3)
	placed := placement.Place(brokers, nil, wishes)
	var text strings.Builder
	for i, w := range wishes {
		for p, replicas := range placed[i].Replicas {
			fmt.Fprintf(&text, "%-22s %d  %v\n", w.Topic, p, replicas)
		}
	}
	c := count(replicaLists(placed)...)
	for _, b := range brokers {
		fmt.Fprintf(&text, "broker %d rack %s: %d preferred leaders, %d replicas\n", b.ID, b.Rack, c.leaders[b.ID], c.replicas[b.ID])
	}
	golden := filepath.Join("testdata", "freshcart.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text.String()); diff != "" {
		t.Errorf("placement changed; with -update the file follows (-want +got):\n%s", diff)
	}
}
