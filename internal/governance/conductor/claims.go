package conductor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/platform/proc"
	"tutti/internal/store"
)

var claims = store.Key{Kind: store.ConductorClaims}

// The events of the log.
const (
	claimed  = "claim"
	released = "release"
)

// An event is one line of the log of claims.
type event struct {
	what      string
	workspace string
	instance  address.Instance
	at        string
	session   address.SessionID // that it is tied to; "": to nothing
	agent     proc.ID           // the agent program of that session; zero: not known
	signature *signature.Object
	raw       []byte
	turn      turn
}

// A turn is the order of claims. The time in a line is the claim of its writer. That a line comes after another one is not: so
// a claim does not count from before the tied ones that are in the log before it, whatever its time is. These are always
// written with a time behind those that stand. Among others the time decides, as in existing programs.
type turn struct {
	from  string
	place int // in the log, among what was read
}

func (t turn) compare(o turn) int {
	return cmp.Or(strings.Compare(t.from, o.from), cmp.Compare(t.place, o.place))
}

// tied tells whether a claim says for which session it was made. Such a claim has the time from which it counts; of others, which
// existing programs write, the first one of a row does.
func (e *event) tied() bool { return e.session != "" }

// What the index keys of a line begin with.
const (
	byWorkspace = "ws:"
	byInstance  = "in:"
)

// rows makes the rows of the log of claims.
var rows = &store.Projection{
	Name: "claims", Version: 1,
	Make: func(line []byte, _ time.Time) ([]string, int64, []byte, error) {
		e, err := parse(line)
		if err != nil {
			return nil, 0, nil, err
		}
		return []string{byWorkspace + address.Canonical(e.workspace), byInstance + string(e.instance.Canonical())}, 0, nil, nil
	},
}

func parse(raw []byte) (event, error) {
	var v [7][]byte
	if !canonjson.Pick(raw, []string{"type", "workspaceId", "instance", "at", "sessionId", "agent", "signature"}, v[:]) {
		return event{}, errors.New("is not a JSON object")
	}
	var t [5]string
	for n := range t {
		t[n], _ = canonjson.String(v[n])
	}
	e := event{what: t[0], workspace: t[1], instance: address.Instance(t[2]), at: t[3], session: address.SessionID(t[4]), raw: raw}
	if e.what != claimed && e.what != released || e.workspace == "" || e.instance == "" {
		return e, errors.New("is neither a claim nor a release")
	}
	e.agent = agentOf(v[5])
	if v[6] != nil {
		e.signature = signatureOf(v[6])
	}
	return e, nil
}

func agentOf(raw []byte) proc.ID {
	var v [3][]byte
	canonjson.Pick(raw, []string{"pid", "start", "boot"}, v[:])
	pid, ok := canonjson.Int(v[0])
	start, okStart := canonjson.Int(v[1])
	boot, okBoot := canonjson.String(v[2])
	if !ok || !okStart || !okBoot || pid <= 1 || start < 0 || boot == "" {
		return proc.ID{}
	}
	return proc.ID{PID: int(pid), Start: uint64(start), Boot: boot}
}

// signatureOf reads a signature. A broken one is valid for no agent.
func signatureOf(raw []byte) *signature.Object {
	var v [3][]byte
	canonjson.Pick(raw, []string{"by", "alg", "value"}, v[:])
	var o signature.Object
	for n, to := range []*string{&o.By, &o.Alg, &o.Value} {
		*to, _ = canonjson.String(v[n])
	}
	return &o
}

// A Claim is one that stands.
type Claim struct {
	Instance address.Instance // as its line spells it
	Since    string
	Session  address.SessionID // that it is tied to; "": it counts wherever its instance is there
	Agent    proc.ID           // that it is tied to as well: who serves an agent may change
	Signed   bool

	workspace string // as its line spells it
	turn      turn
}

// tiedTo tells whether a claim counts while that session is there.
func (c *Claim) tiedTo(s *presence.Session) bool {
	if s.Instance.Canonical() != c.Instance.Canonical() {
		return false
	}
	if c.Session == "" || c.Session == s.SessionID {
		return true
	}
	agent, ok := s.Agent()
	return ok && c.Agent.PID > 1 && agent == c.Agent
}

// fold goes through the events of one instance in the order of their times, of equal ones in that of the log. Of those with a signature the
// last one for which holds says so counts, and ends what was before it: the others never held, or were overtaken. What is not signed
// counts until there is a signed claim, and after its signed release.
func fold(events []event, holds func(*event) bool) (c Claim, stands bool) {
	from := lastSigned(events, holds)
	for n := max(from, 0); n < len(events); n++ {
		e := &events[n]
		if n != from && (e.signature != nil || stands && c.Signed) {
			continue
		}
		if e.what == released {
			stands = false
			continue
		}
		if !stands || e.tied() {
			c.Since, c.turn = e.at, e.turn
		}
		stands, c.Instance, c.Session, c.Agent, c.Signed, c.workspace = true, e.instance, e.session, e.agent, e.signature != nil, e.workspace
	}
	return c, stands
}

// maxSignatures is how many signatures in the name of one instance are looked at, the newest: each takes some 50 µs.
const maxSignatures = 256

