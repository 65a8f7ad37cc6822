package main

import (
	"time"

	"durabletopic.io/operator/internal/fleet"
	"durabletopic.io/operator/internal/options"
)

// hold is how long a new leader writes nothing to Kafka: until the last write of its predecessor must have ended.
func hold(o options.Options) time.Duration {
	if !o.LeaderElect {
		return 0
	}
	return fleet.MutationDeadline
}
