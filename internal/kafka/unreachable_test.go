package kafka

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/fault"
)

// Any of the bootstrap servers will do.
func TestWireBootstrap(t *testing.T) {
	b := startBrokers(t)
	good := b.ListenAddrs()[0]
	tests := map[string]struct {
		bad  string
		most int // calls until one succeeds
	}{
		"the first refuses": {refusing(t), 1},
		"the first hangs":   {silent(t), 2},
		"the first is HTTP": {speaking(t, "HTTP/1.1 400 Bad Request\r\n\r\n"), 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			client := dialClient(t, tt.bad, good)
			for i := 1; ; i++ {
				got, err := client.Cluster(t.Context(), AnyBroker)
				if err == nil && len(got.Brokers) == 3 {
					break
				}
				if i >= tt.most {
					t.Fatalf("call %d: %v, %v", i, got, err)
				}
			}
		})
	}
}

func refusing(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	return ln.Addr().String()
}

// silent accepts connections and says nothing.
func silent(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln.Addr().String()
}

// speaking answers whatever comes with the same words and closes.
func speaking(t *testing.T, words string) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			if _, err := c.Read(make([]byte, 1<<10)); err == nil {
				_, _ = c.Write([]byte(words))
			}
			c.Close()
		}
	}()
	return ln.Addr().String()
}

// What is wrong with the way to the brokers can be told apart.
func TestWireUnreachable(t *testing.T) {
	sasl := startBrokers(t, kfake.EnableSASL())
	secured := startBrokers(t, kfake.TLS(selfSigned(t)))
	tests := map[string]struct {
		server string
		want   verdict
	}{
		"refused":         {refusing(t), verdict{fault.Transient, v1alpha1.ReasonConnectionRefused, false}},
		"hangs":           {silent(t), verdict{fault.Transient, v1alpha1.ReasonConnectionTimedOut, false}},
		"no such name":    {"broker.freshcart.invalid:9092", verdict{fault.Transient, v1alpha1.ReasonNameResolutionFailed, false}},
		"TLS alert":       {speaking(t, "\x15\x03\x03\x00\x02\x02\x46"), verdict{fault.Blocked, v1alpha1.ReasonTLSMismatch, false}},
		"TLS listener":    {secured.ListenAddrs()[0], verdict{fault.Transient, v1alpha1.ReasonTLSMismatch, false}},
		"closes":          {speaking(t, ""), verdict{fault.Transient, v1alpha1.ReasonTLSMismatch, false}},
		"SASL listener":   {sasl.ListenAddrs()[0], verdict{fault.Transient, v1alpha1.ReasonAuthenticationRequired, false}},
		"HTTP server":     {speaking(t, "HTTP/1.1 400 Bad Request\r\n\r\n"), verdict{fault.Blocked, v1alpha1.ReasonNotKafka, false}},
		"something else":  {speaking(t, "220 mail.freshcart.example ESMTP\r\n"), verdict{fault.Blocked, v1alpha1.ReasonNotKafka, false}},
		"short of a word": {speaking(t, "x"), verdict{fault.Transient, v1alpha1.ReasonKafkaUnreachable, false}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			_, err := dialClient(t, tt.server).Cluster(ctx, AnyBroker)
			if diff := cmp.Diff(tt.want, verdictOf(t, err)); diff != "" {
				t.Errorf("%v: %s", err, diff)
			}
			if took := time.Since(start); took > 8*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestDialRefusesMalformedServers(t *testing.T) {
	for name, servers := range map[string][]string{"none": nil, "port is no number": {"broker:port"}} {
		t.Run(name, func(t *testing.T) {
			if w, err := Dial(Config{BootstrapServers: servers}); err == nil {
				w.Close()
				t.Error("want an error")
			}
		})
	}
}

// A client that was closed fails at once, whatever is asked.
func TestWireClosed(t *testing.T) {
	b := startBrokers(t)
	w, err := Dial(Config{BootstrapServers: b.ListenAddrs()})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	_, err = NewClient(w, Options{}).Cluster(t.Context(), AnyBroker)
	if diff := cmp.Diff(verdict{fault.Transient, v1alpha1.ReasonKafkaUnreachable, false}, verdictOf(t, err)); diff != "" {
		t.Error(diff)
	}
}
