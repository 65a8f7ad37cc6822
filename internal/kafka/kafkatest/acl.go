package kafkatest

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Denial takes one permission away from everybody who asks. It denies exactly that operation: whoever loses Alter still
// describes.
type Denial struct {
	Operation kmsg.ACLOperation
	// Resource is kmsg.ACLResourceTypeTopic or kmsg.ACLResourceTypeCluster.
	Resource kmsg.ACLResourceType
	// Name is the topic, a prefix followed by "*", or "*" for all; it means nothing for the cluster.
	Name string
}

// Deny takes permissions away, in addition to those denied before.
func (c *Cluster) Deny(d ...Denial) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.denied = append(c.denied, d...)
}

// AllowAll gives all permissions back.
func (c *Cluster) AllowAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.denied = nil
}

func (d Denial) covers(name string) bool {
	if prefix, ok := strings.CutSuffix(d.Name, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return d.Name == name
}

func (k *call) mayTopic(op kmsg.ACLOperation, name string) bool {
	for _, d := range k.c.denied {
		if d.Operation == op && d.Resource == kmsg.ACLResourceTypeTopic && d.covers(name) {
			return false
		}
	}
	return true
}

func (k *call) mayCluster(op kmsg.ACLOperation) bool {
	for _, d := range k.c.denied {
		if d.Operation == op && d.Resource == kmsg.ACLResourceTypeCluster {
			return false
		}
	}
	return true
}

// refuse makes a verdict of one of Kafka's errors; without a message it has Kafka's own, which is none.
func refuse(e *kerr.Error, message string) *verdict {
	v := &verdict{code: e.Code}
	if message != "" {
		v.message = &message
	}
	return v
}

// notAllowed is the answer to a topic operation without permission.
func notAllowed() *verdict {
	return refuse(kerr.TopicAuthorizationFailed, "Topic authorization failed.")
}

// clusterNotAllowed is the answer to a cluster operation without permission. Kafka's message is a dump of the request
// and its session, different each time; so is this one.
func (k *call) clusterNotAllowed() *verdict {
	k.c.asked++
	return refuse(kerr.ClusterAuthorizationFailed, "Request(processor=1, connectionId="+strings.Repeat("7", 1+k.c.asked%5)+", session=Session(User:ANONYMOUS,/127.0.0.1)) is not authorized.")
}
