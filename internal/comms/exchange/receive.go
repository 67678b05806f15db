package exchange

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"tutti/internal/comms/machines"
	"tutti/internal/comms/protocol"
	"tutti/internal/core/orgfile"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/gpg"
	"tutti/internal/platform/smallfile"
)

// ReceiveOptions say how a message is judged.
type ReceiveOptions struct {
	NoVerify bool          // for tests
	NoDedup  bool          // for tests
	NoLedger bool          // nothing is written down
	Strict   bool          // less is let pass
	Version  string        // that is expected, "": that of the protocol
	SkewMax  time.Duration // between name and header, 0: that of the protocol
	Claim    string        // of the session that wants the message for itself, "": none
}

// A Judgement is the decision on a message, and where it lies.
type Judgement struct {
	protocol.Decision
	File    string  // absolute path
	Project Project // whose mailbox it is in
	Holder  string  // the session that has claimed it, "" none
	Until   time.Time
	Notes   []string // what went wrong beside the decision, for people
	// Artifacts are the paths of the files that the message names and that are as it was signed with them.
	Artifacts []string
}

// ErrLedger is in the chain of an error that the decision is good and could not be written down, which is an error when judging is strict.
var ErrLedger = errors.New("the decision could not be written down")

// Receive judges the message in a file. While the halt switch is on, the error is a *halt.Error, nothing was read, and the
// decision is Halted. Any other error is a fault of this machine; the judgement is complete then if ErrLedger is in the chain.
func (o *Service) Receive(ctx context.Context, path string, opt ReceiveOptions) (*Judgement, error) {
	if err := o.halted("receive " + filepath.Base(path)); err != nil {
		return &Judgement{Decision: protocol.Receive(protocol.Inbound{}, protocol.Rules{Halted: true})}, err
	}
	r, err := o.inquire(ctx, path, opt)
	if err != nil {
		return nil, err
	}
	defer r.close()
	r.restoreLedger()
	in := r.read()
	r.j.Decision = protocol.Receive(in, r.rules(in))
	r.artifacts(in.Text)
	if err := r.claim(); err != nil {
		return nil, err
	}
	r.note()
	if len(r.unwritable) == 0 {
		return &r.j, nil
	}
	err = errors.Join(r.unwritable...)
	r.warn(protocol.WarnLedgerUnwritable, err.Error())
	if opt.Strict {
		return &r.j, fmt.Errorf("%w: %w", ErrLedger, err)
	}
	return &r.j, nil
}

// An inquiry is one judging of one file.
type inquiry struct {
	o          *Service
	ctx        context.Context
	opt        ReceiveOptions
	j          Judgement
	dir        *atomicfile.Dir // where the file lies; nil: nowhere
	box        *Mailbox        // the same, when it is a mailbox
	refused    error           // why nothing is read from the mailbox
	signers    protocol.Signers
	unwritable []error
}

// inquire finds out where the file lies and whose it is. A folder that cannot be opened is a message that is not found.
func (o *Service) inquire(ctx context.Context, path string, opt ReceiveOptions) (*inquiry, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	r := &inquiry{o: o, ctx: ctx, opt: opt, j: Judgement{File: abs}}
	given := filepath.Dir(abs)
	// Links to the mailbox are the user's; what is judged is the folder they lead to.
	folder := resolved(given)
	r.j.Project = o.owner(folder, given)
	r.signers = o.Signers()
	if r.j.Project.MailboxPath() == folder {
		b, err := o.Mailbox(r.j.Project)
		if err == nil {
			r.box, r.dir = b, b.dir
			return r, nil
		}
		var refused *MailboxError
		if errors.As(err, &refused) {
			r.refused = err
			r.j.Notes = append(r.j.Notes, err.Error())
			return r, nil
		}
	}
	if r.dir, err = atomicfile.OpenDir(folder); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return nil, err
	}
	return r, nil
}

// owner is the project that a folder belongs to: for a mailbox the one that contains it, else the nearest one above. A project
// that is written to under the name of a link has that name, first of all that under which the folder was given.
func (o *Service) owner(folder, given string) Project {
	top := filepath.Dir(filepath.Dir(folder))
	p := Project{Name: filepath.Base(top), Path: top}
	if p.MailboxPath() != folder {
		p, _ = o.ProjectAt(folder)
		return p
	}
	for _, name := range []string{filepath.Base(filepath.Dir(filepath.Dir(given))), p.Name} {
		if q, err := o.Project(name); err == nil && resolved(q.Path) == top {
			return Project{name, top}
		}
	}
	all, _ := o.Projects()
	for _, q := range all {
		if resolved(q.Path) == top {
			return Project{q.Name, top}
		}
	}
	return p
}

