// Package journal keeps the journal of moves of each Kafka cluster in a ConfigMap of the operator's namespace: what was put
// into Kafka and must be cleaned up, by whoever leads after a crash. It decides nothing about moves.
package journal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"durabletopic.io/operator/internal/core/moves"
)

// +kubebuilder:rbac:groups="",namespace=durabletopic-system,resources=configmaps,verbs=get;create;update

const (
	keyMoves   = "moves.json"
	keyCluster = "clusterID"
	// Label marks the journals.
	Label = "durabletopic.io/journal"
	// maxBytes bounds a journal; a ConfigMap may hold 1 MiB.
	maxBytes = 900 << 10
)

// Store finds journals. It reads past any cache: a journal is read once by whoever begins to lead.
type Store struct {
	Reader    client.Reader
	Client    client.Client
	Namespace string
}

// Name of the ConfigMap of a Kafka cluster. Cluster IDs have capitals and underscores, which names may not.
func Name(clusterID string) string {
	sum := sha256.Sum256([]byte(clusterID))
	return "durabletopic-journal-" + hex.EncodeToString(sum[:8])
}

// Open reads the journal of a Kafka cluster; one that does not exist is empty, and is made with the first Save.
func (s *Store) Open(ctx context.Context, clusterID string) (*Journal, moves.Journal, error) {
	j := &Journal{store: s, clusterID: clusterID}
	var stored corev1.ConfigMap
	key := types.NamespacedName{Namespace: s.Namespace, Name: Name(clusterID)}
	err := s.Reader.Get(ctx, key, &stored)
	if apierrors.IsNotFound(err) {
		return j, moves.Journal{}, nil
	}
	if err != nil {
		return nil, moves.Journal{}, fmt.Errorf("read the journal of moves %s: %w", key, err)
	}
	var content moves.Journal
	if err := json.Unmarshal([]byte(stored.Data[keyMoves]), &content); err != nil {
		return nil, moves.Journal{}, fmt.Errorf("the journal of moves, ConfigMap %s, cannot be read: %w; nothing is moved before it is: "+
			"restore its key %s, or, when no throttle and no reassignment of the operator's is left in Kafka, delete it", key, err, keyMoves)
	}
	j.stored = &stored
	return j, content, nil
}

// Journal is one open journal. It is used by one goroutine.
type Journal struct {
	store     *Store
	clusterID string
	stored    *corev1.ConfigMap // nil: does not exist
}

// Save writes the journal. If somebody else has written it since it was read, nothing is written and the error is a
// conflict (apierrors.IsConflict, or IsAlreadyExists): it has to be opened anew.
func (j *Journal) Save(ctx context.Context, content moves.Journal) error {
	data, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("encode the journal of moves: %w", err)
	}
	if len(data) > maxBytes {
		return fmt.Errorf("the journal of moves would take %d bytes, more than %d: lower maxConcurrentPartitionMoves", len(data), maxBytes)
	}
	if j.stored == nil {
		fresh := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: j.store.Namespace, Name: Name(j.clusterID), Labels: map[string]string{Label: "moves"},
			},
			Data: map[string]string{keyCluster: j.clusterID, keyMoves: string(data)},
		}
		if err := j.store.Client.Create(ctx, fresh); err != nil {
			return fmt.Errorf("create the journal of moves %s/%s: %w", fresh.Namespace, fresh.Name, err)
		}
		j.stored = fresh
		return nil
	}
	next := j.stored.DeepCopy()
	next.Data = map[string]string{keyCluster: j.clusterID, keyMoves: string(data)}
	if err := j.store.Client.Update(ctx, next); err != nil { // carries the resource version
		return fmt.Errorf("write the journal of moves %s/%s: %w", next.Namespace, next.Name, err)
	}
	j.stored = next
	return nil
}
