package setup

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/settings"
	"tutti/internal/core/canonjson"
)

// planGrants has what users allowed or forbade under the former name hold under the present one. What they wrote stays: programs that
// still use the former name go by it. Where the server is removed, what was added goes with it.
func (q *Request) planGrants(p *Plan) error {
	g := &p.Driver.Servers.Grants
	if !q.Server || len(g.Files) == 0 {
		return nil
	}
	for _, f := range g.Files {
		if f.Scope != q.Scope && (f.Scope != driver.Local || q.Scope != driver.Project) {
			continue
		}
		for _, path := range f.All(q.Place) {
			if err := q.grantsIn(p, f, path); err != nil {
				return err
			}
		}
	}
	if f, ok := p.Driver.Servers.File(driver.User); ok && q.Scope == driver.User && len(g.Folder) > 0 {
		if err := q.folderGrants(p, f); err != nil {
			return err
		}
	}
	return q.trust(p)
}

// trust has the program call the tools of a new server without asking, unless its user has a rule about them. Where the server is
// removed, so is that rule, also one that the user typed: it names nothing any more.
func (q *Request) trust(p *Plan) error {
	g := &p.Driver.Servers.Grants
	out := q.Remove || q.Distrust
	if g.Trust == "" || q.Scope != driver.User || !out && (!p.fresh || q.NoTrust) {
		return nil
	}
	at := slices.IndexFunc(g.Files, func(f driver.File) bool { return f.Scope == driver.User })
	c, err := p.change(q, g.Files[at].Path(q.Place))
	if err != nil {
		return err
	}
	if q.hasRule(g, g.Files[at].Format, c.After) != out {
		return nil
	}
	p.trusts = !out
	entries, did := [][]byte{canonjson.AppendString(nil, g.Trust)}, "rule "+g.Trust+" added"
	if out {
		entries, did = nil, "rule "+g.Trust+" removed"
	}
	p.adopt(c)
	return c.edit(did, func(text []byte) ([]byte, error) {
		return settings.SetListEntries(g.Files[at].Format, text, g.TrustIn, func(entry []byte) bool {
			name, _ := canonjson.String(entry)
			return name == g.Trust
		}, entries)
	})
}

// hasRule tells whether the user has said something about the tools of our server.
func (q *Request) hasRule(g *driver.Grants, format driver.Format, text []byte) bool {
	for _, path := range g.Lists {
		list, there, err := settings.Get(format, text, path)
		if err != nil || !there || !isList(list) {
			continue
		}
		for entry := range canonjson.Elements(list) {
			if name, _ := canonjson.String(entry); strings.HasPrefix(name, g.Trust) {
				return true
			}
		}
	}
	return false
}

// folderGrants deals with the folders in which the user has worked. A file there that cannot be read is named, and stays.
func (q *Request) folderGrants(p *Plan, f driver.File) error {
	g := &p.Driver.Servers.Grants
	c, err := p.change(q, f.Path(q.Place))
	if err != nil || c.After == nil {
		return err
	}
	for _, o := range folders(p.Driver, f.Format, c.After) {
		if !filepath.IsAbs(o.dir) {
			continue
		}
		place := q.Place
		place.Dir = o.dir
		for _, own := range g.Files {
			if own.Scope != driver.Local {
				continue
			}
			if err := q.grantsIn(p, own, own.Path(place)); err != nil {
				p.Remarks = append(p.Remarks, err.Error())
			}
		}
		folder := localTable(p.Driver, o.dir)[:slices.Index(p.Driver.Servers.Local, "")+1]
		for _, list := range g.Folder {
			if names, _ := q.grantsOf(inTable(o.own, list)); len(names) == 0 {
				continue // so that the file, which can be large, is not read again for each folder
			}
			if err := q.grantList(p, f.Format, c, append(slices.Clone(folder), list...)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (q *Request) grantsIn(p *Plan, f driver.File, path string) error {
	c, err := p.change(q, path)
	if err != nil || c.After == nil {
		return err
	}
	g := &p.Driver.Servers.Grants
	for _, list := range g.Lists {
		if err := q.grantList(p, f.Format, c, list); err != nil {
			return err
		}
	}
	for _, table := range g.Tables {
		if err := q.grantTable(p, f.Format, c, table); err != nil {
			return err
		}
	}
	return nil
}

// inTable returns the value at a path in a table, or nil.
func inTable(table []byte, path []string) []byte {
	for _, key := range path {
		table, _ = canonjson.Get(table, key)
	}
	return table
}

// grantsOf returns the present names that a list lacks beside their former ones, or those that go with a removal, and their entries.
func (q *Request) grantsOf(list []byte) (names []string, entries [][]byte) {
	if !isList(list) {
		return nil, nil
	}
	var all []string
	for entry := range canonjson.Elements(list) {
		name, _ := canonjson.String(entry)
		all = append(all, name)
	}
	for _, name := range all {
		now, ok := driver.Renamed(name)
		if ok && slices.Contains(all, now) == q.Remove {
			names, entries = append(names, now), append(entries, canonjson.AppendString(nil, now))
		}
	}
	return names, entries
}

// grantList adds to a list the present name of each former one in it, or takes it out.
func (q *Request) grantList(p *Plan, format driver.Format, c *Change, path []string) error {
	list, there, err := settings.Get(format, c.After, path)
	if err != nil || !there {
		return nil // the program itself says what is wrong with it
	}
	names, entries := q.grantsOf(list)
	if len(names) == 0 {
		return nil
	}
	if q.Remove {
		entries = nil
	}
	p.adopt(c)
	return c.edit(q.grantWords(names), func(text []byte) ([]byte, error) {
		return settings.SetListEntries(format, text, path, func(entry []byte) bool {
			name, _ := canonjson.String(entry)
			return slices.Contains(names, name)
		}, entries)
	})
}

// grantTable does so for a table. Where a pattern behind the former name could decide, what is added at the end would decide otherwise:
// that is left to the user.
func (q *Request) grantTable(p *Plan, format driver.Format, c *Change, path []string) error {
	table, there, err := settings.Get(format, c.After, path)
	if err != nil || !there || !canonjson.IsObject(table) {
		return nil
	}
	last := map[string]bool{} // a former name has no pattern of others behind it
	for name := range canonjson.Members(table) {
		if _, ok := driver.Renamed(name); ok {
			last[name] = true
		} else if slices.Contains([]byte(name), '*') {
			clear(last)
		}
	}
	for name, value := range canonjson.Members(table) {
		now, ok := driver.Renamed(name)
		if !ok {
			continue
		}
		_, has := canonjson.Get(table, now)
		at := append(slices.Clone(path), now)
		switch {
		case has != q.Remove:
			continue
		case q.Remove:
			err = c.edit(q.grantWords([]string{now}), func(text []byte) ([]byte, error) { return settings.Remove(format, text, at) })
		case !last[name]:
			p.Remarks = append(p.Remarks, fmt.Sprintf("%s says something of %s, which is %s now: a rule behind it counts too, so add it yourself", c.Path, name, now))
			continue
		default:
			err = c.edit(q.grantWords([]string{now}), func(text []byte) ([]byte, error) { return settings.Set(format, text, at, value) })
		}
		if err != nil {
			return err
		}
		p.adopt(c)
	}
	return nil
}

func (q *Request) grantWords(names []string) string {
	if q.Remove {
		return fmt.Sprintf("rule taken out again: %q", names)
	}
	return fmt.Sprintf("rule of the former name added for the present one: %q", names)
}
