package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/fault"
)

// RetryAfter is the cause of a fault that Kafka's quotas make: what was refused may be tried again after Delay.
type RetryAfter struct {
	Delay time.Duration
	Err   error
}

// Error tells the delay.
func (r *RetryAfter) Error() string { return fmt.Sprintf("throttled for %v: %v", r.Delay, r.Err) }

// Unwrap gives the error code.
func (r *RetryAfter) Unwrap() error { return r.Err }

// symptom is how it shows that a request got no answer.
type symptom struct {
	class  fault.Class
	reason string
	means  string // what was observed; cure
}

// symptoms, the most telling first: of several bootstrap servers one may be down and another one speak TLS.
var symptoms = []struct {
	shows func(error) bool
	symptom
}{
	{is(kgo.ErrClientClosed), symptom{fault.Transient, v1alpha1.ReasonKafkaUnreachable,
		"the connection to Kafka was closed on this side; it is tried again with the next one"}},
	{is(context.Canceled), symptom{fault.Transient, v1alpha1.ReasonKafkaUnreachable,
		"the request was given up before the answer came; it is tried again"}},
	{is(errSpeaksTLS), symptom{fault.Blocked, v1alpha1.ReasonTLSMismatch,
		"the broker speaks TLS at this port; name the port of a PLAINTEXT listener"}},
	{is(errSpeaksOther), symptom{fault.Blocked, v1alpha1.ReasonNotKafka,
		"what answers does not speak Kafka's protocol; correct spec.bootstrapServers"}},
	{isCode(kerr.SaslAuthenticationFailed, kerr.UnsupportedSaslMechanism, kerr.IllegalSaslState), symptom{
		fault.Blocked, v1alpha1.ReasonAuthenticationRequired, "the broker refuses the operator's credentials"}},
	{is(errUnknownBroker), symptom{fault.Transient, v1alpha1.ReasonKafkaUnreachable,
		"the broker is not registered in the cluster; bring it back, or wait until another one is asked"}},
	{is(errConnectionLost), symptom{fault.Transient, v1alpha1.ReasonKafkaUnreachable,
		"the broker closed the connection before it answered; check that the brokers run"}},
	{is(errClosedSilently), symptom{fault.Transient, v1alpha1.ReasonTLSMismatch,
		"the broker closed the connection without an answer, as a TLS listener does; name the port of a PLAINTEXT listener"}},
	{isFirstRead, symptom{fault.Transient, v1alpha1.ReasonAuthenticationRequired,
		"the broker closed the connection at the first request, as a SASL listener does; name the port of a PLAINTEXT listener"}},
	{isLate, symptom{fault.Transient, v1alpha1.ReasonConnectionTimedOut,
		"Kafka does not answer in time; check firewalls and the load of the brokers"}},
	{isErrno(syscall.ECONNREFUSED), symptom{fault.Transient, v1alpha1.ReasonConnectionRefused,
		"nothing listens at the broker's address; start the brokers, or correct spec.bootstrapServers"}},
	{isDNS, symptom{fault.Transient, v1alpha1.ReasonNameResolutionFailed,
		"the broker's name cannot be resolved; correct spec.bootstrapServers or the DNS"}},
	{isErrno(syscall.EHOSTUNREACH, syscall.ENETUNREACH), symptom{fault.Transient, v1alpha1.ReasonKafkaUnreachable,
		"there is no route to the broker; check the network between it and the operator"}},
	{isStale, symptom{fault.Transient, v1alpha1.ReasonKafkaUnreachable,
		"the connection to the broker died before the answer came; check that the brokers run"}},
}

// unanswered is the fault of a request that failed as a whole. Its message names neither broker nor address, so that it
// stays the same while other brokers are tried; the detail does.
func unanswered(err error) *fault.Fault {
	if f, ok := errors.AsType[*fault.Fault](err); ok {
		return f
	}
	s := symptom{fault.Transient, v1alpha1.ReasonKafkaUnreachable,
		"the request to Kafka failed; check the brokers and the network between them and the operator"}
	for _, known := range symptoms {
		if known.shows(err) {
			s = known.symptom
			break
		}
	}
	return fault.Wrap(err, s.class, s.reason, "%s", s.means).WithDetail(err.Error())
}

// unansweredWrite is what a write that failed as a whole means for one of its objects: nothing is known about its effect.
func unansweredWrite(a action, name string, err error) *fault.Fault {
	whole := unanswered(err)
	f := fault.Wrap(err, fault.Transient, whole.Reason, "%s: %s", a.on(name), whole.Message).WithDetail(whole.Detail)
	f.Uncertain = true
	return f
}

// notSentAbout is what it means for one object that its write was not sent, because the time was up before.
func notSentAbout(a action, name string, err error) *fault.Fault {
	whole := notSent(err)
	return fault.Wrap(err, whole.Class, whole.Reason, "%s: %s", a.on(name), whole.Message)
}

// throttled is the fault of a refusal by quota; after is what the answer asks to wait.
func throttled(a action, name string, after time.Duration) *fault.Fault {
	f := refusal(a, name, kerr.ThrottlingQuotaExceeded.Code, nil)
	f.Err = &RetryAfter{Delay: after, Err: f.Err}
	return f
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func isErrno(numbers ...syscall.Errno) func(error) bool {
	return func(err error) bool {
		for _, n := range numbers {
			if errors.Is(err, n) {
				return true
			}
		}
		return false
	}
}

func isCode(codes ...*kerr.Error) func(error) bool {
	return func(err error) bool {
		for _, c := range codes {
			if errors.Is(err, c) {
				return true
			}
		}
		return false
	}
}

func isFirstRead(err error) bool {
	_, ok := errors.AsType[*kgo.ErrFirstReadEOF](err)
	return ok
}

func isDNS(err error) bool {
	_, ok := errors.AsType[*net.DNSError](err)
	return ok
}

// isLate leaves out name resolution, which may time out too and says more.
func isLate(err error) bool { return isTimeout(err) && !isDNS(err) }
