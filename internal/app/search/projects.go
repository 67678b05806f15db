package search

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/protocol"
	"tutti/internal/core/orgfile"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/gpg"
)

// AllProjects are the projects of this machine and the one that a folder is in, which may be outside the project folders. The error names
// those that could not be looked at.
func AllProjects(o *exchange.Service, dir string) ([]exchange.Project, error) {
	all, err := o.Projects()
	if p, ok := o.ProjectAt(dir); dir != "" && ok && !slices.ContainsFunc(all, func(q exchange.Project) bool { return q.Path == p.Path }) {
		all = append(all, p)
	}
	return all, err
}

// A projectSearch looks through what projects got.
type projectSearch struct {
	*search
	signers protocol.Signers
}

// projects looks through the mailboxes and archives of projects.
func (s *search) projects(ctx context.Context) (hits []Hit, faults []Fault, err error) {
	ps := &projectSearch{search: s, signers: s.Exchange.Signers()}
	for _, p := range s.Projects {
		for _, place := range [...]struct{ rel, word string }{{protocol.MailboxFolder, "mailbox"}, {protocol.ArchiveFolder, "archive"}} {
			found, err := ps.in(ctx, p, place.rel, place.word)
			if ctx.Err() != nil {
				return nil, nil, ctx.Err()
			}
			if err != nil {
				faults = append(faults, Fault{place.word, p.Name, err})
			}
			hits = append(hits, found...)
		}
	}
	return hits, faults, nil
}

// in looks through one folder of a project; most have none.
func (s *projectSearch) in(ctx context.Context, p exchange.Project, rel, word string) ([]Hit, error) {
	top, err := atomicfile.OpenDir(p.Path)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	d, err := top.Sub(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Names()
	if err != nil {
		return nil, err
	}
	var hits []Hit
	for _, name := range names {
		if ctx.Err() != nil {
			return hits, nil
		}
		if !strings.HasSuffix(name, ".org") || strings.HasPrefix(name, ".") {
			continue
		}
		if h, ok := s.look(d, name); ok {
			h.Where = p.Name + " (" + word + ")"
			h.Path = p.Path + "/" + rel + "/" + name
			hits = append(hits, h)
		}
	}
	return hits, nil
}

// look reads one message. A file that is not a message, or cannot be read, has no hit.
func (s *projectSearch) look(d *atomicfile.Dir, name string) (Hit, bool) {
	data, info, err := d.Read(name, orgfile.MaxMessage)
	if err != nil {
		return Hit{}, false
	}
	h, err := orgfile.Parse(data)
	if err != nil {
		return Hit{}, false
	}
	m, _, _ := protocol.Read(h)
	from := senderOf(name, m.Conversation)
	at := m.Time
	if at.IsZero() {
		at = time.Unix(0, info.Mtime)
	}
	if !s.wants(from, at) {
		return Hit{}, false
	}
	snippet, ok := s.find(string(data[h.Body:]))
	if !ok {
		if _, ok = s.find(m.Title); !ok {
			return Hit{}, false
		}
	}
	found := Hit{Kind: ToProject, ID: name, From: from, Time: at, Thread: m.Conversation, Type: string(m.Type), Title: m.Title, Snippet: snippet}
	asc, _, err := d.Read(protocol.SignatureName(name), gpg.MaxSignature)
	found.judge = func(ctx context.Context) string { return s.worth(ctx, from, asc, err, data) }
	return found, true
}

// senderOf is the sender that the name of a file says, in a mailbox and in an archive; "" when it says none.
func senderOf(name, id string) string {
	if n, err := protocol.ParseName(name, id, nil); err == nil {
		return n.Sender
	}
	rest, ok := strings.CutPrefix(name, id+"-")
	_, sender, found := strings.Cut(rest, "-from-")
	if sender, _ = strings.CutSuffix(sender, ".org"); ok && found && protocol.Slug(sender) {
		return sender
	}
	return ""
}

// worth is what the signature of a message says about its sender.
func (s *projectSearch) worth(ctx context.Context, from string, asc []byte, missing error, data []byte) string {
	switch {
	case errors.Is(missing, fs.ErrNotExist):
		return "unsigned"
	case missing != nil:
		return "bad signature (it cannot be read)"
	}
	v, _ := s.Exchange.GPG.Verify(ctx, asc, data) // an error is in the verdict, too
	switch {
	case v.Code == gpg.CodeUnavailable:
		return "not judged (" + v.Detail + ")"
	case !v.Valid:
		return "bad signature (" + v.Code + ")"
	case !s.signers.Present():
		return "signed"
	case s.signers.Allowed(from, v.Fingerprint):
		return "verified"
	}
	return "bad signature (" + protocol.CodeSignerNotAllowed + ")"
}
