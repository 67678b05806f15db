package exchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"tutti/internal/comms/protocol"
	"tutti/internal/core/render"
	"tutti/internal/platform/atomicfile"
)

// An archivedName is a message in an archive.
type archivedName struct {
	file    string // as it is called there
	message string // as it was called in the mailbox
	sender  string
}

// archiveNames finds the messages of a conversation in an archive, by name.
func archiveNames(d *atomicfile.Dir, id string) []archivedName {
	names, _ := d.Names()
	var all []archivedName
	for _, name := range names {
		// <conversation>-<stamp>-from-<sender>.org: the stamp and what follows it are the beginning of the name in the mailbox.
		rest, ok := strings.CutPrefix(name, id+"-")
		if !ok {
			continue
		}
		if rest, ok = strings.CutSuffix(rest, ".org"); !ok {
			continue
		}
		message := rest + "-" + id + ".org"
		if n, ok := belongs(message, id); ok {
			all = append(all, archivedName{name, message, n.Sender})
		}
	}
	return all
}

// An ArchiveReport says what became of one conversation.
type ArchiveReport struct {
	Conversation string
	Moved        []Move // that were, or with a dry run would be
	Refused      string // why nothing was, "" when it was: "open", "unknown"
	State        protocol.State
	Err          error // what stopped it; what was moved before stays moved
}

// A Move is one file that changes its place.
type Move struct { // names, without the folders
	From string `json:"from"` // the old name
	To   string `json:"to"`   // the new name
}

// An ArchiveView is a conversation with the files that were archived.
type ArchiveView struct {
	Conversation string `json:"conversation_id"`
	Moved        []Move `json:"moved"`             // the files, also with --dry-run
	Refused      string `json:"refused,omitempty"` // open or unknown
	Error        string `json:"error,omitempty"`   // what stopped it
}

// View returns the report without the state of the conversation.
func (r ArchiveReport) View() ArchiveView {
	v := ArchiveView{r.Conversation, render.List(r.Moved), r.Refused, ""}
	if r.Err != nil {
		v.Error = r.Err.Error()
	}
	return v
}

// The refusals of an archive.
const (
	RefusedOpen    = "open"    // it is not released, or a message came after the release
	RefusedUnknown = "unknown" // there is no such conversation in the mailbox
)

// Archive moves the messages of released conversations, with their signatures, from the mailbox to the archive of the project. Without names it
// takes all that are released and says nothing of the others. A name that is taken in the archive stops its conversation, unless the same
// bytes lie there. It may be repeated: what a crash has cut short is completed.
func (o *Service) Archive(ctx context.Context, p Project, names []string, dryRun bool) ([]ArchiveReport, error) {
	if err := o.halted("archive"); err != nil {
		return nil, err
	}
	b, err := o.Mailbox(p)
	if errors.Is(err, fs.ErrNotExist) && len(names) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer b.Close()
	here, err := b.conversations()
	if err != nil {
		return nil, err
	}
	asked := len(names) > 0
	if !asked {
		names = here
	}
	var reports []ArchiveReport
	for _, id := range names {
		if err := ctx.Err(); err != nil {
			return reports, context.Cause(ctx)
		}
		r := o.archiveOne(ctx, b, id, slices.Contains(here, id), dryRun)
		if asked || r.Refused == "" {
			reports = append(reports, r)
		}
	}
	return reports, nil
}

