package server

import (
	"context"
	"time"

	"tutti/internal/attention/wake"
	"tutti/internal/bus/mail"
	"tutti/internal/core/address"
	"tutti/internal/halt"
)

// releaseTime bounds what a release may take: a pane is looked at for some seconds before anything is typed.
const releaseTime = 9 * time.Second

// released answers a person who has lifted a halt, and with GoOn lets the agent go on and wakes it. While the switch is on it does
// nothing. An agent that no halt stopped is woken only where its name was given.
func (k *knocker) released(w wake.Word) (h wake.Released) {
	own := k.own.Instance.Canonical()
	if w.Instance != "" && address.Instance(w.Instance).Canonical() != own || halt.Read().Halted {
		return h
	}
	ctx, stop := context.WithTimeout(context.Background(), releaseTime)
	defer stop()
	h = wake.Released{Instance: string(own), Dir: k.folder(), Conversation: k.talk(), Stopped: !k.may()}
	unread, _, err := k.unread(ctx)
	if err != nil {
		k.v.log("unread mail is not known: " + err.Error())
	}
	h.Unread = len(unread)
	if !w.GoOn || !h.Stopped && w.Instance == "" {
		return h
	}
	k.b.attend.Engage(k.own.Instance)
	if err := k.b.office.Engage(ctx, mail.Reader{Instance: k.own.Instance, Session: k.talk()}); err != nil {
		k.v.log("the agent is not let go on: " + err.Error())
		return h
	}
	if k.paused() { // its prompt would be blocked, and no hook would wait any more
		return h
	}
	means := k.means
	if h.Unread == 0 { // it would look for mail that is not there
		means = k.goOn
	}
	for _, r := range means {
		if r.Name == wake.Desktop {
			continue
		}
		if a := r.Try(ctx); a.Did && a.Counts && a.Err == nil {
			h.Woken = r.Name
			break
		}
	}
	return h
}

// folder is where the agent works, "" when it is not known.
func (k *knocker) folder() string {
	switch s := k.own; {
	case s.Workspace != nil:
		return s.Workspace.Path
	case s.Launch != nil:
		return s.Launch.Cwd
	}
	return ""
}

// paused tells whether a pause covers the agent or its folder. Its hooks block the prompt with which it would be woken.
func (k *knocker) paused() bool {
	_, is := halt.PausedFor(string(k.own.Instance.Canonical()), k.folder())
	return is
}
