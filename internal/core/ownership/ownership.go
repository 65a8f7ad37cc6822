// Package ownership decides who acts where several could: of the KafkaClusters that reach one Kafka the oldest, and of the
// DurableTopics that name one topic of it the oldest. Both are total orders, so every restart and every replica of the
// operator gives the same answer.
package ownership

import (
	"cmp"
	"time"
)

// Claim is one object that claims something.
type Claim struct {
	Namespace, Name string // Namespace is empty for a cluster-scoped object
	UID             string
	Created         time.Time // the API server's, to the second
	// Eligible: not being deleted, and able to act.
	Eligible bool
}

// String gives namespace and name as kubectl users write them.
func (c Claim) String() string {
	if c.Namespace == "" {
		return c.Name
	}
	return c.Namespace + "/" + c.Name
}

// Owner is the oldest eligible claim, by creation time and then by UID; nil if there is none.
func Owner(claims []Claim) *Claim {
	var owner *Claim
	for i := range claims {
		c := &claims[i]
		if c.Eligible && (owner == nil || older(c, owner)) {
			owner = c
		}
	}
	return owner
}

func older(a, b *Claim) bool {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.UID, b.UID)) < 0
}
