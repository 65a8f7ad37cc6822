package progress_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"durabletopic.io/operator/internal/testbed/progress"
)

func TestDuringSaysThatItIsStillAtIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		broken := errors.New("broken")
		err := progress.During(t.Context(), progress.New(&out), "building etcd", func(context.Context) error {
			time.Sleep(40 * time.Second)
			return broken
		})
		if !errors.Is(err, broken) {
			t.Errorf("During() = %v, want the error of the work", err)
		}
		want := "[   0.0s] building etcd\n[  15.0s] ... still building etcd (15s)\n[  30.0s] ... still building etcd (30s)\n"
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
	})
}

func TestOrDiscardTakesNil(t *testing.T) {
	progress.OrDiscard(nil)("nothing %s", "happens")
	var got string
	progress.OrDiscard(func(format string, _ ...any) { got = format })("line")
	if got != "line" {
		t.Errorf("the given Log got %q", got)
	}
}
