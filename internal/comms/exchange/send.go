package exchange

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tutti/internal/comms/machines"
	"tutti/internal/comms/protocol"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/smallfile"
)

// DefaultRetries is how often a delivery to another machine is tried again; MaxRetries is the most that can be asked for.
const (
	DefaultRetries = 3
	MaxRetries     = 20
)

// A Draft is a draft, where it goes, and how.
type Draft struct {
	Destination string // machine.project
	Path        string // of the draft
	Text        []byte // the draft itself, instead of Path

	Sender  string  // slug, see Office.Sender
	Project Project // that sends; without a path it keeps its records under the slug alone
	Dir     string  // whose git settings may name the key

	Key           string // signs; "": GPG_USER, git, the first key of the ring
	NoSign        bool   // for tests
	Restamp       bool   // TIMESTAMP becomes now
	KeepTimestamp bool   // TIMESTAMP may be old
	NoEnvelope    bool   // FROM and TO are not added
	Fallback      bool   // an unknown machine is this one
	Artifact      string // path of a file that goes beside the message; "": none
	QueueOnHalt   bool   // a progress that meets the halt switch is kept as a bundle
	Strict        bool   // a release that ends nothing is refused
	DryRun        bool   // everything up to the signature, and nothing is written
	Retries       int    // on another machine; below zero: none
}

// Sender returns the name and project of the sender. The first of these that is set decides: the requested name, the
// environment (CROSS_AGENT_FROM), the project that dir is in, the settings, the name of the machine.
func (o *Service) Sender(asked, env, dir, setting string) (slug string, p Project, err error) {
	at, inProject := o.ProjectAt(dir)
	for i, name := range []string{asked, env, at.Name, setting, o.Machine()} {
		slug, ok := protocol.Slugify(name)
		switch {
		case !ok && name != "" && i < 2: // it was set explicitly
			return "", p, fmt.Errorf("sender %q: nothing in it can stand in the name of a sender", name)
		case !ok:
			continue
		case inProject && at.Slug() == slug:
			return slug, at, nil
		}
		if p, ok := o.BySlug(slug); ok {
			return slug, p, nil
		}
		return slug, Project{Name: slug}, nil
	}
	return "", p, errors.New("nothing names the sender")
}

// Send delivers a letter. The error is a *SendError: Fault is the exit status, and if it has a Bundle the message is kept.
func (o *Service) Send(ctx context.Context, l Draft) (*Sent, error) {
	s, err := o.send(ctx, l)
	if err != nil {
		return s, sendError(err)
	}
	return s, nil
}

func (o *Service) send(ctx context.Context, l Draft) (*Sent, error) {
	halted := o.halted("send to " + l.Destination)
	if halted != nil && !l.QueueOnHalt {
		return nil, halted
	}
	s, err := o.sendOrQueue(ctx, l, halted)
	if e := sendError(err); halted != nil && e != nil && e.Fault != Halted {
		// The switch comes first, whatever else is wrong.
		return nil, &SendError{Fault: Halted, Code: CodeHalted, Err: errors.Join(halted, err)}
	}
	return s, err
}

// sendOrQueue sends a letter, or keeps it while halted says that the switch is on.
func (o *Service) sendOrQueue(ctx context.Context, l Draft, halted error) (*Sent, error) {
	s := &Sent{Sender: l.Sender, DryRun: l.DryRun}
	to, err := o.destination(l, s)
	if err != nil {
		return nil, err
	}
	out, err := o.prepare(ctx, l, to, s)
	if err != nil {
		return nil, err
	}
	if halted != nil && (out.Message.Type != protocol.Progress || l.DryRun) {
		return nil, halted
	}
	parcel := SignedMessage{Name: out.Name, Message: out.Text, Artifact: s.artifact}
	if l.DryRun {
		return s, nil
	}
	if !l.NoSign {
		if parcel.Signature, err = o.sign(ctx, l, out.Text, s); err != nil {
			return nil, err
		}
	}
	o.stampFile(l, s)
	return o.deliver(ctx, l, to, parcel, s, halted)
}

