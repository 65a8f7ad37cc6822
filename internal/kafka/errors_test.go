package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/fault"
)

func TestRefusal(t *testing.T) {
	words := "the broker's own words"
	tests := map[string]struct {
		action      action
		name        string
		code        *kerr.Error
		want        verdict
		wantMessage string
		wantDetail  string
	}{
		"config": {alterConfigs, "orders", kerr.InvalidConfig, verdict{fault.Invalid, v1alpha1.ReasonConfigRejected, false},
			`alter configs of topic "orders": INVALID_CONFIG, Kafka refuses a key or value of the config; correct spec.config`, words},
		"policy": {createTopics, "orders", kerr.PolicyViolation, verdict{fault.Blocked, v1alpha1.ReasonPolicyViolation, false},
			`create topic "orders": POLICY_VIOLATION, a policy of the Kafka cluster refuses it; change the declaration or the policy`, words},
		"exists": {createTopics, "orders", kerr.TopicAlreadyExists, verdict{fault.Waiting, v1alpha1.ReasonCreating, false},
			`create topic "orders": TOPIC_ALREADY_EXISTS, a topic of this name exists in Kafka but does not show yet, or is still being deleted; it is looked for again`, words},
		"replication factor": {createTopics, "orders", kerr.InvalidReplicationFactor, verdict{fault.Waiting, v1alpha1.ReasonWaitingForBrokers, false},
			`create topic "orders": INVALID_REPLICATION_FACTOR, fewer brokers are in service than the topic has replicas; bring back or add brokers`, words},
		"assignment": {createPartitions, "orders", kerr.InvalidReplicaAssignment, verdict{fault.Waiting, v1alpha1.ReasonWaitingForBrokers, false},
			`add partitions to topic "orders": INVALID_REPLICA_ASSIGNMENT, Kafka refuses the brokers chosen for the replicas, as it does when brokers have changed since; they are chosen anew`, words},
		"partitions of a new topic": {createTopics, "orders", kerr.InvalidPartitions, verdict{fault.Invalid, v1alpha1.ReasonRequestRejected, false},
			`create topic "orders": INVALID_PARTITIONS, Kafka refuses the number of partitions; correct spec.partitions`, words},
		"partitions that are there already": {createPartitions, "orders", kerr.InvalidPartitions, verdict{fault.Waiting, v1alpha1.ReasonAddingPartitions, false},
			`add partitions to topic "orders": INVALID_PARTITIONS, the topic has other partitions than when it was read; it is looked at again`, words},
		"name collides": {createTopics, "a.b", kerr.InvalidTopicException, verdict{fault.Invalid, v1alpha1.ReasonTopicNameCollision, false},
			`create topic "a.b": INVALID_TOPIC_EXCEPTION, a topic whose name differs only in '.' and '_' exists; declare the topic under another name`, words},
		"name is invalid": {createTopics, "a b", kerr.InvalidTopicException, verdict{fault.Invalid, v1alpha1.ReasonTopicNameInvalid, false},
			`create topic "a b": INVALID_TOPIC_EXCEPTION, Kafka refuses the name; declare the topic under another name`, words},
		"unknown topic": {alterConfigs, "orders", kerr.UnknownTopicOrPartition, verdict{fault.Waiting, v1alpha1.ReasonTopicNotFound, false},
			`alter configs of topic "orders": UNKNOWN_TOPIC_OR_PARTITION, Kafka does not know the topic, or not yet; it is looked for again`, words},
		"not allowed on the topic": {alterConfigs, "orders", kerr.TopicAuthorizationFailed, verdict{fault.Blocked, v1alpha1.ReasonNotAuthorized, false},
			`alter configs of topic "orders": TOPIC_AUTHORIZATION_FAILED, the operator's user is not allowed to; grant it ALTER_CONFIGS on Topic orders`, ""},
		"not allowed on the cluster": {createTopics, "orders", kerr.ClusterAuthorizationFailed, verdict{fault.Blocked, v1alpha1.ReasonNotAuthorized, false},
			`create topic "orders": CLUSTER_AUTHORIZATION_FAILED, the operator's user is not allowed to; grant it CREATE on Topic orders or on the Cluster`, ""},
		"timed out": {createTopics, "orders", kerr.RequestTimedOut, verdict{fault.Transient, v1alpha1.ReasonConnectionTimedOut, true},
			`create topic "orders": REQUEST_TIMED_OUT, Kafka's controller did not finish in time; check the load of the brokers`, words},
		"timed out while reading": {listReassignments, "", kerr.RequestTimedOut, verdict{fault.Transient, v1alpha1.ReasonConnectionTimedOut, false},
			`list reassignments of cluster: REQUEST_TIMED_OUT, Kafka's controller did not finish in time; check the load of the brokers`, words},
		"controller changes": {createTopics, "orders", kerr.NotController, verdict{fault.Transient, v1alpha1.ReasonKafkaUnreachable, true},
			`create topic "orders": NOT_CONTROLLER, Kafka's controller is changing; it is tried again`, words},
		"reassignment runs": {createPartitions, "orders", kerr.ReassignmentInProgress, verdict{fault.Waiting, v1alpha1.ReasonMovingReplicas, false},
			`add partitions to topic "orders": REASSIGNMENT_IN_PROGRESS, replicas of the topic are moving; it waits until they are done`, words},
		"old brokers": {alterConfigs, "orders", kerr.UnsupportedVersion, verdict{fault.Blocked, v1alpha1.ReasonUnsupportedBrokers, false},
			`alter configs of topic "orders": UNSUPPORTED_VERSION, the brokers do not support the request; upgrade them to Apache Kafka 4.0 or newer`, words},
		"without a rule": {alterConfigs, "orders", kerr.InvalidRequest, verdict{fault.Blocked, v1alpha1.ReasonRequestRejected, false},
			`alter configs of topic "orders": INVALID_REQUEST, Kafka refuses the request`, words},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := refusal(tt.action, tt.name, tt.code.Code, &words)
			if diff := cmp.Diff(tt.want, verdictOf(t, f)); diff != "" {
				t.Errorf("verdict: %s", diff)
			}
			if diff := cmp.Diff(tt.wantMessage, f.Message); diff != "" {
				t.Errorf("message: %s", diff)
			}
			if diff := cmp.Diff(tt.wantDetail, f.Detail); diff != "" {
				t.Errorf("detail: %s", diff)
			}
			if !errors.Is(f, tt.code) {
				t.Errorf("the error code is not the cause of %v", f)
			}
		})
	}
}

