// Command demo shows on real parts what DurableTopic does: it declares FreshCart's nine topics, shows what Kafka made of
// them, then damages some and shows each correction with the time it took. It exits with an error if any fact is wrong.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// limit bounds the demo after the bed is up.
const limit = 4 * time.Minute

func main() {
	log.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo failed:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	bed, err := raise(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bed.release()) }()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	d, err := newDemo(ctx, bed)
	if err != nil {
		return err
	}
	defer d.close()
	for _, act := range []func(context.Context) error{
		d.declare, d.show, d.weakenMinISR, d.flipUnclean, d.deleteTopic, d.foreignSettings, d.silence,
	} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	fmt.Println("\nEvery fact above was read from Kafka and checked.")
	return nil
}
