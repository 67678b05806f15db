package exchange

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"tutti/internal/comms/machines"
	"tutti/internal/comms/protocol"
	"tutti/internal/platform/ssh"
)

// The waits between tries: 2, 8, 32 seconds, at most 60, each up to a fifth longer or shorter, so that two senders who met the same
// trouble do not come back together.
const (
	firstWait  = 2 * time.Second
	waitFactor = 4
	longWait   = 60 * time.Second
	waitSpread = 0.2
)

// lookEvery is how often the halt switch is looked at during a wait.
const lookEvery = time.Second

// deliverAway delivers to another machine, from a bundle that is there before the first try: whatever happens, the message is kept.
func (o *Service) deliverAway(ctx context.Context, l Draft, to target, b Bundle, p SignedMessage, s *Sent) error {
	if err := o.ssh().HasRsync(); err != nil {
		return err
	}
	h, err := o.keep(ctx, b, p)
	if err != nil {
		return err
	}
	return o.dispatch(ctx, h, to, l.Retries, s)
}

// dispatch delivers what a bundle keeps, records that and removes the bundle, or writes down why it stays. It ends the hold.
func (o *Service) dispatch(ctx context.Context, h *held, to target, retries int, s *Sent) error {
	done := 0
	way, end := o.route(to.where)
	res, err := way.deliver(ctx, errand{h.parcel, h.dir.Path(), s.Message.Conversation, s.Key}, min(retries, MaxRetries), func(err error) {
		done++
		_ = h.note(CauseSending, 1, err) // at the end it is noted again, and then it counts
	})
	end()
	s.Tries, s.Already = res.tries, res.already
	if res.halted {
		s.warn(WarnPeerHalted, to.address.Machine+" is halted: the message waits there")
	}
	if res.wide {
		s.warn(WarnMailboxWide, "others than you can look into the mailbox of "+s.Destination)
	}
	if n := s.Message.Sequence; err == nil && !res.already && n > 0 && n <= res.highest {
		s.Advice = append(s.Advice, fmt.Sprintf("SEQUENCE is %d, and the mailbox of %s has messages of this conversation up to %d", n, s.Destination, res.highest))
	}
	if err == nil {
		o.keyAdvice(ctx, to.where.Peer.Name, res, s)
		o.settle(ctx, h, s)
		return nil
	}
	fault := sendError(err)
	if h.fresh && (fault.Fault == NoDestination || fault.Fault == General) {
		// It cannot be delivered as it is, so that nothing is gained by keeping it.
		if left := h.drop(); left != nil {
			fault.Err = errors.Join(fault.Err, left)
		}
		return fault
	}
	defer h.release()
	fault.Bundle = h.ID
	if note := h.note(causeOf(fault), res.tries-done, err); note != nil {
		fault.Err = errors.Join(fault.Err, note)
	}
	return fault
}

// A route is a way to a project on another machine.
type route struct {
	office  *Service
	client  *ssh.Client
	host    ssh.Host
	project string
}

// route makes a way on which all calls use one connection, where that can be had. The function that is returned ends it.
func (o *Service) route(w machines.Where) (route, func()) {
	client, end, err := o.ssh().Share()
	if err != nil {
		client, end = o.ssh(), func() {}
	}
	return route{o, client, w.Peer, w.Project}, end
}

// An errand is a message on its way to another machine. What rsync brings are the files in folder, that of its bundle.
type errand struct {
	SignedMessage
	folder       string
	conversation string
	key          string // that signed
}

// A remoteResult is what a delivery to another machine has come to.
type remoteResult struct {
	already  bool
	tries    int
	halted   bool   // the other machine is: its mailbox fills unread
	wide     bool   // its mailbox is open to others
	highest  int    // sequence of the conversation in its mailbox
	stranger bool   // it does not have the key that signed
	signs    string // fingerprint of the key that it signs with
	brought  bool   // the text was on its way once: the name was free before
}

// deliver brings a message to the other machine, with retries. noted is called with the number of tries after each that failed.
// The error is a *SendError.
func (r route) deliver(ctx context.Context, p errand, retries int, noted func(err error)) (res remoteResult, err error) {
	action := "send " + p.Name + " to " + r.host.Name + "." + r.project
	for wait := firstWait; ; wait = min(wait*waitFactor, longWait) {
		if err := r.office.halted(action); err != nil {
			return res, sendError(err)
		}
		res.tries++
		err := r.try(ctx, p, &res)
		if err == nil {
			return res, nil
		}
		if noted != nil {
			noted(err)
		}
		var final *SendError
		switch {
		case errors.As(err, &final):
			return res, final
		case ctx.Err() != nil:
			return res, &SendError{Fault: NotDelivered, Code: CodeInterrupted, Err: fmt.Errorf("%s: %w", action, context.Cause(ctx))}
		case !ssh.Retryable(err):
			return res, &SendError{Fault: NotDelivered, Code: CodeRefused, Err: fmt.Errorf("%s: %w", action, err)}
		case res.tries > retries:
			return res, &SendError{Fault: NotDelivered, Code: CodeUndelivered, Err: fmt.Errorf("%s: %w", action, err)}
		}
		next := r.office.spread(wait)
		r.office.tell(fmt.Sprintf("try %d of %d: %v; the next one in %v", res.tries, retries+1, err, next.Round(time.Second)))
		if err := r.office.waitFor(ctx, next, action); err != nil {
			return res, err
		}
	}
}

// spread makes a wait a fifth longer or shorter at most.
func (o *Service) spread(d time.Duration) time.Duration {
	at := rand.Float64
	if o.Rand != nil {
		at = o.Rand
	}
	return time.Duration(float64(d) * (1 - waitSpread + 2*waitSpread*at()))
}

