package exchange

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"tutti/internal/platform/atomicfile"
)

// trustTime bounds the checking of signatures for one look at a conversation: gpg takes some milliseconds for each message that was never
// judged, and mostly there is none or one.
const trustTime = 5 * time.Second

// A sieve lets pass what counts in a conversation: a message that was acted on, as the ledger has it, or would be now. What is refused changes
// neither the next sequence nor who is awaited: anybody who can write a file could forge that.
type sieve struct {
	o     *Service
	ctx   context.Context
	p     Project
	all   bool            // for tests: nothing is checked
	known map[string]bool // hashes of the ledger
	sent  map[string]bool // names of what this project has written; that needs no check
	until time.Time
	late  bool // the time did not suffice
	err   error
}

// sieve makes one for what lies in the mailbox and the archive of a project.
func (o *Service) sieve(ctx context.Context, p Project, id string, all bool) *sieve {
	s := &sieve{o: o, ctx: ctx, p: p, all: all || o.Unverified, until: time.Now().Add(trustTime)}
	if s.all || p.Path == "" {
		return s
	}
	entries, err := o.Ledger(p).Entries(id)
	s.err = err
	s.known = make(map[string]bool, len(entries))
	for i := range entries {
		s.known[entries[i].SHA256] = true
	}
	return s
}

// fault is why the sieve may have held back too much.
func (s *sieve) fault() error {
	if s.late {
		return errors.Join(s.err, errors.New("there were too many messages that nobody has judged: they were not counted"))
	}
	return s.err
}

// box tells whether a message in the mailbox passes.
func (s *sieve) box(b *Mailbox, name string) bool {
	if s.all || s.sent[name] {
		return true
	}
	f, err := readOnce(b.dir, name, s.o.maxMessage())
	if err != nil {
		return false
	}
	if s.known[hashOf(f.data)] {
		return true
	}
	if s.spent() {
		return false
	}
	r := &inquiry{o: s.o, ctx: s.ctx, dir: b.dir, box: b, signers: s.o.Signers(), opt: ReceiveOptions{NoDedup: true, NoLedger: true}}
	r.j = Judgement{File: filepath.Join(b.Project.MailboxPath(), name), Project: b.Project}
	return r.again()
}

// archive tells whether a message in the archive passes: its name is another one now, but what was put away had passed the other checks.
func (s *sieve) archive(d *atomicfile.Dir, file string) bool {
	if s.all {
		return true
	}
	f, err := readOnce(d, file, s.o.maxMessage())
	if err != nil {
		return false
	}
	if s.known[hashOf(f.data)] {
		return true
	}
	if s.spent() {
		return false
	}
	r := &inquiry{o: s.o, ctx: s.ctx, j: Judgement{Project: s.p}}
	return r.verify(d, file, f.data).Valid
}

func (s *sieve) spent() bool {
	s.late = s.late || !time.Now().Before(s.until)
	return s.late
}
