package mover

import (
	"durabletopic.io/operator/internal/core/moves"
	"durabletopic.io/operator/internal/core/topic"
)

type plans struct{}

func (m *Mover) plan(s scene, listing *topic.Listing, wrong []string) []moves.Candidate { return nil }

func (m *Mover) onLeft(t *topic.Topic) bool { return false }
