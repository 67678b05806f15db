package files

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

// sameNodes compares what the parts of two trees are, say, and where they stand. Comments are nobody's.
func sameNodes(a, b *yaml.Node) error {
	if a.Kind != b.Kind || a.Style != b.Style || a.Value != b.Value || a.Line != b.Line || a.Column != b.Column || a.ShortTag() != b.ShortTag() ||
		len(a.Content) != len(b.Content) || a.Anchor != b.Anchor {
		return fmt.Errorf("%+v is not %+v", *a, *b)
	}
	for i := range a.Content {
		if err := sameNodes(a.Content[i], b.Content[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkSimple compares with the parser what is read without it.
func checkSimple(text []byte) (simple bool, err error) {
	if checkText(text) != nil {
		return false, nil
	}
	got := simpleText(text)
	if got == nil {
		return false, nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, second yaml.Node
	if err := dec.Decode(&doc); err != nil {
		return true, fmt.Errorf("the parser refuses it: %w", err)
	}
	if dec.Decode(&second) == nil {
		return true, fmt.Errorf("the parser finds a second document")
	}
	return true, sameNodes(got, doc.Content[0])
}

func TestSimpleText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text   string
		simple bool
	}{
		{rowsOf(3), true},
		{strings.ReplaceAll(rowsOf(3), "\n", "\r\n"), false},
		{"tmux_sessions:\n  - name: a\n    status: running\n    pane:\n      pid: 1\n      cwd: /x\nagent_identities:\n  claude:\n    session_id: b\n", true},
		{"tmux_sessions:\n- name: a\n  list:\n  - x\n  - \"y\"\n  more: 1\n- name: b\n", true},
		{"tmux_sessions:\n- name: a\n  list:\n    - x\n    - k: v\n      l: w\n  more: 1\n", true},
		{"tmux_sessions: []\nother: {}\n", true},
		{"a: null\nb: true\nc: 1.5\nd: -3\ne: 0x1f\nf: 2026-11-21T19:00:00Z\ng: 1_000\nh: 12e03\ni: yes\nj: 0o7\n", true},
		{"a: tutti session create --agent claude -- x=1,2 a@b:c\n", true},
		{"a: \"\\\" \\\\ \\n \\t \\x7f \\u2028 \\b\\f\\r ü — 🙂 : # '\"\n", true},
		{"a: \"\\ud83d\\ude42\"\n", false},
		{"a: \"\\q\"\n", false},
		{"a: \"x\" # y\n", false},
		{"a: \"x\n  y\"\n", false},
		{"a: b # c\n", false},
		{"a: b\n  c\n", false},
		{"a: b\n\n", false},
		{"# c\na: b\n", false},
		{"a: b", false},
		{"a:\nb: c\n", false},
		{"a:\n  b\n", false},
		{"a: &x b\nc: *x\n", false},
		{"a: !!str b\n", false},
		{"a: 'b'\n", false},
		{"a: |\n  b\n", false},
		{"a: [b]\n", false},
		{"a: {b: c}\n", false},
		{"a: b: c\n", false},
		{"a: b:\n", false},
		{"a: b :c\n", false},
		{"a:  b\n", false},
		{"a: b \n", false},
		{"a: b\n- c\n", false},
		{"- a\n", false},
		{"<<: b\n", false},
		{"---\na: b\n", false},
		{"a: b\n...\n", false},
		{"a: b\n---\na: c\n", false},
		{"a:\n- - b\n", false},
		{"a:\n-   b: c\n", false},
		{"a:\n- b\n  c\n", false},
		{"a:\n - b\n- c\n", false},
		{"a:\n  b: c\n d: e\n", false},
		{"a:\n  - b: c\n   d: e\n", false},
		{"a: -\n", false},
		{"a: - b\n", false},
		{"a: ?\n", false},
		{"a: b\tc\n", false},
		{"a: \"b\u0085c\"\n", false},
		{"a: ~\n", false},
		{"a: .\n", false},
		{strings.Repeat("k", 200) + ": v\n", false},
		{"\n", false},
		{"", false},
	} {
		simple, err := checkSimple([]byte(c.text))
		if simple != c.simple || err != nil {
			t.Errorf("%q: simple %v, want %v: %v", c.text, simple, c.simple, err)
		}
	}
}

// Whatever the parser is not asked for it would have said the same.
func FuzzSimpleText(f *testing.F) {
	f.Add(rowsOf(2))
	f.Add("tmux_sessions:\n  - name: a\n    pane:\n      pid: 1\n    list: []\n    more:\n    - \"x\\u0041\"\n    - k: v\n      l: -1\nrest: {}\n")
	f.Add("a: b c:d\nb:\n  c: 2026-11-21\n  d: 1e5\n")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := checkSimple([]byte(text)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	text := []byte(rowsOf(14))
	b.Run("simple", func(b *testing.B) {
		for b.Loop() {
			if simpleText(text) == nil {
				b.Fatal("not simple")
			}
		}
	})
	b.Run("parser", func(b *testing.B) {
		for b.Loop() {
			var n yaml.Node
			if err := yaml.Unmarshal(text, &n); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("document", func(b *testing.B) {
		for b.Loop() {
			if _, err := parse(text, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// Texts of this kind with some letters and lines changed: what is still simple says what the parser says.
func TestSimpleTextDamaged(t *testing.T) {
	t.Parallel()
	base := "tmux_sessions:\n  - name: a-b\n    status: running\n    pane:\n      pid: 1\n      cwd: /x y\n    list:\n    - \"x\\u0041 #: \"\n    - --opt=1\n    - k: v\n      l: -1\n    more: []\n" +
		"  - name: \"c\"\n    at: 2026-11-21T19:00:00Z\n    rest: {}\nother:\n  a: null\n  b:\n  - 0x1f\n  - 1e5\nlast: true\n"
	marks := []string{" ", "  ", "-", "- ", ":", ": ", "\n", "\"", "'", "#", " #", "\\", "[", "]", "{", "}", ",", "&a", "*a", "!", "|", ">", "%", "@", "`", "?", "? ", "...", "---", "<<", "~", "\t", "ü", "\u0085", "0", "_", ".", "=", "+", "\\x4", "\\q"}
	simple := 0
	rapid.Check(t, func(t *rapid.T) {
		text := base
		for range rapid.IntRange(0, 4).Draw(t, "changes") {
			at := rapid.IntRange(0, len(text)).Draw(t, "at")
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				text = text[:at] + rapid.SampledFrom(marks).Draw(t, "mark") + text[at:]
			case 1:
				text = text[:at] + text[min(len(text), at+rapid.IntRange(1, 3).Draw(t, "n")):]
			case 2: // a line twice, or elsewhere
				lines := strings.SplitAfter(text, "\n")
				from, to := rapid.IntRange(0, len(lines)-1).Draw(t, "from"), rapid.IntRange(0, len(lines)-1).Draw(t, "to")
				lines[to] += lines[from]
				text = strings.Join(lines, "")
			default: // a line deeper or less deep
				lines := strings.SplitAfter(text, "\n")
				i := rapid.IntRange(0, len(lines)-1).Draw(t, "line")
				if rapid.Bool().Draw(t, "deeper") {
					lines[i] = "  " + lines[i]
				} else {
					lines[i] = strings.TrimPrefix(lines[i], "  ")
				}
				text = strings.Join(lines, "")
			}
		}
		is, err := checkSimple([]byte(text))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if is {
			simple++
		}
	})
	if simple == 0 {
		t.Error("none was simple")
	}
}
