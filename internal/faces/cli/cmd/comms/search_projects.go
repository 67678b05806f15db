package comms

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/protocol"
	"tutti/internal/core/orgfile"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/gpg"
)

// A projectSearch looks through what projects got.
type projectSearch struct {
	*search
	office  *exchange.Service
	signers protocol.Signers
	max     int64
}

// searchProjects looks through the mailboxes and archives of all projects, or of one.
func searchProjects(ctx context.Context, c *kit.Call, opt *searchOptions, s *search) ([]hit, error) {
	o, _, err := c.CommsService()
	if err != nil {
		return nil, err
	}
	var all []exchange.Project
	if name := opt.Project; name != "" {
		p, err := c.ProjectNamed(o, name)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	} else if all, err = o.Projects(); err != nil {
		c.Warn("%s", kit.Clean(err.Error()))
	}
	if dir := c.App.WorkDir(); dir != "" && opt.Project == "" {
		if p, ok := o.ProjectAt(dir); ok && !known(all, p) {
			all = append(all, p) // it lies outside the project folders
		}
	}
	ps := &projectSearch{search: s, office: o, signers: o.Signers(), max: orgfile.MaxMessage}
	var hits []hit
	for _, p := range all {
		for _, place := range [...]struct{ rel, word string }{{protocol.MailboxFolder, "mailbox"}, {protocol.ArchiveFolder, "archive"}} {
			found, err := ps.in(ctx, p, place.rel, place.word)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				c.Warn("%s of %s: %s", place.word, kit.Clean(p.Name), kit.Clean(err.Error()))
			}
			hits = append(hits, found...)
		}
	}
	return hits, nil
}

func known(all []exchange.Project, p exchange.Project) bool {
	for _, q := range all {
		if q.Path == p.Path {
			return true
		}
	}
	return false
}

// in looks through one folder of a project; most have none.
func (s *projectSearch) in(ctx context.Context, p exchange.Project, rel, word string) ([]hit, error) {
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
	var hits []hit
	for _, name := range names {
		if ctx.Err() != nil {
			return hits, nil
		}
		if !strings.HasSuffix(name, ".org") || strings.HasPrefix(name, ".") {
			continue
		}
		if h, ok := s.look(d, name); ok {
			h.where = p.Name + " (" + word + ")"
			h.path = p.Path + "/" + rel + "/" + name
			hits = append(hits, h)
		}
	}
	return hits, nil
}

// look reads one message. What is none, or cannot be read, holds nothing.
func (s *projectSearch) look(d *atomicfile.Dir, name string) (hit, bool) {
	data, info, err := d.Read(name, s.max)
	if err != nil {
		return hit{}, false
	}
	h, err := orgfile.Parse(data)
	if err != nil {
		return hit{}, false
	}
	m, _, _ := protocol.Read(h)
	from := senderOf(name, m.Conversation)
	at := m.Time
	if at.IsZero() {
		at = time.Unix(0, info.Mtime)
	}
	if !s.wants(from, at) {
		return hit{}, false
	}
	snippet, ok := s.find(string(data[h.Body:]))
	if !ok {
		if _, ok = s.find(m.Title); !ok {
			return hit{}, false
		}
	}
	found := hit{kind: "project", id: name, from: from, at: at, thread: m.Conversation, sort: string(m.Type), title: m.Title, snippet: snippet}
	asc, _, err := d.Read(protocol.SignatureName(name), gpg.MaxSignature)
	found.judge = func(ctx context.Context) (string, error) { return s.worth(ctx, from, asc, err, data), nil }
	return found, true
}

// senderOf is who the name of a file says has sent it, in a mailbox and in an archive; "" when it says nobody.
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
	v, _ := s.office.GPG.Verify(ctx, asc, data) // an error is in the verdict, too
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
