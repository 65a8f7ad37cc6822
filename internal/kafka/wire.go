// Package kafka is the only package that speaks Kafka: it dials, reads, writes in bounded batches and gives every
// answer a class. It decides nothing about topics and keeps no facts.
package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// AnyBroker asks Wire to pick one of the bootstrap servers, for the time before any broker is known.
const AnyBroker int32 = -1

// Wire carries one raw request to one broker and returns its answer. Any broker takes admin requests and forwards them
// to the active controller (KIP-590), so every request is pinned: the caller knows whom it asked and that it is in
// service.
//
// Reads may be sent again inside when a pooled connection turns out to be dead; writes never are: an error of a write
// says nothing about its effect.
type Wire interface {
	Request(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error)
	Close()
}
