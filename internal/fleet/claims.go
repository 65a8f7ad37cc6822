package fleet

import (
	"maps"
	"slices"

	"durabletopic.io/operator/internal/core/topic"
)

// claims are who wants which topic observed, with which config keys.
type claims struct {
	claimants map[string]claim               // by claimant
	topics    map[string]map[string]struct{} // claimants by topic
}

type claim struct {
	topic string
	keys  []string
	known bool
}

// joint is what all claimants of a topic ask for together.
type joint struct {
	keys  []string // sorted, without doubles
	known bool
}

func newClaims() claims {
	return claims{claimants: map[string]claim{}, topics: map[string]map[string]struct{}{}}
}

// set records a claim and gives the topics for which something changed.
func (c *claims) set(claimant string, ask topic.Ask, known bool) []string {
	old, ok := c.claimants[claimant]
	if ok && old.topic == ask.Name && old.known == known && slices.Equal(old.keys, ask.Keys) {
		return nil
	}
	changed := []string{ask.Name}
	if ok && old.topic != ask.Name {
		changed = append(changed, c.drop(claimant)...)
	}
	c.claimants[claimant] = claim{ask.Name, slices.Clone(ask.Keys), known}
	if c.topics[ask.Name] == nil {
		c.topics[ask.Name] = map[string]struct{}{}
	}
	c.topics[ask.Name][claimant] = struct{}{}
	return changed
}

// drop ends a claim and gives the topic for which something changed, if there was a claim.
func (c *claims) drop(claimant string) []string {
	old, ok := c.claimants[claimant]
	if !ok {
		return nil
	}
	delete(c.claimants, claimant)
	delete(c.topics[old.topic], claimant)
	if len(c.topics[old.topic]) == 0 {
		delete(c.topics, old.topic)
	}
	return []string{old.topic}
}

// ask gives what is asked about a topic; false if nobody claims it.
func (c *claims) ask(name string) (joint, bool) {
	who, ok := c.topics[name]
	if !ok {
		return joint{}, false
	}
	var j joint
	keys := map[string]struct{}{}
	for claimant := range who {
		one := c.claimants[claimant]
		j.known = j.known || one.known
		for _, k := range one.keys {
			keys[k] = struct{}{}
		}
	}
	j.keys = slices.Sorted(maps.Keys(keys))
	return j, true
}

// all gives what is asked about every topic.
func (c *claims) all() map[string]joint {
	asks := make(map[string]joint, len(c.topics))
	for name := range c.topics {
		asks[name], _ = c.ask(name)
	}
	return asks
}
