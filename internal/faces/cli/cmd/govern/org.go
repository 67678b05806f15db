package govern

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/org"
)

// A manifestOptions is the flag of verbs about a manifest.
type manifestOptions struct{ File string }

// manifest reads the manifest: the file that the argument or --file names, else the default one.
func manifest(c *kit.Call, opt *manifestOptions) (*org.Org, error) {
	path := opt.File
	if c.Under != kit.H2A && c.Arg(0) != "" {
		if path != "" {
			return nil, kit.Usagef("%s: either a file or --file, not both", c.Verb.Name)
		}
		path = c.Arg(0)
	}
	text, err := manifestText(c, cmp.Or(path, org.DefaultFile))
	if err != nil {
		return nil, err
	}
	o, err := org.Parse(text)
	if err != nil {
		return nil, refusedManifest(c, err)
	}
	for _, path := range o.Ignored {
		c.Warn("the manifest: %s means nothing here, and is left out", kit.Clean(path))
	}
	return o, nil
}

func manifestText(c *kit.Call, path string) ([]byte, error) {
	in := c.In
	if path != "-" {
		f, err := kit.OpenNamed(path)
		if err != nil {
			return nil, kit.FailIO(`--file names the manifest; "tutti help org validate" says what one is`, err, "read the manifest")
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, org.MaxManifest+1))
	if err != nil {
		return nil, kit.FailIO("", err, "read the manifest")
	}
	return text, nil
}

// refusedManifest prints why a manifest is invalid, and returns exit status 1.
func refusedManifest(c *kit.Call, err error) error {
	var no *org.Refused
	if !errors.As(err, &no) {
		return err
	}
	if c.JSON {
		c.Result(verdictOf(no.Problems))
		return &kit.Fault{Code: kit.ExitUsage} // the result says so
	}
	for _, p := range no.Problems {
		c.Line("  " + kit.Clean(explained(p)))
	}
	return kit.Refuse("mend it, and look again: tutti org validate", "the manifest is refused for %s", kit.Plural(len(no.Problems), "reason"))
}

// explained returns a problem with the meaning of its code.
func explained(problem string) string {
	if means := org.Explain(problem); means != problem {
		return problem + ": " + means
	}
	return problem
}

// An orgVerdict says whether a manifest is valid.
type orgVerdict struct {
	OK     bool     `json:"ok"`
	Errors []string `json:"errors"`
}

// A withdrawn is what --json says of grants that were taken back.
type withdrawn struct {
	OK        bool      `json:"ok"`
	Instance  string    `json:"instance"`
	Withdrawn []granted `json:"withdrawn"`
}

// A granted is one grant.
type granted struct {
	Role  string `json:"role"`
	Scope string `json:"scope"`
}

func verdictOf(problems []string) orgVerdict {
	return orgVerdict{len(problems) == 0, render.List(problems)}
}

// sound is like manifest, but refuses a manifest that is not a valid organisation.
func sound(c *kit.Call, opt *manifestOptions) (*org.Org, error) {
	o, err := manifest(c, opt)
	if err != nil {
		return nil, err
	}
	if codes := o.Problems(); len(codes) > 0 {
		return nil, refusedManifest(c, &org.Refused{Problems: codes})
	}
	return o, nil
}

func runOrgValidate(_ context.Context, c *kit.Call, opt *manifestOptions) error {
	o, err := sound(c, opt)
	if err != nil {
		return err
	}
	if c.JSON {
		c.Result(verdictOf(nil))
		return nil
	}
	c.Printf("%s is an organisation of %s\n", kit.Clean(o.Scope), kit.Plural(len(o.Members), "member"))
	return nil
}

// A shown is a manifest, and whether it is an organisation.
type shown struct {
	org.View
	Validation orgVerdict `json:"validation"`
}