// conversations lists the conversations of which messages lie in the mailbox.
func (b *Mailbox) conversations() ([]string, error) {
	l, err := b.List()
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, name := range l.Messages {
		if m, ok := readHead(b.dir, name); ok && m.Conversation != "" && !slices.Contains(ids, m.Conversation) {
			ids = append(ids, m.Conversation)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// archiveOne looks what is to be moved before it looks how the conversation stands: what comes in between stays, or opens it again.
func (o *Service) archiveOne(ctx context.Context, b *Mailbox, id string, here, dryRun bool) ArchiveReport {
	r := ArchiveReport{Conversation: id}
	if !here {
		r.Refused = RefusedUnknown
		return r
	}
	moves, err := b.moves(id)
	if err != nil {
		r.Err = err
		return r
	}
	t, err := o.view(ctx, b.Project, b.Project.Slug(), id, target{}, true) // what is refused today may be taken tomorrow
	if r.State = t.State; err != nil {
		r.Err = err
		return r
	}
	if t.State.Terminal && !t.State.Open {
		r.State = b.verified(ctx, t)
	}
	switch {
	case !r.State.Terminal || r.State.Open || t.Strangers > 0: // all that has the id would be put away
		r.Refused = RefusedOpen
	case dryRun:
		r.Moved = moves
	default:
		r.Moved, r.Err = b.archive(id, moves)
	}
	return r
}

// verified is how a conversation stands without the releases in the mailbox that are refused: they end nothing, and what waits would be put
// away unread with them.
func (b *Mailbox) verified(ctx context.Context, t Thread) protocol.State {
	verifier := b.office.verifier(ctx, b.Project, t.ID, false)
	defer verifier.Close()
	events := make([]protocol.Event, 0, len(t.Messages))
	for i := range t.Messages {
		m := &t.Messages[i]
		if m.Source != FromMailbox || m.Type != protocol.Release || verifier.Accepts(b.dir, m.Name) {
			events = append(events, m.Event)
		}
	}
	if len(events) == len(t.Messages) {
		return t.State
	}
	return protocol.Fold(events, protocol.View{Now: b.office.now(), Self: t.Self, Partner: t.Partner, Missing: t.State.OneSided})
}

// archive moves the messages of one conversation.
func (b *Mailbox) archive(id string, moves []Move) (moved []Move, err error) {
	top, err := atomicfile.OpenDir(b.Project.Path)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	to, err := top.MakeSub(protocol.ArchiveFolder, 0o700)
	if err != nil {
		return nil, fmt.Errorf("archive %s: %w", id, err)
	}
	defer to.Close()
	for _, m := range moves {
		if err := b.move(m, to); err != nil {
			return moved, fmt.Errorf("archive %s: %w", m.From, err)
		}
		moved = append(moved, m)
	}
	return moved, errors.Join(to.Sync(), b.dir.Sync())
}

// moves are the messages of a conversation, and where they go.
func (b *Mailbox) moves(id string) ([]Move, error) {
	messages, err := b.messages(id, "", FromMailbox, nil)
	if err != nil {
		return nil, err
	}
	var all []Move
	for _, m := range messages {
		to, err := protocol.ArchiveName(m.Name, id)
		if err != nil {
			return nil, fmt.Errorf("archive %s: %w", m.Name, err)
		}
		all = append(all, Move{m.Name, to})
	}
	slices.SortFunc(all, func(a, b Move) int { return strings.Compare(a.From, b.From) })
	return all, nil
}

// move puts one message into the archive: the signature is there before the text, and in the mailbox the text goes before the signature, so
// that in neither place the text is ever alone.
func (b *Mailbox) move(m Move, to *atomicfile.Dir) error {
	sig := protocol.SignatureName(m.From)
	data, err := readOnce(b.dir, sig, signatureLimit)
	signed := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if signed {
		if err := put(to, protocol.SignatureName(m.To), data.data); err != nil {
			return err
		}
	}
	if err := b.moveText(m, to); err != nil || !signed {
		return err
	}
	if err := b.dir.Remove(sig); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// put makes a file, or finds that it is there with the same bytes.
func put(to *atomicfile.Dir, name string, data []byte) error {
	err := to.Create(name, data, 0o600, true)
	if errors.Is(err, fs.ErrExist) {
		if old, rerr := readOnce(to, name, len(data)); rerr == nil && bytes.Equal(old.data, data) {
			return nil
		}
		return &TakenError{filepath.Join(to.Path(), name)}
	}
	return err
}

func (b *Mailbox) moveText(m Move, to *atomicfile.Dir) error {
	err := b.dir.Rename(m.From, to, m.To, false)
	switch {
	case err == nil || errors.Is(err, fs.ErrNotExist): // another one has moved it
		return nil
	case !errors.Is(err, fs.ErrExist) && !errors.Is(err, unix.EXDEV):
		return err
	}
	// The name is taken, perhaps by the same bytes, or the archive is on another disk: a copy does for both.
	text, err := readOnce(b.dir, m.From, b.office.maxMessage())
	if err != nil {
		return err
	}
	if err := put(to, m.To, text.data); err != nil {
		return err
	}
	return b.dir.Remove(m.From)
}
