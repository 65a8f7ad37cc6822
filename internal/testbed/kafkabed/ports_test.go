//go:build unix

package kafkabed

import (
	"net"
	"strconv"
	"testing"
)

func TestReservedPortsAreApartAndFree(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	seen := map[int]bool{}
	for range 20 {
		base, release, err := reservePorts(t.Context(), 6)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(release)
		if seen[base] {
			t.Errorf("block %d was given twice", base)
		}
		seen[base] = true
		if base < firstPort || base+portBlock > lastPort+portBlock || base%portBlock != firstPort%portBlock {
			t.Errorf("block %d lies outside %d to %d", base, firstPort, lastPort)
		}
	}
}

func TestAPortInUseIsNotFree(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	base, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	if allFree(base-1, 2) {
		t.Errorf("ports %d and %d are called free while somebody listens on the second", base-1, base)
	}
}
