//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

func operatorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "operator",
		Short: "Run bin/manager against the bed, as in production: leader election, the RBAC of config/rbac, nothing else",
	}
	cmd.AddCommand(
		&cobra.Command{
			Use:   "start",
			Short: "Apply config/crd and config/rbac, start the operator, declare the bed's Kafka as KafkaCluster default",
			Args:  cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				client, err := connect()
				if err != nil {
					return err
				}
				return client.StartOperator(cmd.Context(), logTo(cmd))
			},
		},
		&cobra.Command{
			Use:   "stop",
			Short: "End the operator in order; the bed goes on",
			Args:  cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				client, err := connect()
				if err != nil {
					return err
				}
				return client.StopOperator(cmd.Context(), logTo(cmd))
			},
		},
		&cobra.Command{
			Use:   "logs",
			Short: "Print the operator's log",
			Args:  cobra.NoArgs,
			RunE:  printOperatorLog,
		},
	)
	return cmd
}

func printOperatorLog(cmd *cobra.Command, _ []string) (err error) {
	status, err := readStatus(cmd)
	if err != nil {
		return err
	}
	if status.Operator == nil {
		return errors.New("the operator was not started (bin/bed operator start)")
	}
	file, err := os.Open(status.Operator.LogFile)
	if err != nil {
		return fmt.Errorf("open log of operator: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = io.Copy(cmd.OutOrStdout(), file)
	return err
}
