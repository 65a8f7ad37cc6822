//go:build unix

package operatorbed_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"durabletopic.io/operator/internal/testbed"
	"durabletopic.io/operator/internal/testbed/kubebed"
	"durabletopic.io/operator/internal/testbed/operatorbed"
)

// managerEnv makes the test binary play the operator's program.
const managerEnv = "DURABLETOPIC_MANAGER"

func TestMain(m *testing.M) {
	if os.Getenv(managerEnv) != "" {
		if err := manage(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// manage takes the operator's flags, prints who it is for Kubernetes, and serves its readiness endpoint.
func manage(args []string) error {
	flags := flag.NewFlagSet("manager", flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "")
	namespace := flags.String("namespace", "", "")
	elect := flags.Bool("leader-elect", false, "")
	metrics := flags.String("metrics-bind-address", "", "")
	health := flags.String("health-probe-bind-address", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	review, err := api.AuthenticationV1().SelfSubjectReviews().
		Create(context.Background(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	fmt.Printf("user=%s namespace=%s elect=%v metrics=%v\n", review.Status.UserInfo.Username, *namespace, *elect, *metrics != "")
	server := &http.Server{Addr: *health, ReadHeaderTimeout: time.Second}
	http.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {})
	return server.ListenAndServe()
}

func TestOperatorRunsUnderItsOwnServiceAccount(t *testing.T) {
	kube := testbed.Kube(t, kubebed.Options{CRDPaths: []string{}})
	t.Setenv(managerEnv, "1")
	operator := testbed.Operator(t, kube, operatorbed.Options{Binary: os.Args[0]})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	log, err := os.ReadFile(operator.Info().LogFile)
	if err != nil {
		t.Fatal(err)
	}
	const want = "namespace=durabletopic-system elect=true metrics=true"
	if text := string(log); !strings.HasPrefix(text, "user=system:serviceaccount:durabletopic-system:") || !strings.Contains(text, want) {
		t.Errorf("the operator says %q, want its ServiceAccount and %q", text, want)
	}

	if err := operatorbed.DeclareKafka(ctx, kube, "default", []string{"127.0.0.1:9092"}); err != nil {
		t.Errorf("DeclareKafka() = %v", err)
	}
	before := operator.Info().Pid
	if err := operator.Restart(ctx); err == nil {
		t.Error("Restart() of a running operator succeeded")
	}
	if err := operator.Pause(); err != nil {
		t.Fatal(err)
	}
	if state := operator.Info().State; state != operatorbed.Paused {
		t.Errorf("state after Pause() = %s", state)
	}
	if err := operator.Kill(); err != nil {
		t.Fatal(err)
	}
	if info := operator.Info(); info.State != operatorbed.Stopped || info.Exit != "signal: killed" {
		t.Errorf("after Kill(): %+v", info)
	}
	if err := operator.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if info := operator.Info(); info.State != operatorbed.Running || info.Pid == before {
		t.Errorf("after Restart(): %+v, want a new running process", info)
	}
	if err := operator.Term(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestAnOperatorThatEndsIsReportedWithItsLastWords(t *testing.T) {
	kube := testbed.Kube(t, kubebed.Options{CRDPaths: []string{}})
	t.Setenv(managerEnv, "1")
	operator, err := operatorbed.Start(t.Context(), kube, operatorbed.Options{Binary: os.Args[0], Args: []string{"--no-such-flag"}})
	if err == nil {
		_ = operator.Stop()
		t.Fatal("Start() succeeded")
	}
	if !strings.Contains(err.Error(), "flag provided but not defined: -no-such-flag") {
		t.Errorf("Start() = %v, want the operator's last words", err)
	}
}
