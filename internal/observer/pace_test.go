package observer

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

type told struct {
	names   []string
	urgency Urgency
	at      time.Duration
}

// pacing runs a pacer and gives what it told after a while.
func pacing(t *testing.T, d time.Duration, use func(p *pacer)) (all []told) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		p := newPacer()
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		use(p)
		p.run(ctx, func(names []string, u Urgency) { all = append(all, told{names, u, time.Since(start)}) }, nil)
	})
	return all
}

func topics(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("t%03d", i))
	}
	return names
}

func TestPacer(t *testing.T) {
	t.Run("calm at 50 a second, in order", func(t *testing.T) {
		got := pacing(t, time.Minute, func(p *pacer) {
			for _, n := range topics(100) {
				p.add(n, Calm)
			}
		})
		var names []string
		for i, g := range got {
			names = append(names, g.names...)
			if want := time.Duration(i) * calmEvery; g.at != want || g.urgency != Calm || len(g.names) != calmBurst {
				t.Errorf("told %v with urgency %d at %v, want %d calm ones at %v", g.names, g.urgency, g.at, calmBurst, want)
			}
		}
		if !slices.Equal(names, topics(100)) {
			t.Errorf("told %v", names)
		}
	})
	t.Run("urgent at once and before calm", func(t *testing.T) {
		got := pacing(t, time.Minute, func(p *pacer) {
			p.add("calm", Calm)
			for _, n := range topics(500) {
				p.add(n, Urgent)
			}
		})
		if len(got) != 2 || len(got[0].names) != 500 || got[0].urgency != Urgent || got[0].at != 0 || got[1].names[0] != "calm" {
			t.Errorf("told %d times, want 500 urgent ones first", len(got))
		}
	})
	t.Run("each name once, as its highest urgency", func(t *testing.T) {
		got := pacing(t, time.Minute, func(p *pacer) {
			for range 3 {
				p.add("a", Calm)
				p.add("a", Urgent)
				p.add("a", Calm)
			}
		})
		if len(got) != 1 || got[0].urgency != Urgent || len(got[0].names) != 1 {
			t.Errorf("told %v, want a once as urgent", got)
		}
	})
	t.Run("dropped", func(t *testing.T) {
		got := pacing(t, time.Minute, func(p *pacer) {
			p.add("a", Calm)
			p.add("b", Urgent)
			p.drop("a")
			p.drop("b")
			p.add("c", Calm)
			p.drop("c")
			p.add("c", Calm)
		})
		if len(got) != 1 || !slices.Equal(got[0].names, []string{"c"}) {
			t.Errorf("told %v, want c only", got)
		}
	})
}
