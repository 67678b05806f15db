package yaml

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tutti/internal/core/text"
	"tutti/internal/sessions/registry"
)

// A style is how a random file is written.
type style struct {
	eol, dash, key, unit, list string
	t                          *rapid.T
	n                          int // comments made so far
}

func (s *style) comment() string {
	s.n++
	return fmt.Sprintf("# c%d\twith a tab: [x]", s.n)
}

// maybe adds a comment line or a blank one.
func (s *style) maybe(indent string) string {
	switch rapid.IntRange(0, 7).Draw(s.t, "between") {
	case 0:
		return indent + s.comment() + s.eol
	case 1:
		return s.eol
	}
	return ""
}

func (s *style) tail() string {
	if rapid.IntRange(0, 4).Draw(s.t, "tail") == 0 {
		return "  " + s.comment()
	}
	return ""
}

// word spells a string in one of the ways that YAML has.
func (s *style) word(src string) string {
	switch rapid.IntRange(0, 2).Draw(s.t, "quotes") {
	case 0:
		return text.Spell(src, true)
	case 1:
		return "'" + strings.ReplaceAll(src, "'", "''") + "'"
	}
	return text.Spell(src, false)
}

// A mark is a comment, and the member behind or in which it stands; "" for one on a line of its own.
type mark struct{ comment, member string }

// row writes a row; stable are the comments that no change of ours may take away as long as their member is there.
func (s *style) row(name string) (src string, stable []mark) {
	indent := strings.Repeat(" ", len(s.dash+s.key)+1)
	members := []string{"name", "status", "pane"}
	for _, m := range []string{"role", "x_server", "claude_session_id_own", "agent", "start_argv", "mcp_attachments", "resumable", "x_unknown", "last_visible_screen", "previous_ids"} {
		if rapid.Bool().Draw(s.t, m) {
			members = append(members, m)
		}
	}
	members = rapid.Permutation(members).Draw(s.t, "order")
	var b strings.Builder
	for i, m := range members {
		if i > 0 {
			b.WriteString(s.maybe(indent))
			b.WriteString(indent)
		} else {
			b.WriteString(s.dash + "-" + s.key)
		}
		value := s.value(m, name, indent)
		for _, line := range strings.Split(value, s.eol) {
			if i := strings.LastIndex(line, "# c"); i >= 0 && strings.Contains(line, "with a tab") {
				at := m
				if strings.Contains(line[:i], "pid:") && !strings.Contains(line[:i], "{") {
					at = "pane.pid"
				}
				stable = append(stable, mark{line[i:], at})
			}
		}
		b.WriteString(m + ":" + value + s.eol)
	}
	for _, line := range strings.Split(b.String(), s.eol) {
		if c := strings.TrimLeft(line, " "); strings.HasPrefix(c, "# c") {
			stable = append(stable, mark{line, ""})
		}
	}
	return b.String(), stable
}

func (s *style) value(m, name, indent string) string {
	switch m {
	case "name":
		return " " + s.word(name) + s.tail()
	case "status":
		return " " + s.word(rapid.SampledFrom([]string{"running", "stopped"}).Draw(s.t, "status")) + s.tail()
	case "pane":
		if rapid.Bool().Draw(s.t, "flow") {
			return " {pid: 7, cmd: \"a, b\", cwd: /srv}" + s.tail()
		}
		return s.tail() + s.eol + indent + s.unit + "pid: 7" + s.tail() + s.eol + s.maybe(indent+s.unit) + indent + s.unit + "cmd: 'it''s'"
	case "claude_session_id_own":
		return rapid.SampledFrom([]string{" null", "", " ~", " 0a0b", s.eol + indent + s.unit + "0a0b", " 0a" + s.eol + indent + s.unit + "0b"}).Draw(s.t, "id") + s.tail()
	case "resumable":
		return " true" + s.tail()
	case "start_argv", "mcp_attachments", "previous_ids":
		if rapid.Bool().Draw(s.t, "flow") {
			return " [a, \"b # c\"]" + s.tail()
		}
		return s.eol + indent + s.list + "- a" + s.eol + indent + s.list + "- 'b: c'"
	case "last_visible_screen":
		if rapid.Bool().Draw(s.t, "literal") {
			return " |" + s.tail() + s.eol + indent + s.unit + "$ ls # no comment" + s.eol + s.eol + indent + s.unit + "  deep"
		}
		return " \"two\\n  lines " + "\\" + s.eol + indent + s.unit + "more\"" + s.tail()
	}
	return " " + s.word("some text with 'quotes' and # marks") + s.tail()
}

