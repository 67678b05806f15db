package mailbox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

// A Source is one folder that an instance reads mail from.
type Source struct {
	Owner   string // part of keys in the store
	Trail   string // name of the trail in which claims on its mail stand
	Channel bool   // read only because no other agent is there to
}

// Sources returns the folders that make up the mailbox of an instance, in the order in which they are asked: that of its
// canonical address, that of the address as it is spelled (older programs put mail there), then the same two for each alias
// that it owns. Mail is only ever put into the first.
//
// The agent whose name it is owns an alias; if there is none, the instance that claimed it first does, whether it is alive or
// not: existing programs know only the second half. Mail for a channel would thus wait for ever if its owner never returns, or
// if it was never claimed. So a live instance also reads the channel of its own host and label as long as no owner of that is
// live: those are the last ones. The claims are in the trail of the channel, so an owner that returns is not offered messages
// that another agent has taken.
func (m *Mailbox) Sources(ctx context.Context, inst address.Instance) ([]Source, error) {
	return m.sources(ctx, inst, true)
}

// sources is Sources, with the folders of the channel or without.
func (m *Mailbox) sources(ctx context.Context, inst address.Instance, channelled bool) ([]Source, error) {
	if err := address.Check(string(inst)); err != nil {
		return nil, fmt.Errorf("read mailbox: %w", err)
	}
	out := appendSource(nil, string(inst), false)
	mine, err := m.claims(ctx, byInstance+string(inst.Canonical()))
	if err != nil {
		return nil, err
	}
	if inst.Perennial() {
		named, err := m.claims(ctx, byChannel+inst.Channel())
		if err != nil {
			return nil, err
		}
		mine = append(mine, named...)
	}
	for _, c := range mine {
		owner, err := m.owner(ctx, c.legacy)
		if err != nil {
			return nil, err
		}
		if owner == inst.Canonical() {
			out = appendSource(out, c.legacy, false)
		}
	}
	if !channelled {
		return out, nil
	}
	channel, err := m.channel(ctx, inst)
	if err != nil {
		return nil, err
	}
	if m.once != nil && len(channel) > 0 {
		m.once.channel = true
	}
	for _, spelling := range channel {
		out = appendSource(out, spelling, true)
	}
	return out, nil
}

// appendSource adds the two folders of an address, unless they are there.
func appendSource(out []Source, addr string, channel bool) []Source {
	trail := address.Mailbox(addr)
	for _, owner := range []string{trail, address.Segment(addr)} {
		known := slices.ContainsFunc(out, func(s Source) bool { return s.Owner == owner })
		if !known && (store.Key{Kind: store.Inbox, Owner: owner, Name: "any"}).Check() == nil {
			out = append(out, Source{Owner: owner, Trail: trail, Channel: channel})
		}
	}
	return out
}

// channel returns the spellings of the instance's channel if it may read it: it is live and no owner of any spelling is.
func (m *Mailbox) channel(ctx context.Context, inst address.Instance) ([]string, error) {
	name := inst.Channel()
	if m.Live == nil || !inst.Perennial() {
		return nil, nil
	}
	if live, err := m.Live(ctx, inst); err != nil || !live {
		return nil, err
	}
	claims, err := m.claims(ctx, byChannel+name)
	if err != nil {
		return nil, err
	}
	spellings := []string{name}
	for _, c := range claims {
		if slices.Contains(spellings[1:], c.legacy) {
			continue
		}
		spellings = append(spellings, c.legacy)
		owner, err := m.owner(ctx, c.legacy)
		if err != nil {
			return nil, err
		}
		if owner == inst.Canonical() {
			continue
		}
		if live, err := m.Live(ctx, owner); err != nil || live {
			return nil, err
		}
	}
	return spellings, nil
}

// lying is Sources without the empty folders of the channel, which are nearly always all of them. Then there is no need to find
// out which agents are live, which is half the work of a list that is empty.
func (m *Mailbox) lying(ctx context.Context, inst address.Instance) ([]Source, error) {
	if there, err := m.inChannel(ctx, inst); err != nil || there {
		return m.sources(ctx, inst, true)
	}
	return m.sources(ctx, inst, false)
}

// inChannel reports whether a folder of an instance's channel has any message.
func (m *Mailbox) inChannel(ctx context.Context, inst address.Instance) (bool, error) {
	if m.Live == nil || !inst.Perennial() || address.Check(string(inst)) != nil {
		return false, nil
	}
	name := inst.Channel()
	claims, err := m.claims(ctx, byChannel+name)
	if err != nil {
		return false, err
	}
	folders := appendSource(nil, name, true)
	for _, c := range claims {
		folders = appendSource(folders, c.legacy, true)
	}
	for _, f := range folders {
		for _, err := range store.ViewOf(ctx, m.s, store.Inbox, f.Owner, m.Projection, store.Query{Oldest: 1, Bare: true}) {
			if err != nil && !store.IsUnfit(err) {
				return false, err
			}
			return true, nil
		}
	}
	return false, nil
}

