package govern

import (
	"cmp"
	"context"
	"encoding/json"
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
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/subagent"
)

// A spawned is what --json says of a new subagent.
type spawned struct {
	OK     bool   `json:"ok"`
	ID     string `json:"id"`
	Parent string `json:"parentInstance"`
	Root   string `json:"root"` // the bus
}

// A routed is an envelope that was put into a mailbox of a subagent.
type routed struct {
	OK      bool   `json:"ok"`
	ID      string `json:"id"` // of the envelope
	To      string `json:"to"`
	Mailbox string `json:"mailbox"` // inbox or outbox
}

// A subagentMail is the mail of one subagent.
type subagentMail struct {
	Subagent  string            `json:"subagent"`
	Envelopes []json.RawMessage `json:"envelopes"` // as they are stored
}

// A revocation is what --json says of a subagent that was taken out of service.
type revocation struct {
	OK      bool     `json:"ok"`
	ID      string   `json:"id"`
	Status  string   `json:"status"` // revoked
	Reason  string   `json:"reason,omitempty"`
	Revoked []string `json:"revokedSubagents"` // with all below it
}

// about returns the agent that a verb is about: its argument, under h2a a flag.
func about(ctx context.Context, c *kit.Call, w *app.World, flag *string) (address.Instance, error) {
	i := c.Arg(0)
	if c.Under == kit.H2A {
		i = *flag
	}
	if i == "" {
		if c.Under == kit.H2A {
			return "", c.Missing(flag)
		}
		return "", kit.UsageHint("usage: "+c.Usage(), "%s: missing <instance>", c.Verb.Name)
	}
	return c.Checked(ctx, w, i)
}

// subagentFault gives a refusal by the rules of subagents its exit status.
func subagentFault(c *kit.Call, err error) error {
	rule, ok := errors.AsType[*subagent.RuleError](err)
	switch {
	case ok && rule.State():
		return &kit.Fault{Code: kit.ExitState, Err: err, Next: rule.Hint()}
	case ok, errors.Is(err, subagent.ErrDeep):
		return &kit.Fault{Code: kit.ExitUsage, Err: err, Next: kit.HintOf(err)}
	}
	return c.RegistryFault(err)
}

type spawnOptions struct{ Parent, Capabilities string }

func runSpawn(ctx context.Context, c *kit.Call, opt *spawnOptions) error {
	return spawn(ctx, c, opt, c.Arg(0))
}

type registerOptions struct {
	spawnOptions
	Name string
}

func runSubagentRegister(ctx context.Context, c *kit.Call, opt *registerOptions) error {
	switch {
	case opt.Parent == "":
		return c.Missing(&opt.Parent)
	case !c.IsSet(&opt.Name):
		return c.Missing(&opt.Name)
	}
	return spawn(ctx, c, &opt.spawnOptions, opt.Name)
}

