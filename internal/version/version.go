// Package version says which build of the operator this is.
package version

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// Set at link time: -ldflags "-X durabletopic.io/operator/internal/version.version=v1.2.3" and so on. What is not set
// comes from the build information that Go itself records.
var (
	version string
	commit  string
	date    string
)

// Info is one build.
type Info struct {
	Version string // "devel" when it was built from a checkout
	Commit  string // full hash; "-dirty" after it when there were changes; "unknown"
	Date    string // of the build or the commit, RFC 3339; "unknown"
	Go      string // version of the compiler
}

// Get gives this build.
func Get() Info {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = &debug.BuildInfo{}
	}
	return from(Info{Version: version, Commit: commit, Date: date}, build)
}

// from fills what was not set at link time.
func from(linked Info, build *debug.BuildInfo) Info {
	settings := map[string]string{}
	for _, s := range build.Settings {
		settings[s.Key] = s.Value
	}
	revision := settings["vcs.revision"]
	if revision != "" && settings["vcs.modified"] == "true" {
		revision += "-dirty"
	}
	module := build.Main.Version
	if module == "(devel)" {
		module = ""
	}
	return Info{
		Version: cmp.Or(linked.Version, module, "devel"),
		Commit:  cmp.Or(linked.Commit, revision, "unknown"),
		Date:    cmp.Or(linked.Date, settings["vcs.time"], "unknown"),
		Go:      runtime.Version(),
	}
}

// String gives one line for people.
func (i Info) String() string {
	return fmt.Sprintf("durabletopic %s (commit %s, %s, %s)", i.Version, i.Commit, i.Date, i.Go)
}
