package exchange

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"tutti/internal/comms/protocol"
	"tutti/internal/core/orgfile"
	"tutti/internal/platform/atomicfile"
)

// A Thread is a conversation as one project sees it: what it got, from its mailbox and its archive, and what it wrote, from the record
// of its sends and, where that is on this machine, from the mailbox of the partner.
type Thread struct {
	ID            string
	Self, Partner string // slugs, or the address of a Partner of the same slug; "" when no message came and none was sent
	// Strangers is how many messages of the mailbox are of another conversation of the same id: a project that is called as the partner,
	// on another machine, has written them.
	Strangers int
	Messages  []ThreadMessage
	State     protocol.State
}

// A ThreadMessage is one message of a thread.
type ThreadMessage struct {
	protocol.Event
	Title   string
	Source  Source
	Machine string // that it says it was written on; "": it says none
}

// A Source says where a message was seen.
type Source string

// The sources.
const (
	FromMailbox Source = "mailbox"
	FromSent    Source = "sent"
	FromPartner Source = "partner" // in the mailbox of the partner
	FromArchive Source = "archive"
)

// Thread reads a conversation of a project. With an error the thread holds what could be read, and its state says that it is
// one-sided. What is refused, or would be, does not count; gpg is asked about what was never judged.
func (o *Service) Thread(ctx context.Context, p Project, id string) (Thread, error) {
	return o.view(ctx, p, p.Slug(), id, target{}, false)
}

// view reads a conversation. To is the target of the next message, the zero target for none: until a message has come, that is
// the partner. With all what is refused counts as well.
func (o *Service) view(ctx context.Context, p Project, self, id string, to target, all bool) (Thread, error) {
	t := Thread{ID: id, Self: self}
	if ctx.Value(judging{}) != nil {
		return t, errNested
	}
	mine := o.verifier(ctx, p, id, all)
	defer mine.Close()
	in, inErr := o.received(p, id, mine)
	out, outErr := o.Sent(p).Entries(id)
	with := o.partnerOf(self, in, out, to)
	t.Partner = with.name(self)
	in, out, t.Strangers = o.sort(self, with, in, out)
	partner := to.local
	if partner.Path == "" || partner.Slug() != with.slug {
		partner = o.partnerHere(with, out)
	}
	var theirs []ThreadMessage
	theirErr := outErr
	if partner.Path != "" {
		verifier := o.verifier(ctx, partner, id, all)
		verifier.sent = namesOf(out)
		theirs, theirErr = o.writtenBy(partner, self, id, verifier)
	}
	for i := range out {
		t.Messages = append(t.Messages, out[i].message(self))
	}
	t.Messages = append(append(t.Messages, theirs...), in...)
	sort.SliceStable(t.Messages, func(i, j int) bool { return protocol.Compare(t.Messages[i].Event, t.Messages[j].Event) < 0 })
	t.Messages = slices.CompactFunc(t.Messages, func(a, b ThreadMessage) bool {
		return a.From == b.From && a.Name == b.Name && protocol.Compare(a.Event, b.Event) == 0
	})
	events := make([]protocol.Event, len(t.Messages))
	for i := range t.Messages {
		events[i] = t.Messages[i].Event
	}
	t.State = protocol.Fold(events, protocol.View{
		Now: o.now(), Self: self, Partner: t.Partner,
		// Either record of what was written will do; of what came there is one.
		Missing: inErr != nil || p.Path == "" && len(events) > 0 || outErr != nil && theirErr != nil,
	})
	return t, errors.Join(inErr, outErr)
}

// received is what a project got: from the mailbox, and what it has archived of earlier rounds.
func (o *Service) received(p Project, id string, verifier *Verifier) ([]ThreadMessage, error) {
	if p.Path == "" {
		return nil, nil
	}
	b, err := o.Mailbox(p)
	var all []ThreadMessage
	if err == nil {
		defer b.Close()
		all, err = b.messages(id, "", FromMailbox, verifier)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // no message yet
	}
	all = append(all, o.archived(p, id, verifier)...)
	return all, errors.Join(err, verifier.fault())
}

