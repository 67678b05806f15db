package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/subagent"
)

// about is whom a verb is about: its argument, under h2a a flag.
func (c *Call) about(ctx context.Context, w *app.World, flag string) (address.Instance, error) {
	i := c.arg(0)
	if c.under == H2A {
		i = c.value(flag)
	}
	if i == "" {
		if c.under == H2A {
			return "", c.missing(flag)
		}
		return "", usageHint("usage: "+c.usage(), "%s: which one?", c.Verb.Name)
	}
	return c.checked(ctx, w, i)
}

// subagentFault gives what the rules of subagents refuse its exit status.
func (c *Call) subagentFault(err error) error {
	rule, ok := errors.AsType[*subagent.RuleError](err)
	switch {
	case ok && rule.State():
		return &fault{code: exitState, err: err, hint: rule.Hint()}
	case ok, errors.Is(err, subagent.ErrDeep):
		return &fault{code: exitUsage, err: err, hint: hintOf(err)}
	}
	return c.registryFault(err)
}

// runSpawn binds a subagent.
func runSpawn(ctx context.Context, c *Call) error {
	name := c.arg(0)
	if c.under == H2A {
		switch name = c.value("name"); {
		case c.value("parent") == "":
			return c.missing("parent")
		case !c.isSet("name"):
			return c.missing("name")
		}
	}
	w, err := c.world(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	s := subagent.Spawn{Name: name}
	if parent := c.value("parent"); parent != "" {
		s.Parent, err = c.checked(ctx, w, parent)
	} else {
		var who *identity.Speaker
		if who, err = c.peek(ctx, w); err == nil {
			s.Parent = who.Instance
		}
	}
	if err != nil {
		return withFlag(whose(err), "--parent")
	}
	if c.isSet("capabilities") {
		s.Bounded, s.Capabilities = true, split(c.value("capabilities"))
	}
	b, err := (&subagent.Agents{Registry: w.Registry}).Spawn(ctx, s, time.Now())
	if err != nil {
		return c.subagentFault(err)
	}
	if c.json {
		var o canonjson.Object
		o.Bool("ok", true)
		o.Str("id", b.ID)
		o.Str("parentInstance", b.Parent)
		o.Str("root", w.Root.Path)
		c.emit(o.Bytes())
		return nil
	}
	c.printf("bound: %s\n", Clean(b.ID))
	return nil
}

// runSubagents lists subagents.
func runSubagents(ctx context.Context, c *Call) error {
	w, err := c.reads()
	if err != nil || w == nil {
		return c.empty(err)
	}
	defer w.Close()
	rows, err := (&subagent.Agents{Registry: w.Registry}).List(ctx, address.Instance(c.value("parent")))
	if err != nil {
		return err
	}
	if c.json {
		var l list
		for _, r := range rows {
			l.raw(canonjson.Set(canonjson.Compact(r.Raw), "status", canonjson.AppendString(nil, r.Status)))
		}
		c.emit(l.bytes())
		return nil
	}
	if len(rows) == 0 {
		c.nothing("no subagent")
		return nil
	}
	var table [][]string
	for _, r := range rows {
		may := "all that its parent may"
		if r.Bounded {
			may = strings.Join(append([]string{"only:"}, r.Capabilities...), " ")
		}
		table = append(table, []string{r.ID, r.Status, may})
	}
	c.table(table)
	return nil
}

// runRoute puts an envelope into a box of a subagent and records it.
func runRoute(ctx context.Context, c *Call) error {
	if c.value("to") == "" {
		return c.missing("to")
	}
	box := c.value("mailbox")
	switch box {
	case "":
		box = "inbox"
	case "inbox", "outbox":
	default:
		return usagef("--mailbox: inbox or outbox, not %s", Clean(box))
	}
	raw, signed, err := c.given(ctx)
	if err != nil {
		return err
	}
	d, err := c.named(app.Writing, c.value("to"))
	if err != nil {
		return err
	}
	defer d.Close()
	subs := subagent.Agents{Registry: d.Registry}
	if _, err := subs.May(ctx, d.who.Instance); err != nil {
		return c.subagentFault(err)
	}
	raw, _, err = c.complete(ctx, d, raw, signed)
	if err != nil {
		return err
	}
	e, err := envelope.Parse(raw)
	if err != nil {
		return err
	}
	if box == "outbox" {
		err = d.Mail.PutOutbox(ctx, d.who.Instance, raw)
	} else {
		l := mail.Draft{From: &identity.Speaker{}, To: d.who.Instance, Raw: raw, Exact: true, Deposit: true, Unsigned: true}
		_, err = d.office.Send(ctx, l)
	}
	if err != nil {
		return taken(err)
	}
	if err := subs.Routed(ctx, d.who.Instance, e.ID, box, d.now); err != nil {
		return err
	}
	var o canonjson.Object
	o.Bool("ok", true)
	o.Str("id", e.ID)
	o.Str("to", string(d.who.Instance))
	o.Str("mailbox", box)
	c.emit(o.Bytes())
	return nil
}

// runSubagentInbox lists what lies in the boxes of the subagents of one agent.
func runSubagentInbox(ctx context.Context, c *Call) error {
	if c.value("parent") == "" {
		return c.missing("parent")
	}
	w, err := c.reads()
	if err != nil || w == nil {
		return c.empty(err)
	}
	defer w.Close()
	rows, err := (&subagent.Agents{Registry: w.Registry}).List(ctx, address.Instance(c.value("parent")))
	if err != nil {
		return err
	}
	all := c.array()
	for _, r := range rows {
		found, _, err := w.Mail.Read(ctx, address.Instance(r.ID))
		if err != nil {
			return err
		}
		var o canonjson.Object
		o.Str("subagent", r.ID)
		o.Raw("envelopes", envelopes(found))
		if err := all.add(o.Bytes()); err != nil {
			return err
		}
	}
	all.end()
	return nil
}

func envelopes(all []*mailbox.Message) []byte {
	var l list
	for _, m := range all {
		l.raw(canonjson.Compact(m.Envelope.Raw))
	}
	return l.bytes()
}

// runSubagentAudit shows what became of one subagent, or of all below an agent.
func runSubagentAudit(ctx context.Context, c *Call) error {
	i := c.arg(0)
	if c.under == H2A {
		i = c.value("id")
	}
	parent := c.value("parent")
	if i == "" && parent == "" {
		if c.under == H2A {
			return c.missing("id")
		}
		return usageHint("usage: "+c.usage(), "%s: which one?", c.Verb.Name)
	}
	w, err := c.reads()
	if err != nil || w == nil {
		return c.empty(err)
	}
	defer w.Close()
	below := i == ""
	if below {
		i = parent
	}
	lines, err := (&subagent.Agents{Registry: w.Registry}).Audit(ctx, address.Instance(i), below)
	if err != nil {
		return err
	}
	if c.json {
		var l list
		for _, a := range lines {
			l.raw(canonjson.Compact(a.Raw))
		}
		c.emit(l.bytes())
		return nil
	}
	if len(lines) == 0 {
		c.nothing("nothing is on record of " + Clean(i))
		return nil
	}
	var table [][]string
	for _, a := range lines {
		what := a.Reason
		if a.Type == registry.SubRouted {
			what = a.Envelope + " into its " + a.Mailbox
		}
		table = append(table, []string{a.At, a.Subagent, a.Type, what})
	}
	c.table(table)
	return nil
}

// runSubagentRevoke takes a subagent out of service.
func runSubagentRevoke(ctx context.Context, c *Call) error {
	w, err := c.world(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	who, err := c.about(ctx, w, "id")
	if err != nil {
		return err
	}
	revoked, err := (&subagent.Agents{Registry: w.Registry}).Revoke(ctx, who, c.value("reason"), time.Now())
	if err != nil {
		return c.subagentFault(err)
	}
	if c.json {
		var o canonjson.Object
		o.Bool("ok", true)
		o.Str("id", string(who))
		o.Str("status", subagent.Revoked)
		o.Opt("reason", c.value("reason"))
		o.Strs("revokedSubagents", revoked)
		c.emit(o.Bytes())
		return nil
	}
	for _, id := range revoked {
		c.line("revoked: " + Clean(id))
	}
	return nil
}