func (r *inquiry) close() {
	if r.dir != nil {
		r.dir.Close()
	}
}

func (r *inquiry) warn(code, text string) {
	r.j.Warnings = append(r.j.Warnings, code)
	slices.Sort(r.j.Warnings)
	r.j.Warnings = slices.Compact(r.j.Warnings)
	r.j.Notes = append(r.j.Notes, text)
}

// Signers reads the map of allowed signers. One that cannot be read allows none.
func (o *Service) Signers() protocol.Signers {
	data, err := readSigners(o.SignersPath())
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(o.SignersPath()); errors.Is(err, fs.ErrNotExist) {
			return protocol.Signers{}
		}
		err = errors.New("it is a link that leads nowhere")
	}
	if err != nil {
		return protocol.BrokenSigners(err)
	}
	s, _ := protocol.ParseSigners(data) // an error is in s, too
	return s
}

// maxSigners bounds the map of signers, in bytes: a thousand senders have 70 KiB.
const maxSigners = 1 << 20

func readSigners(path string) ([]byte, error) {
	data, info, err := smallfile.Read(path, maxSigners, smallfile.Follow)
	if err == nil && info.Mode().Perm()&0o002 != 0 {
		return nil, errors.New("others can write it: chmod 600")
	}
	return data, err
}

// read reads the message, once.
func (r *inquiry) read() protocol.Inbound {
	in := protocol.Inbound{Name: filepath.Base(r.j.File)}
	switch {
	case r.refused != nil:
		in.Fault = protocol.CodeNotRegular
		return in
	case r.dir == nil:
		in.Fault = protocol.CodeNotFound
		return in
	}
	f, err := readOnce(r.dir, in.Name, r.o.maxMessage())
	in.Text, in.Fault = f.data, faultOf(err)
	return in
}

func faultOf(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, fs.ErrNotExist):
		return protocol.CodeNotFound
	case errors.Is(err, errTooLarge):
		return protocol.CodeTooLarge
	}
	return protocol.CodeNotRegular
}

// rules are what the world knows, asked when their time comes.
func (r *inquiry) rules(in protocol.Inbound) protocol.Rules {
	p, me := r.j.Project, machines.Local{Hostname: r.o.Host}
	return protocol.Rules{
		Now: r.o.now(), Version: r.opt.Version, Me: protocol.Address{Machine: r.o.Machine(), Project: p.Name}, Machines: me.Names(),
		NoVerify: r.opt.NoVerify, NoDedup: r.opt.NoDedup, Strict: r.opt.Strict, SkewMax: r.opt.SkewMax,
		Signers:  r.signers,
		Verify:   func() protocol.Signature { return r.verify(r.dir, in.Name, in.Text) },
		Siblings: r.siblings,
		Ledger:   r.ledger,
		Tool:     r.o.tool,
		Highest: func(id string) int {
			t, _ := r.o.view(r.ctx, p, p.Slug(), id, target{}, r.opt.NoVerify)
			return t.State.NextSequence - 1
		},
		Asked: r.asked,
	}
}

// verify asks gpg about the signature beside a message in a folder.
func (r *inquiry) verify(d *atomicfile.Dir, name string, text []byte) protocol.Signature {
	sig, err := readSignature(d, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return protocol.Signature{Code: protocol.CodeSignatureMissing, Detail: "it has no signature file"}
	case err != nil:
		return protocol.Signature{Code: protocol.CodeSignatureInvalid, Detail: err.Error()}
	}
	return signatureOf(r.o.verdicts.ask(r.ctx, r.o, sig, text))
}

func signatureOf(v gpg.Verdict) protocol.Signature {
	return protocol.Signature{Valid: v.Valid, Code: v.Code, Fingerprint: v.Fingerprint, User: v.User, Detail: v.Detail}
}

// siblings are the other messages of the mailbox with this conversation and sequence.
func (r *inquiry) siblings(id string, sequence int) []protocol.Sibling {
	if r.dir == nil {
		return nil
	}
	names, err := r.dir.Names()
	if err != nil {
		r.j.Notes = append(r.j.Notes, err.Error())
		return nil
	}
	var all []protocol.Sibling
	for _, name := range names {
		if _, ok := belongs(name, id); !ok || name == filepath.Base(r.j.File) {
			continue
		}
		if s, ok := r.sibling(r.dir, name, name, id, sequence); ok {
			all = append(all, s)
		}
	}
	return all
}

