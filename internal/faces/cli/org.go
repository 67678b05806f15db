package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/org"
)

// manifest reads the manifest that is meant. What is no manifest has been said when err is the *org.Refused of refusedManifest.
func (c *Call) manifest() (*org.Org, error) {
	path := c.value("file")
	if c.under != H2A && c.arg(0) != "" {
		if path != "" {
			return nil, usagef("%s: either a file or --file, not both", c.Verb.Name)
		}
		path = c.arg(0)
	}
	if path == "" {
		path = org.DefaultFile
	}
	text, err := c.manifestText(path)
	if err != nil {
		return nil, err
	}
	o, err := org.Parse(text)
	if err != nil {
		return nil, c.refusedManifest(err)
	}
	for _, path := range o.Ignored {
		c.warn("the manifest: %s means nothing here, and is left out", Clean(path))
	}
	return o, nil
}

func (c *Call) manifestText(path string) ([]byte, error) {
	in := c.In
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, failIO(`--file names the manifest; "tutti help org validate" says what one is`, err, "read the manifest")
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, org.MaxManifest+1))
	if err != nil {
		return nil, failIO("", err, "read the manifest")
	}
	return text, nil
}

// refusedManifest says why a text is no manifest, or why a manifest is no organisation, and returns exit status 1.
func (c *Call) refusedManifest(err error) error {
	var no *org.Refused
	if !errors.As(err, &no) {
		return err
	}
	if c.json {
		c.emit(orgVerdict(no.Problems))
		return &fault{code: exitUsage} // it is said
	}
	for _, p := range no.Problems {
		c.line("  " + Clean(explained(p)))
	}
	return refuse("mend it, and look again: tutti org validate", "the manifest is refused for %s", plural(len(no.Problems), "reason"))
}

// explained is a problem for people: what a code means stands behind it.
func explained(problem string) string {
	if means := org.Explain(problem); means != problem {
		return problem + ": " + means
	}
	return problem
}

func orgVerdict(problems []string) []byte {
	var o canonjson.Object
	o.Bool("ok", len(problems) == 0)
	o.Strs("errors", problems)
	return o.Bytes()
}

// sound is manifest for verbs that act on an organisation: one with problems is refused.
func (c *Call) sound() (*org.Org, error) {
	o, err := c.manifest()
	if err != nil {
		return nil, err
	}
	if codes := o.Problems(); len(codes) > 0 {
		return nil, c.refusedManifest(&org.Refused{Problems: codes})
	}
	return o, nil
}

func runOrgValidate(_ context.Context, c *Call) error {
	o, err := c.sound()
	if err != nil {
		return err
	}
	if c.json {
		c.emit(orgVerdict([]string{}))
		return nil
	}
	c.printf("%s is an organisation of %s\n", Clean(o.Scope), plural(len(o.Members), "member"))
	return nil
}

func runOrgShow(_ context.Context, c *Call) error {
	o, err := c.manifest()
	if err != nil {
		return err
	}
	codes := o.Problems()
	if c.json {
		var out canonjson.Object
		o.Write(&out)
		out.Raw("validation", orgVerdict(codes))
		c.emit(out.Bytes())
		return nil
	}
	head := o.Scope
	if o.Version != "" {
		head += "  version " + o.Version
	}
	c.line(c.paint(bold, Clean(head)))
	var rows [][]string
	for i := range o.Members {
		m := &o.Members[i]
		row := []string{"  " + string(m.Instance), m.Role, strings.Join(m.Scopes, ", ")}
		if len(m.Rights) > 0 {
			row[2] += "; may " + strings.Join(m.Rights, ", ")
		}
		rows = append(rows, row)
	}
	c.table(rows)
	for _, e := range o.Edges {
		c.line("  " + Clean(string(e.From)) + " → " + Clean(string(e.To)))
	}
	for _, code := range codes {
		c.line(c.paint(red, Clean(explained(code))))
	}
	return nil
}

func runOrgRender(_ context.Context, c *Call) error {
	o, err := c.manifest()
	if err != nil {
		return err
	}
	format := org.Tree
	if f := c.value("format"); f != "" {
		format = org.Format(f)
	}
	c.out = append(c.out, org.Render(o, format)...)
	for _, code := range o.Problems() {
		c.warn("%s", Clean(explained(code)))
	}
	return nil
}

