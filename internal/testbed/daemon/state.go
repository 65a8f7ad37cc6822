//go:build unix

// Package daemon runs the standard bed (real Kafka, a real Kubernetes API server and, if asked, the operator) in the
// background for people: one daemon process per checkout owns it, and short commands talk to the daemon through a
// socket. When the daemon ends, in whatever way, everything ends.
package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"durabletopic.io/operator/internal/testbed/assets"
	"durabletopic.io/operator/internal/testbed/kafkabed"
	"durabletopic.io/operator/internal/testbed/operatorbed"
)

// dirEnv names the environment variable that moves the state directory, for several beds of one checkout.
const dirEnv = "BED_DIR"

// ErrDown says that no bed is up in the state directory.
var ErrDown = errors.New("the bed is not up (start it with: bin/bed up)")

// Dir is the state directory: BED_DIR, or .bed in the checkout. It holds what a person wants to find again: logs, the
// kubeconfig, Kafka's tools.
func Dir() (string, error) {
	if dir := os.Getenv(dirEnv); dir != "" {
		return filepath.Abs(dir)
	}
	root, err := assets.Root()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, ".bed"), nil
}

// files of the state directory.
func lockFile(dir string) string    { return filepath.Join(dir, "lock") }
func recordFile(dir string) string  { return filepath.Join(dir, "daemon.json") }
func serveLog(dir string) string    { return filepath.Join(dir, "bed.log") }
func operatorLog(dir string) string { return filepath.Join(dir, "operator.log") }
func nodeLogs(dir string) string    { return filepath.Join(dir, "logs") }
func toolsDir(dir string) string    { return filepath.Join(dir, "bin") }
func adminConfig(dir string) string { return filepath.Join(dir, "kubeconfig") }
func removable(dir string) []string {
	return []string{recordFile(dir), adminConfig(dir), toolsDir(dir)}
}

// record is what the daemon leaves for the commands; it is written when the bed is ready.
type record struct {
	Pid    int    `json:"pid"`
	Socket string `json:"socket"`
}

func readRecord(dir string) (record, error) {
	var r record
	text, err := os.ReadFile(recordFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return r, ErrDown
	}
	if err != nil {
		return r, fmt.Errorf("read state of bed: %w", err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("read state of bed: %w", err)
	}
	return r, nil
}

func writeRecord(dir string, r record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write state of bed: %w", err)
	}
	staging := recordFile(dir) + ".staging"
	if err := errors.Join(os.WriteFile(staging, text, 0o600), os.Rename(staging, recordFile(dir))); err != nil {
		return fmt.Errorf("write state of bed: %w", err)
	}
	return nil
}

// Status describes a bed that is up.
type Status struct {
	Pid          int               `json:"pid"`
	Since        time.Time         `json:"since"`
	StateDir     string            `json:"stateDir"`
	Log          string            `json:"log"`
	API          string            `json:"api"`
	Kubeconfig   string            `json:"kubeconfig"`
	Tools        string            `json:"tools"` // directory for PATH
	KafkaVersion string            `json:"kafkaVersion"`
	ClusterID    string            `json:"clusterID"`
	Bootstrap    string            `json:"bootstrap"`
	Nodes        []Node            `json:"nodes"`
	Operator     *operatorbed.Info `json:"operator,omitempty"` // nil: was never started
}

// Node is one Kafka process, and what Kafka says about it.
type Node struct {
	kafkabed.NodeInfo
	Kafka string `json:"kafka"` // "unfenced", "fenced", "unregistered", or "" where nobody could be asked
}
