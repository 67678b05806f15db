package setup

import (
	"fmt"
	"slices"
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/settings"
	"tutti/internal/core/canonjson"
)

// Owner says whose an entry of a table of servers is.
type Owner uint8

// The owners.
const (
	Foreign  Owner = iota
	Ours           // it starts our server
	Original       // it starts the server of the older program, which ours can be as well under that name
)

// OwnerOf tells whose an entry is, and what it starts.
func OwnerOf(d *driver.Driver, entry []byte) (Owner, driver.Server) {
	s, ok := d.Servers.Read(entry)
	if !ok || !slices.Contains(s.Args, "mcp-serve") {
		return Foreign, s
	}
	switch base(s.Command) {
	case "tutti", "tutti-full", "tuttid": // the last is the former name of the second
		return Ours, s
	case "h2a":
		return Original, s
	case "npx", "node", "bunx", "bun", "pnpm", "yarn":
		if slices.ContainsFunc(s.Args, func(a string) bool { return strings.Contains(a, "h2a") }) {
			return Original, s
		}
	}
	return Foreign, s
}

func base(command string) string { return command[strings.LastIndexByte(command, '/')+1:] }

// Wanted is the server as it is registered for a program.
func (q *Request) Wanted(d *driver.Driver) driver.Server {
	s := driver.Server{Command: q.Command, Args: []string{"mcp-serve", "--auto-open", "--host", d.Name, "--tools", "lean"}, NoTrust: q.NoTrust}
	if q.Root != "" {
		s.Args = append(s.Args, "--root", q.Root)
	}
	return s
}

// kept are the flags that a user may have given to the server, and that outlive a new registration.
var kept = [...]string{"--root", "--name", "--instance", "--scope"}

// keepFlags adds those of an older registration that the new one does not give, and keeps the set of tools that it names.
func keepFlags(s *driver.Server, old []string) (added []string) {
	for i := 0; i < len(old); i++ {
		flag, value, joined := strings.Cut(old[i], "=")
		if !slices.Contains(kept[:], flag) && flag != "--tools" {
			continue
		}
		if !joined {
			if i++; i == len(old) {
				break
			}
			value = old[i]
		}
		switch at := slices.Index(s.Args, flag); {
		case flag == "--tools":
			if at >= 0 {
				s.Args[at+1] = value
			}
		case at < 0:
			added = append(added, flag, value)
			s.Args = append(s.Args, flag, value)
		}
	}
	return added
}

func (q *Request) planServer(p *Plan) error {
	if !q.Server {
		return nil
	}
	f, ok := p.Driver.Servers.File(q.Scope)
	if !ok {
		if !q.Remove {
			p.Remarks = append(p.Remarks, fmt.Sprintf("%s has no servers of a %s", p.Driver.Title, q.Scope))
		}
		return nil
	}
	if q.Remove {
		return q.removeServer(p, f)
	}
	c, err := q.serverFile(p, f)
	if err != nil {
		return err
	}
	p.adopt(c)
	if err := q.register(p, f.Format, c); err != nil {
		return err
	}
	if err := q.onlyOnce(p, f, c); err != nil {
		return err
	}
	if q.Scope == driver.User {
		if err := q.renameLocal(p, f.Format, c); err != nil {
			return err
		}
		return q.unhide(p, f.Format, c)
	}
	q.tellHidden(p)
	return nil
}

