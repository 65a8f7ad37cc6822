package kafka

import (
	"context"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/fault"
)

// script is a Wire that answers by functions, one per API.
type script struct {
	answers map[kmsg.Key]func(broker int32, req kmsg.Request) (kmsg.Response, error)

	mu   sync.Mutex
	sent []kmsg.Request
	to   []int32
}

func (s *script) Request(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	s.mu.Lock()
	s.sent, s.to = append(s.sent, req), append(s.to, broker)
	s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.answers[kmsg.Key(req.Key())](broker, req)
}

func (s *script) Close() {}

// count tells how often an API was asked.
func (s *script) count(key kmsg.Key) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.sent {
		if kmsg.Key(r.Key()) == key {
			n++
		}
	}
	return n
}

// reply makes an answer function of a typed one.
func reply[Q, A kmsgMessage](f func(req Q, resp A)) func(int32, kmsg.Request) (kmsg.Response, error) {
	return func(_ int32, req kmsg.Request) (kmsg.Response, error) {
		resp := req.ResponseKind()
		f(req.(Q), resp.(A))
		return resp, nil
	}
}

type kmsgMessage interface{ Key() int16 }

func refuse(err error) func(int32, kmsg.Request) (kmsg.Response, error) {
	return func(int32, kmsg.Request) (kmsg.Response, error) { return nil, err }
}

// verdict is what a test compares of a fault.
type verdict struct {
	Class     fault.Class
	Reason    string
	Uncertain bool
}

func verdictOf(t *testing.T, err error) verdict {
	t.Helper()
	if err == nil {
		t.Fatal("want a fault, got none")
	}
	f := fault.As(err)
	return verdict{f.Class, f.Reason, f.Uncertain}
}
