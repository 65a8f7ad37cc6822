package topic

import "slices"

// FeatureELR is the finalised feature that switches eligible leader replicas on (KIP-966).
const FeatureELR = "eligible.leader.replicas.version"

// Broker is one registered broker.
type Broker struct {
	ID     int32
	Rack   string // empty: no broker.rack
	Fenced bool   // registered but out of service
}

// Cluster is what one read showed of a Kafka cluster as a whole.
type Cluster struct {
	ID      string
	Brokers []Broker // by ID; registered ones, fenced ones too
	// Features are the finalised features and their levels.
	Features map[string]int16
	// DefaultPartitions is the brokers' num.partitions; 0 when it could not be read.
	DefaultPartitions int32
	// Missing names the Kafka APIs the brokers lack and this operator needs; empty when supported.
	Missing []string
}

// ELR tells whether eligible leader replicas are on.
func (c *Cluster) ELR() bool { return c.Features[FeatureELR] > 0 }

// Broker finds a registered broker.
func (c *Cluster) Broker(id int32) (Broker, bool) {
	i, ok := slices.BinarySearchFunc(c.Brokers, id, func(b Broker, id int32) int { return int(b.ID) - int(id) })
	if !ok {
		return Broker{}, false
	}
	return c.Brokers[i], true
}

// Load is how many replicas and preferred leaders a broker carries over all topics of the cluster.
type Load struct {
	Replicas int
	Leaders  int // preferred leaders: first of a replica list
}

// Listing is a read of the whole cluster: what placement and name checks need of topics that nobody declared.
type Listing struct {
	Names map[string]ID // every topic, internal ones too
	Load  map[int32]Load
}
