package exchange

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"tutti/internal/comms/protocol"
	"tutti/internal/core/canonjson"
)

// rebuildTime bounds the rebuilding of a lost ledger on the way of a message that waits: gpg takes some milliseconds for each. What
// is not reached gets its line when it is judged.
const rebuildTime = 5 * time.Second

// RebuildLedger makes the lines of a ledger that was lost from the content of the mailbox: every message whose signature is
// valid. They are marked, since it is unknown which were acted on. Skip names a message that is about to be judged and left
// out, "" none. It returns how many lines there are.
func (o *Service) RebuildLedger(ctx context.Context, p Project, skip string) (int, error) {
	b, err := o.Mailbox(p)
	if err != nil {
		return 0, err
	}
	defer b.Close()
	l, err := b.List()
	if err != nil {
		return 0, err
	}
	r := &inquiry{o: o, ctx: ctx, dir: b.dir, box: b, signers: o.Signers(), opt: ReceiveOptions{NoDedup: true, NoLedger: true}}
	var entries []Entry
	looked := 0
	for _, name := range l.Messages {
		if name == skip {
			continue
		}
		if ctx.Err() != nil {
			break
		}
		looked++
		r.j = Judgement{File: filepath.Join(p.MailboxPath(), name), Project: p}
		if !r.again() {
			continue
		}
		e := o.entry(&r.j.Decision)
		e.Rebuilt = true
		entries = append(entries, e)
	}
	if looked == 0 {
		return 0, nil
	}
	ledger, ctx := o.Ledger(p), context.WithoutCancel(ctx)
	// Also where nothing was found that is good: gpg is not asked about all of it again the next time.
	if err := errors.Join(ledger.j.add(ctx, rebuiltLine(o.now(), looked)), ledger.Add(ctx, entries...)); err != nil {
		return 0, fmt.Errorf("rebuild ledger: %w", err)
	}
	return len(entries), nil
}

// again judges a message without side effects and reports whether it counts in its conversation. It runs while a
// conversation is being read, so it must not read one itself: two such messages would judge each other for ever.
func (r *inquiry) again() bool {
	in := r.read()
	if r.ctx.Value(judging{}) == nil { // one inquiry may judge many messages
		r.ctx = context.WithValue(r.ctx, judging{}, true)
	}
	rules := r.rules(in)
	rules.Tool, rules.Asked, rules.Highest = func(string) bool { return true }, nil, nil
	r.j.Decision = protocol.Receive(in, rules)
	return r.j.Records()
}

// judging marks the context of a judgement that is part of reading a conversation. [Service.view] refuses such a context.
type judging struct{}

// errNested reports a conversation that would be read to judge one of its own messages.
var errNested = errors.New("a conversation cannot be read while its messages are judged")

// rebuiltLine says that a ledger was rebuilt. It is about no message.
func rebuiltLine(at time.Time, looked int) []byte {
	var o canonjson.Object
	o.Str("t", stampOf(at))
	o.Bool("rebuilt", true)
	o.Int("looked_at", int64(looked))
	return o.End()
}

// restoreLedger rebuilds the ledger if it is lost, as far as the time allows.
func (r *inquiry) restoreLedger() {
	if r.opt.NoLedger || r.opt.NoDedup || r.opt.NoVerify || r.box == nil || !r.o.Ledger(r.j.Project).Lost() {
		return
	}
	ctx, stop := context.WithTimeout(r.ctx, rebuildTime)
	defer stop()
	if _, err := r.o.RebuildLedger(ctx, r.j.Project, filepath.Base(r.j.File)); err != nil {
		r.unwritable = append(r.unwritable, err)
	}
}
