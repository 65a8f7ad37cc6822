package fleet

import (
	"context"
	"errors"
	"time"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/plan"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
	"durabletopic.io/operator/internal/kafka"
)

// listingAge is how old a listing may be for placement and name checks, so that batches in a row share one.
const listingAge = 3 * time.Second

// scene gathers what a batch is decided on.
func (c *connection) scene(ctx context.Context, facts *topic.Cluster) (scene, error) {
	l, err := c.observer.Listing(ctx, c.reserved.certainAge(listingAge))
	if err != nil {
		return scene{}, notSent(err)
	}
	load, taken := c.reserved.over(l, c.shows, c.awaits)
	return scene{cluster: facts, names: l.Names, taken: taken, load: load}, nil
}

// shows tells whether the observer has seen added partitions.
func (c *connection) shows(name string, _ [][]int32) bool {
	v := c.observer.View(name)
	return v.Topic != nil && v.Expected.Partitions == 0
}

// awaits tells whether a confirmed creation is still to be seen.
func (c *connection) awaits(name string) bool { return c.observer.View(name).Expected.Created }

// creating tells whether brokers are still making the topics of earlier requests: a broker shows new ones only when it has
// made the logs of those before them.
func (c *connection) creating() bool { return c.reserved.anyCreated(c.awaits) }

// create is the flush of the lane of new topics.
func (c *connection) create(ctx context.Context, steps []plan.CreateTopic) []outcome {
	broker, facts, err := c.guard(ctx)
	if err != nil {
		return all(len(steps), err)
	}
	s, err := c.scene(ctx, facts)
	if err != nil {
		return all(len(steps), err)
	}
	drafts := draftCreates(s, steps)
	did := make([]outcome, len(steps))
	send := map[string]int{} // step by name
	var topics []kafka.NewTopic
	for i, d := range drafts {
		if d.fault != nil {
			did[i] = outcome{err: d.fault, look: waiting(d.fault)}
			continue
		}
		send[d.send.Name] = i
		topics = append(topics, d.send)
	}
	refused := map[string]error{}
	var again []kafka.NewTopic
	for name, answer := range c.sendTopics(ctx, broker, topics) {
		i := send[name]
		if configRefused(answer.Err) && len(steps[i].Config) > 0 {
			refused[name] = answer.Err
			locked := drafts[i].send
			locked.Configs = steps[i].Locks
			again = append(again, locked)
			continue
		}
		did[i] = c.created(drafts[i].send, answer)
	}
	for name, answer := range c.sendTopics(ctx, broker, again) {
		i := send[name]
		did[i] = c.created(drafts[i].send, answer)
		if did[i].err == nil {
			did[i].err = withoutConfig(refused[name])
		}
	}
	return did
}

// sendTopics sends new topics in bounded requests and gives an answer for each.
func (c *connection) sendTopics(ctx context.Context, broker int32, topics []kafka.NewTopic) map[string]kafka.Created {
	answers := make(map[string]kafka.Created, len(topics))
	for _, part := range kafka.Split(topics) {
		if ctx.Err() != nil {
			for _, t := range part {
				answers[t.Name] = kafka.Created{Err: notSent(ctx.Err())}
			}
			continue
		}
		for name, answer := range c.client.CreateTopics(ctx, broker, part) {
			answers[name] = answer
		}
	}
	return answers
}

// created takes in the answer for one new topic.
func (c *connection) created(t kafka.NewTopic, answer kafka.Created) outcome {
	if answer.Err == nil {
		c.reserved.add(t.Name, t.Assignments, true, false)
		c.observer.ExpectCreated(t.Name, answer.ID, max(int32(len(t.Assignments)), t.Partitions, 0))
		return outcome{look: true}
	}
	f := fault.As(answer.Err)
	if f.Uncertain {
		c.reserved.add(t.Name, t.Assignments, true, true)
	}
	return outcome{err: f, look: waiting(f)}
}

