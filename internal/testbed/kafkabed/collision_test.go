//go:build unix

package kafkabed

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"durabletopic.io/operator/internal/testbed/progress"
)

// Start begins anew on other ports when it sees errPortTaken; this is how it comes to see it.
func TestATakenPortIsRecognised(t *testing.T) {
	if testing.Short() {
		t.Skip("needs real Kafka")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	kafka, err := Prepare(ctx, progress.Discard)
	if err != nil {
		t.Fatal(err)
	}
	opts, err := Options{Racks: []string{"a"}}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	c, err := newCluster(ctx, opts, kafka)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Stop() })
	thief, err := net.Listen("tcp4", c.nodes[1].addr())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = thief.Close() }()
	if err := c.format(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(ControllerID, 1); err != nil {
		t.Fatal(err)
	}
	if err := c.WaitUnfenced(ctx, 1); !errors.Is(err, ErrNotRunning) {
		t.Fatalf("WaitUnfenced() = %v, want ErrNotRunning", err)
	}
	if err := c.portTaken(); !errors.Is(err, errPortTaken) {
		t.Errorf("portTaken() = %v, want errPortTaken", err)
	}
}
