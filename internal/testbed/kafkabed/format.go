//go:build unix

package kafkabed

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	nodeIDLine      = regexp.MustCompile(`(?m)^node\.id=.*$`)
	directoryIDLine = regexp.MustCompile(`(?m)^directory\.id=.*$`)
)

// newKafkaUUID returns a random id in Kafka's URL-safe form, without the characters that its tools take for an option.
func newKafkaUUID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // documented never to fail
	return strings.NewReplacer("-", "A", "_", "B").Replace(base64.RawURLEncoding.EncodeToString(id[:]))
}

// format formats the controller's directory with Kafka's StorageTool and gives every broker a copy of
// meta.properties with its own node.id and directory.id, which saves a Java start per broker. Brokers need no more: the
// controller's first snapshot brings the features.
func (c *Cluster) format(ctx context.Context) error {
	file := filepath.Join(c.Dir(), "format.properties")
	if err := os.WriteFile(file, []byte(c.nodeProperties(c.nodes[ControllerID]).String()), 0o600); err != nil {
		return fmt.Errorf("write properties: %w", err)
	}
	args := append(c.javaArgs(filepath.Join(c.logDir, "format.log")),
		"kafka.tools.StorageTool", "format", "--cluster-id", c.clusterID, "--config", file)
	if c.opts.DisableELR {
		args = append(args, "--feature", "eligible.leader.replicas.version=0")
	}
	args = append(args, c.opts.FormatArgs...)
	if out, err := exec.CommandContext(ctx, c.kafka.Java, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("format kafka storage: %w: %s", err, out)
	}
	for _, n := range c.brokers {
		if err := c.copyFormat(n); err != nil {
			return fmt.Errorf("format storage of broker %d: %w", n.id, err)
		}
	}
	return nil
}

func (c *Cluster) copyFormat(n *node) error {
	dir := c.dataDir(n.id)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	meta, err := os.ReadFile(filepath.Join(c.dataDir(ControllerID), "meta.properties"))
	if err != nil {
		return err
	}
	meta = nodeIDLine.ReplaceAll(meta, fmt.Appendf(nil, "node.id=%d", n.id))
	meta = directoryIDLine.ReplaceAll(meta, []byte("directory.id="+newKafkaUUID()))
	return os.WriteFile(filepath.Join(dir, "meta.properties"), meta, 0o644)
}
