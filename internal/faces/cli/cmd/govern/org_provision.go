package govern

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
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/org"
)

type provisionOptions struct {
	manifestOptions
	By, Ratified string
}

// runOrgProvision grants what a manifest says and the bus lacks.
func runOrgProvision(ctx context.Context, c *kit.Call, opt *provisionOptions) error {
	o, err := sound(c, &opt.manifestOptions)
	if err != nil {
		return err
	}
	w, err := c.World(c.WriteMode())
	if err != nil {
		return err
	}
	defer w.Close()
	if err := ratified(ctx, c, w, o, opt.Ratified); err != nil {
		return err
	}
	by, err := grantor(ctx, c, w, opt.By)
	if err != nil {
		return err
	}
	p, err := org.Provision(ctx, w.Registry, o, by, time.Now())
	if err != nil {
		if n := len(p.Applied); n > 0 {
			c.Warn("%s got theirs before it ended; the same command goes on", kit.Plural(n, "member"))
		}
		return err
	}
	if c.JSON {
		c.Result(p.View())
		return nil
	}
	var rows [][]string
	for _, a := range p.Applied {
		rows = append(rows, []string{"granted", string(a.Instance), a.Role + " in " + strings.Join(a.Scopes, ", ")})
	}
	for _, i := range p.Pending {
		rows = append(rows, []string{"pending", string(i), "not registered yet"})
	}
	c.Rows(rows)
	if n := len(p.Unchanged); n > 0 {
		c.Printf("%s had everything\n", kit.Plural(n, "member"))
	}
	if len(p.Pending) > 0 {
		c.Remark("hint: the same command grants the rest when they are registered (tutti connect, tutti register)")
	}
	return nil
}

// ratified checks that the envelope of --ratified ratifies a manifest.
func ratified(ctx context.Context, c *kit.Call, w *app.World, o *org.Org, arg string) error {
	if arg == "" {
		c.Warn("nothing proves that this manifest was ratified; --ratified ENVELOPE proves it (tutti coach ratify)")
		return nil
	}
	raw, err := c.Content(ctx, kit.FileArg(arg))
	if err != nil {
		return kit.HintInstead(asUnreadable(err), "--ratified takes the file that tutti coach ratify wrote, its text, or -")
	}
	e, err := envelope.Parse(raw)
	if err != nil {
		return kit.Refuse("tutti coach ratify writes one", "--ratified: %s", kit.Clean(err.Error()))
	}
	if err := org.Ratifies(e, o); err != nil {
		return kit.BadState("a PRINCIPAL of the manifest ratifies it as it is now: tutti coach ratify", "the manifest is not ratified by this envelope: %s", kit.Clean(err.Error()))
	}
	office := &mail.Service{Mail: w.Mail, Book: w.Book, Registry: w.Registry, Ring: w.Ring, Pins: w.Pins, Now: time.Now}
	v, err := office.Judge(ctx, "", e)
	if err != nil {
		return err
	}
	if v.RoleNotRegistered {
		c.Warn("the registration of %s does not have the role %s: only this manifest says so", kit.Name(e.Actor.Instance), registry.Principal)
	}
	switch v.Word {
	case trust.Verified:
		return nil
	case trust.NewKey:
		c.Remark("ratified by %s with a key that you have not met before", kit.Name(e.Actor.Instance))
		return nil
	}
	why := v.Word.String()
	if v.Detail != "" {
		why += ": " + v.Detail
	}
	return kit.BadState(`"tutti keys list --instance ID" lists the keys that count`, "the signature of %s does not hold (%s)", kit.Name(e.Actor.Instance), kit.Clean(why))
}

// asUnreadable gives a file that cannot be read exit status 3.
func asUnreadable(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return kit.FailIO("", path, "read the envelope")
	}
	return err
}