// serverFile is the file into which the server belongs: the one that has it, else one that has the table, else one that is there.
func (q *Request) serverFile(p *Plan, f driver.File) (*Change, error) {
	main, err := p.change(q, f.Path(q.Place))
	if err != nil || f.Others == nil {
		return main, err
	}
	all := []*Change{main}
	for _, path := range f.Others(q.Place) {
		c, err := p.change(q, path)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	for _, path := range [][]string{serverPath(p.Driver), named(p.Driver.Servers.Table, driver.FormerServerName), p.Driver.Servers.Table} {
		for _, c := range all {
			if c.Before == nil {
				continue
			}
			if _, ok, err := settings.Get(f.Format, c.After, path); err != nil {
				return nil, c.damaged(err)
			} else if ok {
				return c, nil
			}
		}
	}
	for _, c := range all {
		if c.Before != nil {
			return c, nil
		}
	}
	return main, nil
}

// onlyOnce takes ours out of the other files that the program reads as well.
func (q *Request) onlyOnce(p *Plan, f driver.File, has *Change) error {
	for _, at := range f.All(q.Place) {
		c, err := p.change(q, at)
		if err != nil {
			return err
		}
		if c == has || c.After == nil {
			continue
		}
		for _, name := range serverNames {
			path := named(p.Driver.Servers.Table, name)
			entry, there, err := settings.Get(f.Format, c.After, path)
			if err != nil {
				return c.damaged(err)
			}
			if owner, _ := OwnerOf(p.Driver, entry); !there || owner == Foreign {
				continue
			}
			p.adopt(c)
			err = c.edit("server "+name+", which stands in the other file, taken out", func(text []byte) ([]byte, error) { return settings.Remove(f.Format, text, path) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// register puts the server into a file.
func (q *Request) register(p *Plan, format driver.Format, c *Change) error {
	d := p.Driver
	if err := q.rename(p, format, c, d.Servers.Table); err != nil {
		return err
	}
	path := serverPath(d)
	entry, there, err := settings.Get(format, c.After, path)
	if err != nil {
		return c.damaged(err)
	}
	want := q.Wanted(d)
	if !there {
		p.fresh, p.trusts = true, !q.NoTrust && d.Servers.TrustNote != "" && d.Servers.Grants.Trust == ""
		err := c.edit("server "+driver.ServerName+" registered", func(text []byte) ([]byte, error) {
			return settings.Set(format, text, path, d.Servers.Entry(want))
		})
		if err != nil {
			return err
		}
		return q.retire(p, format, c, d.Servers.Table)
	}
	owner, now := OwnerOf(d, entry)
	switch {
	case owner == Foreign && !q.Force:
		return &StateError{
			Path: c.Path, Reason: fmt.Errorf("the server %s there is another one: %s", driver.ServerName, commandLine(now)),
			Advice: "--force puts ours in its place; what it was is kept beside",
		}
	case owner == Foreign:
		err = c.edit("server "+driver.ServerName+" put in the place of another one", func(text []byte) ([]byte, error) {
			return settings.Replace(format, text, path, d.Servers.Entry(want))
		})
	case owner == Original:
		q.remarkKept(p, keepFlags(&want, now.Args))
		err = c.edit("server "+driver.ServerName+" put in the place of the older program's", func(text []byte) ([]byte, error) {
			return settings.Set(format, text, path, startOnly(d.Servers.Entry(want), entry))
		})
	default:
		q.remarkKept(p, keepFlags(&want, now.Args))
		if starts(now, want) {
			break
		}
		err = c.edit("server "+driver.ServerName+" brought up to date", func(text []byte) ([]byte, error) {
			return settings.Set(format, text, path, startOnly(d.Servers.Entry(want), nil))
		})
	}
	if err != nil {
		return err
	}
	return q.retire(p, format, c, d.Servers.Table)
}

func (q *Request) remarkKept(p *Plan, added []string) {
	p.kept = added
	if len(added) > 0 {
		p.Remarks = append(p.Remarks, "kept of the entry that was there: "+strings.Join(added, " "))
	}
}

// starts reports whether a server is started in the right way.
func starts(now, want driver.Server) bool {
	return now.Command == want.Command && slices.Equal(now.Args, want.Args)
}

// startOnly is what of an entry says how the server is started, and, where there was one of the older program, what that one
// did not have. The rest is the user's, once the entry is there.
func startOnly(entry, older []byte) []byte {
	var o canonjson.Object
	for name, value := range canonjson.Members(entry) {
		_, had := canonjson.Get(older, name)
		if name == "command" || name == "args" || name == "type" || older != nil && !had {
			o.Raw(name, value)
		}
	}
	return o.Bytes()
}

// retire takes out entries of a table under other names that start the same server: an agent would be there twice. One with
// arguments of its own is only told of; and all are, where ours is removed.
func (q *Request) retire(p *Plan, format driver.Format, c *Change, at []string) error {
	table, _, err := settings.Get(format, c.After, at)
	if err != nil || !canonjson.IsObject(table) {
		return nil
	}
	for name, entry := range canonjson.Members(table) {
		owner, s := OwnerOf(p.Driver, entry)
		if name == driver.FormerServerName && owner == Original && !q.Remove {
			p.Remarks = append(p.Remarks, fmt.Sprintf("%s also has the server %q of the older program: its agents are there twice; remove one of the two", c.Path, name))
		}
		if name == driver.ServerName || owner != Ours || q.Remove && name == driver.FormerServerName {
			continue
		}
		if q.Remove {
			p.Remarks = append(p.Remarks, fmt.Sprintf("%s also has the server %q, which is ours under another name, and stays", c.Path, name))
			continue
		}
		if !q.isPlain(p.Driver, entry, s) {
			p.Remarks = append(p.Remarks, fmt.Sprintf("%s also has the server %q, which is ours with settings of its own: its agents are there twice; remove one of the two", c.Path, name))
			continue
		}
		path := append(slices.Clone(at), name)
		err := c.edit("server "+name+", which was the same one, taken out", func(text []byte) ([]byte, error) { return settings.Remove(format, text, path) })
		if err != nil {
			return err
		}
	}
	return nil
}

// isPlain tells whether an entry says no more than one of ours that is new.
func (q *Request) isPlain(d *driver.Driver, entry []byte, s driver.Server) bool {
	want := q.Wanted(d)
	fresh := d.Servers.Entry(want)
	for name := range canonjson.Members(entry) {
		if _, ok := canonjson.Get(fresh, name); !ok && name != "type" && name != "env" {
			return false
		}
	}
	return len(s.Env) == 0 && !slices.ContainsFunc(s.Args, func(a string) bool { return !slices.Contains(want.Args, a) && a != "all" })
}

// removeServer takes our server out of every file that the program reads it from.
func (q *Request) removeServer(p *Plan, f driver.File) error {
	for _, at := range f.All(q.Place) {
		c, err := p.change(q, at)
		if err != nil {
			return err
		}
		p.adopt(c)
		if c.Before == nil {
			continue
		}
		if q.Scope == driver.User {
			if err := q.removeLocal(p, f, c); err != nil {
				return err
			}
		}
		if err := q.retire(p, f.Format, c, p.Driver.Servers.Table); err != nil {
			return err
		}
		for _, name := range serverNames {
			if err := q.removeNamed(p, f.Format, c, name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (q *Request) removeNamed(p *Plan, format driver.Format, c *Change, name string) error {
	path := named(p.Driver.Servers.Table, name)
	entry, ok, err := settings.Get(format, c.After, path)
	if err != nil {
		return c.damaged(err)
	}
	if !ok {
		return nil
	}
	if owner, s := OwnerOf(p.Driver, entry); owner != Ours {
		p.Remarks = append(p.Remarks, fmt.Sprintf("the server %s in %s is not ours, and stays: %s", name, c.Path, commandLine(s)))
		return nil
	}
	return q.emptied(c, format, p.Driver.Servers.Table, func() error {
		return c.edit("server "+name+" removed", func(text []byte) ([]byte, error) { return settings.Remove(format, text, path) })
	})
}
