//go:build unix

package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"durabletopic.io/operator/internal/testbed/assets"
	"durabletopic.io/operator/internal/testbed/progress"
)

// Client sends commands to the daemon of one state directory.
type Client struct {
	dir  string
	pid  int
	http *http.Client
}

// Connect finds the daemon whose state is in dir; ErrDown if there is none. What a dead daemon has left is removed.
func Connect(dir string) (*Client, error) {
	unlock, err := assets.TryLock(lockFile(dir))
	if errors.Is(err, os.ErrNotExist) {
		return nil, ErrDown // there is no state directory
	}
	if err == nil {
		defer unlock()
		return nil, errors.Join(ErrDown, clean(dir, removable(dir)))
	}
	if !errors.Is(err, assets.ErrLocked) {
		return nil, err
	}
	r, err := readRecord(dir)
	if errors.Is(err, ErrDown) {
		return nil, ErrStarting
	}
	if err != nil {
		return nil, err
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", r.Socket)
	}
	return &Client{dir: dir, pid: r.Pid, http: &http.Client{Transport: &http.Transport{DialContext: dial}}}, nil
}

// ErrStarting says that a daemon is there and not ready.
var ErrStarting = errors.New("the bed is just starting or ending; try again in some seconds")

// Status asks for the state of everything.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var status Status
	resp, err := c.do(ctx, http.MethodGet, "/status", nil)
	if err != nil {
		return status, err
	}
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(resp.Body).Decode(&status); err != nil {
		return status, fmt.Errorf("read status of bed: %w", err)
	}
	return status, nil
}

// Act does verb to the nodes that targets select and returns when it is done.
func (c *Client) Act(ctx context.Context, verb Verb, targets Targets, log progress.Log) error {
	return c.command(ctx, "/nodes/"+string(verb), targets, log)
}

// StartOperator installs and starts the operator and returns when it is ready.
func (c *Client) StartOperator(ctx context.Context, log progress.Log) error {
	return c.command(ctx, "/operator/start", nil, log)
}

// StopOperator ends the operator in order.
func (c *Client) StopOperator(ctx context.Context, log progress.Log) error {
	return c.command(ctx, "/operator/stop", nil, log)
}

// Down ends the bed with all its processes and returns when the daemon is gone.
func (c *Client) Down(ctx context.Context, log progress.Log) error {
	if err := c.command(ctx, "/down", nil, log); err != nil {
		return err
	}
	unlock, err := assets.Lock(ctx, progress.Discard, lockFile(c.dir))
	if err != nil {
		return fmt.Errorf("wait for the end of the bed: %w", err)
	}
	unlock()
	return nil
}

// End ends the bed of the default state directory and tells whether one was up.
func End(ctx context.Context, log progress.Log) (ended bool, err error) {
	dir, err := Dir()
	if err != nil {
		return false, err
	}
	client, err := Connect(dir)
	if errors.Is(err, ErrDown) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, client.Down(ctx, log)
}

func (c *Client) command(ctx context.Context, path string, body any, log progress.Log) error {
	resp, err := c.do(ctx, http.MethodPost, path, body)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	for decoder := json.NewDecoder(resp.Body); ; {
		var l line
		if err := decoder.Decode(&l); err != nil {
			return fmt.Errorf("read answer of bed: %w", err)
		}
		switch {
		case l.Error != "":
			return errors.New(l.Error)
		case l.Done:
			return nil
		default:
			log("%s", l.Progress)
		}
	}
}

func (c *Client) do(ctx context.Context, method, path string, body any) (*http.Response, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode command: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://bed"+path, bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("make command: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask daemon %d of the bed: %w", c.pid, err)
	}
	if resp.StatusCode != http.StatusOK {
		message, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		_ = resp.Body.Close()
		return nil, fmt.Errorf("ask daemon %d of the bed: %s: %s", c.pid, resp.Status, bytes.TrimSpace(message))
	}
	return resp, nil
}
