//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"durabletopic.io/operator/internal/testbed/daemon"
	"durabletopic.io/operator/internal/testbed/kafkabed"
	"durabletopic.io/operator/internal/testbed/operatorbed"
)

// commandEnv makes the test binary be the bed command, so that `up` can start it as the daemon.
const commandEnv = "DURABLETOPIC_BED_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(commandEnv) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// bed runs one command in a state directory of the test.
type bed struct{ dir string }

func (b bed) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), commandEnv+"=1", "BED_DIR="+b.dir)
	return cmd
}

func (b bed) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	out, err := b.command(ctx, args...).CombinedOutput()
	t.Logf("bed %s:\n%s", strings.Join(args, " "), out)
	return string(out), err
}

func (b bed) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := b.run(t, args...)
	if err != nil {
		t.Fatalf("bed %s: %v", strings.Join(args, " "), err)
	}
	return out
}

func wantParts(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q:\n%s", what, part, text)
		}
	}
}

func TestCommandsWithoutABed(t *testing.T) {
	tests := map[string]struct {
		args     []string
		want     string
		wantFail bool
	}{
		"status":           {args: []string{"status"}, want: "the bed is not up (start it with: bin/bed up)", wantFail: true},
		"env":              {args: []string{"env"}, want: "the bed is not up", wantFail: true},
		"kill":             {args: []string{"kill", "--rack", "a"}, want: "the bed is not up", wantFail: true},
		"operator":         {args: []string{"operator", "start"}, want: "the bed is not up", wantFail: true},
		"down":             {args: []string{"down"}, want: "the bed is not up"},
		"broker no number": {args: []string{"kill", "--broker", "one"}, want: `invalid argument "one"`, wantFail: true},
		"stray argument":   {args: []string{"kill", "1"}, want: `unknown command "1"`, wantFail: true},
		"unknown command":  {args: []string{"explode"}, want: `unknown command "explode"`, wantFail: true},
		"help":             {args: []string{"--help"}, want: "BED_DIR"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			out, err := bed{dir: t.TempDir()}.run(t, tc.args...)
			if failed := err != nil; failed != tc.wantFail {
				t.Errorf("error %v, want one: %v", err, tc.wantFail)
			}
			wantParts(t, "output", out, tc.want)
		})
	}
}

// The flags of one command select brokers and racks, each as often as wanted.
func TestTargetFlags(t *testing.T) {
	tests := map[string]struct {
		args []string
		want daemon.Targets
	}{
		"one broker":     {args: []string{"--broker", "3"}, want: daemon.Targets{Brokers: []int32{3}}},
		"repeated":       {args: []string{"--broker", "3", "--broker=5", "--rack", "a", "--rack", "c"}, want: daemon.Targets{Brokers: []int32{3, 5}, Racks: []string{"a", "c"}}},
		"list":           {args: []string{"--broker", "3,5"}, want: daemon.Targets{Brokers: []int32{3, 5}}},
		"the controller": {args: []string{"--broker", "100"}, want: daemon.Targets{Brokers: []int32{100}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var targets daemon.Targets
			cmd := &cobra.Command{}
			bindTargets(cmd, &targets)
			if err := cmd.ParseFlags(tc.args); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, targets); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPrintStatus(t *testing.T) {
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	status := daemon.Status{
		Pid: 7, Since: begin, Bootstrap: "127.0.0.1:1", KafkaVersion: "4.4.0",
		Operator: &operatorbed.Info{Pid: 9, State: operatorbed.Stopped, Exit: "signal: killed", LogFile: "/o.log"},
		Nodes: []daemon.Node{
			{NodeInfo: kafkabed.NodeInfo{ID: 100, Pid: 11, State: kafkabed.Running}},
			{NodeInfo: kafkabed.NodeInfo{ID: 1, Rack: "a", Pid: 12, State: kafkabed.Stopped, Exit: "signal: killed"}, Kafka: "fenced"},
		},
	}
	var out bytes.Buffer
	if err := printStatus(&out, status, begin.Add(90*time.Second)); err != nil {
		t.Fatal(err)
	}
	wantParts(t, "status", out.String(), "up for 1m30s, daemon process 7", "stopped (process 9: signal: killed), log /o.log",
		"controller", "stopped (signal: killed)", "fenced")
}

func TestBedOfACheckout(t *testing.T) {
	if testing.Short() {
		t.Skip("needs real Kafka and a real API server")
	}
	b := bed{dir: t.TempDir()}
	t.Cleanup(func() { b.must(t, "down") })
	b.must(t, "up")
	wantParts(t, "second up", b.must(t, "up"), "the bed is up already")

	env := b.must(t, "env")
	wantParts(t, "env", env, "export KUBECONFIG=", "export BOOTSTRAP=", "export PATH=")
	play := exec.CommandContext(t.Context(), "/bin/sh", "-ec", env+`
		kubectl get --raw /readyz; echo
		kafka-topics.sh --bootstrap-server "$BOOTSTRAP" --create --topic orders --partitions 1 --replication-factor 3
		kafka-topics.sh --bootstrap-server "$BOOTSTRAP" --describe --topic orders`)
	out, err := play.CombinedOutput()
	if err != nil {
		t.Fatalf("use the environment: %v\n%s", err, out)
	}
	wantParts(t, "a person's commands", string(out), "ok", "Created topic orders", "ReplicationFactor: 3")

	b.must(t, "kill", "--rack", "a")
	b.must(t, "pause", "--broker", "3")
	wantStates(t, b, map[string]string{"1": "stopped", "2": "stopped", "3": "paused", "4": "running", "100": "running"})
	for name, args := range map[string][]string{
		`no broker 9: the bed has brokers [1 2 3 4 5 6]`: {"kill", "--broker", "9"},
		`no rack "z": the bed has racks a, b, c`:         {"pause", "--rack", "z"},
		`name a node with --broker or a rack with --rac`: {"resume"},
	} {
		out, err := b.run(t, args...)
		if err == nil {
			t.Errorf("bed %v succeeded", args)
		}
		wantParts(t, "error", out, name)
	}
	b.must(t, "resume", "--broker", "3")
	b.must(t, "start", "--rack", "a")
	wantStates(t, b, map[string]string{"1": "running", "2": "running", "3": "running"})
	diesWithItsDaemon(t, b)
}

func wantStates(t *testing.T, b bed, want map[string]string) {
	t.Helper()
	status := b.must(t, "status")
	got := map[string]string{}
	for line := range strings.Lines(status) {
		if fields := strings.Fields(line); len(fields) > 5 && want[fields[0]] != "" {
			got[fields[0]] = fields[5]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("states of nodes (-want +got):\n%s", diff)
	}
}

// diesWithItsDaemon kills the daemon and wants nothing to be left, and a later command to say so.
func diesWithItsDaemon(t *testing.T, b bed) {
	t.Helper()
	t.Setenv("BED_DIR", b.dir)
	client, err := daemon.Connect(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	status, err := client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(status.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for _, node := range status.Nodes {
		for syscall.Kill(node.Pid, 0) == nil {
			if time.Now().After(deadline) {
				t.Fatalf("node %d (process %d) outlives its daemon", node.ID, node.Pid)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	if out, err := b.run(t, "status"); err == nil || !strings.Contains(out, "the bed is not up") {
		t.Errorf("status after the daemon's death: %v %q", err, out)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "kubeconfig")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the dead bed's kubeconfig is still there: %v", err)
	}
}
