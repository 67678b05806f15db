package setup

import (
	"context"
	"slices"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/escalation"
	"tutti/internal/store"
)

// lookTime limits how long the bus is searched for one answer, so that a key press is never followed by a long wait. It takes 2 ms
// as a rule; a bus that is very large, or lies on a slow disk, is offered in part.
const lookTime = 500 * time.Millisecond

// maxMail is among how many messages, the newest, is looked.
const maxMail = 500

// maxRemark is the width of what stands beside a name.
const maxRemark = 60

// onBus offers names from the bus of the command line. A fault offers nothing.
func (k *completer) onBus(what kit.Source) {
	ctx, stop := context.WithTimeout(k.ctx, lookTime)
	defer stop()
	w, err := k.c.App.World(app.Reading)
	if err != nil {
		return
	}
	defer w.Close()
	switch what {
	case kit.Agents:
		k.list()
		k.agents(ctx, w, false)
	case kit.OwnAgents:
		k.agents(ctx, w, true)
	case kit.Messages:
		k.messages(ctx, w, false)
	case kit.Negotiations:
		k.negotiations(ctx, w)
	case kit.Matters:
		offerMatters(ctx, k, w)
	case kit.Threads:
		k.messages(ctx, w, true)
		if k.trace {
			k.messages(ctx, w, false)
			k.sent(ctx, w)
		}
	}
}

// list makes the last of several names, with commas between them, the one that is completed.
func (k *completer) list() {
	if k.verb != nil && k.verb.Name == "send" && k.waits == nil {
		if at := strings.LastIndexByte(k.last, ','); at >= 0 {
			k.prefix = k.last[:at+1]
		}
	}
}

// agents offers the live agents, then those that are registered. own: only those whose key is here.
func (k *completer) agents(ctx context.Context, w *app.World, own bool) {
	said := map[address.Instance]bool{}
	more := func(i address.Instance, remark string) bool {
		if one := i.Canonical(); !said[one] && k.fits(string(i)) && (!own || w.Ring.Has(i)) {
			said[one] = true
			k.say(string(i), kit.Truncate(kit.Clean(remark), maxRemark))
		}
		return len(said) < maxOffered && ctx.Err() == nil
	}
	now := time.Now()
	live, _ := w.Presence.Fresh(ctx, now) // what cannot be read is not offered
	for _, s := range live {
		if !more(s.Instance, strings.TrimSpace("live "+s.Name)) {
			return
		}
	}
	if typed := k.typed(); strings.Count(typed, ":") > 1 { // then the registry need not be read
		all, _ := w.Registry.Channel(ctx, address.Instance(typed).Channel())
		for _, i := range all {
			if !more(i, "") {
				return
			}
		}
		return
	}
	for reg, err := range w.Registry.All(ctx) {
		if err == nil && !more(reg.Instance, reg.Name) || ctx.Err() != nil {
			return
		}
	}
}

// messages offers the ids of the reader's newest mail, or their threads and those of what the reader sent.
func (k *completer) messages(ctx context.Context, w *app.World, threads bool) {
	who, err := k.reader(ctx, w)
	if err != nil {
		return
	}
	said := map[string]bool{}
	more := func(id string, whose address.Instance, s *envelope.Summary) bool {
		if !said[id] && k.fits(id) && !slices.Contains(k.args, id) {
			said[id] = true
			k.say(id, kit.Truncate(kit.Name(whose)+kit.Clean(": "+fast.FirstLine(s.Preview, "")), maxRemark))
		}
		return len(said) < maxOffered
	}
	found, _, err := w.Mail.List(ctx, who, mailbox.Query{Newest: maxMail, Brief: true})
	if err != nil {
		return
	}
	for _, m := range found {
		id := m.ID
		if threads {
			id = m.Summary.ThreadID
		}
		if !more(id, m.Summary.Actor.Instance, &m.Summary) {
			return
		}
	}
	if !threads {
		return
	}
	for row, err := range store.ViewOf(ctx, w.Store, store.Outbox, who.Mailbox(), w.Mail.Projection, store.Query{Newest: maxMail}) {
		if err != nil {
			continue // what cannot be read is not offered
		}
		if s, err := envelope.Decode(row.Summary); err == nil && !more(s.ThreadID, "to "+s.Target, &s) {
			return
		}
	}
}

