package host

import (
	"cmp"
	"slices"
	"strings"

	"tutti/internal/canonjson"
	"tutti/internal/driver"
)

// commands are those of ours at an event, each as it stands in the list of the event. bus is the one that they are told to use,
// "" for none.
func (q *Request) commands(d *driver.Driver, e driver.Event, bus string) (entries [][]byte) {
	command := quote(q.Command) + " hook " + d.Name + " " + e.Name
	root := ""
	if bus != "" {
		root = " --root " + quote(bus)
	}
	entries = append(entries, d.Hooks.Entry(e, command+root, false))
	if e.Wakes {
		entries = append(entries, d.Hooks.Entry(e, command+" --wait"+root, true))
	}
	return entries
}

// quote writes a word for a shell.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%,=", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 && s[0] != '-' {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// isHook tells whether a command of settings calls our hook for a program.
func isHook(host, command string) bool {
	all := words(command)
	for i := 0; i+2 < len(all); i++ {
		if b := base(all[i]); (b == "tutti" || b == "tuttid") && all[i+1] == "hook" && all[i+2] == host {
			return true
		}
	}
	return false
}

// words are those of a simple command line, without their quotes.
func words(command string) (all []string) {
	var word strings.Builder
	begun, in := false, rune(0)
	escaped := false
	for _, r := range command {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && in != '\'':
			escaped, begun = true, true
		case in != 0 && r == in:
			in = 0
		case in != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			in, begun = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if begun {
				all = append(all, word.String())
				word.Reset()
			}
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if begun {
		all = append(all, word.String())
	}
	return all
}

// A group is an entry in the list of an event, divided: an entry can have several commands.
type group struct {
	ours, others int
	rest         []byte // the entry without what is ours
}

// split divides an entry by whose commands it has.
func split(entry []byte, ours func(command string) bool) (g group) {
	hooks, ok := canonjson.Get(entry, "hooks")
	if !ok || !isList(hooks) {
		return group{others: 1}
	}
	var left []byte
	for h := range canonjson.Elements(hooks) {
		raw, _ := canonjson.Get(h, "command")
		if command, ok := canonjson.String(raw); ok && ours(command) {
			g.ours++
			continue
		}
		g.others++
		if len(left) > 0 {
			left = append(left, ',')
		}
		left = append(left, h...)
	}
	if g.ours > 0 && g.others > 0 {
		g.rest = canonjson.Set(entry, "hooks", append(append([]byte{'['}, left...), ']'))
	}
	return g
}

// entries makes the given ones those of ours in the list of an event. What others wrote stays, also beside ours in one entry.
func (q *Request) entries(c *Change, format driver.Format, path []string, ours func(string) bool, want [][]byte, did string) error {
	list, ok, err := q.Edit.Get(format, c.After, path)
	if err != nil {
		return c.damaged(err)
	}
	if ok && !isList(list) && len(want) == 0 {
		return nil
	}
	if !ok && len(want) == 0 {
		return nil
	}
	var news [][]byte
	left := want
	if ok && isList(list) {
		for e := range canonjson.Elements(list) {
			switch g := split(e, ours); {
			case g.ours == 0:
			case g.others > 0:
				news = append(news, g.rest)
			case len(left) > 0:
				news = append(news, left[0])
				left = left[1:]
			}
		}
	}
	news = append(news, left...)
	mine := func(e []byte) bool { return split(e, ours).ours > 0 }
	return c.edit(did, func(text []byte) ([]byte, error) { return q.Edit.Entries(format, text, path, mine, news) })
}

func (q *Request) planHooks(p *Plan) error {
	d := p.Driver
	f, ok := d.Hooks.File(q.Scope)
	if !ok || !q.Hooks {
		return nil
	}
	c, err := p.change(q, f.Path(q.Place))
	if err != nil {
		return err
	}
	p.adopt(c)
	before := len(c.Did)
	ours := func(command string) bool { return isHook(d.Name, command) }
	if !q.Remove {
		bus := q.hookRoot(p, f, c)
		for _, e := range d.Hooks.Events {
			path := append(slices.Clone(d.Hooks.Table), e.Name)
			if err := q.entries(c, f.Format, path, ours, q.commands(d, e, bus), e.Name); err != nil {
				return err
			}
		}
	}
	if c.After != nil {
		if err := q.dropHooks(p, f, c, ours); err != nil {
			return err
		}
	}
	if names := c.Did[before:]; len(names) > 0 {
		what := "hooks installed: "
		if q.Remove {
			what = "hooks removed: "
		}
		c.Did = append(slices.Clone(c.Did[:before]), what+strings.Join(names, ", "))
	}
	return nil
}

// hookRoot is the bus that hooks are told to use: the one that is asked for, else the one that the server or they were told before.
func (q *Request) hookRoot(p *Plan, f driver.File, c *Change) string {
	if q.Root != "" || p.root != "" {
		return cmp.Or(q.Root, p.root)
	}
	for _, command := range q.ourHooks(p.Driver, f, c.After) {
		all := words(command)
		if i := slices.Index(all, "--root"); i >= 0 && i+1 < len(all) {
			return all[i+1]
		}
	}
	return ""
}

// dropHooks takes ours away from events at which they are not wanted.
func (q *Request) dropHooks(p *Plan, f driver.File, c *Change, ours func(string) bool) error {
	d := p.Driver
	table, ok, err := q.Edit.Get(f.Format, c.After, d.Hooks.Table)
	if err != nil {
		return c.damaged(err)
	}
	if !ok || !canonjson.IsObject(table) {
		return nil
	}
	var names []string
	for name, list := range canonjson.Members(table) {
		if _, known := d.Hooks.Event(name); isList(list) && (q.Remove || !known) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if err := q.entries(c, f.Format, append(slices.Clone(d.Hooks.Table), name), ours, nil, name); err != nil {
			return err
		}
	}
	if !q.Remove {
		return nil
	}
	// The table that we made goes with its last list.
	if table, ok, err := q.Edit.Get(f.Format, c.After, d.Hooks.Table); err == nil && ok && string(table) == "{}" && len(names) > 0 {
		return c.edit("", func(text []byte) ([]byte, error) { return q.Edit.Remove(f.Format, text, d.Hooks.Table) })
	}
	return nil
}

func isList(raw []byte) bool { return canonjson.Kind(raw) == canonjson.TypeArray }
