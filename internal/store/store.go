// Package store keeps small named documents and line logs that other programs may read and write at the same time.
//
// It promises durability, one winner, and honest conflicts: a document created through it is seen whole or not at all, of
// several callers that want the same name or the same last line exactly one succeeds, and the others get an error. It knows no
// envelope, no address and no rule of the domain: callers bring bytes that are already valid, and judge what they read. All
// methods are safe for concurrent use.
//
// The package holds the contract and the key space, the one list of what lies where. Backends lie in folders beside it;
// each passes the suite of package storetest. Every method refuses a key that Key.Check refuses and a context that is
// done; those of documents refuse the key of a log, those of logs the key of a document.
package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"
)

// A Key names one document or one log. Owner and Name are path segments as package address makes them: the mapping from
// an address to a segment loses letters, so it is done once, above the store. Inside, keys and paths map onto each other
// without loss. A kind whose key has one part keeps it in Name; a kind with a single document leaves both empty.
type Key struct {
	Kind  Kind
	Owner string
	Name  string
}

// A Rev names one content of one document; only equality means anything. For files it is a hash of the bytes, for
// JetStream a revision. The zero Rev means "does not exist".
type Rev string

// A Pos is the end of what a reader has seen of a log; "" is the start. For files it is generation and offset, for
// JetStream a sequence.
type Pos string

// AnyEnd lets Append add a line wherever the log ends.
const AnyEnd Pos = "*"

// A Doc is a document as it was read.
type Doc struct {
	Key    Key
	Rev    Rev
	Data   []byte
	Stored time.Time // arrival by the store's clock, not by the sender's
}

// An Entry is what a listing knows of a document without reading it.
type Entry struct {
	Key    Key
	Size   int64
	Stored time.Time
}

// A Line is one line of a log, without its line feed. At is where it begins, Next where the one after it does.
type Line struct {
	Data []byte
	At   Pos
	Next Pos
}

var (
	// ErrNotFound reports a document, log owner or lease that is not there.
	ErrNotFound = errors.New("not found")
	// ErrExists reports a Create or Move onto a name that is taken. The error carries the Rev found (see ExistsError).
	ErrExists = errors.New("already exists")
	// ErrConflict reports that the content or the end of a log is no longer what the caller had seen.
	// Nothing was written: read again, judge again, retry.
	ErrConflict = errors.New("changed by another process")
	// ErrLost reports a lease that is no longer held: stop the work done under it at once.
	ErrLost = errors.New("lease lost")
	// ErrReadOnly reports a write to a store that was opened for reading, or that the system does not let us write.
	ErrReadOnly = errors.New("store is read-only")
)

// ExistsError is ErrExists with the revision that was found, so that the same bytes sent again can count as done.
type ExistsError struct {
	Key Key // where it lies: for a Create in the inbox that finds the message taken already, its key in the archive
	Rev Rev // of the content; zero when it could not be read
}

func (e *ExistsError) Error() string { return fmt.Sprintf("%s: %v", e.Key, ErrExists) }

// Is lets errors.Is find ErrExists.
func (e *ExistsError) Is(target error) bool { return target == ErrExists }

// UnfitError reports an entry in the place of a document or a line that is neither: a link, a folder, a FIFO, a file that is
// too large or belongs to a stranger, a line that is not valid JSON.
type UnfitError struct {
	Key   Key
	Where string // path or position, for people
	Why   string
}

func (e *UnfitError) Error() string { return fmt.Sprintf("%s: %s", e.Where, e.Why) }

// IsUnfit tells whether an error reports a document that cannot be used. The documents beside it can.
func IsUnfit(err error) bool {
	_, unfit := errors.AsType[*UnfitError](err)
	return unfit
}

// HeldError reports a lease or a lock that another process holds.
type HeldError struct {
	Name   string
	Holder string
	Until  time.Time // zero when no end is known
}

func (e *HeldError) Error() string {
	if e.Until.IsZero() {
		return fmt.Sprintf("%s is held by %s", e.Name, e.Holder)
	}
	return fmt.Sprintf("%s is held by %s until %s", e.Name, e.Holder, e.Until.UTC().Format(time.RFC3339))
}

