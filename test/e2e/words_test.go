//go:build unix

package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/statuscheck"
	"durabletopic.io/operator/internal/testbed/kafkabed"
)

// leaks finds what belongs to programs, not to people: traces of formatting, dumps of Java objects.
func leaks(words string) []string {
	var found []string
	for _, bad := range []string{"%!", "<nil>", "(MISSING)", "Exception", "org.apache", "connectionId=", "RequestContext(", "\tat ", "0xc0"} {
		if strings.Contains(words, bad) {
			found = append(found, fmt.Sprintf("%q in: %s", bad, words))
		}
	}
	return found
}

// judge gives what is wrong with a status at any time.
func judge(t *v1alpha1.DurableTopic) []string {
	var troubles []string
	for _, err := range statuscheck.Check(t) {
		troubles = append(troubles, fmt.Sprintf("%s at version %s: %v\n  %s", t.Name, t.ResourceVersion, err, conditions(t)))
	}
	for _, c := range t.Status.Conditions {
		troubles = append(troubles, leaks(c.Message)...)
	}
	for _, step := range t.Status.Plan {
		troubles = append(troubles, leaks(step)...)
	}
	return troubles
}

// checkEvents judges the words of all events about topics of the world and about the KafkaClusters.
func (w *world) checkEvents() {
	w.t.Helper()
	for _, e := range append(w.events(), w.eventsIn(metav1.NamespaceDefault)...) {
		for _, err := range statuscheck.Message(e.Note) {
			w.t.Errorf("event %s of %s: %v", e.Reason, e.Regarding.Name, err)
		}
		for _, leak := range leaks(e.Note) {
			w.t.Errorf("event %s of %s has %s", e.Reason, e.Regarding.Name, leak)
		}
	}
}

func (w *world) logSize() int64 {
	w.t.Helper()
	info, err := os.Stat(w.operator.Info().LogFile)
	w.must(err)
	return info.Size()
}

// log gives the lines that the operator has written since.
func (w *world) log(from int64) []string {
	w.t.Helper()
	f, err := os.Open(w.operator.Info().LogFile)
	w.must(err)
	defer func() { _ = f.Close() }()
	_, err = f.Seek(from, io.SeekStart)
	w.must(err)
	text, err := io.ReadAll(f)
	w.must(err)
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// checkLog: nothing was forbidden by RBAC, nothing panicked, nothing leaks.
func (w *world) checkLog(from int64) {
	w.t.Helper()
	for _, line := range w.log(from) {
		lower := strings.ToLower(line)
		for _, bad := range []string{"forbidden", "panic", "unauthorized", "data race"} {
			if strings.Contains(lower, bad) {
				w.t.Errorf("the operator's log says %q: %s", bad, line)
			}
		}
		for _, leak := range leaks(line) {
			w.t.Errorf("the operator's log has %s", leak)
		}
	}
}

// brief leaves out of a line of the log what says nothing here.
func brief(line string) string {
	var all map[string]any
	if json.Unmarshal([]byte(line), &all) != nil {
		return line
	}
	for _, key := range []string{"controller", "controllerGroup", "controllerKind", "DurableTopic", "reconcileID", "level", "namespace", "topic"} {
		delete(all, key)
	}
	short, err := json.Marshal(all)
	if err != nil {
		return line
	}
	return string(short)
}

// tellLog makes the end of the operator's log part of a failure.
func (w *world) tellLog(from int64) {
	w.t.Helper()
	const most = 60
	lines := w.log(from)
	lines = lines[max(0, len(lines)-most):]
	for i, line := range lines {
		lines[i] = brief(line)
	}
	w.t.Logf("end of the operator's log:\n%s", strings.Join(lines, "\n"))
	for _, k := range []*kafka{w.main, w.annex} {
		for _, n := range k.bed.Nodes() {
			w.t.Logf("kafka %s node %d: %s %s", k.bed.ClusterID(), n.ID, n.State, n.Exit)
			if n.State == kafkabed.Stopped {
				w.t.Logf("end of its log:\n%s", tail(n.Log))
			}
		}
	}
}

// tail gives the last lines of a file.
func tail(file string) string {
	const most = 60
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}