// alter is the flush of the lanes of config changes.
func (c *connection) alter(ctx context.Context, steps []plan.AlterConfigs) []outcome {
	broker, _, err := c.guard(ctx)
	if err != nil {
		return all(len(steps), err)
	}
	alterations := make([]kafka.Alteration, len(steps))
	for i, s := range steps {
		alterations[i] = alteration(s)
	}
	answers := c.client.AlterConfigs(ctx, broker, alterations)
	did := make([]outcome, len(steps))
	for i, a := range alterations {
		if err := answers[a.Topic]; err != nil {
			did[i] = outcome{err: fault.As(err), look: waiting(err)}
			continue
		}
		c.observer.ExpectConfigs(a.Topic, a.Set, a.Delete)
		did[i] = outcome{look: true}
	}
	return did
}

func alteration(s plan.AlterConfigs) kafka.Alteration {
	a := kafka.Alteration{Topic: s.Name, Set: map[string]string{}}
	for _, change := range s.Changes {
		if change.To == nil {
			a.Delete = append(a.Delete, change.Key)
			continue
		}
		a.Set[change.Key] = *change.To
	}
	return a
}

// grow is the flush of the lane of new partitions.
func (c *connection) grow(ctx context.Context, steps []plan.AddPartitions) []outcome {
	broker, facts, err := c.guard(ctx)
	if err != nil {
		return all(len(steps), err)
	}
	s, err := c.scene(ctx, facts)
	if err != nil {
		return all(len(steps), err)
	}
	did := make([]outcome, len(steps))
	index := map[string]int{}
	var send []kafka.NewPartitions
	for i, d := range draftAdditions(s, steps) {
		if d.fault != nil {
			did[i] = outcome{err: d.fault, look: waiting(d.fault)}
			continue
		}
		index[d.send.Topic] = i
		send = append(send, d.send)
	}
	for _, part := range kafka.Split(send) {
		var answers map[string]error
		if ctx.Err() == nil {
			answers = c.client.CreatePartitions(ctx, broker, part)
		}
		for _, p := range part {
			if answers == nil {
				did[index[p.Topic]] = outcome{err: notSent(ctx.Err())}
				continue
			}
			did[index[p.Topic]] = c.grown(p, answers[p.Topic])
		}
	}
	return did
}

// grown takes in the answer for the new partitions of one topic.
func (c *connection) grown(p kafka.NewPartitions, err error) outcome {
	if err != nil {
		f := fault.As(err)
		if f.Uncertain {
			c.reserved.add(p.Topic, p.Assignments, false, true)
		}
		return outcome{err: f, look: waiting(f)}
	}
	c.reserved.add(p.Topic, p.Assignments, false, false)
	c.observer.ExpectPartitions(p.Topic, p.Total)
	return outcome{look: true}
}

// all gives every step the same fault; nothing was sent.
func all(n int, err error) []outcome {
	did := make([]outcome, n)
	for i := range did {
		did[i].err = err
	}
	return did
}

// waiting tells whether the world may be other than the last read showed, so that the topic is to be read again.
func waiting(err error) bool {
	f := fault.As(err)
	return f != nil && (f.Uncertain || f.Class == fault.Waiting)
}

// configRefused tells whether Kafka refused a key or value of the config, and did nothing.
func configRefused(err error) bool {
	var f *fault.Fault
	return errors.As(err, &f) && f.Reason == v1alpha1.ReasonConfigRejected && !f.Uncertain
}

// sizeOf is what a new topic will be as a request; byDefault is the brokers' num.partitions.
func sizeOf(s plan.CreateTopic, byDefault int32) kafka.NewTopic {
	partitions := s.Partitions
	if partitions == 0 {
		partitions = byDefault
	}
	return kafka.NewTopic{Partitions: partitions, ReplicationFactor: int16(s.Rule.ReplicationFactor), Configs: configs(s)}
}
