package setup

import (
	"bytes"
	"iter"
	"slices"
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/settings"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
)

// commands are those of ours at an event, each as written in the list of the event. told are the flags that they share with the
// server, with their values.
func (q *Request) commands(d *driver.Driver, e driver.Event, told []string) (all []wanted) {
	command := quote(q.Command) + " hook " + d.Name + " " + e.Name
	one := wanted{is: func(c string) bool { return !waits(c) }, former: d.Hooks.FormerTimeout(e, false), all: e.Moment == driver.Use}
	if e.Kept {
		one.entry = d.Hooks.Entry(e, command+quoteFlags(told), false)
	} else {
		one.entry = d.Hooks.Entry(e, q.guard()+command+" --all-tools"+quoteFlags(told), false)
	}
	all = append(all, one)
	if e.Wakes {
		all = append(all, wanted{
			entry: d.Hooks.Entry(e, q.guard()+command+" --wait"+quoteFlags(told), true), is: waits, former: d.Hooks.FormerTimeout(e, true),
		})
	}
	return all
}

// guard begins a command of ours: when the program is deleted, the hook does nothing. Without it Gemini CLI takes the error of the
// shell for a refusal, and blocks every tool and prompt.
func (q *Request) guard() string { return guardTest + quote(q.Command) + guardElse }

const guardTest, guardElse = "[ -x ", " ] || exit 0; exec "

// unguarded is a command of ours without its test whether the program is there.
func unguarded(command string) string {
	if rest, ok := strings.CutPrefix(command, guardTest); ok {
		if program, call, ok := strings.Cut(rest, guardElse); ok && strings.HasPrefix(call, program+" ") {
			return call
		}
	}
	return command
}

// quoteFlags writes flags and their values behind a command.
func quoteFlags(told []string) (s string) {
	for i, word := range told {
		if i%2 == 1 {
			word = quote(word)
		}
		s += " " + word
	}
	return s
}

// A wanted command is one that should stand at an event.
type wanted struct {
	entry  []byte                    // a new element of the list: an object with one command
	is     func(command string) bool // tells it among those of ours
	former string                    // the timeout that older releases wrote
	all    bool                      // it must be called for all tools, whatever a former release or a user wrote
}

// A claim says which commands are ours.
type claim struct {
	ours  func(command string) bool
	plain func(command string) bool // and nothing else; nil: all of ours are. What is more is a line of the user's own
}

func (o claim) isPlain(command string) bool {
	return o.ours(command) && (o.plain == nil || o.plain(command))
}

// waits tells whether a command of ours waits in the background.
func waits(command string) bool { return slices.Contains(words(command), "--wait") }

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
		if b := base(all[i]); (b == "tutti" || b == "tutti-full" || b == "tuttid") && all[i+1] == "hook" && all[i+2] == host {
			return true
		}
	}
	return false
}

// isPlainHook tells whether a command does nothing but call our hook, as those do that we write. Else it is a line of the user's
// own, in which ours stands.
func isPlainHook(command string) bool {
	command = unguarded(command)
	in := rune(0)
	for _, r := range command {
		switch {
		case r == in:
			in = 0
		case in == '\'':
		case in == 0 && (r == '\'' || r == '"'):
			in = r
		case r == '`', r == '$', in == 0 && strings.ContainsRune(";&|<>(){}#*?~!\n", r):
			return false
		}
	}
	all := words(command)
	return len(all) > 1 && strings.HasPrefix(base(all[0]), "tutti") && all[1] == "hook"
}

// words are those of a simple command line, without their quotes.
func words(command string) []string {
	all, _ := termsafe.Words(command)
	return all
}

// commandsOf are the tables of the commands in an entry of the list of an event, with their commands. An entry of another form
// has none.
func commandsOf(entry []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		hooks, _ := canonjson.Get(entry, "hooks")
		if !isList(hooks) {
			return
		}
		for h := range canonjson.Elements(hooks) {
			if !yield(text(h, "command"), h) {
				return
			}
		}
	}
}

// hasOurs tells whether an entry has a command of ours.
func hasOurs(entry []byte, o claim) bool {
	for command := range commandsOf(entry) {
		if o.ours(command) {
			return true
		}
	}
	return false
}

// renewed is an entry in which our commands are those that are needed and not yet found, and no others; nil when nothing would
// be left in it. What others wrote in it stays, and so does what a user has set beside a command of ours.
func renewed(entry []byte, o claim, left *[]wanted) []byte {
	var all [][]byte
	narrow := !driver.AllTools(text(entry, "matcher"))
	shared := false
	for command := range commandsOf(entry) {
		shared = shared || !o.isPlain(command)
	}
	for command, h := range commandsOf(entry) {
		if o.ours(command) {
			n := slices.IndexFunc(*left, func(w wanted) bool { return w.is(command) })
			if o.isPlain(command) {
				if n < 0 || narrow && shared && (*left)[n].all {
					continue // the tools of a shared entry are for its user to choose: ours gets one of its own
				}
				if narrow && (*left)[n].all {
					entry = canonjson.Set(entry, "matcher", member((*left)[n].entry, "matcher"))
				}
				h = brought(h, &(*left)[n])
			}
			if n >= 0 {
				*left = slices.Delete(slices.Clone(*left), n, n+1)
			}
		}
		all = append(all, h)
	}
	if len(all) == 0 {
		return nil
	}
	return canonjson.Set(entry, "hooks", slices.Concat([]byte{'['}, bytes.Join(all, []byte{','}), []byte{']'}))
}