// A claim is one line of the log of aliases.
type claim struct {
	instance address.Instance // canonical
	legacy   string           // as it is spelled
	at       string
}

// Prefixes of the keys under which a line of the log of aliases is found.
const (
	byInstance = "i:" // canonical address of the claimant
	byChannel  = "c:" // canonical form of the alias
)

var aliasLog = store.Key{Kind: store.Aliases}

var aliasProjection = store.Projection{Name: "alias", Version: 3, Make: func(line []byte, _ time.Time) ([]string, int64, []byte, error) {
	c, err := parseClaim(line)
	if err != nil {
		return nil, 0, nil, err
	}
	return []string{byInstance + string(c.instance), byChannel + address.Canonical(c.legacy)}, 0, nil, nil
}}

func parseClaim(line []byte) (claim, error) {
	var v [3][]byte
	canonjson.Pick(line, []string{"instance", "legacyInstance", "at"}, v[:])
	inst, ok1 := canonjson.String(v[0])
	legacy, ok2 := canonjson.String(v[1])
	at, ok3 := canonjson.String(v[2])
	if !ok1 || !ok2 || !ok3 || inst == "" || address.Check(legacy) != nil {
		return claim{}, fmt.Errorf("is not an alias")
	}
	if whose, _, _ := strings.Cut(legacy, "~"); address.Instance(whose).Perennial() {
		return claim{}, fmt.Errorf("gives away the mailbox of an agent")
	}
	return claim{address.Instance(address.Canonical(inst)), legacy, at}, nil
}

// aliases is the log of aliases as it was read once.
type aliases struct {
	read    bool
	all     []claim
	channel bool // a channel was read as well
}

func (a *aliases) load(ctx context.Context, s Store) error {
	for line, err := range s.Read(ctx, aliasLog, "") {
		if err != nil && !store.IsUnfit(err) {
			return fmt.Errorf("read aliases: %w", err)
		}
		if c, bad := parseClaim(line.Data); err == nil && bad == nil {
			a.all = append(a.all, c)
		}
	}
	a.read = true
	return nil
}

// claims returns the lines with a key, oldest first.
func (m *Mailbox) claims(ctx context.Context, key string) ([]claim, error) {
	if a := m.once; a != nil {
		if !a.read {
			if err := a.load(ctx, m.s); err != nil {
				return nil, err
			}
		}
		var out []claim
		for _, c := range a.all {
			if key == byInstance+string(c.instance) || key == byChannel+address.Canonical(c.legacy) {
				out = append(out, c)
			}
		}
		return out, nil
	}
	var out []claim
	for line, err := range store.FindIn(ctx, m.s, aliasLog, &aliasProjection, key) {
		if err != nil {
			return nil, fmt.Errorf("read aliases: %w", err)
		}
		if c, err := parseClaim(line.Data); err == nil {
			out = append(out, c)
		}
	}
	return out, nil
}

// Aliases returns the aliases that an instance has ever claimed, even if another agent reads their mail now.
func (m *Mailbox) Aliases(ctx context.Context, inst address.Instance) (all []string, err error) {
	mine, err := m.claims(ctx, byInstance+string(inst.Canonical()))
	for _, c := range mine {
		all = append(all, c.legacy)
	}
	return all, err
}

// Claimed reports whether an address is a claimed alias, in any spelling.
func (m *Mailbox) Claimed(ctx context.Context, alias address.Instance) (bool, error) {
	owner, err := m.Owner(ctx, alias)
	return owner != "", err
}

// Owner returns the agent that reads the mail of a channel whether it is live or not, "" where there is none.
func (m *Mailbox) Owner(ctx context.Context, channel address.Instance) (address.Instance, error) {
	all, err := m.claims(ctx, byChannel+string(channel.Canonical()))
	return ownerOf(all, string(channel.Canonical())), err
}

// owner returns whose an alias is as it is spelled.
func (m *Mailbox) owner(ctx context.Context, legacy string) (address.Instance, error) {
	channel := address.Canonical(legacy)
	all, err := m.claims(ctx, byChannel+channel)
	if err != nil {
		return "", err
	}
	spelled := slices.DeleteFunc(all, func(c claim) bool { return c.legacy != legacy && !c.called(channel) })
	return ownerOf(spelled, channel), nil
}

// called tells whether the agent of a claim is called so, and does not only work in a folder of that name.
func (c *claim) called(channel string) bool {
	return c.instance.Perennial() && c.instance.Channel() == channel
}

// ownerOf returns whose a channel is by its claims: the agent that is called so, else who claimed it. Of several it is the one with
// the smallest time as a string, of equal ones the first line.
func ownerOf(all []claim, channel string) address.Instance {
	if slices.ContainsFunc(all, func(c claim) bool { return c.called(channel) }) {
		all = slices.DeleteFunc(all, func(c claim) bool { return !c.called(channel) })
	}
	if len(all) == 0 {
		return ""
	}
	return slices.MinFunc(all, func(a, b claim) int { return cmp.Compare(a.at, b.at) }).instance
}
