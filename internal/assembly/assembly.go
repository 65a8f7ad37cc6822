// Package assembly connects the parts of the operator: facts from Kafka enqueue objects, controllers act through the fleet.
// The program and the tests of the whole use the same connections.
package assembly

import (
	"context"
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"durabletopic.io/operator/controllers/durabletopic"
	"durabletopic.io/operator/controllers/kafkacluster"
	"durabletopic.io/operator/internal/core/moves"
	"durabletopic.io/operator/internal/fleet"
	"durabletopic.io/operator/internal/journal"
	"durabletopic.io/operator/internal/kafka"
	"durabletopic.io/operator/internal/metrics"
	"durabletopic.io/operator/internal/mover"
)

// Options are what differs from one operator to another.
type Options struct {
	// Recorder names the operator in events.
	Recorder string
	Dial     func(kafka.Config) (kafka.Wire, error)
	Metrics  *metrics.Metrics
	// Workers is how many reconciles of topics may run at a time, Share how many of them one Kafka cluster may hold; 0: half.
	Workers, Share int
	// Hold is how long after the start nothing is written to Kafka: fleet.Options.Hold.
	Hold time.Duration
	// Namespace is the operator's own, where the journals of moves are kept.
	Namespace string
	// SoftwareVersion is told to the brokers.
	SoftwareVersion string
	// Now is the clock of the controllers; nil: time.Now.
	Now func() time.Time
}

// Assemble adds everything to the manager and gives the controller of topics.
func Assemble(mgr ctrl.Manager, o Options) (*durabletopic.Controller, error) {
	var topics *durabletopic.Controller
	var clusters *kafkacluster.Controller
	if o.Share == 0 {
		o.Share = max(1, o.Workers/2)
	}
	connected := fleet.New(fleet.Options{
		Dial:            o.Dial,
		OnTopics:        func(cluster string, names []string, urgent bool) { topics.TopicsChanged(cluster, names, urgent) },
		OnCluster:       func(cluster string) { clusters.ClusterChanged(cluster) },
		OnFree:          func(_, key string) { topics.Enqueue(key) },
		Journal:         openJournal(&journal.Store{Reader: mgr.GetAPIReader(), Client: mgr.GetClient(), Namespace: o.Namespace}),
		Hold:            o.Hold,
		Share:           o.Share,
		Recorder:        o.Metrics,
		MoveRecorder:    o.Metrics,
		SoftwareVersion: o.SoftwareVersion,
		Log:             mgr.GetLogger().WithName("fleet"),
	})
	clusters = kafkacluster.New(kafkacluster.Options{
		Client: mgr.GetClient(), Recorder: mgr.GetEventRecorder(o.Recorder), Fleet: connected, Metrics: o.Metrics, Now: o.Now,
	})
	topics = durabletopic.New(durabletopic.Options{
		Client: mgr.GetClient(), Recorder: mgr.GetEventRecorder(o.Recorder), Metrics: o.Metrics, Workers: o.Workers, Now: o.Now,
		Cluster: func(cluster string) (durabletopic.Kafka, bool) {
			c, ok := connected.Cluster(cluster)
			if !ok {
				return nil, false
			}
			return c, true
		},
	})
	if err := mgr.Add(connected); err != nil {
		return nil, fmt.Errorf("add connections: %w", err)
	}
	if err := clusters.SetupWithManager(mgr); err != nil {
		return nil, fmt.Errorf("set up controller of KafkaClusters: %w", err)
	}
	if err := topics.SetupWithManager(mgr); err != nil {
		return nil, fmt.Errorf("set up controller of DurableTopics: %w", err)
	}
	return topics, nil
}

// openJournal opens journals of moves for the fleet.
func openJournal(s *journal.Store) func(context.Context, string) (mover.Journal, moves.Journal, error) {
	return func(ctx context.Context, clusterID string) (mover.Journal, moves.Journal, error) {
		j, content, err := s.Open(ctx, clusterID)
		if err != nil {
			return nil, moves.Journal{}, err
		}
		return j, content, nil
	}
}
