package fault_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"durabletopic.io/operator/internal/fault"
)

func TestAs(t *testing.T) {
	refused := fault.Wrap(io.EOF, fault.Blocked, "NotAuthorized", "alter topic %q is not allowed", "orders")
	tests := map[string]struct {
		err  error
		want *fault.Fault
	}{
		"nil":     {nil, nil},
		"a fault": {refused, refused},
		"wrapped": {fmt.Errorf("batch: %w", refused), refused},
		"nobody's": {errors.New("read tcp 10.0.0.1:9093:\n  reset"), &fault.Fault{
			Class: fault.Transient, Message: "something went wrong that has no name yet; it is tried again",
			Detail: "read tcp 10.0.0.1:9093: reset",
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := fault.As(tt.err)
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(fault.Fault{}, "Err")); diff != "" {
				t.Errorf("fault (-want +got):\n%s", diff)
			}
			if tt.err != nil && !errors.Is(got, rootOf(tt.err)) {
				t.Errorf("%v has lost its cause", got)
			}
		})
	}
}

func rootOf(err error) error {
	for errors.Unwrap(err) != nil {
		err = errors.Unwrap(err)
	}
	return err
}

func TestError(t *testing.T) {
	f := fault.New(fault.Invalid, "ConfigRejected", "%s is refused", "segment.ms")
	if got := f.Error(); got != "segment.ms is refused" {
		t.Errorf("without detail: %q", got)
	}
	g := f.WithDetail("Invalid value\n\tasd for configuration segment.ms")
	if got := g.Error(); got != "segment.ms is refused: Invalid value asd for configuration segment.ms" {
		t.Errorf("with detail: %q", got)
	}
	if f.Detail != "" {
		t.Error("WithDetail changed its receiver")
	}
	if got := f.WithDetail(strings.Repeat("long ", 100)).Detail; len(got) > fault.MaxDetail {
		t.Errorf("the detail has %d bytes", len(got))
	}
}

func TestCut(t *testing.T) {
	tests := map[string]struct {
		words string
		limit int
		want  string
	}{
		"short":              {"orders", 6, "orders"},
		"long":               {"payments", 6, "pay..."},
		"inside a character": {"aéé", 4, "a..."},
		"between characters": {"ééé", 5, "é..."},
		"no room":            {"payments", 3, "..."},
		"between words":      {"red, green, blue", 8, "red..."},
		"not UTF-8":          {"a\xffb", 10, "a\ufffdb"},
		"long and not UTF-8": {"\xff" + strings.Repeat("x", 10), 8, "\ufffdxx..."},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := fault.Cut(tt.words, tt.limit); got != tt.want {
				t.Errorf("Cut(%q, %d) = %q, want %q", tt.words, tt.limit, got, tt.want)
			}
		})
	}
}

// TestCutIsBoundedAndValid: whatever comes from outside fits, is text, and cutting again changes nothing.
func TestCutIsBoundedAndValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := string(rapid.SliceOf(rapid.Byte()).Draw(t, "words"))
		limit := rapid.IntRange(3, 40).Draw(t, "limit")
		got := fault.Cut(words, limit)
		if len(got) > limit || !utf8.ValidString(got) || fault.Cut(got, limit) != got {
			t.Fatalf("Cut(%q, %d) = %q", words, limit, got)
		}
	})
}
