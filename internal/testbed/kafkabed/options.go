//go:build unix

// Package kafkabed runs a real Kafka cluster on the loopback interface for tests and for people: one process per
// node, a dedicated KRaft controller (node 100) and brokers 1, 2, 3 ... spread over racks. Brokers can be stopped in
// order, killed, paused and started again, and a test can wait for what Kafka itself says about them.
//
// Nothing outlives the process that called Start, whatever ends it. All data is lost with Stop.
package kafkabed

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"durabletopic.io/operator/internal/testbed/progress"
)

// ControllerID is the node id of the one dedicated controller.
const ControllerID int32 = 100

// DefaultRacks are the racks of the standard bed: six brokers in three racks.
func DefaultRacks() []string { return []string{"a", "a", "b", "b", "c", "c"} }

// Options describes a bed. The zero value is the standard bed.
type Options struct {
	// Racks has one entry per broker, from broker 1 on: its broker.rack, or "" for a broker without one. At most 50.
	// Default: DefaultRacks.
	Racks []string
	// DisableELR formats the cluster with eligible.leader.replicas.version=0.
	DisableELR bool
	// BrokerProperties and ControllerProperties are added to the properties of every broker and of the controller;
	// they win over the defaults. "@N@" in a value is the node's id, "@DIR@" the bed's directory.
	BrokerProperties     map[string]string
	ControllerProperties map[string]string
	// FormatArgs are further arguments of Kafka's StorageTool format, as in "--add-scram".
	FormatArgs []string
	// Heap is the largest heap of one node, in Java's notation. Default "256m", enough for about 2500 topics with
	// three partitions of three replicas on six brokers.
	Heap string
	// Dir is where the bed makes its own directory. Default: /dev/shm if it has 2 GiB free, else the directory for
	// temporary files.
	Dir string
	// LogDir is an existing directory for the nodes' logs, which then survive the bed. Default: inside the bed's own.
	LogDir string
	// ClientOptions are added to those of the bed's own client: for beds whose listeners ask for TLS or SASL.
	ClientOptions []kgo.Opt
	// Log takes progress lines; nil discards them.
	Log progress.Log
}

func (o Options) withDefaults() (Options, error) {
	if o.Racks == nil {
		o.Racks = DefaultRacks()
	}
	if n := len(o.Racks); n < 1 || n > 50 {
		return o, fmt.Errorf("start kafka: %d brokers asked for, want 1 to 50", n)
	}
	if o.Heap == "" {
		o.Heap = "256m"
	}
	if o.Dir == "" {
		o.Dir = DefaultDir()
	}
	o.Log = progress.OrDiscard(o.Log)
	return o, nil
}

// properties are the contents of a node's property file.
type properties map[string]string

func (p properties) String() string {
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(p)) {
		fmt.Fprintf(&text, "%s=%s\n", key, p[key])
	}
	return text.String()
}

// commonProperties go to every node. A short session and heartbeat make a dead broker fenced within 3 s instead of 9.
func (c *Cluster) commonProperties(n *node) properties {
	return properties{
		"node.id":                        fmt.Sprint(n.id),
		"controller.quorum.voters":       fmt.Sprintf("%d@%s", ControllerID, c.nodes[ControllerID].addr()),
		"controller.listener.names":      "CONTROLLER",
		"listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
		"log.dirs":                       c.dataDir(n.id),
		"broker.session.timeout.ms":      "3000",
		"num.network.threads":            "2",
		"num.io.threads":                 "2",
	}
}

// controllerProperties: with ELR the controller's min.insync.replicas becomes the cluster's default, and the interval
// of the unclean election of waiting partitions is an internal setting of 5 minutes otherwise.
func (c *Cluster) controllerProperties(n *node) properties {
	return properties{
		"process.roles":                       "controller",
		"listeners":                           "CONTROLLER://" + n.addr(),
		"unclean.leader.election.interval.ms": "1000",
		"min.insync.replicas":                 "2",
	}
}

// brokerProperties keep a broker small, and make it leave the ISR after 3 s of lag instead of 30.
func brokerProperties(n *node) properties {
	p := properties{
		"process.roles":                                    "broker",
		"listeners":                                        "PLAINTEXT://" + n.addr(),
		"broker.heartbeat.interval.ms":                     "500",
		"replica.lag.time.max.ms":                          "3000",
		"auto.create.topics.enable":                        "false",
		"num.replica.fetchers":                             "1",
		"log.cleaner.dedupe.buffer.size":                   "2097152",
		"log.segment.bytes":                                "16777216",
		"log.index.size.max.bytes":                         "16384",
		"offsets.topic.replication.factor":                 "1",
		"offsets.topic.num.partitions":                     "1",
		"transaction.state.log.replication.factor":         "1",
		"transaction.state.log.min.isr":                    "1",
		"transaction.state.log.num.partitions":             "1",
		"share.coordinator.state.topic.replication.factor": "1",
		"share.coordinator.state.topic.min.isr":            "1",
		"group.initial.rebalance.delay.ms":                 "0",
	}
	if n.rack != "" {
		p["broker.rack"] = n.rack
	}
	return p
}

// nodeProperties is what node n runs with.
func (c *Cluster) nodeProperties(n *node) properties {
	p, role, extra := c.commonProperties(n), brokerProperties(n), c.opts.BrokerProperties
	if n.id == ControllerID {
		role, extra = c.controllerProperties(n), c.opts.ControllerProperties
	}
	maps.Copy(p, role)
	replace := strings.NewReplacer("@N@", fmt.Sprint(n.id), "@DIR@", c.Dir())
	for key, value := range extra {
		p[key] = replace.Replace(value)
	}
	return p
}
