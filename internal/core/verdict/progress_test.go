package verdict_test

import (
	"strings"
	"testing"
	"time"

	"durabletopic.io/operator/internal/core/verdict"
)

// How far moves have come is told once a minute; what else changes is told at once.
func TestProgressOfMovesIsToldOnceAMinute(t *testing.T) {
	s := orders(func(s *scene) { s.partitions("1 3 5", "1 2 5", "1 2 5") })
	began := verdict.Judge(s.input())
	s.Previous, s.WroteAt = began.Status, now
	words := func(after time.Duration, partitions ...string) (verdict.Verdict, string) {
		s.Now = now.Add(after)
		s.partitions(partitions...)
		v := verdict.Judge(s.input())
		var all []string
		for _, c := range v.Status.Conditions {
			all = append(all, c.Type+"="+c.Reason+": "+c.Message)
		}
		return v, strings.Join(all, "\n")
	}
	_, before := words(0, "1 3 5", "1 2 5", "1 2 5")
	v, later := words(59*time.Second, "1 3 5", "1 2 5", "1 3 5")
	if later != before {
		t.Errorf("after 59 s:\n%s\nwant as before:\n%s", later, before)
	}
	if v.RequeueAfter != time.Second {
		t.Errorf("comes back after %s, want the second that is left", v.RequeueAfter)
	}
	if _, told := words(time.Minute, "1 3 5", "1 2 5", "1 3 5"); !strings.Contains(told, "replicas of 1 of 3 partitions") || strings.Contains(told, "2 of 3") {
		t.Errorf("after a minute:\n%s", told)
	}
	if _, told := words(time.Second, "1 3 5", "1 3 5", "1 3 5"); !strings.Contains(told, "Ready=Compliant") {
		t.Errorf("when all is done:\n%s", told)
	}
	if _, told := words(time.Second, "1 3 5 isr 1", "1 2 5", "1 2 5"); !strings.Contains(told, "PlacementViolation") {
		t.Errorf("fewer in sync meanwhile:\n%s", told)
	}
}