// TestEditProperty makes random files in random styles, changes a random row at random, and looks at every byte that is not of that
// row, and at the comments of the row.
func TestEditProperty(t *testing.T) {
	t.Parallel()
	refused, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := &style{
			t: t, eol: rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "eol"), dash: rapid.SampledFrom([]string{"", "  ", "    "}).Draw(t, "dash"),
			key: rapid.SampledFrom([]string{" ", "   "}).Draw(t, "key"), unit: rapid.SampledFrom([]string{" ", "  ", "    "}).Draw(t, "unit"),
			list: rapid.SampledFrom([]string{"", "  "}).Draw(t, "list"),
		}
		head := rapid.SampledFrom([]string{"", "\ufeff", "---" + s.eol, "# top" + s.eol + s.eol}).Draw(t, "head") + s.maybe("") + "tmux_sessions:" + s.tail() + s.eol
		n := rapid.IntRange(1, 4).Draw(t, "rows")
		target := rapid.IntRange(0, n).Draw(t, "target") // n: a new one
		segments, stable := []string{head}, []mark(nil)
		for i := range n {
			src, marks := s.row(fmt.Sprintf("row-%d", i))
			if i == target {
				stable = marks
			}
			segments = append(segments, src)
		}
		segments = append(segments, s.maybe("")+rapid.SampledFrom([]string{"", "agent_identities: {}" + s.eol, "z: |" + s.eol + "  end" + s.eol}).Draw(t, "foot"))
		src := strings.Join(segments, "")
		if rapid.Bool().Draw(t, "no end") {
			src = strings.TrimSuffix(src, s.eol)
		}
		name := fmt.Sprintf("row-%d", target)
		change := randomChange(t)
		all++
		got, err := edited([]byte(src), name, change)
		if err != nil {
			refused++
			if !strings.Contains(err.Error(), "cannot be changed safely") {
				t.Fatalf("%v\n%s", err, src)
			}
			return
		}
		before := strings.Join(segments[:min(target, n)+1], "")
		after := strings.Join(segments[min(target+2, n+1):], "")
		if target == n {
			before, after = strings.TrimRight(strings.Join(segments[:n+1], ""), " \r\n"), strings.TrimLeft(segments[n+1], " \r\n")
		}
		after = strings.TrimRight(after, "\r\n")
		if !strings.HasPrefix(string(got), before) || !strings.HasSuffix(strings.TrimRight(string(got), "\r\n"), after) {
			t.Fatalf("something else was changed:\n%q\nbecame\n%q", src, got)
		}
		if bytes.HasSuffix(got, []byte("\n")) != strings.HasSuffix(src, "\n") && len(src) == len(strings.Join(segments, "")) {
			t.Fatalf("the end of the last line:\n%q\nbecame\n%q", src, got)
		}
		is, err := parse(got)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range stable {
			kept := c.member == "" || within(is.find(name).said, strings.Split(c.member, ".")) != nil
			if kept && !bytes.Contains(got, []byte(c.comment)) {
				t.Fatalf("the comment %q is gone:\n%s\nbecame\n%s", c.comment, src, got)
			}
		}
		if strings.Count(string(got), "\r\n") != strings.Count(string(got), "\n") && s.eol == "\r\n" {
			t.Fatalf("ends of lines are mixed:\n%q", got)
		}
		// The same once more changes nothing, and an independent reading agrees.
		if again, err := edited(got, name, change); err != nil || !bytes.Equal(again, got) {
			t.Fatalf("the same again: %v\n%s\nbecame\n%s", err, got, again)
		}
	})
	if refused*20 > all {
		t.Errorf("%d of %d changes were refused", refused, all)
	}
}

func randomChange(t *rapid.T) func(r *registry.Row) {
	texts := []string{"x", "a: b", "# c", "yes", "", "two\nlines", "tab\tand \u0085\u2028\ufeff\x1b", "'", "\"", "- a", "{", "0x1f", "2026-11-21", "é", strings.Repeat("long ", 100)}
	src := func(label string) string { return rapid.SampledFrom(texts).Draw(t, label) }
	status := rapid.SampledFrom([]registry.Status{registry.Running, registry.Stopped, registry.Terminated}).Draw(t, "new status")
	own, id, pid, reason, screen := rapid.Bool().Draw(t, "own"), src("id"), rapid.IntRange(0, 99999).Draw(t, "pid"), src("reason"), src("screen")
	argv, argvSet := rapid.SliceOfN(rapid.SampledFrom(texts), 0, 4).Draw(t, "argv"), rapid.Bool().Draw(t, "set argv")
	extra, unset := src("extra"), rapid.Bool().Draw(t, "unset")
	return func(r *registry.Row) {
		r.Status = status
		if own {
			r.SetConversation("claude", id)
		}
		r.Pane.PID, r.StopReason, r.VisibleScreen = pid, reason, screen
		if argvSet {
			r.StartArgv = argv
		}
		if unset {
			r.Clear("resumable", "x_unknown")
		} else {
			r.Set("x_new", fromText(extra))
		}
	}
}

func fromText(s string) []byte { return (&tree{kind: word, text: s}).json(nil) }

// FuzzEdit changes the first usable row of any text: it is refused, or every other byte stays.
func FuzzEdit(f *testing.F) {
	seeds, _ := filepath.Glob("testdata/edit/*.yaml")
	for _, name := range seeds {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		d, err := parse(src)
		if err != nil {
			return
		}
		for i, e := range d.rows {
			if e.bad != nil {
				continue
			}
			got, err := edited(src, e.row.Name, changes["stop"])
			if err != nil {
				return
			}
			from, to := d.rowRange(e)
			if !bytes.HasPrefix(got, src[:from]) || !bytes.HasSuffix(got, src[to:]) {
				t.Fatalf("row %d of\n%q\nbecame\n%q", i, src, got)
			}
			is, err := parse(got)
			if err != nil || is.rows[i].row.StopReason != "api_error" || len(is.rows) != len(d.rows) || !d.sameRows(is.rows, i) {
				t.Fatalf("%v\n%q\nbecame\n%q", err, src, got)
			}
			return
		}
		if got, err := edited(src, "a new row", changes["add"]); err == nil && len(got) < len(src)-20 {
			t.Fatalf("%q\nbecame\n%q", src, got)
		}
	})
}