// writtenBy is what a sender has put into the mailbox of another project of this machine.
func (o *Service) writtenBy(to Project, sender, id string, verifier *Verifier) ([]ThreadMessage, error) {
	b, err := o.Mailbox(to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer b.Close()
	all, err := b.messages(id, sender, FromPartner, verifier)
	// A project of our name on another machine may have written there, too.
	return slices.DeleteFunc(all, func(m ThreadMessage) bool { return o.elsewhere(m.Machine) }), err
}

// messages reads the headers of the messages of a conversation, of one sender or of all. What
// cannot be read, and what the verifier holds back, is left out; nil holds back nothing.
func (b *Mailbox) messages(id, sender string, source Source, verifier *Verifier) (all []ThreadMessage, err error) {
	names, err := b.dir.Names()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		n, ok := belongs(name, id)
		if !ok || sender != "" && n.Sender != sender {
			continue
		}
		if m, ok := readHead(b.dir, name); ok && m.Conversation == id && (verifier == nil || verifier.Accepts(b.dir, name)) {
			all = append(all, ThreadMessage{m.Event(name, n.Sender), m.Title, source, machineOf(&m)})
		}
	}
	return all, nil
}

// belongs tells whether a file may be a message of a conversation, by its name.
func belongs(name, id string) (protocol.Name, bool) {
	// A name has the conversation or a leading part of it. The look at that part spares the taking apart of ten thousand names.
	part := id[:min(len(id), protocol.MinShort)]
	if !strings.HasSuffix(name, ".org") || strings.HasPrefix(name, ".") || !strings.Contains(name, part) {
		return protocol.Name{}, false
	}
	n, err := protocol.ParseName(name, id, nil)
	return n, err == nil && !n.Signature
}

// readHead reads the header of a message, and no more of the file than a header may have.
func readHead(d *atomicfile.Dir, name string) (protocol.Message, bool) {
	f, info, err := d.Open(name, false, 0)
	if err != nil {
		return protocol.Message{}, false
	}
	defer f.Close()
	data := make([]byte, min(info.Size, orgfile.MaxHeader))
	n, err := f.Pread(data, 0)
	if err != nil {
		return protocol.Message{}, false
	}
	h, err := orgfile.ParseHead(data[:n], info.Size > int64(n))
	if err != nil {
		return protocol.Message{}, false
	}
	m, _, _ := protocol.Read(h)
	return m, true
}

func (e *SentEntry) message(self string) ThreadMessage {
	at, _ := protocol.ParseTime(e.Timestamp)
	return ThreadMessage{protocol.Event{
		Name: e.Name, Time: at, From: self, Type: protocol.Type(e.Type), Sequence: e.Sequence, ReleaseStatus: e.ReleaseStatus,
		InReplyTo: e.InReplyTo, Response: e.Pushback,
	}, e.Title, FromSent, ""}
}

func namesOf(sent []SentEntry) map[string]bool {
	names := make(map[string]bool, len(sent))
	for i := range sent {
		names[sent[i].Name] = true
	}
	return names
}

// machineOf is the machine that a message says it was written on.
func machineOf(m *protocol.Message) string {
	a, _ := protocol.ParseAddress(m.From)
	return a.Machine
}

// partnerHere finds the project of the partner on this machine. Where something was sent, the address says whether it is here; else a
// project of that name is taken for it, whose mailbox then holds nothing of ours if it is another one.
func (o *Service) partnerHere(with party, out []SentEntry) Project {
	if with.slug == "" || with.away {
		return Project{}
	}
	for i := len(out) - 1; i >= 0; i-- {
		a, ok := protocol.ParseAddress(out[i].To)
		if !ok {
			continue
		}
		if a.Machine != o.Machine() {
			return Project{}
		}
		p, _ := o.Project(a.Project)
		return p
	}
	p, _ := o.BySlug(with.slug)
	return p
}

// archived is what a project has archived of a conversation.
func (o *Service) archived(p Project, id string, verifier *Verifier) []ThreadMessage {
	d, err := o.openArchive(p)
	if err != nil {
		return nil // most projects have none
	}
	defer d.Close()
	var all []ThreadMessage
	for _, a := range archiveNames(d, id) {
		if m, ok := readHead(d, a.file); ok && m.Conversation == id && verifier.AcceptsArchived(d, a.file) {
			all = append(all, ThreadMessage{m.Event(a.message, a.sender), m.Title, FromArchive, machineOf(&m)})
		}
	}
	return all
}

// openArchive opens the folder of a project's archive.
func (o *Service) openArchive(p Project) (*atomicfile.Dir, error) {
	if p.Path == "" {
		return nil, fs.ErrNotExist
	}
	return atomicfile.OpenDir(filepath.Join(p.Path, protocol.ArchiveFolder))
}
