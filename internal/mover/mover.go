// Package mover moves replicas of one Kafka cluster to where their topics want them: it plans on what Kafka shows, writes
// down what it is about to do, does it, watches it, and cleans up. What to do is decided in internal/core/placement and
// internal/core/moves; here is only the doing.
//
// Every round starts from the journal and fresh facts and remembers nothing that matters. So a round that failed anywhere,
// by an error or with the process, is simply followed by another.
package mover

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"durabletopic.io/operator/internal/core/moves"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/kafka"
)

// Facts are what is known of the Kafka cluster.
type Facts interface {
	// View gives the newest facts about a declared topic.
	View(name string) topic.View
	// Refresh returns when reads of the topics that started after the call were accepted.
	Refresh(ctx context.Context, names ...string) error
	// Listing gives what brokers carry, not older than age.
	Listing(ctx context.Context, age time.Duration) (*topic.Listing, error)
}

// Journal keeps what was put into Kafka and has to be cleaned up.
type Journal interface {
	// Save writes it. After an error nobody knows what is written: it has to be opened anew.
	Save(ctx context.Context, j moves.Journal) error
}

// Options of a Mover; all are needed.
type Options struct {
	Client *kafka.Client
	Facts  Facts
	// Guard finds the broker to write to, and refuses while nothing may be written.
	Guard func(ctx context.Context) (int32, *topic.Cluster, error)
	// Open reads the journal of a Kafka cluster.
	Open func(ctx context.Context, clusterID string) (Journal, moves.Journal, error)
	// OnCounts tells that the counts have changed, OnWords that what Words says of topics has.
	OnCounts func()
	OnWords  func(topics []string)
	Recorder Recorder
	Log      logr.Logger
}

// Settings bound the moves.
type Settings struct {
	moves.Settings
	// ReplaceFencedAfter is after how long the replicas of a fenced broker are made anew elsewhere; zero: never.
	ReplaceFencedAfter time.Duration
}

// Counts are the partitions that move or should: by the operator, waiting for their turn, by somebody else. Stalled are
// those of the running ones that make no progress.
type Counts struct{ Running, Waiting, Stalled, Foreign int }

// Recorder takes measurements. Its methods must return at once.
type Recorder interface {
	// Moves are the partitions by state, the bytes left to copy, and for how long; a negative time is not known.
	Moves(states map[string]int, bytesLeft int64, timeLeft time.Duration)
	// MoveEnded counts a move that is over.
	MoveEnded(how string)
}

// Mover moves the replicas of one Kafka cluster.
type Mover struct {
	opts Options
	wake chan struct{}

	mu       sync.Mutex
	settings Settings
	wishes   map[string]moves.Wish
	counts   Counts
	words    map[string]string // by topic

	// Of Run alone.
	journal  Journal
	content  moves.Journal
	fenced   map[int32]time.Time // since when a broker is seen fenced
	progress map[topic.TopicPartition]progress
	measured time.Time
	left     left
	rates    topic.ThrottleRates
	ratesAt  time.Time
	stations map[int32]station
	sizes    map[topic.TopicPartition]int64
	sizesAt  time.Time
}

// New makes a mover that works once Run is called.
func New(o Options) *Mover {
	return &Mover{
		opts: o, wake: make(chan struct{}, 1), wishes: map[string]moves.Wish{},
		fenced: map[int32]time.Time{}, progress: map[topic.TopicPartition]progress{}, stations: map[int32]station{},
	}
}

// Set takes over changed settings.
func (m *Mover) Set(s Settings) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.settings != s {
		m.settings = s
		m.Changed()
	}
}

// Wish says where the replicas of a topic should be. Without wishes nothing of a topic is moved; what is on its way is
// still brought to an end.
func (m *Mover) Wish(topicName string, w moves.Wish) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if old, ok := m.wishes[topicName]; !ok || old != w {
		m.wishes[topicName] = w
		m.Changed()
	}
}

// Withdraw takes back the wish of a topic.
func (m *Mover) Withdraw(topicName string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.wishes[topicName]; ok {
		delete(m.wishes, topicName)
		m.Changed()
	}
}

// Changed tells that there is something new to look at: a round is made soon.
func (m *Mover) Changed() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Counts gives the partitions that move or should.
func (m *Mover) Counts() Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.counts
}

func (m *Mover) count(c Counts) {
	m.mu.Lock()
	changed := m.counts != c
	m.counts = c
	m.mu.Unlock()
	m.opts.Recorder.Moves(map[string]int{
		"running": c.Running, "waiting": c.Waiting, "stalled": c.Stalled, "foreign": c.Foreign,
	}, m.left.bytes, m.left.time)
	if changed {
		m.opts.OnCounts()
	}
}

// Words says how it stands with the moves of a topic; empty if there is nothing to say but that they go on.
func (m *Mover) Words(topicName string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.words[topicName]
}

// say takes over what there is to say of topics.
func (m *Mover) say(words map[string]string) {
	m.mu.Lock()
	var changed []string
	for name, now := range words {
		if m.words[name] != now {
			changed = append(changed, name)
		}
	}
	for name := range m.words {
		if _, still := words[name]; !still {
			changed = append(changed, name)
		}
	}
	m.words = words
	m.mu.Unlock()
	if len(changed) > 0 {
		slices.Sort(changed)
		m.opts.OnWords(changed)
	}
}

const (
	// roundGap is the least time between two rounds, so that many changes are one.
	roundGap = 300 * time.Millisecond
	// busyGap is how soon another round is made while replicas move, waitGap while some wait to, retryGap after a round that
	// failed.
	busyGap  = time.Second
	waitGap  = 5 * time.Second
	retryGap = 5 * time.Second
	// idleGap is how soon topics are looked at again that cannot be moved now.
	idleGap = time.Minute
)

// replaces tells whether replicas of brokers that stay out of service are made anew.
func (m *Mover) replaces() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.settings.ReplaceFencedAfter > 0
}

// saysAny tells whether there is something to say of a topic.
func (m *Mover) saysAny() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.words) > 0
}

// Run works until ctx ends. It may be called once.
func (m *Mover) Run(ctx context.Context) {
	next := time.Duration(0) // with nothing to do only a change wakes
	for m.wait(ctx, next) {
		busy, err := m.round(ctx)
		switch {
		case err != nil:
			m.opts.Log.V(1).Info("a round of moves failed and is made again", "reason", err.Error())
			next = retryGap
		case busy:
			next = busyGap
		case m.Counts().Waiting > 0 || len(m.fenced) > 0 && m.replaces():
			next = waitGap
		case m.saysAny():
			next = idleGap
		default:
			next = 0
		}
		pause(ctx, roundGap)
	}
}

// wait returns when there is something new, or after a time unless that is zero. It is false when ctx has ended.
func (m *Mover) wait(ctx context.Context, d time.Duration) bool {
	var after <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		after = timer.C
	}
	select {
	case <-ctx.Done():
	case <-m.wake:
	case <-after:
	}
	return ctx.Err() == nil
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
