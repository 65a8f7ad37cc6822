//go:build unix

package daemon

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"durabletopic.io/operator/internal/testbed/assets"
)

func TestEveryToolsClassIsInTheJars(t *testing.T) {
	if testing.Short() {
		t.Skip("needs Kafka's jars")
	}
	kafka, err := assets.KafkaJars(t.Context(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	classes := map[string]bool{}
	for _, jar := range filepath.SplitList(kafka.Classpath) {
		archive, err := zip.OpenReader(jar)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range archive.File {
			if name, ok := strings.CutSuffix(file.Name, ".class"); ok {
				classes[strings.ReplaceAll(name, "/", ".")] = true
			}
		}
		if err := archive.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for script, class := range kafkaTools {
		if !classes[class] {
			t.Errorf("%s: no jar has class %s", script, class)
		}
	}
}

func TestWriteTools(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's here", "bin")
	kubectl := filepath.Join(t.TempDir(), "kubectl")
	if err := os.WriteFile(kubectl, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	kafka := assets.Kafka{Java: "/opt/my java/bin/java", Classpath: "a.jar:b.jar", Archive: filepath.Join(dir, "none")}
	for range 2 { // the second bed finds what the first has left
		if err := writeTools(dir, kafka, kubectl); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "kafka-topics.sh"))
	if err != nil {
		t.Fatal(err)
	}
	if want := `exec '/opt/my java/bin/java' `; !strings.Contains(string(text), want) {
		t.Errorf("kafka-topics.sh is %q, want %q in it", text, want)
	}
	if want := ` org.apache.kafka.tools.TopicCommand "$@"`; !strings.Contains(string(text), want) {
		t.Errorf("kafka-topics.sh is %q, want %q in it", text, want)
	}
	if target, err := os.Readlink(filepath.Join(dir, "kubectl")); err != nil || target != kubectl {
		t.Errorf("kubectl leads to %q (%v), want %q", target, err, kubectl)
	}
	if err := writeTools(dir, kafka, filepath.Join(dir, "absent")); err != nil {
		t.Errorf("without a kubectl: %v", err)
	}
}
