package options

import (
	"bytes"
	"flag"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func defaults() Options {
	return Options{
		Namespace: "durabletopic-system", MetricsBindAddress: ":8080", HealthProbeBindAddress: ":8081", LeaderElect: true,
		Workers: 2048, LogLevel: "info",
	}
}

func with(edit func(*Options)) Options {
	o := defaults()
	edit(&o)
	return o
}

func TestParse(t *testing.T) {
	tests := map[string]struct {
		args    []string
		env     map[string]string
		want    Options
		wantErr []string // parts of the message; none: no error
	}{
		"defaults": {want: defaults()},
		"flags": {
			args: []string{"--namespace=other", "--leader-elect=false", "--workers", "8", "--metrics-bind-address=0", "--metrics-secure", "--version"},
			want: with(func(o *Options) {
				o.Namespace, o.LeaderElect, o.Workers, o.MetricsBindAddress = "other", false, 8, "0"
				o.MetricsSecure, o.Version = true, true
			}),
		},
		"environment": {
			env: map[string]string{"DURABLETOPIC_WORKERS": "16", "DURABLETOPIC_LOG_LEVEL": "debug", "DURABLETOPIC_LEADER_ELECT": "false", "WORKERS": "1"},
			want: with(func(o *Options) {
				o.Workers, o.LogLevel, o.LeaderElect = 16, "debug", false
			}),
		},
		"a flag beats the environment": {
			args: []string{"--workers=8"}, env: map[string]string{"DURABLETOPIC_WORKERS": "16"},
			want: with(func(o *Options) { o.Workers = 8 }),
		},
		"bad environment": {
			env:     map[string]string{"DURABLETOPIC_WORKERS": "many"},
			wantErr: []string{"DURABLETOPIC_WORKERS"},
		},
		"all mistakes at once": {
			args: []string{"--namespace=Not_A_Label", "--workers=0", "--log-level=loud", "--metrics-bind-address=8080",
				"--health-probe-bind-address=x"},
			wantErr: []string{"--namespace", "--workers", "--log-level", "--metrics-bind-address", "--health-probe-bind-address"},
		},
		"too many workers": {args: []string{"--workers=10001"}, wantErr: []string{"--workers"}},
		"argument":         {args: []string{"start"}, wantErr: []string{`"start"`}},
		"unknown flag":     {args: []string{"--nope"}, wantErr: []string{"nope"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got Options
			fs := flag.NewFlagSet("manager", flag.ContinueOnError)
			fs.SetOutput(io.Discard)
			got.AddFlags(fs)
			err := got.Parse(fs, tc.args, func(k string) (string, bool) { v, ok := tc.env[k]; return v, ok })
			if len(tc.wantErr) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				return
			}
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range tc.wantErr {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not name %s", err, part)
				}
			}
		})
	}
}

func TestOwnNamespace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "namespace")
	if got := ownNamespace(path); got != "durabletopic-system" {
		t.Errorf("outside of a pod: %q", got)
	}
	if err := os.WriteFile(path, []byte("kafka-ops\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ownNamespace(path); got != "kafka-ops" {
		t.Errorf("in a pod: %q", got)
	}
}

func TestUsageNamesEveryFlag(t *testing.T) {
	var o Options
	fs := flag.NewFlagSet("manager", flag.ContinueOnError)
	o.AddFlags(fs)
	var out bytes.Buffer
	Usage(fs, &out)
	fs.VisitAll(func(f *flag.Flag) {
		if !strings.Contains(out.String(), "-"+f.Name) || f.Usage == "" {
			t.Errorf("--%s is not explained", f.Name)
		}
	})
	if !strings.Contains(out.String(), "DURABLETOPIC_LOG_LEVEL") {
		t.Error("the environment variables are not explained")
	}
}

func TestValuesArePairs(t *testing.T) {
	o := defaults()
	values := o.Values()
	if len(values) == 0 || len(values)%2 != 0 {
		t.Errorf("%d values", len(values))
	}
}

func TestLevel(t *testing.T) {
	for level, want := range map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "error": slog.LevelError} {
		if got := (&Options{LogLevel: level}).Level(); got != want {
			t.Errorf("%s: %v, want %v", level, got, want)
		}
	}
}
