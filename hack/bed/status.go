//go:build unix

package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"durabletopic.io/operator/internal/testbed/daemon"
	"durabletopic.io/operator/internal/testbed/guard"
	"durabletopic.io/operator/internal/testbed/kafkabed"
	"durabletopic.io/operator/internal/testbed/operatorbed"
)

func statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show every process with its state, and where things are",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			status, err := readStatus(cmd)
			if err != nil {
				return err
			}
			return printStatus(cmd.OutOrStdout(), status, time.Now())
		},
	}
}

func readStatus(cmd *cobra.Command) (daemon.Status, error) {
	client, err := connect()
	if err != nil {
		return daemon.Status{}, err
	}
	return client.Status(cmd.Context())
}

func printStatus(out io.Writer, status daemon.Status, now time.Time) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(format string, args ...any) { _, _ = fmt.Fprintf(table, format+"\n", args...) }
	row("bed\tup for %s, daemon process %d, log %s", now.Sub(status.Since).Round(time.Second), status.Pid, status.Log)
	row("kubernetes\t%s, kubeconfig %s", status.API, status.Kubeconfig)
	row("kafka\t%s, cluster id %s", status.KafkaVersion, status.ClusterID)
	row("bootstrap\t%s", status.Bootstrap)
	row("operator\t%s", describeOperator(status.Operator))
	row("")
	if err := table.Flush(); err != nil {
		return err
	}
	row("NODE\tROLE\tRACK\tADDRESS\tPID\tPROCESS\tKAFKA\tLOG")
	for _, node := range status.Nodes {
		role := "broker"
		if node.ID == kafkabed.ControllerID {
			role = "controller"
		}
		process := string(node.State)
		if node.Exit != "" {
			process += " (" + node.Exit + ")"
		}
		row("%d\t%s\t%s\t%s\t%d\t%s\t%s\t%s", node.ID, role, orDash(node.Rack), node.Address, node.Pid, process,
			orDash(node.Kafka), node.Log)
	}
	return table.Flush()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func describeOperator(info *operatorbed.Info) string {
	if info == nil {
		return "not started (bin/bed operator start)"
	}
	if info.State == operatorbed.Stopped {
		return fmt.Sprintf("stopped (process %d: %s), log %s", info.Pid, info.Exit, info.LogFile)
	}
	return fmt.Sprintf("process %d %s, metrics %s, log %s", info.Pid, info.State, info.Metrics, info.LogFile)
}

func envCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "env",
		Short: `Print shell exports for kubectl and Kafka's tools, for eval "$(bin/bed env)"`,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			status, err := readStatus(cmd)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "export KUBECONFIG=%s\nexport BOOTSTRAP=%s\nexport PATH=%s:\"$PATH\"\n",
				guard.Quote(status.Kubeconfig), guard.Quote(status.Bootstrap), guard.Quote(status.Tools))
			return err
		},
	}
}
