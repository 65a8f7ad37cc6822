package durabletopic

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/durability"
	"durabletopic.io/operator/internal/core/plan"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

// maxRounds bounds how often a pass plans anew after its own steps: create, then what a refused create left over.
const maxRounds = 3

// acted plans and executes until nothing is left to do now. It is false if there was no place to wait for Kafka: then
// the object comes back when there is one, and nothing is reported.
func (p *pass) acted(ctx context.Context) bool {
	if p.refusal != nil || p.kafka == nil {
		return true
	}
	if !p.view.Contact.InTouch {
		p.kafka.NotifyOnContact(p.desired.Topic)
		return true
	}
	if p.view.Presence == topic.NotRead {
		return true
	}
	p.replan()
	if len(p.plan.Steps) == 0 || p.desired.Mode != v1alpha1.EnforcementEnforce {
		p.plan.Moves = p.preview(ctx)
		p.conclude()
		return true
	}
	if !p.kafka.Enter(p.key) {
		return false
	}
	defer p.kafka.Leave(p.key)
	for fresh := p.lookAgain(ctx); fresh && len(p.plan.Steps) > 0 && p.rounds < maxRounds; p.rounds++ {
		well := p.carryOut(ctx, p.plan.Steps...)
		p.replan() // after a failure too: what was refused is held from now on
		if !well {
			break
		}
	}
	p.conclude()
	return true
}

// freshFacts is how old facts may be when a lock is changed: whether that is safe depends on leaders and in-sync replicas.
const freshFacts = 2 * time.Second

// lookAgain reads the topic once more before a lock is changed on facts that are not fresh, and plans anew. It is false if
// the facts stay old: then nothing is changed.
func (p *pass) lookAgain(ctx context.Context) bool {
	locks := slices.ContainsFunc(p.plan.Steps, func(s plan.Step) bool {
		alter, ok := s.(plan.AlterConfigs)
		return ok && alter.Lane == plan.Locks
	})
	if !locks || p.now().Sub(p.view.ReadAt) < freshFacts {
		return true
	}
	if err := p.kafka.Refresh(ctx, p.desired.Topic); err != nil {
		p.failures = append(p.failures, fault.As(err))
		return false
	}
	p.replan()
	return true
}

// replan compares the newest facts with the declaration.
func (p *pass) replan() {
	now := p.now()
	p.view = p.kafka.View(p.desired.Topic)
	in := durability.Input{Desired: p.desired, View: p.view, Owned: p.owned}
	differences := durability.Differences(in)
	p.notice(differences, now)
	p.plan = plan.Make(plan.Input{
		Input: in, Differences: differences, Known: p.known(), Fights: p.memory.fights,
		Refused: p.memory.refusals(now), Moves: p.kafka.MoveWords(p.desired.Topic), Now: now,
	})
	if p.view.Shown() { // of what cannot be seen nothing is known to be as declared
		p.memory.settle(p.wanted, differences)
	}
}

// notice counts drift once and lets the fight over its key begin.
func (p *pass) notice(differences []durability.Difference, now time.Time) {
	for _, d := range differences {
		if d.Expected || d.HeldDown || !p.memory.drifts(d.Key, p.wanted[d.Key]) {
			continue
		}
		p.memory.fights[d.Key] = p.memory.fights[d.Key].Found(now)
		if !p.memory.drifting[d.Key] {
			p.memory.drifting[d.Key] = true
			p.c.Metrics.Drift(p.object.ClusterName(), string(d.Kind), false)
		}
	}
}

// carryOut executes steps. One that fails keeps none of the others. It tells whether all succeeded.
func (p *pass) carryOut(ctx context.Context, steps ...plan.Step) bool {
	well := true
	for _, step := range steps {
		log.FromContext(ctx).Info("changing topic", "topic", step.TopicName(), "step", step.String())
		if err := p.kafka.Execute(ctx, step); err != nil {
			well = p.failed(ctx, step, fault.As(err)) && well
			continue
		}
		p.done(step)
	}
	return well
}

// failed sorts a failure: refusals stand for a while, the others are tried again. It tells whether the step was done
// all the same.
func (p *pass) failed(ctx context.Context, step plan.Step, f *fault.Fault) bool {
	log.FromContext(ctx).Info("step failed", "topic", step.TopicName(), "step", step.String(), "reason", f.Reason,
		"error", f.Error(), "uncertain", f.Uncertain)
	if errors.Is(f, plan.ErrCreated) { // the declared configs follow one by one
		p.done(step)
		return true
	}
	if f.Class == fault.Transient || f.Class == fault.Waiting {
		p.failures = append(p.failures, f)
		return false
	}
	if alter, ok := step.(plan.AlterConfigs); ok && len(alter.Changes) > 1 && f.Class == fault.Invalid {
		return p.apart(ctx, alter)
	}
	for _, key := range keysOf(step) {
		p.memory.refused[key] = refusal{why: f, until: p.now().Add(refusalHolds)}
	}
	return false
}

