package fleet

import (
	"cmp"
	"slices"
	"strings"

	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/plan"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/kafka"
)

// scene is what is known of the cluster when a batch closes.
type scene struct {
	cluster *topic.Cluster
	names   map[string]topic.ID // of the newest listing
	taken   map[string]bool     // confirmed creations that the listing lacks
	load    map[int32]topic.Load
}

// draft is what is to be sent for one step, or why nothing is.
type draft[I any] struct {
	send  I
	fault error // a *fault.Fault; nil: send
}

// draftCreates decides what to send for new topics, in the order of the steps. Replicas are placed in the order of the
// names, so that the outcome does not depend on who came first.
func draftCreates(s scene, steps []plan.CreateTopic) []draft[kafka.NewTopic] {
	drafts := make([]draft[kafka.NewTopic], len(steps))
	checkNames(s, steps, drafts)
	var wishes []placement.Wish
	var placed []int // step of each wish
	for _, i := range byName(len(steps), func(i int) string { return steps[i].Name }) {
		d, step := &drafts[i], steps[i]
		if d.fault != nil {
			continue
		}
		d.send = kafka.NewTopic{Name: step.Name, Configs: configs(step), Partitions: step.Partitions,
			ReplicationFactor: int16(step.Rule.ReplicationFactor)}
		switch {
		case step.ByBroker && step.Partitions == 0:
			d.send.Partitions = -1
		case step.ByBroker:
		case step.Partitions == 0 && s.cluster.DefaultPartitions == 0:
			d.fault = partitionsUnknown(step.Name)
		default:
			wishes = append(wishes, placement.Wish{Topic: step.Name, Rule: step.Rule,
				Partitions: cmp.Or(step.Partitions, s.cluster.DefaultPartitions)})
			placed = append(placed, i)
		}
	}
	for w, p := range placement.Place(s.cluster.Brokers, s.load, wishes) {
		d := &drafts[placed[w]]
		d.send.Assignments, d.fault = judged(s.cluster, wishes[w], p)
	}
	return drafts
}

// draftAdditions decides what to send for new partitions, in the order of the steps.
func draftAdditions(s scene, steps []plan.AddPartitions) []draft[kafka.NewPartitions] {
	drafts := make([]draft[kafka.NewPartitions], len(steps))
	var wishes []placement.Wish
	var placed []int
	for _, i := range byName(len(steps), func(i int) string { return steps[i].Name }) {
		step := steps[i]
		drafts[i].send = kafka.NewPartitions{Topic: step.Name, Total: step.To}
		if step.ByBroker {
			continue
		}
		wishes = append(wishes, placement.Wish{Topic: step.Name, Rule: step.Rule, Partitions: step.To - step.From,
			Existing: step.Existing})
		placed = append(placed, i)
	}
	for w, p := range placement.Place(s.cluster.Brokers, s.load, wishes) {
		d := &drafts[placed[w]]
		d.send.Assignments, d.fault = judged(s.cluster, wishes[w], p)
	}
	return drafts
}

// judged gives the placed replica lists if the judge has nothing against them.
func judged(c *topic.Cluster, w placement.Wish, p placement.Placed) ([][]int32, error) {
	if p.Shortage != nil {
		return nil, plan.Shortage(p.Shortage)
	}
	if int32(len(p.Replicas)) != w.Partitions {
		return nil, unfit(w.Topic, placement.Violation{Message: "there are not as many lists as partitions"})
	}
	violations := placement.Judge(c.Brokers, placement.Numbered(int32(len(w.Existing)), p.Replicas), w.Rule)
	if len(violations) > 0 {
		return nil, unfit(w.Topic, violations[0])
	}
	return p.Replicas, nil
}

// checkNames refuses names that exist, and names that are to Kafka the same as another one: of two in one batch the one
// that came first stays.
func checkNames(s scene, steps []plan.CreateTopic, drafts []draft[kafka.NewTopic]) {
	used := map[string]string{} // name by collision key, of those that matter
	for _, step := range steps {
		if strings.ContainsAny(step.Name, "._") {
			used[topic.CollisionKey(step.Name)] = ""
		}
	}
	for name := range s.names {
		use(used, name)
	}
	for name := range s.taken {
		use(used, name)
	}
	for i, step := range steps {
		_, listed := s.names[step.Name]
		other := used[topic.CollisionKey(step.Name)]
		switch {
		case listed || s.taken[step.Name]:
			drafts[i].fault = exists(step.Name)
		case other != "" && other != step.Name:
			drafts[i].fault = collides(step.Name, other)
		default:
			use(used, step.Name)
		}
	}
}

// use records a name under its collision key if that key matters; the least of several, so that messages are stable.
func use(used map[string]string, name string) {
	if !strings.ContainsAny(name, "._") {
		return
	}
	key := topic.CollisionKey(name)
	if other, ok := used[key]; ok && (other == "" || name < other) {
		used[key] = name
	}
}

// configs are all configs of a new topic.
func configs(step plan.CreateTopic) map[string]string {
	all := make(map[string]string, len(step.Locks)+len(step.Config))
	for k, v := range step.Config {
		all[k] = v
	}
	for k, v := range step.Locks {
		all[k] = v
	}
	return all
}

// byName gives the indexes 0 to n-1 in the order of the names.
func byName(n int, name func(int) string) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(name(a), name(b)) })
	return order
}
