package plan_test

import (
	"testing"
	"time"

	"durabletopic.io/operator/internal/core/plan"
)

// duel undoes a key at these times after noon and corrects it as soon as the fight allows; it gives the delays.
func duel(undone ...time.Duration) (plan.Fight, []time.Duration) {
	var f plan.Fight
	var delays []time.Duration
	for _, at := range undone {
		f = f.Found(now.Add(at))
		f = f.Found(now.Add(at + time.Second)) // seen again before it is corrected: no news
		until := now.Add(at)
		if f.Lasts(until) {
			until = f.Until()
		}
		delays = append(delays, until.Sub(now.Add(at)))
		f = f.Corrected(until)
	}
	return f, delays
}

func TestFight(t *testing.T) {
	const m, s = time.Minute, time.Second
	tests := map[string]struct {
		undone []time.Duration
		want   []time.Duration // delay of each correction
	}{
		"three times":                        {[]time.Duration{0, s, 2 * s}, []time.Duration{0, 0, 0}},
		"the fourth time is delayed":         {[]time.Duration{0, s, 2 * s, 3 * s}, []time.Duration{0, 0, 0, 10 * s}},
		"four times in ten minutes":          {[]time.Duration{0, 3 * m, 6 * m, 10 * m}, []time.Duration{0, 0, 0, 10 * s}},
		"four times in more":                 {[]time.Duration{0, 3 * m, 6 * m, 10*m + 1}, []time.Duration{0, 0, 0, 0}},
		"every four minutes is no fight":     {[]time.Duration{0, 4 * m, 8 * m, 12 * m, 16 * m, 20 * m}, make([]time.Duration, 6)},
		"the last four in ten minutes count": {[]time.Duration{0, 8 * m, 12 * m, 14 * m, 16 * m}, []time.Duration{0, 0, 0, 0, 10 * s}},
		"the delay doubles up to five minutes": {
			[]time.Duration{0, s, 2 * s, m, 2 * m, 4 * m, 8 * m, 14 * m, 20 * m, 26 * m, 33 * m},
			[]time.Duration{0, 0, 0, 10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 300 * s, 300 * s, 300 * s},
		},
		"ten minutes after the last correction it goes on": {
			[]time.Duration{0, s, 2 * s, m, m + 10*s + 10*m}, []time.Duration{0, 0, 0, 10 * s, 20 * s},
		},
		"more than ten minutes of calm end it": {
			[]time.Duration{0, s, 2 * s, m, m + 10*s + 10*m + 1, 12 * m}, []time.Duration{0, 0, 0, 10 * s, 0, 0},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, got := duel(tt.undone...)
			for i := range tt.want {
				if got[i] != tt.want[i] {
					t.Errorf("correction %d is delayed by %v, want %v", i+1, got[i], tt.want[i])
				}
			}
		})
	}
}

func TestFightLasts(t *testing.T) {
	var peace plan.Fight
	if peace.Lasts(now) || peace.Found(now).Lasts(now) || !peace.Found(now).Until().Equal(now) {
		t.Error("a first difference is a fight")
	}
	f, _ := duel(0, time.Second, 2*time.Second)
	if f.Lasts(now.Add(2 * time.Second)) {
		t.Error("three corrections are a fight")
	}
	f, _ = duel(0, time.Second, 2*time.Second, time.Minute)
	corrected := now.Add(70 * time.Second)
	for after, want := range map[time.Duration]bool{0: true, 10 * time.Minute: true, 10*time.Minute + 1: false} {
		if f.Lasts(corrected.Add(after)) != want {
			t.Errorf("%v after its last correction the fight lasts: %v, want %v", after, !want, want)
		}
	}
	if ends := f.Ends(); f.Lasts(ends) || !f.Lasts(ends.Add(-1)) {
		t.Errorf("the fight is said to end at %v", ends)
	}
	// A difference that waits for its delay is no calm, however long it takes.
	f = f.Found(corrected.Add(10 * time.Minute))
	if !f.Lasts(corrected.Add(30 * time.Minute)) {
		t.Error("the fight ended while its difference stood")
	}
}

// TestFightIsAValue: the memory of one moment does not change with what is made of it.
func TestFightIsAValue(t *testing.T) {
	f, _ := duel(0, time.Second)
	a := f.Corrected(now.Add(time.Minute))
	b := f.Corrected(now.Add(9 * time.Minute))
	again := a.Found(now.Add(10 * time.Minute))
	if !again.Lasts(now.Add(10 * time.Minute)) {
		t.Error("the fourth time within ten minutes is no fight")
	}
	if b.Found(now.Add(10*time.Minute + 2*time.Second)).Lasts(now.Add(10*time.Minute + 2*time.Second)) {
		t.Error("corrections of another line were mixed in")
	}
}
