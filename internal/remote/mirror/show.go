package mirror

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
	"tutti/internal/remote"
	"tutti/internal/store"
)

// show registers who is not registered yet, and writes the sessions and subagents.
func (r *Receiver) show(ctx context.Context, p *push, now time.Time) error {
	switch _, err := r.Registry.Registered(ctx, p.who); {
	case errors.Is(err, registry.ErrNotRegistered):
		if err := r.register(ctx, p, now); err != nil {
			return err
		}
	case err != nil:
		return err
	}
	if err := r.sessions(ctx, p, now); err != nil {
		return err
	}
	return r.subagents(ctx, p)
}

// sessions writes those of a push. Of one agent no more are shown than one push may have, however many names it has for them.
func (r *Receiver) sessions(ctx context.Context, p *push, now time.Time) error {
	fresh, err := r.Presence.Shown(ctx, p.who, now)
	if err != nil {
		return err
	}
	shown := map[string]bool{} // by the names of their records
	for _, s := range fresh {
		shown[address.Segment(string(s.SessionID))] = true
	}
	n := 0
	for raw := range canonjson.Elements(p.body.presence) {
		s, err := presence.Parse(raw)
		if err != nil || s.Instance.Canonical() != p.who || s.State == presence.Closed || s.State == presence.StateExpired || !nameable(string(s.SessionID)) {
			continue // entries that are not sessions, or not the signer's, are passed over
		}
		if n++; n > maxSessions {
			break
		}
		s.Instance = p.who
		if name := address.Segment(string(s.SessionID)); !shown[name] {
			if len(shown) >= maxSessions {
				continue
			}
			shown[name] = true
		}
		if err := r.session(ctx, s, now); err != nil {
			return err
		}
	}
	return nil
}

// nameable tells whether an id can stand where people read it, and become the name of a file.
func nameable(id string) bool {
	return len(id) <= maxText && address.Check(id) == nil && termsafe.Clean(id) == id
}

// errNotIts reports a key that has come to speak for another agent meanwhile.
var errNotIts = errors.New("the key speaks for another agent")

// register writes what is believed of a registration: who it is, in the one spelling in which names are compared, under which key, and
// how it wants to be called.
func (r *Receiver) register(ctx context.Context, p *push, now time.Time) error {
	r.first.Lock() // if two come at the same time with one key for no particular agent, the second one sees the first
	defer r.first.Unlock()
	switch reason, err := r.unbound(ctx, p); {
	case err != nil:
		return err
	case reason != "":
		return errNotIts
	}
	reg, err := registry.Parse(p.reg)
	if err != nil {
		return err
	}
	a := registry.Agent{
		Instance: p.who, Scopes: texts(reg.Scopes), PublicKeys: []string{p.key.PEM()}, Name: short(reg.Name), Workspace: workspaceOf(reg.Workspace),
	}
	raw := registry.Build(a, now)
	var ends []byte
	for _, e := range reg.Endpoints {
		if e.Kind == registry.Remote && len(ends) == 0 && nameable(e.URI) && remote.CheckURL(e.URI) == nil && leadsAway(e.URI) {
			var o canonjson.Object
			o.Str("kind", e.Kind)
			o.Str("uri", e.URI)
			ends = o.Bytes()
		}
	}
	raw = canonjson.Set(raw, "endpoints", append(append([]byte("["), ends...), ']')) // its files are on another machine
	raw = canonjson.Set(raw, "mirroredAt", canonjson.AppendString(nil, envelope.Stamp(now)))
	if err := r.Registry.Register(ctx, raw); err != nil && !errors.Is(err, registry.ErrRegistered) {
		return err
	}
	return nil
}

// leadsAway reports whether a URL names another machine. One that its agent reaches under a name of this kind would lead to a
// service of ours, or of the host of our machine, and replies to the agent would be posted there. What another name stands for
// is seen when it is connected to (see remote.Client).
func leadsAway(uri string) bool {
	u, err := url.Parse(uri)
	if err != nil {
		return false
	}
	host := strings.ToLower(strings.TrimRight(u.Hostname(), "."))
	if a, err := netip.ParseAddr(host); err == nil {
		return remote.LeadsAway(a)
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	return last != "" && last != "localhost" && (last[0] < '0' || last[0] > '9') // some read 127.1 and 0x7f000001 as addresses
}

// The longest text and list that are believed.
const (
	maxText = 256
	maxList = 32
)

// short is a text without what moves a cursor or hides something, nothing when it is too long.
func short(s string) string {
	if len(s) > maxText {
		return ""
	}
	return termsafe.Clean(s)
}

// texts leaves out what is too long, or would have to be cleaned: it is compared with others.
func texts(all []string) []string {
	kept := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == "" || len(s) > maxText || termsafe.Clean(s) != s })
	return kept[:min(len(kept), maxList)]
}

