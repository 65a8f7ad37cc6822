//go:build unix

package assets

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"durabletopic.io/operator/internal/testbed/progress"
)

// minJavaVersion is what Kafka 4's brokers and tools are compiled for.
const minJavaVersion = 17

var (
	kafkaVersion    = regexp.MustCompile(`<kafka\.version>([^<]+)</kafka\.version>`)
	javaVersionLine = regexp.MustCompile(`version "(\d+)`)
)

// Kafka is an installed Kafka: jars in the cache and a Java to run them.
type Kafka struct {
	Version   string // as in hack/kafka/pom.xml
	Java      string // path of the java program, 17 or newer
	Classpath string // every jar, sorted: a class-data archive is bound to this very string
	Log4j     string // path of the log configuration; the system property bed.log names the file
	Archive   string // where the class-data archive (AppCDS) of this Kafka and this Java belongs
}

// KafkaJars returns the Kafka pinned in hack/kafka/pom.xml; Maven downloads its jars (about 45 MB) once per version.
func KafkaJars(ctx context.Context, log progress.Log) (Kafka, error) {
	root, err := Root()
	if err != nil {
		return Kafka{}, err
	}
	pom := filepath.Join(root, "hack", "kafka", "pom.xml")
	version, err := pinned(root, "hack/kafka/pom.xml", kafkaVersion)
	if err != nil {
		return Kafka{}, err
	}
	java, javaID, err := findJava(ctx)
	if err != nil {
		return Kafka{}, err
	}
	cache, err := CacheDir()
	if err != nil {
		return Kafka{}, err
	}
	dir := filepath.Join(cache, "kafka", version)
	core := filepath.Join("libs", "kafka_2.13-"+version+".jar")
	err = install(ctx, log, dir, []string{core}, func(ctx context.Context, staging string) (string, error) {
		return "kafka " + version + " from Maven", downloadJars(ctx, log, version, pom, staging)
	})
	if err != nil {
		return Kafka{}, err
	}
	jars, err := filepath.Glob(filepath.Join(dir, "libs", "*.jar"))
	if err != nil {
		return Kafka{}, fmt.Errorf("list jars: %w", err)
	}
	slices.Sort(jars)
	return Kafka{
		Version:   version,
		Java:      java,
		Classpath: strings.Join(jars, string(os.PathListSeparator)),
		Log4j:     filepath.Join(root, "hack", "kafka", "log4j2.properties"),
		Archive:   filepath.Join(dir, "classes-"+javaID+".jsa"),
	}, nil
}

func downloadJars(ctx context.Context, log progress.Log, version, pom, staging string) error {
	if err := Check(ctx, Maven); err != nil {
		return err
	}
	what := "downloading the jars of Kafka " + version + " with Maven (once, about 45 MB)"
	return progress.During(ctx, log, what, func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, "mvn", "--batch-mode", "--quiet", "--file", pom, "dependency:copy-dependencies",
			"-DincludeScope=runtime", "-DoutputDirectory="+filepath.Join(staging, "libs"))
		if err := run(cmd); err != nil {
			return fmt.Errorf("download jars of Kafka %s: %w", version, err)
		}
		return nil
	})
}

// findJava returns the java of JAVA_HOME or else of PATH, and an id of its exact build.
func findJava(ctx context.Context) (path, id string, err error) {
	path = "java"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		path = filepath.Join(home, "bin", "java")
	}
	path, err = exec.LookPath(path)
	if err != nil {
		return "", "", errors.Join(missing{Java}, err)
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	text, err := exec.CommandContext(ctx, path, "-version").CombinedOutput()
	if err != nil {
		return "", "", fmt.Errorf("ask java for its version: %w", err)
	}
	match := javaVersionLine.FindSubmatch(text)
	if match == nil {
		return "", "", fmt.Errorf("ask java for its version: cannot read %q", lastLines(string(text), 3))
	}
	if major, err := strconv.Atoi(string(match[1])); err != nil || major < minJavaVersion {
		return "", "", fmt.Errorf("%s is version %s: %w", path, match[1], missing{Java})
	}
	hash := fnv.New64a()
	_, _ = hash.Write(append(text, path...))
	return path, fmt.Sprintf("java%s-%016x", match[1], hash.Sum64()), nil
}
