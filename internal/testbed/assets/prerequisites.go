//go:build unix

package assets

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// Prerequisite is a program that must be on the machine before the bed can be made.
type Prerequisite string

// The programs the bed needs; Maven only until Kafka's jars are in the cache.
const (
	Go    Prerequisite = "go"
	Java  Prerequisite = "java"
	Maven Prerequisite = "mvn"
	Make  Prerequisite = "make"
	Git   Prerequisite = "git"
)

// ErrMissing is what Check's error is when a prerequisite is missing.
var ErrMissing = errors.New("prerequisite missing")

// missing is the error that names missing programs and how to get them.
type missing []Prerequisite

var cures = map[Prerequisite]string{
	Go:    "Go 1.26 or newer: https://go.dev/dl",
	Java:  "a JDK or JRE 17 or newer (Debian: apt-get install openjdk-17-jdk-headless; macOS: brew install openjdk@21), found by JAVA_HOME or PATH",
	Maven: "Maven 3.6 or newer (Debian: apt-get install maven; macOS: brew install maven)",
	Make:  "make (Debian: apt-get install make; macOS: xcode-select --install)",
	Git:   "git (Debian: apt-get install git; macOS: xcode-select --install)",
}

func (m missing) Error() string {
	var text strings.Builder
	text.WriteString("missing on this machine:")
	for _, program := range m {
		fmt.Fprintf(&text, "\n  %-5s install %s", program, cures[program])
	}
	return text.String()
}

// Is makes errors.Is(err, ErrMissing) true.
func (missing) Is(target error) bool { return target == ErrMissing }

// Check looks for programs and names all that are missing, each with how to install it.
func Check(ctx context.Context, programs ...Prerequisite) error {
	var absent missing
	for _, program := range programs {
		var err error
		if program == Java {
			_, _, err = findJava(ctx)
		} else {
			_, err = exec.LookPath(string(program))
		}
		if err != nil {
			absent = append(absent, program)
		}
	}
	if len(absent) > 0 {
		return absent
	}
	return nil
}
