//go:build unix

// Package assets finds, downloads or builds what the test bed runs: the binaries of a Kubernetes control plane and
// the jars of Kafka. Everything is kept in the user's cache directory by version, so that it is paid for once per
// machine and a fresh clone finds it. It starts no server.
package assets

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
)

// modulePattern recognises the go.mod of this repository.
var modulePattern = regexp.MustCompile(`(?m)^module durabletopic\.io/operator$`)

// Root is the absolute path of the repository: the checkout around the working directory, around the running
// program, or the one this program was built from, in this order.
func Root() (string, error) {
	var starts []string
	if dir, err := os.Getwd(); err == nil {
		starts = append(starts, dir)
	}
	if exe, err := os.Executable(); err == nil {
		if exe, err = filepath.EvalSymlinks(exe); err == nil {
			starts = append(starts, filepath.Dir(exe))
		}
	}
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		starts = append(starts, filepath.Dir(file))
	}
	for _, dir := range starts {
		for {
			mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
			if err == nil && modulePattern.Match(mod) {
				return dir, nil
			}
			parent := filepath.Dir(dir)
			if parent == dir {
				break
			}
			dir = parent
		}
	}
	return "", errors.New("find repository: run inside a checkout of durabletopic.io/operator")
}

// pinned reads the one version that pattern captures in a file of the repository, given by its path from the root.
func pinned(root, file string, pattern *regexp.Regexp) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		return "", fmt.Errorf("read pinned version: %w", err)
	}
	match := pattern.FindSubmatch(text)
	if match == nil {
		return "", fmt.Errorf("read pinned version: %s does not name one", file)
	}
	return string(match[1]), nil
}
