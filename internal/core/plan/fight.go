package plan

import (
	"slices"
	"time"
)

// Bounds of the damping of fights over one key.
const (
	fightWindow    = 10 * time.Minute // undone more than fightTolerance times within it: a fight
	fightTolerance = 3
	fightMinDelay  = 10 * time.Second // doubled each time
	fightMaxDelay  = 5 * time.Minute
)

// Fight remembers how often one key of one topic had to be corrected. The zero value is peace.
type Fight struct {
	corrections []time.Time // the newest fightTolerance ones within the window
	level       int         // how many times the delay was doubled, plus one; 0: no fight
	last        time.Time   // newest correction
	found       time.Time   // when the present difference was first seen; zero: there is none
}

// Found notes that the key differs now.
func (f Fight) Found(now time.Time) Fight {
	f = f.pruned(now)
	if f.found.IsZero() {
		f.found = now
	}
	return f
}

// Corrected notes that the key was set right.
func (f Fight) Corrected(now time.Time) Fight {
	f = f.pruned(now)
	recent := make([]time.Time, 0, fightTolerance)
	for _, t := range f.corrections {
		if now.Sub(t) < fightWindow {
			recent = append(recent, t)
		}
	}
	f.corrections = append(recent, now)
	f.corrections = slices.Clip(f.corrections[max(0, len(f.corrections)-fightTolerance):])
	if f.level > 0 || len(f.corrections) == fightTolerance {
		f.level++
	}
	f.last, f.found = now, time.Time{}
	return f
}

// Lasts tells whether the key is fought over at the moment.
func (f Fight) Lasts(now time.Time) bool {
	f = f.pruned(now)
	return f.level > 1 || f.level == 1 && !f.found.IsZero()
}

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

// pruned forgets a fight that nobody went on with for a whole window.
func (f Fight) pruned(now time.Time) Fight {
	if f.last.IsZero() || now.Sub(f.last) < fightWindow+fightMaxDelay {
		return f
	}
	return Fight{found: f.found}
}
