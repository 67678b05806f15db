package yaml

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tutti/internal/sessions/registry"
)

// A merger brings the two files into agreement, in memory.
type merger struct {
	doc      *document // becomes what the YAML has to say
	db       *stored
	yamlGone bool // there is no YAML, or nothing in it

	frozen   map[string]bool  // rows that stay in both files as they are
	unusable map[string]error // rows that cannot be used, and why
	problems []registry.Problem
}

func (m *merger) problem(name string, line int, unusable bool, format string, args ...any) {
	m.problems = append(m.problems, registry.Problem{Name: name, Line: line, Reason: fmt.Sprintf(format, args...), Unusable: unusable})
}

// run decides for each row which of the files counts.
func (m *merger) run() {
	m.frozen, m.unusable = map[string]bool{}, map[string]error{}
	nameless := false
	for _, e := range m.doc.rows {
		name := e.name()
		for _, odd := range e.odd {
			m.problem(name, e.node.Line, false, "%s", odd)
		}
		if e.bad == nil {
			continue
		}
		m.frozen[name], m.unusable[name] = true, e.bad
		nameless = nameless || name == ""
		m.problem(name, cmp.Or(e.bad.Line, e.node.Line), true, "%s", e.bad.Reason)
	}
	var missing []string // in the file
	for _, name := range m.db.names {
		if m.frozen[name] {
			continue
		}
		if e := m.doc.find(name); e != nil {
			m.both(e, m.db.rows[name])
		} else if m.onlyStored(name, m.db.rows[name], nameless) {
			missing = append(missing, name)
		}
	}
	m.addAll(missing)
	if m.db.nameless {
		m.problem("", 0, true, "a row of the database has no name")
	}
	m.rest()
}

// both judges a row that stands in both files.
func (m *merger) both(e *entry, s storedRow) {
	name, here, base := e.row.Name, e.hash(), m.base(e.row.Name)
	switch {
	case here == s.hash:
	case s.bad != nil && here == base:
		m.leave(e, s.bad.Reason)
	case s.bad != nil:
		m.problem(name, e.node.Line, false, "its entry in the database cannot be used (%s); the file counts", s.bad.Reason)
	case here == base:
		m.adopt(e, s)
	case s.row.Role != "" && s.row.Role != e.row.Role:
		m.frozen[name] = true
		bad := &registry.InvalidError{Name: name, Line: e.node.Line, Reason: fmt.Sprintf("its role was %q, and a role that was set may not change", s.row.Role)}
		m.unusable[name] = bad
		m.problem(name, e.node.Line, true, "%s", bad.Reason)
	case s.hash == base:
		// It was edited in the file, perhaps by a program that had read it before a change of ours.
		if was, is := s.row.Revision, e.row.Revision; is < was {
			m.problem(name, e.node.Line, false, "the file has its revision %d, and there was a revision %d: what that changed is gone; the file counts", is, was)
		}
	case base == "":
		m.problem(name, e.node.Line, false, "the file and the database say different things of it; the file counts")
	default:
		m.problem(name, e.node.Line, false, "it was changed in the file and by another program in the database; the file counts")
	}
}

func (m *merger) base(name string) string {
	if m.yamlGone {
		return ""
	}
	return m.db.ours.Rows[name]
}

// adopt takes a row into the file that another program has changed in the database.
func (m *merger) adopt(e *entry, s storedRow) {
	err := registry.CheckChange(&e.row, &s.row)
	if err == nil {
		var is *document
		if is, err = m.doc.change(e, diff(e.said, e.said, s.said)); err == nil {
			m.doc = is
			return
		}
	}
	m.leave(e, err.Error())
}

// leave keeps a row in both files as it is there.
func (m *merger) leave(e *entry, why string) {
	m.frozen[e.row.Name] = true
	m.problem(e.row.Name, e.node.Line, false, "another program has changed it in the database, and that was not taken over: %s", why)
}

