package kafkacluster

import (
	"slices"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/ownership"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

// Acting tells for each KafkaCluster with a recorded cluster ID which KafkaCluster acts for that Kafka, by name: the
// oldest of those that record it. One that has none recorded is not in the result.
func Acting(clusters []v1alpha1.KafkaCluster) map[string]string {
	winners := ownership.ActingClusters(clusters)
	acting := map[string]string{}
	for i := range clusters {
		c := &clusters[i]
		if winner, ok := winners[ownership.Identity(c)]; ok && c.Status.ClusterID != "" {
			acting[c.Name] = winner.Name
		}
	}
	return acting
}

// with replaces an object in a list by a newer form of it.
func with(clusters []v1alpha1.KafkaCluster, newer *v1alpha1.KafkaCluster) []v1alpha1.KafkaCluster {
	list := slices.Clone(clusters)
	i := slices.IndexFunc(list, func(c v1alpha1.KafkaCluster) bool { return c.UID == newer.UID })
	if i < 0 {
		return append(list, *newer)
	}
	list[i] = *newer
	return list
}

// bound is the cluster ID that a KafkaCluster may speak to: the one its spec pins, else the recorded one; empty: the
// first one that is read.
func bound(c *v1alpha1.KafkaCluster) string {
	if c.Spec.ClusterID != "" {
		return c.Spec.ClusterID
	}
	return c.Status.ClusterID
}

// identify gives the cluster ID to record, given what was read: that of the Kafka which answers, if it may be spoken to.
func identify(c *v1alpha1.KafkaCluster, facts *topic.Cluster, contact topic.Contact) string {
	may := bound(c)
	if facts == nil || facts.ID == "" || !contact.InTouch || may != "" && facts.ID != may {
		return c.Status.ClusterID
	}
	return facts.ID
}

// refusal is why nothing may be written to Kafka on behalf of this KafkaCluster; nil if it may. Acting is the name of the
// one that acts for its Kafka.
func refusal(c *v1alpha1.KafkaCluster, acting string) *fault.Fault {
	switch {
	case c.Spec.Enforcement == v1alpha1.EnforcementObserve:
		return fault.New(fault.Blocked, v1alpha1.ReasonObserveOnly,
			"enforcement of KafkaCluster %q is Observe, so nothing is written to Kafka", c.Name)
	case c.Status.ClusterID == "" || c.Status.ClusterID != bound(c):
		return fault.New(fault.Waiting, v1alpha1.ReasonConnecting,
			"the identity of the Kafka cluster behind KafkaCluster %q is not recorded yet", c.Name)
	case acting != c.Name:
		return ownedBy(c, acting)
	}
	return nil
}

func ownedBy(c *v1alpha1.KafkaCluster, acting string) *fault.Fault {
	return fault.New(fault.Blocked, v1alpha1.ReasonKafkaOwnedByAnother,
		"the older KafkaCluster %q leads to the same Kafka cluster (ID %q) and acts alone; delete one of the two, and let the "+
			"DurableTopics name the one that stays", acting, c.Status.ClusterID)
}