func runOrgShow(_ context.Context, c *kit.Call, opt *manifestOptions) error {
	o, err := manifest(c, opt)
	if err != nil {
		return err
	}
	codes := o.Problems()
	if c.JSON {
		c.Result(shown{o.View(), verdictOf(codes)})
		return nil
	}
	head := o.Scope
	if o.Version != "" {
		head += "  version " + o.Version
	}
	c.Line(c.Paint(kit.Bold, kit.Clean(head)))
	var rows [][]string
	for i := range o.Members {
		m := &o.Members[i]
		row := []string{"  " + string(m.Instance), m.Role, strings.Join(m.Scopes, ", ")}
		if len(m.Rights) > 0 {
			row[2] += "; may " + strings.Join(m.Rights, ", ")
		}
		rows = append(rows, row)
	}
	c.Rows(rows)
	for _, e := range o.Edges {
		c.Line("  " + kit.Name(e.From) + " → " + kit.Name(e.To))
	}
	for _, code := range codes {
		c.Line(c.Paint(kit.Red, kit.Clean(explained(code))))
	}
	return nil
}

type renderOptions struct {
	manifestOptions
	Format string
}

func runOrgRender(_ context.Context, c *kit.Call, opt *renderOptions) error {
	o, err := manifest(c, &opt.manifestOptions)
	if err != nil {
		return err
	}
	c.Out = append(c.Out, org.Render(o, cmp.Or(org.Format(opt.Format), org.Tree))...)
	for _, code := range o.Problems() {
		c.Warn("%s", kit.Clean(explained(code)))
	}
	return nil
}

func runOrgDiff(ctx context.Context, c *kit.Call, opt *manifestOptions) error {
	o, err := manifest(c, opt)
	if err != nil {
		return err
	}
	w, err := c.Reads()
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
	if c.JSON {
		c.Result(d.View())
		return nil
	}
	showOrgDiff(c, d)
	return nil
}

// maxUndeclared is how many undeclared agents are shown to people: a bus may have many agents outside of one organisation.
const maxUndeclared = 20

func showOrgDiff(c *kit.Call, d *org.Diff) {
	if d.InSync() {
		c.Printf("in sync: %s as declared, and no others\n", kit.Plural(len(d.Matched), "member"))
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
	c.Rows(rows)
	c.Printf("%s as declared\n", kit.Plural(len(d.Matched), "member"))
	if len(d.RoleMismatch)+len(d.ScopeGaps) > 0 {
		c.Remark(`hint: "tutti org provision" grants what is lacking`)
	}
}

// grantor returns the agent that grants: the one of --by, else the one that speaks here; under h2a none.
func grantor(ctx context.Context, c *kit.Call, w *app.World, by string) (string, error) {
	if by != "" {
		if err := address.Check(by); err != nil {
			return "", kit.Usagef("--by: %s", kit.Clean(err.Error()))
		}
		return by, c.InName(ctx, w, address.Instance(by))
	}
	if c.Under == kit.H2A {
		return "", nil
	}
	s, err := c.Peek(ctx, w, "")
	switch {
	case err == nil:
		return string(s.Instance), nil
	case kit.NotOwn(err):
		return "", err
	}
	return "", nil // the grant then names no grantor, which existing programs allow
}

type withdrawOptions struct{ Instance, Role, Scope, By string }

func runOrgWithdraw(ctx context.Context, c *kit.Call, opt *withdrawOptions) error {
	who := opt.Instance
	if who == "" {
		return c.Missing(&opt.Instance)
	}
	if err := address.Check(who); err != nil {
		return kit.Usagef("--instance: %s", kit.Clean(err.Error()))
	}
	w, err := c.World(c.WriteMode())
	if err != nil {
		return err
	}
	defer w.Close()
	by, err := grantor(ctx, c, w, opt.By)
	if err != nil {
		return err
	}
	gone, err := w.Registry.Withdraw(ctx, address.Instance(who), opt.Role, opt.Scope, by, time.Now())
	if err != nil {
		return err
	}
	if c.JSON {
		c.Result(withdrawn{true, who, render.Each(gone, func(g registry.Grant) granted { return granted{g.Role, g.Scope} })})
		return nil
	}
	if len(gone) == 0 {
		c.Nothing(kit.Clean(who) + " has no such grant")
		return nil
	}
	var rows [][]string
	for _, g := range gone {
		rows = append(rows, []string{"withdrawn", g.Role, g.Scope})
	}
	c.Rows(rows)
	return nil
}