// lastSigned finds the last event whose signature holds, -1 when there is none.
func lastSigned(events []event, holds func(*event) bool) int {
	left := maxSignatures
	for n := len(events) - 1; n >= 0 && left > 0; n-- {
		if events[n].signature == nil {
			continue
		}
		if holds(&events[n]) {
			return n
		}
		left--
	}
	return -1
}

// claims returns the claims that stand and hold, of those who are there, the oldest first.
func (d *Service) claims(ctx context.Context, r *Resolution) ([]Claim, error) {
	live := map[address.Instance]bool{}
	for _, c := range r.Candidates {
		live[c.Instance.Canonical()] = true
	}
	all, err := d.standing(ctx, r.place.IDs, func(who address.Instance) bool { return live[who] })
	return slices.DeleteFunc(all, func(c Claim) bool { return !r.holds(&c) }), err
}

// Standing returns all claims that stand on a workspace, also those of agents that are not there, the oldest first.
func (d *Service) Standing(ctx context.Context, workspace string) ([]Claim, error) {
	return d.standing(ctx, []string{address.Canonical(workspace)}, func(address.Instance) bool { return true })
}

// standing are the claims that stand of some instances. Signatures are verified.
func (d *Service) standing(ctx context.Context, ids []string, of func(address.Instance) bool) ([]Claim, error) {
	events, whose, err := d.events(ctx, ids)
	if err != nil {
		return nil, err
	}
	v := &verifier{d: d, ctx: ctx}
	var all []Claim
	for _, who := range whose {
		if !of(who) {
			continue
		}
		if c, stands := fold(events[who], v.all); stands {
			all = append(all, c)
		}
		if v.err != nil {
			return nil, v.err
		}
	}
	sortClaims(all)
	return all, nil
}

func sortClaims(all []Claim) {
	slices.SortStableFunc(all, func(a, b Claim) int { return a.turn.compare(b.turn) })
}

// events reads what was written about a workspace, by instance, in the order in which these came.
func (d *Service) events(ctx context.Context, ids []string) (of map[address.Instance][]event, whose []address.Instance, err error) {
	written, err := d.written(ctx, ids)
	if err != nil {
		return nil, nil, fmt.Errorf("read the claims: %w", err)
	}
	of = map[address.Instance][]event{}
	from := ""
	for n, e := range written {
		e.turn = turn{max(e.at, from), n}
		if e.what == claimed && e.tied() {
			from = e.turn.from
		}
		who := e.instance.Canonical()
		if of[who] == nil {
			whose = append(whose, who)
		}
		of[who] = append(of[who], e)
	}
	for _, all := range of {
		slices.SortStableFunc(all, func(a, b event) int { return strings.Compare(a.at, b.at) })
	}
	return of, whose, nil
}

// written is what was written about a workspace, in the order of the log. The index knows that order for one id: where there are lines
// under several, the log is gone through.
func (d *Service) written(ctx context.Context, ids []string) (all []event, err error) {
	several := 0
	for _, id := range ids {
		before := len(all)
		if all, err = about(all, store.FindIn(ctx, d.Log, claims, rows, byWorkspace+id), ids); err != nil {
			return nil, err
		}
		if len(all) > before {
			several++
		}
	}
	if several < 2 {
		return all, nil
	}
	return about(nil, d.Log.Read(ctx, claims, ""), ids)
}

// about adds those of some lines that are events of a workspace and have a place in time.
func about(all []event, lines iter.Seq2[store.Line, error], ids []string) ([]event, error) {
	for line, err := range lines {
		if store.IsUnfit(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		e, err := parse(line.Data)
		if err != nil || !slices.Contains(ids, address.Canonical(e.workspace)) {
			continue
		}
		if _, isTime := envelope.ParseTime(e.at); !isTime {
			continue // it has no place among the others
		}
		e.raw = slices.Clone(e.raw)
		all = append(all, e)
	}
	return all, nil
}

// A verifier judges signatures with the keys that their instances have now. What keeps it from doing so is kept.
type verifier struct {
	d    *Service
	ctx  context.Context
	keys map[address.Instance][]signature.Public
	err  error
}

// taken takes a signature as it is.
func taken(*event) bool { return true }

func (v *verifier) all(e *event) bool {
	if v.err != nil || address.Instance(e.signature.By).Canonical() != e.instance.Canonical() {
		return false
	}
	active := v.active(e.instance)
	message, err := canonjson.CanonicalWithout(e.raw, "signature")
	return err == nil && slices.ContainsFunc(active, func(k signature.Public) bool { return e.signature.Verify(message, k) })
}

// active are the keys that an instance signs with now; none where it is not registered.
func (v *verifier) active(i address.Instance) []signature.Public {
	who := i.Canonical()
	if active, known := v.keys[who]; known {
		return active
	}
	keys, err := v.d.Registry.Keys(v.ctx, i)
	if err != nil {
		v.err = err
		return nil
	}
	if v.keys == nil {
		v.keys = map[address.Instance][]signature.Public{}
	}
	v.keys[who] = keys.Active
	return keys.Active
}

// retired says that an instance was taken out of service, which is not the same as an ended session.
func (d *Service) retired(ctx context.Context, i address.Instance) (bool, error) {
	err := d.Registry.Standing(ctx, i)
	if errors.Is(err, registry.ErrGone) {
		return true, nil
	}
	return false, err
}