// Every code, known or not, gives a readable fault for every action.
func TestRefusalIsAlwaysReadable(t *testing.T) {
	for code := int16(-1); code < 200; code++ {
		if code == 0 {
			continue
		}
		for _, a := range []action{describeCluster, describeTopics, createTopics, alterConfigs, createPartitions} {
			f := refusal(a, "orders", code, nil)
			if text := f.Error(); text == "" || f.Reason == "" || strings.Contains(text, "%!") || strings.Contains(text, "nil") {
				t.Errorf("code %d of %s: reason %q, text %q", code, a.api, f.Reason, text)
			}
		}
	}
}

func TestRefusalCutsLongWords(t *testing.T) {
	words := strings.Repeat("wörter ", 200)
	f := refusal(createTopics, "orders", kerr.PolicyViolation.Code, &words)
	if len(f.Detail) > fault.MaxDetail || len(f.Detail) < fault.MaxDetail-10 {
		t.Errorf("detail has %d bytes, want about %d", len(f.Detail), fault.MaxDetail)
	}
}

func TestThrottledCarriesDelay(t *testing.T) {
	f := throttled(createTopics, "orders", 3*time.Second)
	var after *RetryAfter
	if !errors.As(f, &after) || after.Delay != 3*time.Second {
		t.Errorf("want a delay of 3 s in %v", f.Err)
	}
	if !errors.Is(f, kerr.ThrottlingQuotaExceeded) {
		t.Errorf("the error code is not the cause of %v", f.Err)
	}
	if diff := cmp.Diff(verdict{fault.Transient, v1alpha1.ReasonThrottled, false}, verdictOf(t, f)); diff != "" {
		t.Error(diff)
	}
	if other := throttled(createTopics, "orders", time.Second); other.Message != f.Message {
		t.Errorf("the message varies with the delay: %q, %q", f.Message, other.Message)
	}
}

