package cli

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/registry"
	"tutti/internal/bus/trust"
	"tutti/internal/governance/org"
)

// runOrgProvision grants what a manifest says and the bus lacks.
func runOrgProvision(ctx context.Context, c *Call) error {
	o, err := c.sound()
	if err != nil {
		return err
	}
	w, err := c.orgBus()
	if err != nil {
		return err
	}
	defer w.Close()
	if err := c.ratified(ctx, w, o); err != nil {
		return err
	}
	by, err := c.grantor(ctx, w)
	if err != nil {
		return err
	}
	p, err := org.Provision(ctx, w.Registry, o, by, time.Now())
	if err != nil {
		if n := len(p.Applied); n > 0 {
			c.warn("%s got theirs before it ended; the same command goes on", plural(n, "member"))
		}
		return err
	}
	if c.json {
		c.emit(p.JSON())
		return nil
	}
	var rows [][]string
	for _, a := range p.Applied {
		rows = append(rows, []string{"granted", string(a.Instance), a.Role + " in " + strings.Join(a.Scopes, ", ")})
	}
	for _, i := range p.Pending {
		rows = append(rows, []string{"pending", string(i), "not registered yet"})
	}
	c.table(rows)
	if n := len(p.Unchanged); n > 0 {
		c.printf("%s had everything\n", plural(n, "member"))
	}
	if len(p.Pending) > 0 {
		c.remark("hint: the same command grants the rest when they are registered (tutti connect, tutti register)")
	}
	return nil
}

// ratified holds a manifest against the envelope that is to ratify it.
func (c *Call) ratified(ctx context.Context, w *app.World, o *org.Org) error {
	arg := c.value("ratified")
	if arg == "" {
		c.warn("nobody is shown to have ratified this manifest; --ratified ENVELOPE proves it (tutti coach ratify)")
		return nil
	}
	if arg != "-" && !strings.HasPrefix(arg, "@") && !strings.HasPrefix(strings.TrimSpace(arg), "{") {
		arg = "@" + arg
	}
	raw, err := c.content(ctx, arg)
	if err != nil {
		return hintInstead(asUnreadable(err), "--ratified takes the file that tutti coach ratify wrote, its text, or -")
	}
	e, err := envelope.Parse(raw)
	if err != nil {
		return refuse("tutti coach ratify writes one", "--ratified: %s", Clean(err.Error()))
	}
	if err := org.Ratifies(e, o); err != nil {
		return badState("a PRINCIPAL of the manifest ratifies it as it is now: tutti coach ratify", "the manifest is not ratified by this envelope: %s", Clean(err.Error()))
	}
	office := &mail.Service{Mail: w.Mail, Book: w.Book, Registry: w.Registry, Ring: w.Ring, Pins: w.Pins, Now: time.Now}
	v, err := office.Judge(ctx, e)
	if err != nil {
		return err
	}
	if v.RoleNotRegistered {
		c.warn("the registration of %s does not have the role %s: only this manifest says so", Clean(string(e.Actor.Instance)), registry.Principal)
	}
	switch v.Word {
	case trust.Verified:
		return nil
	case trust.NewKey:
		c.remark("ratified by %s with a key that you have not met before", Clean(string(e.Actor.Instance)))
		return nil
	}
	why := v.Word.String()
	if v.Detail != "" {
		why += ": " + v.Detail
	}
	return badState(`"tutti keys list --instance ID" lists the keys that count`, "the signature of %s does not hold (%s)", Clean(string(e.Actor.Instance)), Clean(why))
}

// asUnreadable gives a file that cannot be read exit status 3.
func asUnreadable(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return failIO("", path, "read the envelope")
	}
	return err
}
