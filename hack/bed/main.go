//go:build unix

// Command bed runs a real Kafka cluster and a real Kubernetes API server in the background, to play with: brokers can
// be killed, paused and started again, one by one or by rack, and the operator can run against it.
//
//	bin/bed up; eval "$(bin/bed env)"; kubectl get --raw /version; kafka-topics.sh --bootstrap-server "$BOOTSTRAP" --list
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"durabletopic.io/operator/internal/testbed/assets"
	"durabletopic.io/operator/internal/testbed/daemon"
	"durabletopic.io/operator/internal/testbed/progress"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := newCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bed:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "bed",
		Short: "Real Kafka brokers and a real Kubernetes API server in the background",
		Long: "The bed is controller 100, brokers 1-6 in racks a,a,b,b,c,c, etcd and kube-apiserver, all on the loopback\n" +
			"interface. Its state (logs, kubeconfig, tools) is in .bed of the checkout; BED_DIR names another place.",
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.AddCommand(prepareCommand(), upCommand(), serveCommand(), downCommand(), statusCommand(), envCommand(), operatorCommand())
	root.AddCommand(
		nodesCommand(daemon.Kill, "End nodes at once (SIGKILL)"),
		nodesCommand(daemon.Pause, "Freeze nodes (SIGSTOP): connections stay open and nobody answers"),
		nodesCommand(daemon.Resume, "Let paused nodes go on (SIGCONT)"),
		nodesCommand(daemon.Stop, "End nodes in order (SIGTERM, a controlled shutdown)"),
		nodesCommand(daemon.Start, "Start stopped or killed nodes and wait until Kafka has them back"),
	)
	return root
}

// logTo prints progress to standard error, so that standard output stays for results.
func logTo(cmd *cobra.Command) progress.Log { return progress.New(cmd.ErrOrStderr()) }

func prepareCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "prepare",
		Short: "Download or build what the bed runs (once per machine), and start nothing",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := daemon.Prepare(cmd.Context(), logTo(cmd))
			return err
		},
	}
}

func upCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "up",
		Short: "Start the bed in the background",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := daemon.Dir()
			if err != nil {
				return err
			}
			if err := assets.Check(cmd.Context(), assets.Go, assets.Java); err != nil {
				return err
			}
			started, err := daemon.Up(cmd.Context(), dir, cmd.ErrOrStderr(), "serve")
			if err != nil {
				return err
			}
			if !started {
				fmt.Fprintln(cmd.ErrOrStderr(), "the bed is up already; bin/bed status shows it")
				return nil
			}
			fmt.Fprintln(cmd.ErrOrStderr(), "next: eval \"$(bin/bed env)\" for kubectl and Kafka's tools; bin/bed down ends it")
			return nil
		},
	}
}

func serveCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "serve",
		Short:  "Be the daemon that up starts",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := daemon.Dir()
			if err != nil {
				return err
			}
			return daemon.ServeSpawned(cmd.Context(), dir)
		},
	}
}

func downCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "End the bed and the operator; all data is lost",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ended, err := daemon.End(cmd.Context(), logTo(cmd))
			if err == nil && !ended {
				fmt.Fprintln(cmd.ErrOrStderr(), "the bed is not up")
			}
			return err
		},
	}
}

func nodesCommand(verb daemon.Verb, short string) *cobra.Command {
	var targets daemon.Targets
	cmd := &cobra.Command{
		Use:   string(verb) + " [--broker N]... [--rack R]...",
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := connect()
			if err != nil {
				return err
			}
			return client.Act(cmd.Context(), verb, targets, logTo(cmd))
		},
	}
	bindTargets(cmd, &targets)
	return cmd
}

func bindTargets(cmd *cobra.Command, targets *daemon.Targets) {
	cmd.Flags().Int32SliceVar(&targets.Brokers, "broker", nil, "node id, 1-6 or 100 for the controller; may be repeated")
	cmd.Flags().StringSliceVar(&targets.Racks, "rack", nil, "every broker of this rack; may be repeated")
}

func connect() (*daemon.Client, error) {
	dir, err := daemon.Dir()
	if err != nil {
		return nil, err
	}
	return daemon.Connect(dir)
}
