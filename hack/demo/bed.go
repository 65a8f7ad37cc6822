package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// bed is the running test bed with the operator, driven through the command that people use.
type bed struct {
	command    string
	kubeconfig string
	bootstrap  []string
	ours       bool // this demo has raised it, so it takes it down
}

// raise starts the bed and the operator, or uses those that run already.
func raise(ctx context.Context) (*bed, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	b := &bed{command: filepath.Join(filepath.Dir(exe), "bed")}
	_, statusErr := b.output(ctx, "env")
	b.ours = statusErr != nil
	for _, args := range [][]string{{"up"}, {"operator", "start"}} {
		if err := b.run(ctx, args...); err != nil {
			return nil, fmt.Errorf("bed %s: %w", strings.Join(args, " "), joinRelease(err, b))
		}
	}
	out, err := b.output(ctx, "env")
	if err != nil {
		return nil, joinRelease(err, b)
	}
	env := exports(out)
	b.kubeconfig, b.bootstrap = env["KUBECONFIG"], strings.Split(env["BOOTSTRAP"], ",")
	return b, nil
}

func joinRelease(err error, b *bed) error {
	if downErr := b.release(); downErr != nil {
		return fmt.Errorf("%w (and %w)", err, downErr)
	}
	return err
}

// release takes the bed down if this demo raised it and KEEP is not set.
func (b *bed) release() error {
	switch {
	case !b.ours:
		fmt.Println("\nThe bed was running before; it stays up.")
		return nil
	case os.Getenv("KEEP") != "":
		fmt.Printf("\nKEEP is set, the bed stays up. To look around:\n  eval \"$(bin/bed env)\"\n  kubectl get dtopic -n %s\n  make down\n",
			namespace)
		return nil
	}
	return b.run(context.Background(), "down")
}

func (b *bed) run(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, b.command, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

func (b *bed) output(ctx context.Context, args ...string) ([]byte, error) {
	return exec.CommandContext(ctx, b.command, args...).Output()
}

// exports reads lines of the form `export NAME=VALUE`, the value quoted or not.
func exports(text []byte) map[string]string {
	env := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		name, value, ok := strings.Cut(strings.TrimPrefix(lines.Text(), "export "), "=")
		if ok {
			env[name] = strings.Trim(value, `'"`)
		}
	}
	return env
}