// onlyStored judges a row that stands in the database only, and reports whether it has to be written into the file.
func (m *merger) onlyStored(name string, s storedRow, nameless bool) bool {
	base := m.base(name)
	switch {
	case s.bad != nil:
		m.frozen[name], m.unusable[name] = true, s.bad
		m.problem(name, 0, true, "%s", s.bad.Reason)
	case base != "" && base == s.hash && nameless:
		m.frozen[name] = true
		m.unusable[name] = &registry.InvalidError{Name: name, Reason: "a row of the file has lost its name, and may be this one"}
		m.problem(name, 0, true, "it is not in the file any more, but a row there has no name: if that is this one, give it back its name")
	case base != "" && base == s.hash:
		// It was removed from the file.
	default:
		return true
	}
	return false
}

// addAll writes rows into the file that stand in the database only: all at once, and where that cannot be done those that can.
func (m *merger) addAll(names []string) {
	rows := make([]*tree, len(names))
	for i, name := range names {
		rows[i] = m.db.rows[name].said
	}
	if len(names) > 1 {
		if is, err := m.doc.add(rows...); err == nil {
			m.doc, rows = is, nil
		}
	}
	for i, name := range names {
		if rows != nil {
			is, err := m.doc.add(rows[i])
			if err != nil {
				m.frozen[name], m.unusable[name] = true, err
				m.problem(name, 0, true, "it is in the database only, and could not be written into the file: %v", err)
				continue
			}
			m.doc = is
		}
		if m.base(name) != "" {
			m.problem(name, 0, false, "it was removed from the file and changed by another program in the database; it stays")
		}
	}
}

// rest judges what is beside the rows. What another program has exported of ours is not looked at.
func (m *merger) rest() {
	here, there := m.doc.rest.with(ourKey, nil), m.db.rest
	hash := hashOf(here)
	theirs := hash == m.db.ours.Rest // it was not edited in the file
	if hash == hashOf(there) || !m.yamlGone && !theirs && m.db.ours.Rows != nil && hashOf(there) == m.db.ours.Rest {
		return
	}
	ops := slices.DeleteFunc(diff(here, here, there), func(o op) bool { return o.v == nil })
	if !m.yamlGone && !theirs {
		// Both have changed it, or that is unknown. As of rows, the file counts, and what only the database has stays.
		var lost []string
		ops = slices.DeleteFunc(ops, func(o op) bool {
			both := within(here, o.path) != nil
			if emptied := o.v.kind == object && len(o.v.kids) == 0; both && !emptied {
				lost = append(lost, strings.Join(o.path, "."))
			}
			return both
		})
		if len(lost) > 0 {
			m.problem("", 0, false, "the file and the database say different things of %s; the file counts", strings.Join(lost, ", "))
		}
	}
	if len(ops) == 0 {
		return
	}
	is, err := m.doc.amend(ops)
	if err != nil {
		m.problem("", 0, false, "another program has changed %s in the database, and that was not taken over: %v", ops[0].path[0], err)
		return
	}
	m.doc = is
}

// within returns what stands at a path, nil for nothing.
func within(t *tree, path []string) *tree {
	for _, name := range path {
		t = t.at(name)
	}
	return t
}

// rows returns the rows that can be used, in the order of the file.
func (m *merger) rows() (rows []registry.Row) {
	for _, e := range m.doc.rows {
		if m.unusable[e.name()] == nil {
			rows = append(rows, e.row.Clone())
		}
	}
	return rows
}

// outcome returns what the database has to learn, and what is agreed upon afterwards. text is the hash of the YAML.
func (m *merger) outcome(sum string) (put []*entry, gone []string, rest *tree, a agreement) {
	a = agreement{Revision: m.db.ours.Revision, YAML: sum, Rows: map[string]string{}}
	rest = m.doc.rest.with(ourKey, nil).with(rowsKey, nil)
	a.Rest = hashOf(rest)
	for name := range m.frozen {
		if base, ok := m.db.ours.Rows[name]; ok {
			a.Rows[name] = base
		}
	}
	for _, e := range m.doc.rows {
		if m.frozen[e.name()] {
			continue
		}
		hash := e.hash()
		a.Rows[e.row.Name] = hash
		if s, ok := m.db.rows[e.row.Name]; !ok || s.hash != hash || s.bad != nil || s.old {
			put = append(put, e)
		}
	}
	for _, name := range m.db.names {
		if _, ok := a.Rows[name]; !ok && !m.frozen[name] {
			gone = append(gone, name)
		}
	}
	return put, gone, rest, a
}
