package negotiation

import (
	"context"
	"time"

	"tutti/internal/bus/registry"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/governance/journal"
	"tutti/internal/store"
)

// People are who is registered, with which roles and keys. A *registry.Registry is one.
type People interface {
	Registered(ctx context.Context, i address.Instance) (*registry.Registration, error)
	Keys(ctx context.Context, i address.Instance) (*registry.Keys, error)
	// Standing returns a *registry.GoneError for a retired agent.
	Standing(ctx context.Context, i address.Instance) error
}

// Negotiations are those of one bus.
type Negotiations struct {
	store    Store
	journals *journal.Journal
	people   People

	// Pins are the keys that the user knows others by. nil: the registry decides whose a key is, as h2a specifies it.
	Pins trust.Keeper
	// Strict: signatures that cover the artifact alone do not count, so that existing programs cannot sign. Set it before the
	// first call, like the ones below.
	Strict bool
	// AnySubject lets a record be opened whose subject is free text, as h2a specifies it.
	AnySubject bool
	// Gate is asked before an artifact is offered or signed and before it is stabilised, for what a chosen profile forbids: one
	// sentence a reason. nil: nothing is forbidden. It cannot be forced.
	Gate func(act Event, r *Record, artifact []byte) []string
	// Demands returns what was demanded at a time before a negotiation may be settled, nil for nothing. Readers of an entry
	// that settles one call it: its writer may not have. nil: nothing is demanded.
	Demands func(ctx context.Context, r *Record, at time.Time) (Demand, error)
	// Advise returns the payloads of the escalations that stand between the artifact and the end of a stabilisation, each an object
	// that becomes the payload of an escalate entry. nil: none.
	Advise func(ctx context.Context, m Material) ([][]byte, error)
	// Seen is how far this user's programs have read each negotiation, kept outside the bus. nil: it is not remembered.
	Seen Memory
	// Looked is called with how many entries a verification has looked at, for progress displays. nil: not called.
	Looked func(entries int)
}

// Store is what negotiations need of a bus.
type Store interface {
	store.Docs
	store.Log
}

// Material is what declarations and dossiers are made from.
type Material struct {
	Record   *Record
	Hash     string // of the artifact in question: of what is being stabilised, else of the latest offer
	Artifact []byte
	Entries  []*journal.Entry
}

// New returns the negotiations of a bus.
func New(s Store, j *journal.Journal, p People) *Negotiations {
	return &Negotiations{store: s, journals: j, people: p}
}

// Journal is the log behind the negotiations.
func (n *Negotiations) Journal() *journal.Journal { return n.journals }

// Pos is where an entry begins in the journal.
type Pos = store.Pos