// apart tries refused changes one by one, so that a bad value keeps no good one back.
func (p *pass) apart(ctx context.Context, alter plan.AlterConfigs) bool {
	singles := make([]plan.Step, 0, len(alter.Changes))
	for _, change := range alter.Changes {
		singles = append(singles, plan.AlterConfigs{Name: alter.Name, Lane: alter.Lane, Changes: []plan.ConfigChange{change}})
	}
	return p.carryOut(ctx, singles...)
}

func keysOf(step plan.Step) []string {
	switch s := step.(type) {
	case plan.CreateTopic:
		return []string{"topic"}
	case plan.AddPartitions:
		return []string{"partitions"}
	case plan.AlterConfigs:
		keys := make([]string, 0, len(s.Changes))
		for _, c := range s.Changes {
			keys = append(keys, c.Key)
		}
		return keys
	}
	return nil
}

// done notes what was changed, for status, events, metrics and damping.
func (p *pass) done(step plan.Step) {
	m := p.memory
	m.did(p.now())
	switch s := step.(type) {
	case plan.CreateTopic:
		m.deeds.Recreated = p.known()
		m.deeds.Created, m.awaited = true, true
		if m.deeds.Recreated {
			p.c.Metrics.TopicRecreated(p.object.ClusterName())
			p.corrected(durability.TopicMissing, v1alpha1.DriftChange{Key: "topic", From: "missing", To: "created again"})
		}
	case plan.AddPartitions:
		p.changed(durability.PartitionsDiffer, v1alpha1.DriftChange{
			Key: "partitions", From: strconv.Itoa(int(s.From)), To: strconv.Itoa(int(s.To)),
		})
	case plan.AlterConfigs:
		for _, c := range s.Changes {
			p.configured(c)
		}
	}
}

func (p *pass) configured(c plan.ConfigChange) {
	if want, ok := p.wanted[c.Key]; ok && c.To != nil && *c.To != want {
		return // held down for a while: neither drift nor what is declared
	}
	change := v1alpha1.DriftChange{Key: c.Key, From: c.From}
	if c.To == nil {
		p.owned = slices.DeleteFunc(slices.Clone(p.owned), func(k string) bool { return k == c.Key })
	} else {
		change.To = *c.To
	}
	kind := durability.ConfigDiffers
	switch c.Key {
	case topic.MinInSyncReplicas:
		kind = durability.MinInSyncReplicasDiffers
	case topic.UncleanLeaderElection:
		kind = durability.UncleanElectionDiffers
	}
	p.changed(kind, change)
}

// changed tells drift that was corrected from what was done for the first time.
func (p *pass) changed(kind durability.Kind, change v1alpha1.DriftChange) {
	if !p.memory.drifts(change.Key, p.wanted[change.Key]) {
		p.memory.deeds.Applied = append(p.memory.deeds.Applied, change)
		return
	}
	p.corrected(kind, change)
}

func (p *pass) corrected(kind durability.Kind, change v1alpha1.DriftChange) {
	p.memory.deeds.Drift = append(p.memory.deeds.Drift, change)
	p.memory.fights[change.Key] = p.memory.fights[change.Key].Corrected(p.now())
	p.c.Metrics.Drift(p.object.ClusterName(), string(kind), true)
}

// conclude works out which keys the object owns now.
func (p *pass) conclude() {
	if p.desired.Mode != v1alpha1.EnforcementEnforce || p.view.Presence != topic.Present {
		p.plan.Released = nil
		return
	}
	before := p.owned
	p.owned = nil
	for key, want := range p.wanted {
		have, shown := p.view.Topic.Configs[key]
		applied := shown && have.OnTopic && durability.SameValue(have.Type, have.Value, want)
		if applied || slices.Contains(before, key) {
			p.owned = append(p.owned, key)
		}
	}
	for _, key := range before {
		_, wanted := p.desired.Value(key)
		have := p.view.Topic.Configs[key]
		if !wanted && have.OnTopic && !slices.Contains(p.plan.Released, key) {
			p.owned = append(p.owned, key)
		}
	}
	p.memory.deeds.Released = append(p.memory.deeds.Released, p.plan.Released...)
}

// fights tells the keys that somebody else keeps changing back, those that are right for the moment too.
func (p *pass) fights(now time.Time) []string {
	for _, h := range p.plan.Held {
		if h.Why.Reason == v1alpha1.ReasonDriftFight {
			p.memory.feuds[h.Difference.Key] = h.Why.Message
		}
	}
	maps.DeleteFunc(p.memory.feuds, func(key, _ string) bool {
		_, declared := p.wanted[key]
		return !p.memory.fights[key].Lasts(now) || !declared && !slices.Contains(p.owned, key)
	})
	var words []string
	for _, key := range slices.Sorted(maps.Keys(p.memory.feuds)) {
		words = append(words, p.memory.feuds[key])
	}
	return words
}
