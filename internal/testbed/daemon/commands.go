//go:build unix

package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"durabletopic.io/operator/internal/testbed/kafkabed"
	"durabletopic.io/operator/internal/testbed/operatorbed"
	"durabletopic.io/operator/internal/testbed/progress"
)

// Verb is what can be done to Kafka nodes.
type Verb string

// The verbs of the bed command.
const (
	Kill   Verb = "kill"   // SIGKILL
	Pause  Verb = "pause"  // SIGSTOP
	Resume Verb = "resume" // SIGCONT
	Start  Verb = "start"  // start stopped nodes and wait until they are unfenced
	Stop   Verb = "stop"   // SIGTERM, a controlled shutdown
)

// Targets selects nodes by id and by rack.
type Targets struct {
	Brokers []int32  `json:"brokers,omitempty"`
	Racks   []string `json:"racks,omitempty"`
}

// line is one line of the answer to a command: progress, and at last the result.
type line struct {
	Progress string `json:"progress,omitempty"`
	Done     bool   `json:"done,omitempty"`
	Error    string `json:"error,omitempty"`
}

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.status(r.Context()))
	})
	mux.HandleFunc("POST /nodes/{verb}", func(w http.ResponseWriter, r *http.Request) {
		var targets Targets
		if err := json.NewDecoder(r.Body).Decode(&targets); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.stream(w, func(log progress.Log) error { return s.act(r.Context(), Verb(r.PathValue("verb")), targets, log) })
	})
	mux.HandleFunc("POST /operator/start", func(w http.ResponseWriter, r *http.Request) {
		s.stream(w, func(log progress.Log) error { return s.startOperator(r.Context(), log) })
	})
	mux.HandleFunc("POST /operator/stop", func(w http.ResponseWriter, r *http.Request) {
		s.stream(w, func(log progress.Log) error { return s.stopOperator(r.Context(), log) })
	})
	mux.HandleFunc("POST /down", func(w http.ResponseWriter, _ *http.Request) {
		s.stream(w, func(progress.Log) error { s.down(); return nil })
	})
	return mux
}

// stream runs a command and sends its progress as it comes.
func (s *server) stream(w http.ResponseWriter, command func(progress.Log) error) {
	encoder, flusher := json.NewEncoder(w), http.NewResponseController(w)
	send := func(l line) {
		_ = encoder.Encode(l) // a client that has gone is no reason to leave the command half done
		_ = flusher.Flush()
	}
	result := line{Done: true}
	err := command(func(format string, args ...any) {
		s.log(format, args...)
		send(line{Progress: fmt.Sprintf(format, args...)})
	})
	if err != nil {
		result.Error = err.Error()
	}
	send(result)
}

// act does verb to the nodes that targets select.
func (s *server) act(ctx context.Context, verb Verb, targets Targets, log progress.Log) error {
	ids, err := s.resolve(targets)
	if err != nil {
		return err
	}
	log("%s: node %s", verb, strings.Trim(fmt.Sprint(ids), "[]"))
	switch verb {
	case Kill:
		return s.kafka.Kill(ids...)
	case Pause:
		return s.kafka.Pause(ids...)
	case Resume:
		return s.kafka.Resume(ids...)
	case Stop:
		return s.kafka.Term(ctx, ids...)
	case Start:
		return s.startNodes(ctx, ids)
	default:
		return fmt.Errorf("unknown command %q", verb)
	}
}

// startNodes starts nodes and waits until they do their work, unless Kafka as a whole cannot: with the controller
// down, or no broker to ask.
func (s *server) startNodes(ctx context.Context, ids []int32) error {
	if err := s.kafka.Start(ids...); err != nil {
		return err
	}
	brokers := slices.DeleteFunc(slices.Clone(ids), func(id int32) bool { return id == kafkabed.ControllerID })
	if s.kafka.State(kafkabed.ControllerID) != kafkabed.Running || len(brokers) == 0 {
		return nil
	}
	return s.kafka.WaitUnfenced(ctx, brokers...)
}

// resolve turns targets into node ids, each once, and refuses what the bed does not have.
func (s *server) resolve(targets Targets) ([]int32, error) {
	known := map[int32]bool{}
	var racks []string
	for _, node := range s.kafka.Nodes() {
		known[node.ID] = true
		if node.Rack != "" && !slices.Contains(racks, node.Rack) {
			racks = append(racks, node.Rack)
		}
	}
	var ids []int32
	for _, id := range targets.Brokers {
		if !known[id] {
			return nil, fmt.Errorf("no broker %d: the bed has brokers %v and controller %d", id, s.kafka.Brokers(), kafkabed.ControllerID)
		}
		ids = append(ids, id)
	}
	for _, rack := range targets.Racks {
		if !slices.Contains(racks, rack) {
			return nil, fmt.Errorf("no rack %q: the bed has racks %s", rack, strings.Join(racks, ", "))
		}
		ids = append(ids, s.kafka.Rack(rack)...)
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("name a node with --broker or a rack with --rack")
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// startOperator installs and starts the operator, or starts it again after it has ended, and points it to the bed's
// Kafka with a KafkaCluster "default".
func (s *server) startOperator(ctx context.Context, log progress.Log) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.operator != nil && s.operator.Info().State != operatorbed.Stopped {
		log("the operator is running already: process %d", s.operator.Info().Pid)
		return nil
	}
	if s.operator != nil { // new program, new CRDs, new RBAC: install again
		_ = s.operator.Stop()
		s.operator = nil
	}
	operator, err := operatorbed.Start(ctx, s.kube, operatorbed.Options{LogFile: operatorLog(s.dir), Log: log})
	if err != nil {
		return err
	}
	s.operator = operator
	log("applying KafkaCluster default: %s", s.kafka.BootstrapServers())
	return operatorbed.DeclareKafka(ctx, s.kube, "default", s.kafka.Bootstrap())
}

func (s *server) stopOperator(ctx context.Context, log progress.Log) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.operator == nil || s.operator.Info().State == operatorbed.Stopped {
		log("the operator is not running")
		return nil
	}
	log("ending the operator: process %d", s.operator.Info().Pid)
	return s.operator.Term(ctx)
}

func (s *server) status(ctx context.Context) Status {
	status := Status{
		Pid: os.Getpid(), Since: s.since, StateDir: s.dir, Log: serveLog(s.dir),
		API: s.kube.URL(), Kubeconfig: adminConfig(s.dir), Tools: toolsDir(s.dir),
		KafkaVersion: s.kafkaVersion, ClusterID: s.kafka.ClusterID(), Bootstrap: s.kafka.BootstrapServers(),
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	registered, err := s.kafka.View(ctx)
	for _, info := range s.kafka.Nodes() {
		node := Node{NodeInfo: info}
		if err == nil && info.ID != kafkabed.ControllerID {
			node.Kafka = registration(registered, info.ID)
		}
		status.Nodes = append(status.Nodes, node)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.operator != nil {
		info := s.operator.Info()
		status.Operator = &info
	}
	return status
}

func registration(registered map[int32]kafkabed.Broker, id int32) string {
	broker, known := registered[id]
	switch {
	case !known:
		return "unregistered"
	case broker.Fenced:
		return "fenced"
	default:
		return "unfenced"
	}
}
