package text

import (
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

func TestSkipFlow(t *testing.T) {
	t.Parallel()
	// The value begins at the first byte; the mark | stands where it ends.
	for _, c := range []string{
		`{a: 1, b: [x, "y, }"]}|, next`, `[a]|`, `'it''s, so'|, x`, `"a \" , b"|}`, `plain word|, x`, `plain word| }`, `don't|, it`,
		`a|: b`, `http://x/#y|, z`, "{a: 1, # comment }\n b: 2}| # end", "word| # comment", "[\n  a,\n  b\n]|\n", `"key"|: v`, `key|: v`,
		`a'b"c|]`, `{'k': "v"}|`,
	} {
		want := strings.IndexByte(c, '|')
		text := []byte(strings.Replace(c, "|", "", 1))
		if got := SkipFlow(text, 0); got != want {
			t.Errorf("%q ends at %d: %q, want %d", text, got, text[:got], want)
		}
	}
}

func TestPlainEnd(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"word # c\nx": "word", "word\t# c": "word", "a#b  \r\n": "a#b", "": "", "a, [b]: c": "a, [b]: c", "*alias   # c": "*alias",
	} {
		if got := text[:PlainEnd([]byte(text), 0)]; got != want {
			t.Errorf("%q ends as %q, want %q", text, got, want)
		}
	}
}

func TestOddBreak(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"a\nb\r\n": -1, "a\rb": 1, "a\r": 1, "ab\u0085": 2, "\u2028": 0, "x\u2029": 1, "é – ü": -1} {
		if got := OddBreak([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestOne(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "nothing", "# c\n": "nothing", "--- # c\n": "null", "a: 1\n": "a", "\ufeffa: 1\r\n...\r\n": "a", "%YAML 1.1\n---\na: 1\n": "a", "- a\n": "-",
		"a: 1\n---\nb: 1\n": "line 2: a second document begins here", "a: 1\n---\n": "line 2: a second document begins here",
		"a: [\n": "line 1: did not find expected node content", "a: b: c\n": "line 1: mapping values are not allowed in this context",
	} {
		n, err := One([]byte(text))
		got := "nothing"
		switch {
		case err != nil:
			got = err.Error()
		case n != nil && n.Kind == yaml.MappingNode:
			got = n.Content[0].Value
		case n != nil && n.Kind == yaml.SequenceNode:
			got = "-"
		case n != nil:
			got = "null"
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	// Directives are compared with each other: half a megabyte of them would take seconds, and eight take half an hour.
	var many strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&many, "%%TAG !a%d! x\n", i)
	}
	if _, err := One([]byte(many.String() + "---\na: 1\n")); err == nil || !strings.Contains(err.Error(), "begin with %") {
		t.Errorf("many directives: %v", err)
	}
}

// TestOffset finds each word of a text again, behind characters of any size.
func TestOffset(t *testing.T) {
	t.Parallel()
	text := []byte("é: [ü, 😀x]\r\n\r\n  # é\r\n\"b\":\n  - c")
	root, err := One(text)
	if err != nil {
		t.Fatal(err)
	}
	lines := LinesOf(text)
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if n.Kind == yaml.ScalarNode && !strings.HasPrefix(strings.TrimPrefix(string(text[lines.Offset(text, n):]), `"`), n.Value) {
			t.Errorf("%q is sought at byte %d", n.Value, lines.Offset(text, n))
		}
		for _, c := range n.Content {
			walk(c)
		}
	}
	walk(root)
	if at := lines.Offset(text, &yaml.Node{Line: 9}); at != len(text) {
		t.Errorf("beyond the end: %d", at)
	}
}

func TestContentEnd(t *testing.T) {
	t.Parallel()
	text := []byte("a:\n  b: 1\n    # deep\n  # mine\n\n# theirs\n\n")
	for indent, want := range map[int]string{0: "# theirs\n", 1: "  # mine\n", 3: "    # deep\n", 9: "b: 1\n"} {
		if got := text[:ContentEnd(text, 0, len(text), indent)]; !strings.HasSuffix(string(got), want) {
			t.Errorf("indent %d: ends with %q, want %q", indent, got, want)
		}
	}
	if got := ContentEnd(text, 12, len(text), 9); got != 12 {
		t.Errorf("it went back before its beginning, to %d", got)
	}
}

// TestSpell lets the parser read what was spelt, as a value, in braces and as a key, in a file with either end of line.
func TestSpell(t *testing.T) {
	t.Parallel()
	check := func(fatal func(string, ...any), s string, quoted bool) {
		word := Spell(s, quoted)
		var out map[string]any
		if err := yaml.Unmarshal([]byte("in braces: {the value: "+word+", "+word+": 1}\n"), &out); err != nil || out["in braces"].(map[string]any)["the value"] != any(s) {
			fatal("%q is spelt %s and read in braces as %v, %v", s, word, out["in braces"], err)
		}
		if err := yaml.Unmarshal([]byte("in block: "+word+" # c\r\n"+word+": b\r\n"), &out); err != nil || out["in block"] != any(s) {
			fatal("%q is spelt %s and read as %#v, %v", s, word, out["in block"], err)
		}
	}
	for _, s := range []string{
		"", "x", "a-b/c.d", "yes", "No", "ON", "null", "~", "1", "0x1f", "1e3", ".inf", "nan", "2026-11-21", "a: b", "a #b", "#", "- a", "é", "\u0085\u2028\ufeff",
		"\x1b[0m\x7f", "tab\t", "line\nline\r\n", "'", "\"", "\\", "{a}", "<<", "=", "*a", "&a", "!a", "%a", "@a", "`a", "|", ">", "😀", " x ", "true", "y", "\x00",
	} {
		check(t.Fatalf, s, false)
		check(t.Fatalf, s, true)
		if !strings.HasPrefix(Spell(s, true), `"`) {
			t.Errorf("%q is not quoted", s)
		}
	}
	rapid.Check(t, func(t *rapid.T) { check(t.Fatalf, rapid.String().Draw(t, "s"), rapid.Bool().Draw(t, "quoted")) })
}