// sibling reads a message that may be one of this conversation and sequence. Called is the name under which it takes part.
func (r *inquiry) sibling(d *atomicfile.Dir, name, called, id string, sequence int) (protocol.Sibling, bool) {
	f, err := readOnce(d, name, r.o.maxMessage())
	if err != nil {
		return protocol.Sibling{}, false
	}
	h, err := orgfile.Parse(f.data)
	if err != nil {
		return protocol.Sibling{}, false
	}
	if m, _, _ := protocol.Read(h); m.Conversation != id || m.Sequence != sequence {
		return protocol.Sibling{}, false
	}
	return protocol.Sibling{
		Name: called, SHA256: hashOf(f.data),
		Verify: func() protocol.Signature { return r.verify(d, name, f.data) },
	}, true
}

// ledger is what is remembered of this conversation and sequence. A message in the archive was acted on and put away: the same
// one in the mailbox, also under its old name, has come a second time. A line that was rebuilt from a message which is still in
// the mailbox adds nothing to the message: two copies would each be taken for the one that was acted on.
func (r *inquiry) ledger(id string, sequence int) []protocol.Entry {
	entries, err := r.o.Ledger(r.j.Project).Entries(id)
	if err != nil {
		r.unwritable = append(r.unwritable, err)
	}
	var all []protocol.Entry
	for _, e := range entries {
		if e.Sequence != sequence || e.Rebuilt && r.lies(e.Name) {
			continue
		}
		all = append(all, protocol.Entry{Name: e.Name, SHA256: e.SHA256, Decision: protocol.Word(e.Decision)})
	}
	return r.withArchive(all, id, sequence)
}

// lies tells whether a file of that name is in the folder.
func (r *inquiry) lies(name string) bool {
	if r.dir == nil {
		return false
	}
	_, err := r.dir.Stat(name)
	return err == nil
}

func (r *inquiry) withArchive(all []protocol.Entry, id string, sequence int) []protocol.Entry {
	d, err := r.o.openArchive(r.j.Project)
	if err != nil {
		return all // most projects have none
	}
	defer d.Close()
	for _, a := range archiveNames(d, id) {
		s, ok := r.sibling(d, a.file, a.file, id, sequence)
		if !ok {
			continue
		}
		known := slices.ContainsFunc(all, func(e protocol.Entry) bool { return e.SHA256 == s.SHA256 })
		if !known && !r.opt.NoVerify && !s.Verify().Valid {
			continue // this one was not acted on
		}
		all = slices.DeleteFunc(all, func(e protocol.Entry) bool { return e.SHA256 == s.SHA256 })
		all = append(all, protocol.Entry{Name: a.file, SHA256: s.SHA256, Decision: protocol.Process})
	}
	return all
}

// tool tells whether a tool is there: a program on PATH, or a name of the settings.
func (o *Service) tool(name string) bool {
	if slices.Contains(o.Tools, name) {
		return true
	}
	_, err := exec.LookPath(name)
	return err == nil
}

// asked tells whether a query was suggested before, and notes that it is now.
func (r *inquiry) asked(id, code string) bool {
	p := r.j.Project
	if r.opt.NoLedger {
		return r.o.hasAsked(p, id, code)
	}
	first, err := r.o.asks(r.ctx, p, id, code)
	if err != nil {
		r.unwritable = append(r.unwritable, err)
		return r.o.hasAsked(p, id, code)
	}
	return !first
}

// claim leases the message, if that is asked for, or finds out who has.
func (r *inquiry) claim() error {
	if r.opt.Claim == "" || r.j.Word != protocol.Process {
		return nil
	}
	holder, until, err := r.o.claim(r.ctx, r.j.Project, r.j.Name, r.j.SHA256, r.opt.Claim)
	if err != nil {
		return err
	}
	r.j.Holder, r.j.Until = holder, until
	if holder != r.opt.Claim {
		r.j.Decision = r.j.Claimed()
	}
	return nil
}

// note writes the decision into the ledger.
func (r *inquiry) note() {
	if r.opt.NoLedger || !r.j.Records() {
		return
	}
	if err := r.o.Ledger(r.j.Project).Add(context.WithoutCancel(r.ctx), r.o.entry(&r.j.Decision)); err != nil {
		r.unwritable = append(r.unwritable, err)
	}
}

func (o *Service) entry(d *protocol.Decision) Entry {
	return Entry{
		Time: o.now(), Name: d.Name, Conversation: d.Message.Conversation, Sequence: d.Message.Sequence, SHA256: d.SHA256,
		Type: string(d.Message.Type), Signer: d.Signature.Fingerprint, Decision: string(d.Word),
	}
}
