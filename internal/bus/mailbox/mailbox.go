// Package mailbox keeps the mail of agents, and the trail of what became of each message.
//
// What it promises:
//
//   - A message that Put took is in the mailbox and survives a power cut. No message there is ever overwritten: the
//     same bytes again are reported as there already, other bytes under a taken id are refused.
//   - One bad file hides no other: a file that cannot be read, or is not a message, is named beside the rest and left where it is.
//   - Of many who take a message exactly one gets it. It goes to the archive, never away.
//   - Of many readers of a mailbox exactly one is offered a message. The offer is a claim of ten minutes (see Offer).
//
// A mailbox is several folders of the store: see Sources. Programs of other makers write into them, in place and without a
// lock, so a file may be empty now and whole later.
//
// The callers decide which agent may write to which, what a signature is worth and who reads. They bring bytes that are
// complete and signed, and the time. Nothing here starts a goroutine, and reading changes nothing.
package mailbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/store"
)

// A Store is what a Mailbox needs. One that is also a store.Viewer answers lists without reading every message, one that is
// a store.Batcher syncs a batch once.
type Store interface {
	store.Docs
	store.Log
}

// A Mailbox is the mail of all instances in one store. It is safe for concurrent use.
type Mailbox struct {
	// Live tells whether an instance has a fresh session. It decides which agents read channel mail (see Sources); without it
	// none do. It is set before the first call.
	Live func(ctx context.Context, who address.Instance) (bool, error)

	// Projection makes the rows of lists; New sets envelope.Projection. Another one has to make the same summaries, as those
	// of envelope.ProjectionWith are. It is set before the first call.
	Projection *store.Projection

	s       Store
	batch   *batch // nil outside of Batch
	anchors *anchors
	once    *aliases // nil: they are read each time
}

// ReadAliasesOnce lets a process that lives for milliseconds read the log of aliases once. Such a Mailbox belongs to one goroutine.
func (m *Mailbox) ReadAliasesOnce() { m.once = new(aliases) }

// New returns the mail in a store.
func New(s Store) *Mailbox {
	return &Mailbox{Projection: &envelope.Projection, s: s, anchors: &anchors{of: map[string]store.Pos{}}}
}

// anchors are places in trails that were read to before. Any will do to read on from, a late one spares reading.
type anchors struct {
	mu sync.Mutex
	of map[string]store.Pos
}

func (a *anchors) get(trail string) store.Pos {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.of[trail]
}

func (a *anchors) set(trail string, p store.Pos) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.of[trail] = p
}

// A Message is one message of a mailbox.
type Message struct {
	Key      store.Key
	Envelope *envelope.Envelope // nil in a list that was asked for in brief
	Summary  envelope.Summary   // set in lists
	ID       string             // of the envelope
	Order    int64              // see envelope.Order
	Stored   time.Time          // arrival by the store's clock
	Size     int64              // bytes
	Source   string             // owner of its folder
	Channel  bool               // it is mail for a label, not for the reader: see Sources
	Archived bool               // it was taken before
	State    State              // set in lists that asked for it
}

// ErrNoMessage reports an id that no message of the mailbox has, or one that another session took first.
var ErrNoMessage = errors.New("no such message")

// A TakenIDError reports an id that cannot be used because its name is taken. Nothing was written.
type TakenIDError struct {
	ID    string
	Other string // id of the message there; "" when the file there is not a message
	Key   store.Key
}

func (e *TakenIDError) Error() string {
	switch {
	case e.Other == e.ID:
		return fmt.Sprintf("message id %q is taken: a message of other content has it (%s)", e.ID, e.Key)
	case e.Other == "":
		return fmt.Sprintf("message id %q cannot be used: the file under its name is not a message (%s)", e.ID, e.Key)
	}
	return fmt.Sprintf("message id %q cannot be used: as a file name it is the same as %q, which is there (%s)", e.ID, e.Other, e.Key)
}