func runOrgDiff(ctx context.Context, c *Call) error {
	o, err := c.manifest()
	if err != nil {
		return err
	}
	w, err := c.reads()
	if err != nil {
		return err
	}
	everybody := iter.Seq2[registry.Effective, error](func(func(registry.Effective, error) bool) {})
	if w != nil {
		defer w.Close()
		everybody = w.Registry.Everybody(ctx)
	}
	d, err := org.Compare(o, everybody)
	if err != nil {
		return err
	}
	if c.json {
		c.emit(d.JSON())
		return nil
	}
	c.showOrgDiff(d)
	return nil
}

// maxUndeclared is how many who are not declared are named to people: a bus may have many that are no concern of one organisation.
const maxUndeclared = 20

func (c *Call) showOrgDiff(d *org.Diff) {
	if d.InSync() {
		c.printf("in sync: %s as declared, and nobody else\n", plural(len(d.Matched), "member"))
		return
	}
	var rows [][]string
	for _, s := range d.Missing {
		rows = append(rows, []string{"missing", string(s.Instance), s.DeclaredRole + ", not registered"})
	}
	for _, s := range d.RoleMismatch {
		rows = append(rows, []string{"role", string(s.Instance), "declared " + s.DeclaredRole + ", has " + strings.Join(s.RegisteredRoles, ", ")})
	}
	for _, s := range d.ScopeGaps {
		rows = append(rows, []string{"scope", string(s.Instance), "lacks " + strings.Join(s.MissingScopes, ", ")})
	}
	for n, s := range d.Undeclared {
		if n == maxUndeclared {
			rows = append(rows, []string{"undeclared", fmt.Sprintf("and %d more", len(d.Undeclared)-n), "--json lists all"})
			break
		}
		rows = append(rows, []string{"undeclared", string(s.Instance), strings.Join(s.RegisteredRoles, ", ")})
	}
	c.table(rows)
	c.printf("%s as declared\n", plural(len(d.Matched), "member"))
	if len(d.RoleMismatch)+len(d.ScopeGaps) > 0 {
		c.remark(`hint: "tutti org provision" grants what is lacking`)
	}
}

// grantor is who grants: --by, else who speaks here; under h2a nobody is asked.
func (c *Call) grantor(ctx context.Context, w *app.World) (string, error) {
	by := c.value("by")
	if by != "" {
		if err := address.Check(by); err != nil {
			return "", usagef("--by: %s", Clean(err.Error()))
		}
		return by, nil
	}
	if c.under == H2A {
		return "", nil
	}
	if s, err := c.peek(ctx, w); err == nil {
		return string(s.Instance), nil
	}
	return "", nil // the line then names nobody, as those of existing programs may
}

// orgBus opens the bus for a verb that writes. Under h2a that makes the bus, as the older program does.
func (c *Call) orgBus() (*app.World, error) {
	if c.under == H2A {
		return c.world(app.Creating)
	}
	return c.world(app.Writing)
}

func runOrgWithdraw(ctx context.Context, c *Call) error {
	who := c.value("instance")
	if who == "" {
		return c.missing("instance")
	}
	if err := address.Check(who); err != nil {
		return usagef("--instance: %s", Clean(err.Error()))
	}
	w, err := c.orgBus()
	if err != nil {
		return err
	}
	defer w.Close()
	by, err := c.grantor(ctx, w)
	if err != nil {
		return err
	}
	gone, err := w.Registry.Withdraw(ctx, address.Instance(who), c.value("role"), c.value("scope"), by, time.Now())
	if err != nil {
		return err
	}
	if c.json {
		var l list
		for _, g := range gone {
			var o canonjson.Object
			o.Str("role", g.Role)
			o.Str("scope", g.Scope)
			l.obj(&o)
		}
		var o canonjson.Object
		o.Bool("ok", true)
		o.Str("instance", who)
		o.Raw("withdrawn", l.bytes())
		c.emit(o.Bytes())
		return nil
	}
	if len(gone) == 0 {
		c.nothing(Clean(who) + " has no such grant")
		return nil
	}
	var rows [][]string
	for _, g := range gone {
		rows = append(rows, []string{"withdrawn", g.Role, g.Scope})
	}
	c.table(rows)
	return nil
}