func TestUnanswered(t *testing.T) {
	dial := func(err error) error {
		return fmt.Errorf("unable to dial: %w", &net.OpError{Op: "dial", Net: "tcp", Err: err})
	}
	tests := map[string]struct {
		err  error
		want verdict
	}{
		"deadline":            {context.DeadlineExceeded, verdict{fault.Transient, v1alpha1.ReasonConnectionTimedOut, false}},
		"i/o deadline":        {&net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}, verdict{fault.Transient, v1alpha1.ReasonConnectionTimedOut, false}},
		"refused":             {dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), verdict{fault.Transient, v1alpha1.ReasonConnectionRefused, false}},
		"no route":            {dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), verdict{fault.Transient, v1alpha1.ReasonKafkaUnreachable, false}},
		"no such host":        {dial(&net.DNSError{Name: "b.example", IsNotFound: true}), verdict{fault.Transient, v1alpha1.ReasonNameResolutionFailed, false}},
		"name server is slow": {dial(&net.DNSError{Name: "b.example", IsTimeout: true}), verdict{fault.Transient, v1alpha1.ReasonNameResolutionFailed, false}},
		"TLS":                 {errSpeaksTLS, verdict{fault.Blocked, v1alpha1.ReasonTLSMismatch, false}},
		"HTTP":                {errSpeaksOther, verdict{fault.Blocked, v1alpha1.ReasonNotKafka, false}},
		"closed silently":     {fmt.Errorf("%w: %w", errClosedSilently, io.EOF), verdict{fault.Transient, v1alpha1.ReasonTLSMismatch, false}},
		"closed at once":      {&kgo.ErrFirstReadEOF{}, verdict{fault.Transient, v1alpha1.ReasonAuthenticationRequired, false}},
		"closed later":        {fmt.Errorf("%w: %w", errConnectionLost, &kgo.ErrFirstReadEOF{}), verdict{fault.Transient, v1alpha1.ReasonKafkaUnreachable, false}},
		"reset":               {syscall.ECONNRESET, verdict{fault.Transient, v1alpha1.ReasonKafkaUnreachable, false}},
		"canceled":            {context.Canceled, verdict{fault.Transient, v1alpha1.ReasonKafkaUnreachable, false}},
		"client closed":       {kgo.ErrClientClosed, verdict{fault.Transient, v1alpha1.ReasonKafkaUnreachable, false}},
		"unknown broker":      {errUnknownBroker, verdict{fault.Transient, v1alpha1.ReasonKafkaUnreachable, false}},
		"bad credentials":     {kerr.SaslAuthenticationFailed, verdict{fault.Blocked, v1alpha1.ReasonAuthenticationRequired, false}},
		"anything else":       {errors.New("?"), verdict{fault.Transient, v1alpha1.ReasonKafkaUnreachable, false}},
		"the most telling of several": {
			errors.Join(dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), errSpeaksTLS),
			verdict{fault.Blocked, v1alpha1.ReasonTLSMismatch, false},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, verdictOf(t, unanswered(tt.err))); diff != "" {
				t.Error(diff)
			}
			w := unansweredWrite(createTopics, "orders", tt.err)
			if diff := cmp.Diff(verdict{fault.Transient, tt.want.Reason, true}, verdictOf(t, w)); diff != "" {
				t.Errorf("as a write: %s", diff)
			}
			if !strings.HasPrefix(w.Message, `create topic "orders": `) {
				t.Errorf("message %q does not begin with the object", w.Message)
			}
			if !errors.Is(w, tt.err) {
				t.Errorf("the cause is lost: %v", w.Err)
			}
		})
	}
}

// The same trouble at different brokers reads the same: ports and addresses are details.
func TestUnansweredMessageIsStable(t *testing.T) {
	at := func(port int) error {
		return &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}, Err: syscall.ECONNREFUSED}
	}
	a, b := unanswered(at(1001)), unanswered(at(1002))
	if a.Message != b.Message {
		t.Errorf("messages differ: %q, %q", a.Message, b.Message)
	}
	if a.Detail == b.Detail {
		t.Errorf("details do not tell brokers apart: %q", a.Detail)
	}
}

func TestTopicNameValid(t *testing.T) {
	tests := map[string]bool{
		"_schemas": true, "Orders_V2": true, strings.Repeat("a", 249): true, "a.b-c_d": true,
		strings.Repeat("a", 250): false, ".": false, "..": false, "a b": false, "": false, "ä": false,
	}
	for name, want := range tests {
		if got := topicNameValid(name); got != want {
			t.Errorf("topicNameValid(%q) = %v, want %v", name, got, want)
		}
	}
}
