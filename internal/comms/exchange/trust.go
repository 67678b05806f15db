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

// A Verifier tells what counts in a conversation: a message that was acted on, as the ledger has it, or would be now. What is refused changes
// neither the next sequence nor who is awaited, and hides nothing: anybody who can write a file could forge that.
//
// Close it: verdicts that it got from gpg are kept for the next look.
type Verifier struct {
	o       *Service
	ctx     context.Context
	p       Project
	all     bool            // nothing is checked
	known   map[string]bool // hashes of the ledger
	sent    map[string]bool // names of what this project has written; that needs no check
	until   time.Time
	skipped int // messages that the time did not suffice for
	err     error
}

// Verifier makes one for all messages in the mailbox and the archive of a project.
func (o *Service) Verifier(ctx context.Context, p Project, until time.Time) *Verifier {
	s := o.verifier(ctx, p, "", false)
	if !until.IsZero() {
		s.until = until
	}
	return s
}

// verifier makes one for a conversation; "": for all.
func (o *Service) verifier(ctx context.Context, p Project, id string, all bool) *Verifier {
	s := &Verifier{o: o, ctx: ctx, p: p, all: all || o.Unverified, until: time.Now().Add(trustTime)}
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

// Close keeps the verdicts of gpg.
func (s *Verifier) Close() { s.o.verdicts.keep(s.o) }

// Skipped is how many messages were not judged because the time did not suffice. They were not let pass.
func (s *Verifier) Skipped() int { return s.skipped }

// fault is why the verifier may have held back too much.
func (s *Verifier) fault() error {
	if s.skipped > 0 {
		return errors.Join(s.err, errors.New("there were too many unverified messages: they were not counted"))
	}
	return s.err
}

// Accepts tells whether a message in the mailbox passes, whose folder is d.
func (s *Verifier) Accepts(d *atomicfile.Dir, name string) bool {
	if s.all || s.sent[name] {
		return true
	}
	f, err := readOnce(d, name, s.o.maxMessage())
	if err != nil {
		return false
	}
	if s.known[hashOf(f.data)] {
		return true
	}
	if s.spent(d, name, f.data) {
		return false
	}
	r := &inquiry{o: s.o, ctx: s.ctx, dir: d, signers: s.o.Signers(), opt: ReceiveOptions{NoDedup: true, NoLedger: true}}
	r.j = Judgement{File: filepath.Join(s.p.MailboxPath(), name), Project: s.p}
	return r.again()
}

// AcceptsArchived tells whether a message in the archive passes: its name is another one now, but what was put away had passed the other checks.
func (s *Verifier) AcceptsArchived(d *atomicfile.Dir, file string) bool {
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
	if s.spent(d, file, f.data) {
		return false
	}
	r := &inquiry{o: s.o, ctx: s.ctx, j: Judgement{Project: s.p}}
	return r.verify(d, file, f.data).Valid
}

// spent tells whether the time is over and gpg would have to be asked.
func (s *Verifier) spent(d *atomicfile.Dir, name string, text []byte) bool {
	if time.Now().Before(s.until) {
		return false
	}
	sig, err := readSignature(d, name)
	if err != nil {
		return false // no signature is judged without gpg
	}
	if _, known := s.o.verdicts.find(s.o, sig, text); known {
		return false
	}
	s.skipped++
	return true
}
