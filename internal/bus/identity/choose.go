package identity

import (
	"context"
	"errors"
	"slices"

	"tutti/internal/core/address"
)

// ErrUnnamed reports a server that does not know its conversation while another agent of its host is live in the folder. It gets an
// agent when the program names the conversation.
var ErrUnnamed = errors.New("another agent is live in this folder, and the program has not named the conversation yet")

// chosen is the rule by which a conversation gets its agent, see the comment of the package.
func (c *claim) chosen(ctx context.Context) (b Binding, complete bool, err error) {
	f, err := c.k.folder(ctx, c.q.Host, c.result.Workspace.ID, c.q.Place, c.now)
	if err != nil {
		return Binding{}, false, err
	}
	own, err := c.own(ctx)
	if err != nil {
		return Binding{}, false, err
	}
	for _, way := range []func(context.Context, *folder, []Binding) (Binding, error){c.ofProgram, c.ofTranscript, c.ofWindow, c.ofFolder} {
		b, err = way(ctx, f, own)
		if err != nil || b.Instance != "" {
			last, bound := f.last[b.Instance]
			return b, covers(own, b.Instance, c.q.Process) && (!bound || last.Session == c.session()), err
		}
		if len(own) > 0 && c.refused != "" {
			break // its own id was taken from it: no other one is put in its place
		}
	}
	_, c.number = f.series(c.base(), c.q.Name != "" || c.q.Named)
	if n := numberOf(c.refused.Canonical().Label(), c.base()); n > 0 {
		c.number = n // it takes the place of that one
	}
	if c.q.Named {
		c.number = 1
	}
	return Binding{}, false, nil
}

// own are the bindings of the conversation.
func (c *claim) own(ctx context.Context) ([]Binding, error) {
	if c.q.Session == "" {
		return nil, nil
	}
	return c.k.find(ctx, sessionKey(c.q.Host, c.q.Session))
}

// ofProgram is the agent that the program is in this folder already, whatever its conversation is now.
func (c *claim) ofProgram(ctx context.Context, _ *folder, _ []Binding) (Binding, error) {
	if c.q.Shared {
		return Binding{}, nil
	}
	return c.running(ctx)
}

// ofTranscript is the agent of the conversation, or who the request says it was, unless another program is using it.
func (c *claim) ofTranscript(ctx context.Context, f *folder, own []Binding) (Binding, error) {
	b, err := c.free(ctx, f, own, true)
	if err != nil || b.Instance != "" || c.q.Was == "" {
		return b, err
	}
	if b, err = c.former(ctx); err != nil || b.Instance == "" {
		return Binding{}, err
	}
	return c.free(ctx, f, []Binding{b}, true)
}

// ofWindow is the agent of the only window, where the program serves several windows: its user has begun a new conversation in it.
// With several windows it cannot be told which one that was, and the conversation counts as that of a new window.
func (c *claim) ofWindow(ctx context.Context, f *folder, own []Binding) (Binding, error) {
	if !c.q.Shared || c.q.Session == "" || len(own) > 0 || c.q.Windows == nil || c.q.Name != "" {
		return Binding{}, nil
	}
	var there []Binding
	for i, b := range f.last {
		if b.Shared && b.Process == c.q.Process && f.held(i, &c.q, false) {
			there = append(there, b)
		}
	}
	if len(there) != 1 || c.q.Windows() != 1 {
		return Binding{}, nil
	}
	return c.provable(ctx, there)
}

// ofFolder is the first agent of the series that no connection holds.
func (c *claim) ofFolder(ctx context.Context, f *folder, _ []Binding) (Binding, error) {
	if c.q.Named && c.q.Apart {
		return Binding{}, nil // a session with a name is an agent of its own
	}
	all, _ := f.series(c.base(), c.q.Name != "")
	if c.q.Session == "" && c.q.Process.PID == 0 && !c.q.Serves { // a person's command: it repeats what it said before
		return c.provable(ctx, all)
	}
	if c.q.Process.PID != 0 && !c.q.Shared { // what its server was before it knew the conversation
		if b, bound := f.by[c.q.Process]; bound && standsFor(b.Session) && (c.q.Name == "" || numberOf(b.Instance.Canonical().Label(), c.base()) > 0) {
			if b, err := c.free(ctx, f, []Binding{b}, false); err != nil || b.Instance != "" {
				return b, err
			}
		}
	}
	if c.q.Serves && c.q.Session == "" && c.q.Name == "" && slices.ContainsFunc(f.order, func(i address.Instance) bool { return f.held(i, &c.q, false) }) {
		return Binding{}, ErrUnnamed
	}
	return c.free(ctx, f, all, false)
}

// free returns the first provable one that no other connection holds. sure: see folder.held.
func (c *claim) free(ctx context.Context, f *folder, all []Binding, sure bool) (Binding, error) {
	var open []Binding
	for _, b := range all {
		switch {
		case !f.held(b.Instance, &c.q, sure):
			open = append(open, b)
		case sure && c.busy == "":
			c.busy = b.Instance
		}
	}
	return c.provable(ctx, open)
}

// base is the label of the unnumbered agent.
func (c *claim) base() string { return label(c.result.Name) }