func workspaceOf(w *registry.Workspace) *registry.Workspace {
	if w == nil || len(w.ID)+len(w.Path)+len(w.Host)+len(w.Label)+len(w.Repo) > 4*maxText {
		return nil
	}
	for _, s := range []string{w.ID, w.Path, w.Host, w.Label, w.Repo} {
		if termsafe.Clean(s) != s {
			return nil
		}
	}
	return w
}

// session writes one as seen from here: it is there since its first push, and names no process and no pane.
func (r *Receiver) session(ctx context.Context, s *presence.Session, now time.Time) error {
	at := envelope.Stamp(now)
	interests := presence.Interests{Scopes: texts(s.Interests.Scopes), Negotiations: texts(s.Interests.Negotiations)}
	old, err := r.Presence.Get(ctx, s.SessionID)
	switch {
	case err == nil && old.MirroredAt == "":
		return nil // it lives here: what is said elsewhere of it does not count
	case err == nil && old.Instance.Canonical() == s.Instance.Canonical():
		name := short(s.Name)
		c := presence.Change{State: presence.Live, WorkStatus: &s.WorkStatus, Interests: &interests, Topics: texts(s.Topics), Name: &name, MirroredAt: at}
		if _, err = r.Presence.Patch(ctx, old, c, now); !errors.Is(err, presence.ErrClosed) {
			return err
		}
	case err == nil:
		return nil // another agent has the id
	case errors.As(err, new(*store.UnfitError)):
		return nil // it was broken; its owner is unknown
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	_, err = r.Presence.Open(ctx, presence.Start{
		SessionID: s.SessionID, Instance: s.Instance, Host: short(s.Host), Interests: interests, Topics: texts(s.Topics), WorkStatus: s.WorkStatus,
		Workspace: sessionWorkspace(s.Workspace), Name: short(s.Name), MirroredAt: at,
	}, now)
	if errors.Is(err, presence.ErrTaken) {
		return nil
	}
	return err
}

func sessionWorkspace(w *presence.Workspace) *presence.Workspace {
	if w == nil {
		return nil
	}
	if kept := workspaceOf(&registry.Workspace{ID: w.ID, Path: w.Path, Host: w.Host, Label: w.Label, Repo: w.Repo}); kept == nil {
		return nil
	}
	return w
}

// subagents writes those of the signer that are not known yet. Of what they may do nothing is believed.
func (r *Receiver) subagents(ctx context.Context, p *push) error {
	n, bound := 0, -1
	for raw := range canonjson.Elements(p.body.subagents) {
		b, err := registry.ParseBinding(raw)
		parent, name, ok := address.Instance(b.ID).Subagent()
		if err != nil || !ok || parent.Canonical() != p.who || address.Instance(b.Parent).Canonical() != p.who || name != b.Name ||
			strings.Contains(name, "~") || !nameable(b.ID) {
			continue
		}
		if n++; n > maxSubagents {
			return nil
		}
		if _, err := r.Registry.Bound(ctx, address.Instance(b.ID)); !errors.Is(err, registry.ErrNotBound) {
			if err != nil {
				return err
			}
			continue
		}
		if bound < 0 {
			if bound, err = r.bound(ctx, p.who); err != nil {
				return err
			}
		}
		if bound++; bound > maxSubagents {
			return nil // no push is ever to fill the log of all
		}
		created := b.CreatedAt
		if _, ok := envelope.ParseTime(created); !ok {
			created = envelope.Stamp(r.Now())
		}
		err = r.Registry.Bind(ctx, registry.Binding{ID: string(p.who) + "~" + name, Parent: string(p.who), Name: name, CreatedAt: created, Bounded: true})
		if err != nil && !errors.Is(err, registry.ErrBound) {
			return err
		}
	}
	return nil
}

// bound is how many subagents an agent has here.
func (r *Receiver) bound(ctx context.Context, who address.Instance) (n int, err error) {
	for b, err := range r.Registry.Bindings(ctx) {
		if err != nil {
			return 0, err
		}
		if address.Instance(b.Parent).Canonical() == who {
			n++
		}
	}
	return n, nil
}
