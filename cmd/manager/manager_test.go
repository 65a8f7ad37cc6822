package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"durabletopic.io/operator/internal/fleet"
	"durabletopic.io/operator/internal/options"
)

func TestHold(t *testing.T) {
	tests := map[string]struct {
		elect bool
		want  time.Duration
	}{
		"a leader waits for its predecessor": {elect: true, want: fleet.MutationDeadline},
		"alone there is none":                {},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := hold(options.Options{LeaderElect: tc.elect}); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// caches are a cache that is filled or not.
type caches struct {
	cache.Cache
	filled bool
}

func (c caches) WaitForCacheSync(ctx context.Context) bool {
	if !c.filled {
		<-ctx.Done()
	}
	return c.filled
}

func TestReadiness(t *testing.T) {
	for _, filled := range []bool{true, false} {
		err := synced(caches{filled: filled})(httptest.NewRequest(http.MethodGet, "/readyz", nil))
		if (err == nil) != filled {
			t.Errorf("caches filled: %v, ready: %v", filled, err)
		}
	}
}

func TestRunRefusesBadOptions(t *testing.T) {
	fs := flag.NewFlagSet("manager", flag.ContinueOnError)
	fs.SetOutput(new(strings.Builder))
	err := run(t.Context(), fs, []string{"--workers=0"})
	if err == nil || !strings.Contains(err.Error(), "--workers") {
		t.Errorf("got %v", err)
	}
}

func TestRunPrintsTheVersion(t *testing.T) {
	if err := run(t.Context(), flag.NewFlagSet("manager", flag.ContinueOnError), []string{"--version"}); err != nil {
		t.Errorf("got %v", err)
	}
}

// asManager in the environment has the test binary be the operator: logs and metrics of one process are global.
const asManager = "MANAGER_TEST_RUN"

func TestMain(m *testing.M) {
	if os.Getenv(asManager) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// An API server that knows nothing: every list is empty and no lease is given away. The operator is healthy and ready to
// take over, and ends when it is told to.
func TestStandby(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(emptyServer))
	defer server.Close()
	health := freeAddress(t)
	operator := exec.Command(os.Args[0], "--metrics-bind-address=0", "--health-probe-bind-address="+health)
	operator.Env = append(os.Environ(), asManager+"=yes", "KUBECONFIG="+kubeconfig(t, server.URL))
	var log bytes.Buffer
	operator.Stdout, operator.Stderr = &log, &log
	if err := operator.Start(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if err := answers(t.Context(), "http://"+health+path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := operator.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := operator.Wait(); err != nil {
		t.Errorf("ended with %v", err)
	}
	if t.Failed() {
		t.Log(log.String())
	}
}

// answers waits until an address answers 200, for at most half a minute.
func answers(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	last := fmt.Errorf("never asked")
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
			err = fmt.Errorf("status %s", resp.Status)
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return last
		case <-tick.C:
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func kubeconfig(t *testing.T, url string) string {
	t.Helper()
	c := clientcmdapi.NewConfig()
	c.Clusters["x"] = &clientcmdapi.Cluster{Server: url}
	c.Contexts["x"] = &clientcmdapi.Context{Cluster: "x"}
	c.CurrentContext = "x"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*c, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// emptyServer answers discovery and lists of both kinds, keeps watches open, and refuses everything else.
func emptyServer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	const group = `"apiVersion":"durabletopic.io/v1alpha1"`
	switch {
	case r.URL.Query().Get("watch") != "":
		kind := map[bool]string{true: "KafkaCluster", false: "DurableTopic"}[strings.Contains(r.URL.Path, "kafkaclusters")]
		fmt.Fprintf(w, `{"type":"BOOKMARK","object":{%s,"kind":%q,"metadata":{"resourceVersion":"1",`+
			`"annotations":{"k8s.io/initial-events-end":"true"}}}}`, group, kind)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case strings.HasSuffix(r.URL.Path, "/v1alpha1/kafkaclusters"):
		fmt.Fprintf(w, `{%s,"kind":"KafkaClusterList","metadata":{"resourceVersion":"1"},"items":[]}`, group)
	case strings.HasSuffix(r.URL.Path, "/v1alpha1/durabletopics"):
		fmt.Fprintf(w, `{%s,"kind":"DurableTopicList","metadata":{"resourceVersion":"1"},"items":[]}`, group)
	case r.URL.Path == "/api":
		fmt.Fprint(w, `{"kind":"APIVersions","versions":["v1"]}`)
	case r.URL.Path == "/apis":
		fmt.Fprint(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"durabletopic.io",`+
			`"versions":[{"groupVersion":"durabletopic.io/v1alpha1","version":"v1alpha1"}],`+
			`"preferredVersion":{"groupVersion":"durabletopic.io/v1alpha1","version":"v1alpha1"}}]}`)
	case r.URL.Path == "/apis/durabletopic.io/v1alpha1":
		fmt.Fprint(w, `{"kind":"APIResourceList","groupVersion":"durabletopic.io/v1alpha1","resources":[`+
			`{"name":"kafkaclusters","kind":"KafkaCluster","namespaced":false,"verbs":["list"]},`+
			`{"name":"durabletopics","kind":"DurableTopic","namespaced":true,"verbs":["list"]}]}`)
	default:
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
	}
}

func TestNewManagerNeedsAnAPIServer(t *testing.T) {
	_, err := newManager(&rest.Config{Host: "http://" + freeAddress(t)}, options.Options{
		MetricsBindAddress: "0", HealthProbeBindAddress: "0", Namespace: "durabletopic-system", LeaderElect: true,
	})
	if err == nil {
		t.Error("a manager without an API server")
	}
}