// stampFile writes the time of the send into the file of the draft, so that the same draft, sent again, is the same message.
func (o *Service) stampFile(l Draft, s *Sent) {
	if !s.stamped || l.Text != nil {
		return
	}
	path, err := filepath.EvalSymlinks(l.Path)
	var info fs.FileInfo
	if err == nil {
		info, err = os.Stat(path)
	}
	if err == nil {
		err = atomicfile.WriteFile(path, s.draft, info.Mode().Perm())
	}
	if err != nil {
		s.warn(WarnUnstamped, "the time could not be written into the draft: sending it again makes a second message: "+err.Error())
	}
}

// A target is where a letter goes.
type target struct {
	address protocol.Address // as FROM and TO have it
	aliases []string         // further names of the machine
	local   Project          // with a path, when it is on this machine
	where   machines.Where
}

// destination resolves the address of a letter. A broken list of peers does not prevent writing to this machine.
func (o *Service) destination(l Draft, s *Sent) (target, error) {
	t, warnings, err := o.resolve(l.Destination, l.Fallback)
	if err != nil {
		return t, err
	}
	s.Destination = t.address.String()
	for _, w := range warnings {
		s.warn(w[0], w[1])
	}
	return t, nil
}

func (o *Service) resolve(address string, fallback bool) (t target, warnings [][2]string, err error) {
	peers, broken := o.peers()
	me := machines.Local{Hostname: o.Host}
	w, err := machines.Resolve(address, me, peers, fallback || o.Fallback)
	if broken != nil {
		if err != nil || !w.Local || w.Guessed {
			return t, nil, broken
		}
		warnings = append(warnings, [2]string{WarnPeersBroken, broken.Error()})
	}
	if err != nil {
		return t, nil, err
	}
	t = target{where: w, address: protocol.Address{Machine: w.Peer.Name, Project: w.Project}, aliases: []string{w.Machine}}
	if !w.Local {
		return t, warnings, nil
	}
	if w.Guessed {
		warnings = append(warnings, [2]string{WarnGuessed, "no machine is called " + w.Machine + "; it is taken for this one"})
	}
	t.address.Machine, t.aliases = o.Machine(), append(me.Names(), w.Machine)
	t.local, err = o.Project(w.Project)
	return t, warnings, err
}

// prepare reads the draft and makes a message of it.
func (o *Service) prepare(ctx context.Context, l Draft, to target, s *Sent) (protocol.Outgoing, error) {
	draft := l.Text
	if draft == nil {
		var err error
		if draft, err = readDraft(l.Path, o.maxMessage()); err != nil {
			return protocol.Outgoing{}, &SendError{Fault: BadDraft, Code: CodeDraft, Err: err}
		}
	}
	project := l.Sender
	// A receiver takes no FROM that is not an address, and a folder may have a name that none can have.
	if l.Project.Path != "" && l.Project.Slug() == l.Sender && machines.ValidProject(l.Project.Name) {
		project = l.Project.Name
	}
	draft, s.stamped = protocol.Timed(draft, o.now())
	s.draft = draft
	if l.Artifact != "" {
		var err error
		if s.artifact, err = readArtifact(l.Artifact); err != nil {
			return protocol.Outgoing{}, err
		}
		draft = attached(draft, s.artifact)
	}
	out, problems := protocol.Prepare(protocol.Draft{
		Text: draft, Sender: l.Sender, Now: o.now(),
		From: protocol.Address{Machine: o.Machine(), Project: project}, To: to.address, ToMachines: to.aliases,
		Restamp: l.Restamp, KeepTimestamp: l.KeepTimestamp, NoEnvelope: l.NoEnvelope, Strict: l.Strict,
		State: func(id string) protocol.State { return o.stateFor(ctx, l, to, id, s) },
	})
	if len(problems) == 0 && len(out.Text) > o.maxMessage() {
		problems = append(problems, protocol.Problem{
			Code: protocol.CodeTooLarge, Detail: fmt.Sprintf("the message has %d bytes, and %d is the limit", len(out.Text), o.maxMessage()),
		})
	}
	if len(problems) > 0 {
		return out, &DraftError{problems}
	}
	s.Name, s.SHA256, s.Message, s.Advice = out.Name, out.SHA256, out.Message, out.Advice
	for _, code := range out.Warnings {
		s.warn(code, protocol.SendWarning(code))
	}
	return out, nil
}

