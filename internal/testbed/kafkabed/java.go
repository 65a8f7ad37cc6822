//go:build unix

package kafkabed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"durabletopic.io/operator/internal/testbed/assets"
	"durabletopic.io/operator/internal/testbed/progress"
)

// javaArgs are the arguments of a Java start up to the main class. One compiler tier, the serial collector and the
// class-data archive together make a broker start in a quarter of the CPU time.
func (c *Cluster) javaArgs(log string, jvm ...string) []string {
	args := append([]string{
		"-Xms64m", "-Xmx" + c.opts.Heap, "-Xss512k",
		"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-XX:+ExitOnOutOfMemoryError",
	}, ArchiveArgs(c.kafka)...)
	args = append(args, jvm...)
	return append(args, "-Dbed.log="+log, "-Dlog4j2.configurationFile="+c.kafka.Log4j, "-cp", c.kafka.Classpath)
}

// ArchiveArgs are the Java arguments that use Kafka's class-data archive where there is one. A Java that it does not
// fit runs without it.
func ArchiveArgs(kafka assets.Kafka) []string {
	if _, err := os.Stat(kafka.Archive); err != nil {
		return nil
	}
	return []string{"-Xshare:auto", "-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-XX:SharedArchiveFile=" + kafka.Archive}
}

// Prepare fetches Kafka's jars and makes the class-data archive unless the cache has them.
func Prepare(ctx context.Context, log progress.Log) (assets.Kafka, error) {
	log = progress.OrDiscard(log)
	kafka, err := assets.KafkaJars(ctx, log)
	if err != nil {
		return kafka, err
	}
	if _, err := os.Stat(kafka.Archive); err == nil {
		return kafka, nil
	}
	unlock, err := assets.Lock(ctx, log, kafka.Archive+".lock")
	if err != nil {
		return kafka, err
	}
	defer unlock()
	if _, err := os.Stat(kafka.Archive); err == nil {
		return kafka, nil
	}
	what := "making the class-data archive of Kafka " + kafka.Version + " (once, about 15 s)"
	err = progress.During(ctx, log, what, func(ctx context.Context) error { return makeArchive(ctx, kafka) })
	if err != nil {
		return kafka, fmt.Errorf("make class-data archive: %w", err)
	}
	return kafka, nil
}

// makeArchive runs a throw-away cluster of one broker, which writes down every class it has loaded when it ends.
func makeArchive(ctx context.Context, kafka assets.Kafka) error {
	opts, err := Options{Racks: []string{"a"}}.withDefaults()
	if err != nil {
		return err
	}
	c, err := newCluster(ctx, opts, kafka)
	if err != nil {
		return err
	}
	defer func() { _ = c.Stop() }()
	if err := c.format(ctx); err != nil {
		return err
	}
	archive := filepath.Join(c.Dir(), "classes.jsa")
	if err := c.start(c.nodes[ControllerID]); err != nil {
		return err
	}
	if err := c.start(c.nodes[1], "-XX:ArchiveClassesAtExit="+archive); err != nil {
		return err
	}
	if err := c.WaitUnfenced(ctx, 1); err != nil {
		return err
	}
	if err := c.Term(ctx, 1); err != nil {
		return err
	}
	return publish(archive, kafka.Archive)
}

// publish copies a file to its place in the cache under a temporary name first, so that it is there whole or not at
// all. The two are often on different file systems.
func publish(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	staging := to + ".staging"
	return errors.Join(os.WriteFile(staging, text, 0o644), os.Rename(staging, to))
}

// portTaken is errPortTaken if a node ended because of its port, the last words of nodes that ended for another
// reason, or nil.
func (c *Cluster) portTaken() error {
	var errs []error
	for _, info := range c.Nodes() {
		if info.State != Stopped {
			continue
		}
		text, err := os.ReadFile(info.Log)
		if err != nil {
			continue
		}
		if bytes.Contains(text, []byte("Address already in use")) {
			return errPortTaken
		}
		errs = append(errs, fmt.Errorf("node %d ended (%s); last words:\n%s", info.ID, info.Exit, tail(text, 10)))
	}
	return errors.Join(errs...)
}

// tail returns the last n lines of text.
func tail(text []byte, n int) string {
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