// A Reader reads documents.
type Reader interface {
	// Get returns ErrNotFound when the key is empty and an UnfitError when its content is not a document.
	Get(ctx context.Context, k Key) (Doc, error)
	// List yields the documents of one owner in no order. An unfit one is yielded as *UnfitError; the rest goes on.
	// An owner without documents yields nothing.
	List(ctx context.Context, kind Kind, owner string) iter.Seq2[Entry, error]
	// Owners yields the owners of a kind that has them, in no order. Each that has a document is among them, once; one
	// whose documents are all gone may be.
	Owners(ctx context.Context, kind Kind) iter.Seq2[string, error]
}

// A Writer changes documents. Data above the write limit of the kind is refused and nothing is stored. Replace, Delete and Move
// judge in this order: ErrNotFound when the key is empty, ErrConflict when its content is not old (the zero Rev never is), then
// the rest.
type Writer interface {
	// Create stores data only if the key is free. Readers see nothing or all of it. When it returns nil the document
	// survives a power cut, for kinds whose durability is Full. An error that is ErrExists carries the Rev found. In
	// the inbox a key is also taken while the archive holds a document of the same owner and name.
	Create(ctx context.Context, k Key, data []byte) (Rev, error)
	// Replace stores data if the content is still old. How far that holds against foreign programs is the class of the
	// kind: for Locked against all that keep the lock, for Owned see Class. Documents of class Once are never rewritten:
	// Replace refuses them.
	Replace(ctx context.Context, k Key, data []byte, old Rev) (Rev, error)
	// Delete removes the document if its content is still old.
	Delete(ctx context.Context, k Key, old Rev) error
	// Move takes a document away to another key. Of many callers exactly one gets nil, the others ErrNotFound.
	// When the target is taken it is ErrExists and the source stays. It is how mail is popped.
	Move(ctx context.Context, from Key, old Rev, to Key) error
}

// Docs is both sides of the documents.
type Docs interface {
	Reader
	Writer
}

// A Log is a sequence of lines, each a JSON value.
type Log interface {
	// Read yields whole lines from a position on. A bad line is yielded as *UnfitError together with a Line that has
	// its positions; what that means is the caller's rule. A position that the log no longer has yields ErrConflict:
	// begin again at "". A log that does not exist is empty.
	Read(ctx context.Context, k Key, from Pos) iter.Seq2[Line, error]
	// Append adds one line if the log still ends at after (AnyEnd: wherever) and returns the new end. The line is not
	// empty, holds no line feed and at most the write limit of the kind, or it is refused. ErrConflict: read
	// on from after, judge again, retry. This is the only uniqueness test there is: "no such id yet" is read, judged,
	// then appended after what was read.
	Append(ctx context.Context, k Key, after Pos, line []byte) (Pos, error)
}

// An Ender is optional: it tells where a log ends without reading it (see EndOf). Who takes the end, then looks with FindIn
// for what must not be there, then appends after that end, adds a line only if none was added in between.
type Ender interface {
	// End returns the end that a reader of the whole log would have come to, "" for a log that does not exist.
	End(ctx context.Context, log Key) (Pos, error)
}

// A Logger is optional: it tells which logs there are.
type Logger interface {
	// Logs yields the names of the logs of a kind that has names, in no order (see CheckLogs).
	Logs(ctx context.Context, kind Kind) iter.Seq2[string, error]
}

// CheckLogs refuses a kind that is not one of logs with names.
func CheckLogs(kind Kind) error {
	if !slices.Contains(Kinds(), kind) || !kind.Spec().IsLog() || !kind.Spec().HasName() {
		return fmt.Errorf("%s is not a kind of logs with names", kind)
	}
	return nil
}

// An Extender is optional: it adds many lines for little more than the price of one (see ExtendWith).
type Extender interface {
	// Extend is Append of several lines in their order. When one of them is refused none is added; a crash may leave the first
	// of them only. Lines of others do not come between them.
	Extend(ctx context.Context, k Key, after Pos, lines [][]byte) (Pos, error)
}

