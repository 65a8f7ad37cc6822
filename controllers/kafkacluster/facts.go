package kafkacluster

import (
	"cmp"
	"maps"
	"slices"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

// shownFeatures are the features that the operator makes use of.
var shownFeatures = []string{topic.FeatureELR, "metadata.version"}

// showFacts shows what Kafka shows. Without any the former facts stay: they are the last ones known.
func (v *judgement) showFacts() {
	if v.Facts == nil || v.ClusterID == "" || v.Facts.ID != v.ClusterID {
		return
	}
	racks := countRacks(v.Facts.Brokers)
	v.status.Brokers = &v1alpha1.BrokerCounts{WithoutRack: racks[""].Registered}
	for _, r := range racks {
		v.status.Brokers.Registered += r.Registered
		v.status.Brokers.Available += r.Available
	}
	delete(racks, "")
	v.status.Brokers.Racks = int32(len(racks))
	v.status.Racks = nil
	for _, name := range slices.Sorted(maps.Keys(racks)) {
		if len(name) <= v1alpha1.MaxRackNameLength && len(v.status.Racks) < v1alpha1.MaxRacks {
			v.status.Racks = append(v.status.Racks, racks[name])
		}
	}
	v.status.Features = nil
	for _, name := range shownFeatures {
		v.status.Features = append(v.status.Features, v1alpha1.Feature{Name: name, Level: int32(v.Facts.Features[name])})
	}
	v.status.MissingPermissions = permissions(v.MissingPermissions)
}

// forgetFacts: nothing is known of a Kafka that the operator is not connected to.
func (v *judgement) forgetFacts() {
	v.status.Brokers, v.status.Racks, v.status.Features, v.status.MissingPermissions = nil, nil, nil, nil
}

// countRacks counts the brokers by rack; the empty name stands for those without.
func countRacks(brokers []topic.Broker) map[string]v1alpha1.RackStatus {
	racks := map[string]v1alpha1.RackStatus{}
	for _, b := range brokers {
		r := racks[b.Rack]
		r.Name = b.Rack
		r.Registered++
		if !b.Fenced {
			r.Available++
		}
		racks[b.Rack] = r
	}
	return racks
}

// permissions cuts to the bounds of the API.
func permissions(missing []string) []string {
	var shown []string
	for _, p := range missing {
		if p = fault.Cut(p, v1alpha1.MaxMissingPermissionLength); p != "" {
			shown = append(shown, p)
		}
	}
	slices.Sort(shown)
	shown = slices.Compact(shown)
	return shown[:min(len(shown), v1alpha1.MaxMissingPermissions)]
}

// sameCounts compares counts of topics whatever their order.
func sameCounts(a, b []v1alpha1.TopicCount) bool {
	byProfile := func(x, y v1alpha1.TopicCount) int { return cmp.Compare(x.Profile, y.Profile) }
	return slices.Equal(slices.SortedFunc(slices.Values(a), byProfile), slices.SortedFunc(slices.Values(b), byProfile))
}
