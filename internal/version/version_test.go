package version

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFrom(t *testing.T) {
	vcs := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{
			{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: modified},
		}
	}
	tests := map[string]struct {
		linked Info
		build  debug.BuildInfo
		want   Info
	}{
		"nothing known": {want: Info{Version: "devel", Commit: "unknown", Date: "unknown"}},
		"checkout": {
			build: debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: vcs("true")},
			want:  Info{Version: "devel", Commit: "abc-dirty", Date: "2026-01-02T03:04:05Z"},
		},
		"go install": {
			build: debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: vcs("false")},
			want:  Info{Version: "v1.2.3", Commit: "abc", Date: "2026-01-02T03:04:05Z"},
		},
		"linked wins": {
			linked: Info{Version: "v2.0.0", Commit: "def", Date: "today"},
			build:  debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: vcs("true")},
			want:   Info{Version: "v2.0.0", Commit: "def", Date: "today"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.want.Go = runtime.Version()
			if diff := cmp.Diff(tc.want, from(tc.linked, &tc.build)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestString(t *testing.T) {
	got := Info{Version: "v1.2.3", Commit: "abc", Date: "today", Go: "go1.26"}.String()
	for _, part := range []string{"v1.2.3", "abc", "today", "go1.26"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q lacks %q", got, part)
		}
	}
}