// sent offers the messages that the reader sent.
func (k *completer) sent(ctx context.Context, w *app.World) {
	who, err := k.reader(ctx, w)
	if err != nil {
		return
	}
	var m envelope.Summary
	said := 0
	for row, err := range store.ViewOf(ctx, w.Store, store.Outbox, who.Mailbox(), w.Mail.Projection, store.Query{Newest: maxMail, Bare: true}) {
		if err != nil || m.Decode(row.Summary) != nil || !k.fits(m.ID) {
			continue
		}
		if said++; said > maxOffered {
			return
		}
		k.say(m.ID, kit.Truncate(kit.Clean("to "+string(m.Target)+": "+fast.FirstLine(m.Preview, "")), maxRemark))
	}
}

// reader returns the agent whose mail the typed flags, or the place, select.
func (k *completer) reader(ctx context.Context, w *app.World) (address.Instance, error) {
	if k.who != "" {
		if k.under == kit.H2A {
			return address.Instance(k.who), nil
		}
		return w.Identity.Meant(ctx, address.Instance(k.who))
	}
	s, err := w.Identity.Reader(ctx, kit.FactsOf(k.c.App), identity.Ask{Peek: true}, time.Now())
	if err != nil {
		return "", err
	}
	return s.Instance, nil
}

// fits tells whether a name of the bus can become the last word, and may be put into a command line as it is.
func (k *completer) fits(name string) bool {
	return strings.HasPrefix(name, k.typed()) && harmless(name)
}

// typed is what there is of the word that is completed.
func (k *completer) typed() string { return strings.TrimPrefix(k.last, k.prefix) }

// harmless tells whether a shell takes a word as it is. Anybody who can write to the bus can choose names, and bash puts what
// is offered into the line without quotes: a name that holds anything else is not offered, however rare that is.
func harmless(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '.':
		case (c == ':' || c == '~' || c == '-' || c == '+') && i > 0:
		default:
			return false
		}
	}
	return name != "" && len(name) <= maxWord
}

// maxWord is the longest word that is offered: ids of our making are much shorter, and a longer one is more than a line.
const maxWord = 200

// negotiations offers the negotiations of the bus; where another word follows, it is a file. What stands in a record was written
// by anybody: only a name that is printable is offered.
func (k *completer) negotiations(ctx context.Context, w *app.World) {
	if len(k.args) > 0 && k.waits == nil {
		k.source(kit.Files)
		return
	}
	said := 0
	for e, err := range w.Store.List(ctx, store.Negotiation, "") {
		if ctx.Err() != nil || said == maxOffered {
			return
		}
		if err != nil {
			continue
		}
		doc, err := w.Store.Get(ctx, e.Key)
		if err != nil {
			continue
		}
		var v [3][]byte
		canonjson.Pick(doc.Data, []string{"id", "status", "subject"}, v[:])
		id, _ := canonjson.String(v[0])
		status, _ := canonjson.String(v[1])
		subject, _ := canonjson.String(v[2])
		if id != "" && kit.Clean(id) == id && k.fits(id) {
			k.say(id, kit.Truncate(kit.Clean(status+" "+subject), maxRemark))
			said++
		}
	}
}

// offerMatters offers the open escalations.
func offerMatters(ctx context.Context, k *completer, w *app.World) {
	all, _, err := full.Agreements(w).Matters().All(ctx)
	if err != nil {
		return
	}
	now := time.Now()
	for _, m := range all {
		if m.State(now) == escalation.Open && k.fits(m.ID) {
			k.say(m.ID, kit.Truncate(kit.Clean(m.About()), maxRemark))
		}
	}
}