// waitFor waits and looks at the halt switch each second.
func (o *Service) waitFor(ctx context.Context, d time.Duration, action string) error {
	for d > 0 {
		step := min(d, lookEvery)
		if err := o.pause(ctx, step); err != nil {
			return &SendError{Fault: NotDelivered, Code: CodeInterrupted, Err: fmt.Errorf("%s: %w", action, err)}
		}
		if err := o.halted(action); err != nil {
			return sendError(err)
		}
		d -= step
	}
	return nil
}

// try makes one attempt: look, bring the signature, look at the switch, bring the text, look again. A *SendError is final.
func (r route) try(ctx context.Context, p errand, res *remoteResult) error {
	before, err := r.look(ctx, p)
	if err != nil {
		return err
	}
	res.halted, res.wide, res.highest, res.stranger, res.signs = before.halted, before.wide, before.highest, before.strange, before.signs
	p.key = "" // it is asked about once
	sum, sig := hashOf(p.Message), hashOf(p.Signature)
	if res.brought && before.text == fileUnknown {
		before.text = sum // by an earlier try that did not hear of its end; confirm takes it for ours, too
	}
	there, err := r.judge(before, p.Name, sum)
	if err == nil {
		err = r.signable(before, p)
	}
	if err != nil {
		return err
	}
	if there && (p.Signature == nil || before.sig != fileAbsent) {
		res.already = true
		return nil
	}
	if p.Signature != nil && before.sig != sig {
		if err := r.push(ctx, p.folder, bundleSignature, p.Name+signatureEnd, false); err != nil {
			return err
		}
	}
	if there { // it lay there unsigned
		res.already = true
		return nil
	}
	if err := r.office.halted("send " + p.Name); err != nil {
		return sendError(err)
	}
	if p.Artifact != nil {
		if err := r.pushArtifact(ctx, p); err != nil {
			return err
		}
	}
	res.brought = true
	if err := r.push(ctx, p.folder, bundleText, p.Name, true); err != nil {
		return err
	}
	return r.confirm(ctx, p, sum, sig)
}

// confirm checks whether the file there now is the one that was brought: a file that has the name already makes rsync leave
// ours behind silently.
func (r route) confirm(ctx context.Context, p errand, sum, sig string) error {
	after, err := r.look(ctx, p)
	if err != nil {
		return err
	}
	if after.text != fileUnknown {
		there, err := r.judge(after, p.Name, sum)
		if err != nil {
			return err
		}
		if !there {
			return &ssh.Error{Op: "rsync", Host: r.host.Name, Kind: ssh.Remote, Last: p.Name + " is not there after it was brought"}
		}
	}
	if p.Signature == nil || after.sig == sig || after.sig == fileUnknown {
		return nil
	}
	if err := r.signable(after, p); err != nil {
		return err
	}
	// Another sender's, who had the name in the same second.
	if err := r.push(ctx, p.folder, bundleSignature, p.Name+signatureEnd, false); err != nil {
		return err
	}
	if after, err = r.look(ctx, p); err != nil {
		return err
	}
	if after.sig != sig && after.sig != fileUnknown {
		return &ssh.Error{Op: "rsync", Host: r.host.Name, Kind: ssh.Remote, Last: p.Name + signatureEnd + " is not there as it was brought"}
	}
	return nil
}

// signable refuses a name beside which no signature can be: something that is not a plain file would be followed or filled, and
// could not be used to verify.
func (r route) signable(s sight, p errand) error {
	if p.Signature == nil || s.sig != fileStrange {
		return nil
	}
	return general(CodeMailbox, &MailboxError{r.host.Name + ":" + r.project, "has something in the place of " + p.Name + signatureEnd + " that is not a plain file"})
}

// judge says whether the message is there, or why it never will be.
func (r route) judge(s sight, name, sum string) (there bool, err error) {
	where := r.host.Name + ":" + r.project
	switch {
	case !s.project:
		return false, &SendError{Fault: NoDestination, Code: CodeNoProject, Err: &NoProjectError{Name: r.project, Machine: r.host.Name}}
	case s.refused != "":
		return false, general(CodeMailbox, &MailboxError{where, s.refused})
	case s.text == fileAbsent:
		return false, nil
	case s.text == sum:
		return true, nil
	case s.text == fileUnknown:
		return false, general(CodeNameTaken, fmt.Errorf("%s/%s is there already, and %s has no program to tell whether it is the same", where, name, r.host.Name))
	}
	return false, sendError(&TakenError{where + "/" + name})
}

func (r route) look(ctx context.Context, p errand) (sight, error) {
	folder, err := r.host.Dir(r.project)
	if err != nil {
		return sight{}, general(CodePeers, err)
	}
	in, err := lookInput(folder, p.Name, p.conversation, p.key)
	if err != nil {
		return sight{}, general(CodePeers, err)
	}
	out, err := r.client.Run(ctx, r.host, lookScript, in)
	if err != nil {
		return sight{}, err
	}
	s, err := readSight(out.Stdout)
	if err != nil {
		return sight{}, &ssh.Error{Op: "ssh", Host: r.host.Name, Kind: ssh.Unreachable, Again: true, Err: err}
	}
	return s, nil
}

func (r route) push(ctx context.Context, from, file, name string, ignoreExisting bool) error {
	folder, err := r.host.Dir(r.project, protocol.MailboxFolder)
	if err != nil {
		return general(CodePeers, err)
	}
	_, err = r.client.Push(ctx, r.host, from+"/"+file, folder+"/"+name, ssh.PushOptions{IgnoreExisting: ignoreExisting})
	return err
}
