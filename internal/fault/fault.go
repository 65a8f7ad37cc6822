// Package fault gives every trouble a class, which decides how it is shown and when it is tried again, and a reason of
// the public vocabulary. It maps nothing by text: whoever meets an error classifies it where its meaning is known.
package fault

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Class decides condition and retry.
type Class int8

// The classes, from "comes back by itself" to "only an edit helps".
const (
	// Transient: timeout, connection lost, throttled. Backoff.
	Transient Class = iota
	// Waiting: the world is on its way (a broker restarts, metadata spreads). Short requeue.
	Waiting
	// Blocked: needs a person or another system, yet heals by itself when they act. Re-checked.
	Blocked
	// Invalid: only an edit of the object can fix it.
	Invalid
)

// MaxDetail bounds a broker's own words, in bytes.
const MaxDetail = 256

// Fault is a classified error.
type Fault struct {
	Class Class
	// Reason is of the public vocabulary (api/v1alpha1 conditions).
	Reason string
	// Message says what was observed and what would fix it, in stable words.
	Message string
	// Detail is a broker's own sentence about this one item, cut to MaxDetail. It may vary between equal answers, so
	// a change of Detail alone changes nothing that is stored.
	Detail string
	// Uncertain: a write may have been applied all the same. Look again before doing anything.
	Uncertain bool
	// Err is the cause, if there is one.
	Err error
}

// New makes a fault without a cause.
func New(class Class, reason, format string, args ...any) *Fault {
	return &Fault{Class: class, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Wrap makes a fault with a cause.
func Wrap(err error, class Class, reason, format string, args ...any) *Fault {
	f := New(class, reason, format, args...)
	f.Err = err
	return f
}

// WithDetail adds a broker's words, cut to MaxDetail bytes and to one line.
func (f *Fault) WithDetail(words string) *Fault {
	c := *f
	c.Detail = Cut(strings.Join(strings.Fields(words), " "), MaxDetail)
	return &c
}

// Error gives message and detail.
func (f *Fault) Error() string {
	if f.Detail == "" {
		return f.Message
	}
	return f.Message + ": " + f.Detail
}

// Unwrap gives the cause.
func (f *Fault) Unwrap() error { return f.Err }

// As finds the fault in err. An error that nobody classified is Transient with an empty reason, and its words are detail:
// nobody has promised that they are stable.
func As(err error) *Fault {
	if err == nil {
		return nil
	}
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	return Wrap(err, Transient, "", "something went wrong that has no name yet; it is tried again").WithDetail(err.Error())
}

// Cut shortens s to at most limit bytes, at least 3, without splitting a character. What is not valid UTF-8 is replaced:
// the API server would replace it too, and the status would never be equal to what was written.
func Cut(s string, limit int) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	if len(s) <= limit {
		return s
	}
	const mark = "..."
	end := max(0, limit-len(mark))
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return strings.TrimRight(s[:end], " ,;:(") + mark
}
