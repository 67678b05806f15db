package server

import (
	"context"
	"errors"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/halt"
	"tutti/internal/store"
)

// hints say when something may have come into the mailbox of an instance, as long as a call waits for it.
type hints struct {
	ctx  context.Context // ends with the wait: after its time, at a halt, or with the call
	look chan struct{}
	stop func()
}

// errWaited ends a wait whose time is over.
var errWaited = errors.New("waited long enough")

// noWatcher is how often a mailbox is looked at while waiting when the system grants no watcher.
const noWatcher = time.Second

// hear begins to listen. Nothing that comes after it has returned is missed. The caller calls stop.
func (c *call) hear(ctx context.Context, who address.Instance, wait time.Duration) (*hints, error) {
	sources, err := c.Mail.Sources(ctx, who)
	if err != nil {
		return nil, err
	}
	switched, unlook := c.app.HaltLook()
	halting, unhalt := halt.Context(ctx, switched)
	bounded, cancel := context.WithTimeoutCause(halting, wait, errWaited)
	h := &hints{ctx: bounded, look: make(chan struct{}, 1), stop: func() { cancel(); unhalt(); unlook() }}
	var scopes []store.Scope
	for _, s := range sources {
		scopes = append(scopes, store.Scope{Kind: store.Inbox, Owner: s.Owner})
	}
	changes, err := c.Store.Watch(bounded, scopes)
	if err != nil && bounded.Err() == nil {
		h.stop()
		return nil, err
	}
	go h.pass(changes)
	return h, nil
}

// pass hands changes on until the wait is over. Without a watcher it says "look again" by the clock.
func (h *hints) pass(changes <-chan store.Change) {
	var tick <-chan time.Time
	if changes == nil {
		t := time.NewTicker(noWatcher)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case _, open := <-changes:
			if !open {
				return
			}
		case <-tick:
		case <-h.ctx.Done():
			return
		}
		select {
		case h.look <- struct{}{}:
		default:
		}
	}
}

// progressEvery is how often a waiting call says that it is alive, to a client that asked for it.
const progressEvery = 5 * time.Second

// progress tells the client from time to time how long the call has been waiting.
func (c *call) progress(ctx context.Context, what string) (stop func()) {
	if c.args.Progress == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	began := time.Now()
	c.args.Progress(0, c.wait().Seconds(), what)
	go func() {
		t := time.NewTicker(progressEvery)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				c.args.Progress(time.Since(began).Round(time.Second).Seconds(), c.wait().Seconds(), what)
			case <-ctx.Done():
				return
			}
		}
	}()
	return cancel
}
