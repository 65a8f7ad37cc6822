//go:build unix

package kafkabed

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"durabletopic.io/operator/internal/testbed/assets"
)

const (
	// portBlock is the number of ports of one bed: offset n is broker n, offset 0 the controller.
	portBlock = 64
	firstPort = 15040
	// lastPort lies below the range from which Linux (32768) and others (49152) take the ports of outgoing connections.
	lastPort = 32000
	// minSharedMemory is the free space that makes /dev/shm fit for a bed.
	minSharedMemory = 2 << 30
)

// reservePorts returns the first of portBlock ports that nobody uses now and that no other bed of this user takes
// until release is called or this process ends.
//
// A broker that is down must find its port again, so ports do not come from the ephemeral range: there any outgoing
// connection may get them meanwhile, even a client's own attempt to reach that broker.
func reservePorts(ctx context.Context, brokers int) (base int, release func(), err error) {
	cache, err := assets.CacheDir()
	if err != nil {
		return 0, nil, err
	}
	dir := filepath.Join(cache, "ports")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, nil, fmt.Errorf("reserve ports: %w", err)
	}
	blocks := (min(lastPort, ephemeralStart()-1) - firstPort) / portBlock
	if blocks < 1 {
		blocks = (lastPort - firstPort) / portBlock
	}
	for _, i := range rand.Perm(blocks) {
		if ctx.Err() != nil {
			return 0, nil, fmt.Errorf("reserve ports: %w", ctx.Err())
		}
		base := firstPort + i*portBlock
		release, err := assets.TryLock(filepath.Join(dir, strconv.Itoa(base)))
		if errors.Is(err, assets.ErrLocked) {
			continue
		}
		if err != nil {
			return 0, nil, fmt.Errorf("reserve ports: %w", err)
		}
		if allFree(base, brokers+1) {
			return base, release, nil
		}
		release()
	}
	return 0, nil, fmt.Errorf("reserve ports: no %d free ports in a row between %d and %d", brokers+1, firstPort, lastPort)
}

func allFree(base, n int) bool {
	for port := base; port < base+n; port++ {
		listener, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return false
		}
		_ = listener.Close()
	}
	return true
}

// ephemeralStart is the first port that Linux gives to outgoing connections; elsewhere a port above all of ours.
func ephemeralStart() int {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return lastPort + 1
	}
	fields := strings.Fields(string(text))
	if len(fields) == 0 {
		return lastPort + 1
	}
	start, err := strconv.Atoi(fields[0])
	if err != nil {
		return lastPort + 1
	}
	return start
}

// DefaultDir is where beds keep their data unless told otherwise: memory if there is enough of it, because creating
// thousands of partitions is bound by the disk's fsync.
func DefaultDir() string {
	const shm = "/dev/shm"
	var stat syscall.Statfs_t
	if err := syscall.Statfs(shm, &stat); err != nil || stat.Bavail*uint64(stat.Bsize) < minSharedMemory {
		return os.TempDir()
	}
	return shm
}
