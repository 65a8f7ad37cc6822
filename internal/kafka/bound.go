package kafka

// Bounds of one write request. The controller writes one record per topic, partition and config key and refuses more
// than 10 000 in one operation (QuorumController.MAX_RECORDS_PER_USER_OP); the answer is then a policy violation for
// every topic of the request.
const (
	MaxTopics  = 500
	MaxRecords = 10_000
)

// unknownPartitions is what a topic counts as whose partitions are left to the brokers.
const unknownPartitions = 100

// Records estimates the controller's records for a creation.
func (t NewTopic) Records() int {
	return 1 + t.partitions() + len(t.Configs)
}

func (t NewTopic) partitions() int {
	switch {
	case len(t.Assignments) > 0:
		return len(t.Assignments)
	case t.Partitions < 0:
		return unknownPartitions
	}
	return int(t.Partitions)
}

// Replicas is how many logs the brokers make for a creation.
func (t NewTopic) Replicas() int {
	n := 0
	for _, list := range t.Assignments {
		n += len(list)
	}
	if n > 0 {
		return n
	}
	return t.partitions() * int(t.ReplicationFactor)
}

// Records is the number of the controller's records for an alteration.
func (a Alteration) Records() int { return 1 + len(a.Set) + len(a.Delete) }

// Records bounds the controller's records for added partitions from above when no assignments are given.
func (p NewPartitions) Records() int {
	if len(p.Assignments) > 0 {
		return 1 + len(p.Assignments)
	}
	return 1 + int(p.Total)
}

// Recorder is an item of a write request.
type Recorder interface{ Records() int }

// Fit tells how many of the first items make one request: at most MaxTopics and MaxRecords. It is at least 1 if there
// is an item: one that exceeds the bound by itself goes alone.
func Fit[I Recorder](items []I) int {
	records := 0
	for i, item := range items {
		records += item.Records()
		if i == MaxTopics || i > 0 && records > MaxRecords {
			return i
		}
	}
	return len(items)
}

// Split cuts items into requests by Fit, in their order.
func Split[I Recorder](items []I) [][]I {
	var requests [][]I
	for len(items) > 0 {
		n := Fit(items)
		requests = append(requests, items[:n:n])
		items = items[n:]
	}
	return requests
}
