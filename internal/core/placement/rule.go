package placement

// Rule is the rack rule for one topic: the replication factor minus the largest number of replicas in one rack must be
// at least min.insync.replicas.
type Rule struct {
	ReplicationFactor int32 // replicas of each partition; at least 1
	MinInSyncReplicas int32 // less than ReplicationFactor; otherwise no cluster can meet the rule
	// BestEffort spreads over the racks there are and asks for no more than that.
	BestEffort bool
}

// MaxPerRack is how many replicas of one partition may be in one rack. Zero or less: the rule cannot be met.
func (r Rule) MaxPerRack() int32 { return r.ReplicationFactor - r.MinInSyncReplicas }

// possible tells whether some cluster could meet the rule.
func (r Rule) possible() bool {
	return r.ReplicationFactor > 0 && (r.BestEffort || r.MaxPerRack() > 0)
}

// neededRacks is the smallest number of racks that can meet the rule; zero when none can or none is asked for.
func (r Rule) neededRacks() int32 {
	if r.BestEffort || !r.possible() {
		return 0
	}
	return (r.ReplicationFactor + r.MaxPerRack() - 1) / r.MaxPerRack()
}