// spawn binds a subagent.
func spawn(ctx context.Context, c *kit.Call, opt *spawnOptions, name string) error {
	w, err := c.World(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	s := subagent.Spawn{Name: name}
	if opt.Parent != "" {
		if s.Parent, err = c.Checked(ctx, w, opt.Parent); err == nil {
			err = c.InName(ctx, w, s.Parent)
		}
	} else {
		var who *identity.Speaker
		if who, err = c.Peek(ctx, w, ""); err == nil {
			s.Parent = who.Instance
		}
	}
	if err != nil {
		return kit.WithFlag(kit.Whose(err), "--parent")
	}
	if c.IsSet(&opt.Capabilities) {
		s.Bounded, s.Capabilities = true, kit.Split(opt.Capabilities)
	}
	b, err := (&subagent.Agents{Registry: w.Registry}).Spawn(ctx, s, time.Now())
	if err != nil {
		return subagentFault(c, err)
	}
	if c.JSON {
		c.Result(spawned{true, b.ID, b.Parent, w.Root.Path})
		return nil
	}
	c.Printf("bound: %s\n", kit.Clean(b.ID))
	return nil
}

type parentOptions struct{ Parent string }

// runSubagents lists subagents.
func runSubagents(ctx context.Context, c *kit.Call, opt *parentOptions) error {
	w, err := c.Reads()
	if err != nil || w == nil {
		return c.Empty(err)
	}
	defer w.Close()
	rows, err := (&subagent.Agents{Registry: w.Registry}).List(ctx, address.Instance(opt.Parent))
	if err != nil {
		return err
	}
	if c.JSON {
		c.Result(render.Each(rows, func(r subagent.Row) json.RawMessage {
			return canonjson.Set(r.Raw, "status", canonjson.AppendString(nil, r.Status))
		}))
		return nil
	}
	if len(rows) == 0 {
		c.Nothing("no subagent")
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
	c.Rows(table)
	return nil
}

type routeOptions struct{ To, JSON, Mailbox string }

// runRoute puts an envelope into a box of a subagent and records it.
func runRoute(ctx context.Context, c *kit.Call, opt *routeOptions) error {
	if opt.To == "" {
		return c.Missing(&opt.To)
	}
	box := cmp.Or(opt.Mailbox, "inbox")
	raw, signed, err := c.Given(ctx, opt.JSON)
	if err != nil {
		return err
	}
	d, err := c.Named(app.Writing, opt.To)
	if err != nil {
		return err
	}
	defer d.Close()
	subs := subagent.Agents{Registry: d.Registry}
	if _, err := subs.May(ctx, d.Who.Instance); err != nil {
		return subagentFault(c, err)
	}
	raw, _, err = fast.Complete(ctx, c, d, raw, signed, "")
	if err != nil {
		return err
	}
	e, err := envelope.Parse(raw)
	if err != nil {
		return err
	}
	if box == "outbox" {
		err = d.Mail.PutOutbox(ctx, d.Who.Instance, raw)
	} else {
		l := mail.Draft{From: &identity.Speaker{}, To: d.Who.Instance, Raw: raw, Exact: true, Deposit: true, Unsigned: true}
		_, err = d.Office.Send(ctx, l)
	}
	if err != nil {
		return kit.Taken(err)
	}
	if err := subs.Routed(ctx, d.Who.Instance, e.ID, box, d.Now); err != nil {
		return err
	}
	c.Result(routed{true, e.ID, string(d.Who.Instance), box})
	return nil
}

// runSubagentInbox lists the mail of the subagents of one agent.
func runSubagentInbox(ctx context.Context, c *kit.Call, opt *parentOptions) error {
	if opt.Parent == "" {
		return c.Missing(&opt.Parent)
	}
	w, err := c.Reads()
	if err != nil || w == nil {
		return c.Empty(err)
	}
	defer w.Close()
	rows, err := (&subagent.Agents{Registry: w.Registry}).List(ctx, address.Instance(opt.Parent))
	if err != nil {
		return err
	}
	all := c.Array()
	for _, r := range rows {
		found, _, err := w.Mail.Read(ctx, address.Instance(r.ID))
		if err != nil {
			return err
		}
		envelopes := render.Each(found, func(m *mailbox.Message) json.RawMessage { return m.Envelope.Raw })
		if err := all.Add(render.JSON(subagentMail{r.ID, envelopes})); err != nil {
			return err
		}
	}
	all.End()
	return nil
}

type auditOptions struct{ ID, Parent string }

// runSubagentAudit shows the history of one subagent, or of all below an agent.
func runSubagentAudit(ctx context.Context, c *kit.Call, opt *auditOptions) error {
	i := c.Arg(0)
	if c.Under == kit.H2A {
		i = opt.ID
	}
	if i == "" && opt.Parent == "" {
		if c.Under == kit.H2A {
			return c.Missing(&opt.ID)
		}
		return kit.UsageHint("usage: "+c.Usage(), "%s: missing <id>", c.Verb.Name)
	}
	w, err := c.Reads()
	if err != nil || w == nil {
		return c.Empty(err)
	}
	defer w.Close()
	below := i == ""
	if below {
		i = opt.Parent
	}
	lines, err := (&subagent.Agents{Registry: w.Registry}).Audit(ctx, address.Instance(i), below)
	if err != nil {
		return err
	}
	if c.JSON {
		c.Result(render.Each(lines, func(a registry.Audit) json.RawMessage { return a.Raw }))
		return nil
	}
	if len(lines) == 0 {
		c.Nothing("nothing is on record of " + kit.Clean(i))
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
	c.Rows(table)
	return nil
}

type revokeOptions struct{ ID, Reason string }

// runSubagentRevoke takes a subagent out of service.
func runSubagentRevoke(ctx context.Context, c *kit.Call, opt *revokeOptions) error {
	w, err := c.World(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	who, err := about(ctx, c, w, &opt.ID)
	if err == nil {
		err = c.InName(ctx, w, who)
	}
	if err != nil {
		return err
	}
	revoked, err := (&subagent.Agents{Registry: w.Registry}).Revoke(ctx, who, opt.Reason, time.Now())
	if err != nil {
		return subagentFault(c, err)
	}
	if c.JSON {
		c.Result(revocation{true, string(who), subagent.Revoked, opt.Reason, render.List(revoked)})
		return nil
	}
	for _, id := range revoked {
		c.Line("revoked: " + kit.Clean(id))
	}
	return nil
}
