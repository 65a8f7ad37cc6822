package plan

import (
	"fmt"
	"slices"
	"time"

	"durabletopic.io/operator/internal/core/durability"
)

// Bounds of the damping of fights over one key.
const (
	fightWindow    = 10 * time.Minute // undone more than fightTolerance times within it: a fight; calm for so long ends it
	fightTolerance = 3
	fightMinDelay  = 10 * time.Second // doubled each time
	fightMaxDelay  = 5 * time.Minute
)

// Fight remembers how often one key of one topic had to be corrected. The zero value is peace. A fight begins when the key
// is found undone for the fourth time within ten minutes; each further time doubles the delay, and ten minutes after a
// correction in which nobody undid it end the fight.
type Fight struct {
	corrections []time.Time // the newest fightTolerance ones before the fight
	level       int         // how many times the delay was doubled, plus one; 0: no fight
	last        time.Time   // newest correction
	found       time.Time   // when the present difference was first seen; zero: there is none
}

// Found notes that the key differs now.
func (f Fight) Found(now time.Time) Fight {
	f = f.calmed(now)
	if !f.found.IsZero() {
		return f
	}
	f.found = now
	if f.level == 0 && f.recent(now) == fightTolerance {
		f.level = 1
	}
	return f
}

// Corrected notes that the key was set right.
func (f Fight) Corrected(now time.Time) Fight {
	f = f.calmed(now)
	if f.level > 0 {
		f.level++
	}
	f.corrections = append(slices.Clone(f.corrections), now)
	f.corrections = f.corrections[max(0, len(f.corrections)-fightTolerance):]
	f.last, f.found = now, time.Time{}
	return f
}

// Lasts tells whether the key is fought over at the moment, be it just corrected or not.
func (f Fight) Lasts(now time.Time) bool { return f.calmed(now).level > 0 }

// Until is when the present difference may be corrected; at once outside of a fight.
func (f Fight) Until() time.Time {
	if f.level == 0 {
		return f.found
	}
	delay := fightMinDelay
	for range f.level - 1 {
		delay = min(2*delay, fightMaxDelay)
	}
	return f.found.Add(delay)
}

// Ends is when it is over if nobody undoes the key again.
func (f Fight) Ends() time.Time { return f.last.Add(fightWindow + 1) }

// recent counts the corrections within the window before now.
func (f Fight) recent(now time.Time) int {
	n := 0
	for _, t := range f.corrections {
		if now.Sub(t) <= fightWindow {
			n++
		}
	}
	return n
}

// calmed forgets a fight that nobody went on with for a whole window after the last correction.
func (f Fight) calmed(now time.Time) Fight {
	until := now
	if !f.found.IsZero() {
		until = f.found
	}
	if f.last.IsZero() || until.Sub(f.last) <= fightWindow {
		return f
	}
	return Fight{found: f.found}
}

const fightCure = "it is corrected with growing delay, up to 5 minutes; find the other writer (audit log of the brokers, " +
	"other operators, scripts) and let one of the two win"

// fightText names both values of a key that somebody else keeps changing back.
func fightText(d durability.Difference) string {
	switch {
	case d.Kind == durability.TopicMissing:
		return fmt.Sprintf("somebody keeps deleting topic %q; %s", d.To, fightCure)
	case d.Kind == durability.ConfigLeft:
		return fmt.Sprintf("somebody keeps setting %s to %s, which is no longer declared; %s", d.Key, d.Have(), fightCure)
	case d.Inherited:
		return fmt.Sprintf("somebody keeps removing %s from the topic, declared is %s; %s", d.Key, durability.Words(d.To),
			fightCure)
	}
	return fmt.Sprintf("somebody keeps setting %s to %s, declared is %s; %s", d.Key, d.Have(), durability.Words(d.To), fightCure)
}