// A Shrinker is optional: it takes lines out of a log whose kind has them taken out.
type Shrinker interface {
	// Shrink takes out the lines of which keep returns false, all of them or, after a crash, none, and says how many these
	// were. Bad lines stay, and so does the order. keep is called in the order of the lines and must not use the store; no line
	// is appended meanwhile. Positions may be lost by it (see Log.Read). A log that does not exist is empty.
	Shrink(ctx context.Context, log Key, keep func(line []byte) bool) (gone int, err error)
}

// A Lease says who does a thing that only one of our processes may do at a time: watching, drumming, monitoring.
// Foreign programs do not see it.
type Lease struct {
	Name   string
	Holder string
	Until  time.Time
	Rev    Rev
}

// Leases are for our own processes only.
type Leases interface {
	// Acquire takes a free or ended lease. A *HeldError names the holder and the end of one that is neither.
	Acquire(ctx context.Context, name, holder string, ttl time.Duration) (Lease, error)
	// Renew moves the end. ErrLost: another process has it, or it is gone; stop the work at once.
	Renew(ctx context.Context, l Lease, ttl time.Duration) (Lease, error)
	// Release gives it back; releasing a lost one is not an error.
	Release(ctx context.Context, l Lease) error
}

// A Scope is what a watcher looks at: the documents of one owner, or the one log that the name names.
// An empty owner of a kind that has owners means all of them, an empty name all names.
type Scope struct {
	Kind  Kind
	Owner string
	Name  string
}

// A Change is a hint that something may be new. Rescan means that hints were lost or merged: look at everything.
type Change struct {
	Key    Key
	Rescan bool
}

// A Watcher is optional. Its changes are hints, not facts: they may repeat, merge, or say only Rescan, and they are never
// the sole way to notice. The channel is closed when ctx is done.
type Watcher interface {
	Watch(ctx context.Context, of []Scope) (<-chan Change, error)
}

// A Projection is a pure function from bytes to what lists show. Change Version when its output changes.
// Make is given the arrival by the store's clock, the zero time for a line of a log. A document of which Make returns an
// error is yielded as *UnfitError.
type Projection struct {
	Name    string
	Version int
	// Frozen: the output of Make depends only on what never changes in the document of one name. A view that is not Exact
	// may then keep a row as long as the name is there, without a look at its source; Stored and Size of the row are those
	// of when it was made. Documents of which Make returned an error are looked at each time.
	Frozen bool
	Make   func(data []byte, stored time.Time) (keys []string, order int64, summary []byte, err error)
}

// A Query chooses the rows of a View.
type Query struct {
	Newest int // the n rows with the highest order, highest first; 0 means all
	// Oldest asks for the n rows with the lowest order, each checked against its source. A store may answer with more, and
	// answers with fewer only when there are no more. Of a crowd of tens of thousands it may miss a document that came since
	// the last query of another form. Oldest goes with neither Newest nor Exact.
	Oldest int
	Part   *bool // for Oldest: set to true when the answer leaves rows out
	Exact  bool  // every row is checked against its source; an in-place overwrite is then never missed
	Bare   bool  // the rows are for a list: all are kept, and their Keys, which the caller does not read, may be nil
}

// A Row is one document as its projection shows it.
type Row struct {
	Key     Key
	Keys    []string
	Order   int64
	Summary string
	Stored  time.Time
	Size    int64
}

// A Viewer is optional: a derived index that answers without reading every document. Without it callers fall back to
// List and Get (see ViewOf and FindIn). What it answers is what the sources say, except that a Newest query that is not
// Exact may notice an in-place overwrite of an old document up to 60 s late.
type Viewer interface {
	// View yields rows by falling order, equal orders by rising name.
	View(ctx context.Context, kind Kind, owner string, p *Projection, q Query) iter.Seq2[Row, error]
	// Find yields the lines of a log that have key among their keys, oldest first. Bad lines, and those of which Make
	// returns an error, have no keys: who must know of them uses Read.
	Find(ctx context.Context, log Key, p *Projection, key string) iter.Seq2[Line, error]
}

// A Batcher is optional: the documents created in fn are durable, all of them, when Batch returns nil; before that none
// is promised. The Writer is for Create only and may not be used after fn has returned.
type Batcher interface {
	Batch(ctx context.Context, fn func(Writer) error) error
}
