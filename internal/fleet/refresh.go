package fleet

import (
	"context"
)

// Refresh reads a topic again and returns when that is done, though not for long. Together with other callers' topics it
// is one read.
func (c *Cluster) Refresh(ctx context.Context, name string) error {
	conn := c.connection()
	if conn == nil {
		return notConnected()
	}
	ctx, cancel := context.WithTimeout(ctx, rereadWait)
	defer cancel()
	return conn.observer.Refresh(ctx, name)
}