// stateFor is how the conversation stands. Whatever of it cannot be read is not known: the rules that rest on it are milder then.
func (o *Service) stateFor(ctx context.Context, l Draft, to target, id string, s *Sent) protocol.State {
	v, err := o.view(ctx, l.Project, l.Sender, id, to, l.NoSign)
	if err != nil {
		s.warn(WarnOneSided, "the conversation could not be read as a whole: "+err.Error())
	}
	return v.State
}

func readDraft(path string, limit int) ([]byte, error) {
	data, _, err := smallfile.Read(path, int64(limit), smallfile.Follow)
	if err != nil {
		return nil, fmt.Errorf("read draft: %w", err)
	}
	return data, nil
}

// deliver brings the signed message to its place and writes it into the record of sends.
func (o *Service) deliver(ctx context.Context, l Draft, to target, p SignedMessage, s *Sent, halted error) (*Sent, error) {
	bundle := Bundle{
		Destination: s.Destination, From: l.Sender, Project: l.Project.Path, Name: p.Name, SHA256: s.SHA256, Key: s.Key,
		Cause: CauseSending,
	}
	var err error
	switch {
	case halted != nil:
		err = o.queue(ctx, bundle, p, halted, 0)
	case to.local.Path != "":
		err = o.deliverHere(ctx, to, p, s)
		if fault := sendError(err); fault != nil && fault.Fault == Halted {
			err = o.queue(ctx, bundle, p, err, 1)
		}
	default:
		if err = o.deliverAway(ctx, l, to, bundle, p, s); err == nil {
			return s, nil // and recorded
		}
	}
	if err != nil {
		return nil, err
	}
	o.record(ctx, l.Project, s)
	return s, nil
}

// queue keeps a message that the halt switch has stopped, and returns the error that says so.
func (o *Service) queue(ctx context.Context, b Bundle, p SignedMessage, halted error, tries int) error {
	e := sendError(halted)
	h, err := o.keep(ctx, b, p)
	if err != nil {
		e.Err = errors.Join(e.Err, err)
		return e
	}
	defer h.release()
	e.Bundle = h.ID
	if err := h.note(CauseHalted, tries, halted); err != nil {
		e.Err = errors.Join(e.Err, err)
	}
	return e
}

// tidy looks at a mailbox before something is put into it.
func (o *Service) tidy(b *Mailbox, s *Sent) {
	if b.Wide {
		s.warn(WarnMailboxWide, "others than you can look into "+o.Shown(b.Path())+": chmod 700")
	}
	s.Swept, _ = b.Sweep() // what is left is harmless
}

// deliverHere delivers into a mailbox of this machine.
func (o *Service) deliverHere(ctx context.Context, to target, p SignedMessage, s *Sent) error {
	b, err := o.MakeMailbox(to.local)
	if err != nil {
		return err
	}
	defer b.Close()
	o.tidy(b, s)
	s.Path = filepath.Join(to.local.MailboxPath(), p.Name)
	s.Already, err = b.Deliver(ctx, p, func() error { return o.halted("send " + p.Name) })
	return err
}

// settle records what a bundle has kept as delivered, and removes the bundle. In this order: a process that is killed in
// between sends again, finds the message there, and records it; the other way it would be delivered and not on record here.
func (o *Service) settle(ctx context.Context, h *held, s *Sent) {
	o.record(ctx, h.project(), s)
	if err := h.drop(); err != nil {
		s.warn(WarnBundleLeft, err.Error())
	}
}

func causeOf(e *SendError) Cause {
	switch {
	case e.Fault == Halted:
		return CauseHalted
	case e.Code == CodeInterrupted:
		return CauseInterrupted
	case e.Code == CodeUndelivered:
		return CauseUnreachable
	}
	return CauseRefused
}

// record writes what was delivered into the record of sends. The message is out: nothing here is a failure of the send.
func (o *Service) record(ctx context.Context, p Project, s *Sent) {
	m := s.Message
	err := o.Sent(p).Add(context.WithoutCancel(ctx), SentEntry{
		Time: o.now(), Name: s.Name, To: s.Destination, Conversation: m.Conversation, Sequence: m.Sequence, SHA256: s.SHA256,
		Type: string(m.Type), Timestamp: m.Timestamp, ReleaseStatus: m.ReleaseStatus, InReplyTo: m.InReplyTo, Pushback: m.Response,
		Title: m.Title, Key: s.Key,
	})
	if err != nil {
		s.warn(WarnSentRecord, err.Error())
	}
}
