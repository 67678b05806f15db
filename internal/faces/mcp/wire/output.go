package wire

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"tutti/internal/core/termsafe"
)

// ErrEnded is returned by Notify when the connection is over.
var ErrEnded = errors.New("the connection has ended")

// ErrNotReady is returned by Notify when the client has not spoken yet.
var ErrNotReady = errors.New("the client has not spoken yet")

// An output is the one writer of a connection. Lines go out whole, in one call of Write each.
type output struct {
	w      io.Writer
	broken chan struct{} // closed at the first fault
	over   atomic.Bool   // the connection has ended; set without mu, which a write that hangs may hold

	spoken chan struct{} // closed when the client can be expected to read what it did not ask for
	first  sync.Once     // that closes it

	mu  sync.Mutex
	err error // the fault; nothing is written after it
}

func newOutput(w io.Writer) *output {
	return &output{w: w, broken: make(chan struct{}), spoken: make(chan struct{})}
}

// line writes a line, which ends with its line feed. The caller holds mu.
func (o *output) line(line []byte) error {
	switch {
	case o.err != nil:
		return o.err
	case o.over.Load():
		return ErrEnded
	}
	line = termsafe.EscapeJSON(nil, line)
	n, err := o.w.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	if err != nil {
		o.err = fmt.Errorf("write output: %w", err)
		close(o.broken)
	}
	return o.err
}

// answer writes the answer to k. What a call reports later is dropped.
func (o *output) answer(k *call, line []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	k.answered = true
	if err := o.line(line); err != nil {
		return err
	}
	if k.method != methodPing {
		o.ready()
	}
	return nil
}

// reply writes an answer for which there is no call.
func (o *output) reply(line []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.line(line)
}

// ready says that the client reads.
func (o *output) ready() { o.first.Do(func() { close(o.spoken) }) }

// progress writes a notification that belongs to k, unless k has been answered.
func (o *output) progress(k *call, line []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !k.answered {
		_ = o.line(line) // a fault is kept, and ends Run
	}
}

// notify writes a line of ours, if the client has spoken.
func (o *output) notify(line []byte) error {
	select {
	case <-o.spoken:
		return o.reply(line)
	default:
	}
	if o.over.Load() {
		return ErrEnded
	}
	return ErrNotReady
}

// fault is what writing ended with, nil while it works.
func (o *output) fault() error {
	select {
	case <-o.broken:
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.err
	default:
		return nil
	}
}
