package ownership

import "durabletopic.io/operator/api/v1alpha1"

// Identity is the Kafka that a KafkaCluster stands for: the recorded cluster ID, and until then only itself.
func Identity(cluster *v1alpha1.KafkaCluster) string {
	if cluster.Status.ClusterID != "" {
		return "id:" + cluster.Status.ClusterID
	}
	return "name:" + cluster.Name
}

// ActingClusters gives, by Identity, the one KafkaCluster that acts for each Kafka; none where all are being deleted.
func ActingClusters(clusters []v1alpha1.KafkaCluster) map[string]Claim {
	rivals := map[string][]Claim{}
	for i := range clusters {
		c := &clusters[i]
		rivals[Identity(c)] = append(rivals[Identity(c)], Claim{
			Name: c.Name, UID: string(c.UID), Created: c.CreationTimestamp.Time, Eligible: c.DeletionTimestamp.IsZero(),
		})
	}
	acting := map[string]Claim{}
	for kafka, claims := range rivals {
		if owner := Owner(claims); owner != nil {
			acting[kafka] = *owner
		}
	}
	return acting
}
