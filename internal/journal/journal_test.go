package journal

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"durabletopic.io/operator/internal/core/moves"
)

const id = "zSfe5X2I5hREbAw8b8jXM_"

func store() *Store {
	c := fake.NewClientBuilder().Build()
	return &Store{Reader: c, Client: c, Namespace: "durabletopic-system"}
}

func content() moves.Journal {
	return moves.Journal{
		Moves: []moves.Move{{Topic: "orders", TopicID: "AAAA", Partition: 3, From: []int32{1, 2}, To: []int32{1, 3}, Throttled: true,
			Began: time.Date(2026, 12, 1, 2, 3, 4, 567000000, time.UTC)}},
		Rates: moves.Rates{Leader: 5},
	}
}

func TestJournalIsKept(t *testing.T) {
	s := store()
	j, got, err := s.Open(t.Context(), id)
	if err != nil || !got.Empty() {
		t.Fatalf("a journal that was never written: %v, %v", got, err)
	}
	for _, want := range []moves.Journal{content(), {}, content()} {
		if err := j.Save(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		_, got, err := s.Open(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-written +read):\n%s", diff)
		}
	}
	if _, other, err := s.Open(t.Context(), strings.ToLower(id)); err != nil || !other.Empty() {
		t.Errorf("another Kafka cluster has the same journal: %v, %v", other, err)
	}
}

// Two writers, the former leader and its successor: the one that is behind writes nothing.
func TestOneWriter(t *testing.T) {
	s := store()
	former, _, _ := s.Open(t.Context(), id)
	successor, _, _ := s.Open(t.Context(), id)
	if err := successor.Save(t.Context(), content()); err != nil {
		t.Fatal(err)
	}
	if err := former.Save(t.Context(), moves.Journal{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("a second journal was created: %v", err)
	}
	former, _, _ = s.Open(t.Context(), id)
	if err := successor.Save(t.Context(), moves.Journal{}); err != nil {
		t.Fatal(err)
	}
	if err := former.Save(t.Context(), content()); !apierrors.IsConflict(err) {
		t.Errorf("a newer journal was overwritten: %v", err)
	}
	if _, got, _ := s.Open(t.Context(), id); !got.Empty() {
		t.Errorf("the journal is %v", got)
	}
}

func TestBrokenJournalIsNotTakenForAnEmptyOne(t *testing.T) {
	s := store()
	j, _, _ := s.Open(t.Context(), id)
	if err := j.Save(t.Context(), content()); err != nil {
		t.Fatal(err)
	}
	var stored corev1.ConfigMap
	if err := s.Client.Get(t.Context(), types.NamespacedName{Namespace: s.Namespace, Name: Name(id)}, &stored); err != nil {
		t.Fatal(err)
	}
	for _, broken := range []string{"{", "", `{"moves":3}`} {
		stored.Data["moves.json"] = broken
		if err := s.Client.Update(t.Context(), &stored); err != nil {
			t.Fatal(err)
		}
		_, _, err := s.Open(t.Context(), id)
		if err == nil || !strings.Contains(err.Error(), Name(id)) || !strings.Contains(err.Error(), "delete it") {
			t.Errorf("journal %q: %v", broken, err)
		}
	}
}

func TestName(t *testing.T) {
	for _, id := range []string{id, "", strings.Repeat("x", 128)} {
		if errs := validation.IsDNS1123Subdomain(Name(id)); len(errs) > 0 {
			t.Errorf("name of %q: %v", id, errs)
		}
	}
}