// brought is a command that is brought up to date: in what says how it is run. The rest, once it is there, is the user's.
func brought(command []byte, w *wanted) []byte {
	for _, fresh := range commandsOf(w.entry) {
		for name, value := range canonjson.Members(fresh) {
			old := string(member(command, name))
			theirs := name == "name" || name == "timeout" && (w.former == "" || old != w.former)
			if !theirs && old != string(value) {
				command = canonjson.Set(command, name, value)
			}
		}
	}
	return command
}

// entries makes the given ones those of ours in the list of an event. What others wrote stays, also beside ours in one entry.
func (q *Request) entries(c *Change, format driver.Format, path []string, o claim, want []wanted, did string) error {
	list, ok, err := settings.Get(format, c.After, path)
	if err != nil {
		return c.damaged(err)
	}
	if len(want) == 0 && (!ok || !isList(list)) {
		return nil
	}
	mine := func(e []byte) bool { return hasOurs(e, o) }
	var news [][]byte
	left := want
	if ok && isList(list) {
		for e := range canonjson.Elements(list) {
			if mine(e) {
				news = append(news, renewed(e, o, &left))
			}
		}
	}
	for _, w := range left {
		news = append(news, w.entry)
	}
	return c.edit(did, func(text []byte) ([]byte, error) { return settings.SetListEntries(format, text, path, mine, news) })
}

func (q *Request) planHooks(p *Plan) error {
	d := p.Driver
	f, ok := d.Hooks.File(q.Scope)
	if !ok || !q.Hooks {
		return nil
	}
	if d.Hooks.Module {
		return q.planModule(p, f)
	}
	c, err := p.change(q, f.Path(q.Place))
	if err != nil {
		return err
	}
	p.adopt(c)
	before := len(c.Did)
	ours := claim{func(command string) bool { return isHook(d.Name, command) }, isPlainHook}
	if !q.Remove {
		told := q.hookFlags(p, f, c)
		for _, e := range d.Hooks.Events {
			path := append(slices.Clone(d.Hooks.Table), e.Name)
			if err := q.entries(c, f.Format, path, ours, q.commands(d, e, told), e.Name); err != nil {
				return err
			}
		}
	}
	if c.After != nil {
		drop := func() error { return q.dropHooks(p, f, c, ours) }
		if q.Remove {
			err = q.emptied(c, f.Format, d.Hooks.Table, drop)
		} else {
			err = drop()
		}
		if err != nil {
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

// hookFlags are the flags that hooks have because their server has them: a hook that looks for another bus, or for an agent of
// another name, would show mail that the server knows nothing of. Each counts as it is asked for, else as the server has it,
// else as the hooks had it before.
func (q *Request) hookFlags(p *Plan, f driver.File, c *Change) (told []string) {
	var before []string
	if p.Driver.Hooks.Module {
		before = moduleFlags(c.After)
	} else {
		for _, command := range q.ourHooks(p.Driver, f, c.After) {
			before = append(before, words(command)...)
		}
	}
	sources := [][]string{q.asked(), p.kept, q.serverFlags(p.Driver), before}
	for _, flag := range kept {
		for _, source := range sources {
			if i := slices.Index(source, flag); i >= 0 && i+1 < len(source) {
				told = append(told, flag, source[i+1])
				break
			}
		}
	}
	return told
}

// asked are the flags that the user asks for, for servers and hooks alike.
func (q *Request) asked() []string {
	if q.Root == "" {
		return nil
	}
	return []string{"--root", q.Root}
}

// serverFlags are those of the registered server that its hooks have, too; none where it cannot be read.
func (q *Request) serverFlags(d *driver.Driver) []string {
	scopes := []driver.Scope{q.Scope}
	if q.Scope != driver.User {
		scopes = append(scopes, driver.User) // what holds where the project has none
	}
	for _, scope := range scopes {
		f, ok := d.Servers.File(scope)
		if !ok {
			continue
		}
		for _, path := range f.All(q.Place) {
			c, err := readChange(path, "")
			if err != nil || c.Before == nil {
				continue
			}
			entry, there, err := settings.Get(f.Format, c.Before, serverPath(d))
			if err != nil || !there {
				continue
			}
			if owner, s := OwnerOf(d, entry); owner != Foreign {
				return flagsOf(&s)
			}
		}
	}
	return nil
}

// flagsOf are the flags of a server that its hooks have, too. The bus can stand in its environment.
func flagsOf(s *driver.Server) []string {
	var fresh driver.Server
	added := keepFlags(&fresh, s.Args)
	if !slices.Contains(added, "--root") {
		for _, v := range s.Env {
			if v[0] == "H2A_ROOT" {
				added = append(added, "--root", v[1])
			}
		}
	}
	return added
}

// dropHooks takes ours away from events at which they are not wanted.
func (q *Request) dropHooks(p *Plan, f driver.File, c *Change, ours claim) error {
	d := p.Driver
	table, ok, err := settings.Get(f.Format, c.After, d.Hooks.Table)
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
	for _, command := range q.ourHooks(d, f, c.After) {
		p.Remarks = append(p.Remarks, "a line of yours in "+c.Path+" calls our hook, and stays: "+command)
	}
	// The table that we made goes with its last list.
	if table, ok, err := settings.Get(f.Format, c.After, d.Hooks.Table); err == nil && ok && string(table) == "{}" && len(names) > 0 {
		return c.edit("", func(text []byte) ([]byte, error) { return settings.Remove(f.Format, text, d.Hooks.Table) })
	}
	return nil
}

func isList(raw []byte) bool { return canonjson.Kind(raw) == canonjson.TypeArray }
