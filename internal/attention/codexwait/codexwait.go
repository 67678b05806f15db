// Package codexwait puts up what a thread of Codex asks its user for (package approval), and gives the background server of Codex the answer.
// Codex shows its dialog meanwhile.
//
// It promises:
//
//   - Only an answer that was given to a request of package approval approves. When this process has ended, nothing does.
//   - A request is put up once, also when several processes wait for one thread.
//   - An answer is recorded as taken when Codex has closed the request.
//   - What asks for more than can be shown is not put up, and neither are changes of files: Codex does not name the files.
//   - A halt or a pause denies what is open.
//
// It ends when nothing is open any more, when the server ends, and after a day. When the dialog is answered in the same few milliseconds as the
// request, Codex takes one of both answers and does not tell which.
package codexwait

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"tutti/internal/agents/codexserver"
	"tutti/internal/attention/approval"
	"tutti/internal/halt"
)

// Limits of time.
const (
	longest  = 24 * time.Hour         // it waits
	joinTime = 10 * time.Second       // to join the thread
	appears  = 20 * time.Second       // in which the request comes for which the process was started
	step     = 200 * time.Millisecond // between two looks for an answer
)

// A waiter waits for one thread.
type waiter struct {
	state string
	who   approval.Request // says who asks
	a     thread
	open  map[string]*dialog // by ID of the server
	least time.Time          // until when it stays without an open request
}

// A thread is a [codexserver.Attached].
type thread interface {
	Next(ctx context.Context) (r codexserver.Request, answered bool, err error)
	Answer(r codexserver.Request, allow bool) error
}

// A dialog is one that was put up.
type dialog struct {
	asks    codexserver.Request
	pending *approval.Pending
	given   *approval.Answer // to Codex, which has not taken it yet
	refused bool             // because of a halt or a pause
}

// Wait waits beside the dialogs of the thread that who names as its conversation. state is the state folder of the user, socket that of the
// background server. A thread that does not run there is an error.
func Wait(ctx context.Context, state, socket string, who approval.Request) error {
	ctx, stop := context.WithTimeout(ctx, longest)
	defer stop()
	join, joined := context.WithTimeout(ctx, joinTime)
	a, err := codexserver.Attach(join, socket, who.Conversation)
	joined()
	if err != nil {
		return err
	}
	defer a.Close()
	w := &waiter{state: state, who: who, a: a, least: time.Now().Add(appears)}
	return w.wait(ctx)
}

func (w *waiter) wait(ctx context.Context) (err error) {
	w.open = map[string]*dialog{}
	defer func() {
		for _, d := range w.open {
			err = errors.Join(err, d.pending.Close())
		}
	}()
	for len(w.open) > 0 || time.Now().Before(w.least) {
		if err := w.next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// next deals with one thing that Codex says, or, when it says nothing, with what the user has answered.
func (w *waiter) next(ctx context.Context) error {
	now, stop := context.WithTimeout(ctx, step)
	defer stop()
	r, closed, err := w.a.Next(now)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return w.answer()
	case err != nil:
		return err
	case closed:
		return w.closed(r.ID)
	}
	return w.opened(r)
}

// opened puts a request up.
func (w *waiter) opened(r codexserver.Request) error {
	if !r.Whole {
		return nil
	}
	put := w.who
	put.ID, put.Tool, put.About, put.At = w.id(r), r.Tool, r.Command, time.Now().UTC()
	if r.Folder != "" {
		put.Dir = r.Folder
	}
	put.Options = []approval.Option{{ID: approval.Allow, Label: "Yes"}, {ID: approval.Deny, Label: "No"}}
	p, err := approval.Ask(w.state, put)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process has put it up
	}
	if err == nil {
		w.open[r.ID] = &dialog{asks: r, pending: p}
	}
	return err
}

// id is the same in each process that waits for the thread. The numbers of the server begin anew when it does.
func (w *waiter) id(r codexserver.Request) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%d\n%s\n%s", w.who.Boot, w.who.PID, w.who.Start, r.Thread, r.ID))
	return hex.EncodeToString(sum[:4])
}

// answer gives Codex what the user has decided meanwhile.
func (w *waiter) answer() error {
	_, paused := halt.PausedFor(w.who.Instance, w.who.Dir)
	refused := paused || halt.Read().Halted
	for _, d := range w.open {
		a, ok := d.pending.Answered()
		switch {
		case d.given != nil || d.refused:
			continue
		case refused:
			d.refused = true
		case ok:
			d.given = &a
		default:
			continue
		}
		if err := w.a.Answer(d.asks, !d.refused && a.Option == approval.Allow); err != nil {
			return err
		}
	}
	return nil
}

// closed takes away what Codex does not ask any more.
func (w *waiter) closed(id string) (err error) {
	d := w.open[id]
	if d == nil {
		return nil
	}
	delete(w.open, id)
	if d.given != nil {
		err = d.pending.Taken(*d.given, time.Now())
	}
	return errors.Join(err, d.pending.Close())
}
