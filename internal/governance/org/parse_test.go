package org_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"tutti/internal/governance/org"
)

const demo = `# who does what
scope: org:demo
version: "1"
instances:
  - instance: human:owner
    role: PRINCIPAL
    scopes: [org:demo]
  - instance: claude:lead
    role: 'CONDUCTOR'   # leads
    scopes: [org:demo, "scope:parser"]
    mandateRights: [review]

commEdges:
  - from: claude:lead
    to: human:owner
`

const demoJSON = `{"scope":"org:demo","version":"1","instances":[` +
	`{"instance":"human:owner","role":"PRINCIPAL","scopes":["org:demo"]},` +
	`{"instance":"claude:lead","role":"CONDUCTOR","scopes":["org:demo","scope:parser"],"mandateRights":["review"]}],` +
	`"commEdges":[{"from":"claude:lead","to":"human:owner"}]}`

// TestParse: different spellings of one manifest parse to the same result.
func TestParse(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"yaml":              demo,
		"yaml, CRLF":        strings.ReplaceAll(demo, "\n", "\r\n"),
		"yaml, BOM, no end": "\ufeff" + strings.TrimRight(demo, "\n"),
		"yaml, lists at the columns of their keys": strings.NewReplacer("\n  - ", "\n- ", "\n    ", "\n  ").Replace(demo),
		"yaml, lists in blocks":                    strings.Replace(demo, "[org:demo, \"scope:parser\"]", "\n      - org:demo\n      - \"scope:p\\u0061rser\"", 1),
		"yaml, items on lines of their own":        strings.ReplaceAll(demo, "  - instance", "  -\n    instance"),
		"json":                                     demoJSON,
		"json, indented":                           " \n" + strings.ReplaceAll(demoJSON, ",", " ,\n"),
		"json, one scope":                          strings.Replace(demoJSON, `["org:demo"]`, `"org:demo"`, 1),
	} {
		o, err := org.Parse([]byte(text))
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
			continue
		}
		if got := string(o.JSON()); got != demoJSON {
			t.Errorf("%s:\n got %s\nwant %s", name, got, demoJSON)
		}
		if p := o.Problems(); len(p) > 0 {
			t.Errorf("%s: problems %q", name, p)
		}
	}
}

// A value is a text, whatever other readers of YAML make of it.
func TestScalars(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`1`: "1", `true`: "true", `~x`: "~x", `it's # no`: "it's", `a#b`: "a#b", `''`: "", `'it''s'`: "it's", `"a\"b\\c\/d"`: `a"b\c/d`,
		`"é\u00e9\x41" # x`: "ééA", `a:b`: "a:b", `-a`: "-a", `a b `: "a b", `null`: "null", `"a # b"`: "a # b", `?x`: "?x",
	} {
		o, err := org.Parse([]byte("scope: s\nversion: " + text + "\ninstances: []\n"))
		if err != nil {
			t.Errorf("version: %s: %v", text, err)
		} else if o.Version != want {
			t.Errorf("version: %s: got %q, want %q", text, o.Version, want)
		}
	}
}

// TestRefused: an error names the line or the place.
func TestRefused(t *testing.T) {
	t.Parallel()
	yaml := func(instances string) string { return "scope: s\ninstances:\n" + instances }
	for _, c := range []struct{ text, want string }{
		{"", "the text: it is not a mapping"},
		{"# nothing\n", "the text: it is not a mapping"},
		{"[]", "the text: it is not a mapping at its top level, but a list"},
		{"just words", "line 1: neither a key"},
		{"scope: s\n\tversion: 1\n", "line 2: it is indented with a tab"},
		{"scope: s\n  \tversion: 1\n", "line 2: it is indented with a tab"},
		{"scope: s\nscope: t\ninstances: []\n", "line 2: the key scope stands twice"},
		{`{"scope":"s","scope":"t","instances":[]}`, `the key "scope" stands twice`},
		{"scope: s\n  version: 1\n", "line 2: it is indented by 2 columns instead of 0"},
		{"  scope: s\ninstances: []\n", "line 2: it belongs to nothing"},
		{"scope: &a s\ninstances: [*a]\n", "line 1: a value begins with &"},
		{"scope: s\ninstances: [*a]\n", "line 2: a value begins with *"},
		{"scope: !!str s\n", "line 1: a value begins with !"},
		{"scope: |\n  s\n", "line 1: a value begins with |"},
		{"scope: >-\n  s\n", "line 1: a value begins with >"},
		{"<<: x\n", "line 1: neither a key"},
		{"? scope\n: s\n", "line 1: neither a key"},
		{"---\nscope: s\n", "line 1: neither a key"},
		{"scope: s\n---\n", "line 2: neither a key"},
		{"%YAML 1.2\n", "line 1: neither a key"},
		{"scope: {a: b}\n", "line 1: a value begins with {"},
		{"scope: a: b\n", "line 1: a value holds a colon"},
		{"scope: 'a\n  b'\n", "line 1: a quote is not closed"},
		{"scope: \"a\n", "line 1: a quote is not closed"},
		{"scope: \"\\q\"\n", "line 1: a backslash in double quotes"},
		{"scope: \"\\ud800\"\n", "line 1: a backslash in double quotes"},
		{"scope: 'a' b\n", "line 1: something stands behind"},
		{"scope: 'a'#b\n", "line 1: something stands behind"},
		{"scope: s\ninstances: [a\n", "line 2: a comma or a closing bracket is missing"},
		{"scope: s\ninstances: [a,\n", "line 2: a bracket is not closed"},
		{"scope: s\ninstances: [a,]\n", "line 2: a comma stands before"},
		{"scope: s\ninstances: [[a]]\n", "line 2: a value begins with ["},
		{"scope: s\ninstances: [a: b]\n", "line 2: a value holds a colon"},
		{"scope: s\ninstances:\n  - a\n  b: c\n", "line 4: it is indented by 2 columns instead of 0"},
		{"scope: s\n- a\n", "line 2: a list and keys stand in one block"},
		{yaml("  -  instance: a\n"), "line 3: one blank"},
		{yaml("  - - a\n"), "line 3: a list in a list"},
		{yaml("  - instance: a\n   role: x\n"), "line 4: it is indented by 3 columns"},
		{"scope: a\x1b[31m\n", "line 1: it holds a control character"},
		{"scope: a\u202eb\n", "line 1: it holds a control character"},
		{"scope: \"a\\u202eb\"\ninstances: []\n", "scope: the text holds a control character"},
		{"scope: \"a\\nb\"\ninstances: []\n", "scope: the text holds a control character"},
		{"scope: \xff\n", "the text is not valid UTF-8"},
		{`{"scope":"\ud800","instances":[]}`, "scope: the text is not valid UTF-8"},
		{`{"scope":"a\u0007","instances":[]}`, "scope: the text holds a control character"},
		{`{"scope":"s","instances":[],"__proto__":{}}`, "the JSON:"},
		{`{"scope":"s","instances":[]} x`, "the JSON:"},
		{`{"instances":[]}`, "scope: it is missing"},
		{`{"scope":"","instances":[]}`, "scope: it is empty"},
		{`{"scope":5,"instances":[]}`, "scope: it is not a text"},
		{`{"scope":"s"}`, "instances: it is missing"},
		{`{"scope":"s","instances":{}}`, "instances: it is not a list, but a mapping"},
		{`{"scope":"s","version":1,"instances":[]}`, "version: it is not a text, but a number, true, false or null"},
		{`{"scope":"s","instances":[5]}`, "instances[0]: it is not a mapping"},
		{`{"scope":"s","instances":[{"role":"AGENTS"}]}`, "instances[0].instance: it is missing"},
		{`{"scope":"s","instances":[{"instance":"a","role":null}]}`, "instances[0].role: it is not a text"},
		{`{"scope":"s","instances":[{"instance":"a","role":"r","scopes":[1]}]}`, "instances[0].scopes[0]: it is not a text"},
		{`{"scope":"s","instances":[{"instance":"a","role":"r","scopes":{}}]}`, "instances[0].scopes: it is not a list of texts"},
		{`{"scope":"s","instances":[{"instance":"` + strings.Repeat("a", 600) + `","role":"r"}]}`, "instances[0].instance: "},
		{`{"scope":"` + strings.Repeat("a", 1025) + `","instances":[]}`, "scope: the text has 1025 bytes"},
		{`{"scope":"s","instances":[],"commEdges":{}}`, "commEdges: it is not a list"},
		{`{"scope":"s","instances":[],"commEdges":[{"from":"a"}]}`, "commEdges[0].to: it is missing"},
	} {
		o, err := org.Parse([]byte(c.text))
		var no *org.Refused
		if !errors.As(err, &no) {
			t.Errorf("%q: got %+v, %v; want a refusal", c.text, o, err)
			continue
		}
		if all := strings.Join(no.Problems, "\n"); !strings.Contains(all, c.want) {
			t.Errorf("%q: refused for %q, want %q", c.text, all, c.want)
		}
	}
}

// hostile are texts that are made to cost, as large as they are taken and larger.
func hostile() map[string][]byte {
	fill := func(head, part, tail string, size int) []byte {
		n := max(0, size-len(head)-len(tail)) / len(part)
		return []byte(head + strings.Repeat(part, n) + tail)
	}
	all := map[string][]byte{}
	for _, size := range []int{org.MaxManifest, 1 << 20} {
		for name, t := range map[string][3]string{
			"brackets":     {"", "[", ""},
			"objects":      {"", `{"a":`, ""},
			"numbers":      {`{"scope":"s","instances":[`, "1,", "1]}"},
			"strings":      {`{"scope":"s","instances":[`, `"",`, `""]}`},
			"keys":         {"", "a: b\n", ""},
			"dashes":       {"a:\n", "-\n", ""},
			"dashed":       {"a: \n", "- ", ""},
			"flow":         {"scope: s\ninstances: [", "a,", "a]"},
			"blanks":       {"", " ", "a: b"},
			"comments":     {"", "#\n", "a: b"},
			"quotes":       {"a: '", "''", "'"},
			"escapes":      {`a: "`, `\u0041`, `"`},
			"bombs":        {"a: &a [x]\n", "b: [*a,*a]\n", ""},
			"members":      {"scope: s\ninstances:\n", "  - instance: a:b\n    role: AGENTS\n    scopes: [x]\n", ""},
			"colons":       {"a: ", "b: ", ""},
			"wrong":        {`{"scope":"s","instances":[`, `{"x":{}},`, "{}]}"},
			"long members": {`{"scope":"s","instances":[{"`, "k", `":1}]}`},
		} {
			all[fmt.Sprintf("%s/%d", name, size)] = fill(t[0], t[1], t[2], size)
		}
	}
	var deep bytes.Buffer
	for n := range 500 {
		fmt.Fprintf(&deep, "%sa:\n", strings.Repeat(" ", n))
	}
	all["deep"] = deep.Bytes()
	return all
}

func TestHostile(t *testing.T) {
	t.Parallel()
	for name, text := range hostile() {
		o, err := org.Parse(text)
		switch {
		case err == nil && !strings.HasPrefix(name, "members/262"):
			t.Errorf("%s is a manifest of %d members", name, len(o.Members))
		case err != nil && len(err.Error()) > 2000:
			t.Errorf("%s: the error has %d bytes", name, len(err.Error()))
		case len(text) > org.MaxManifest && !strings.Contains(err.Error(), "more than 262144 bytes"):
			t.Errorf("%s of %d bytes: %v", name, len(text), err)
		}
	}
}

// The text that costs most allocates less in all than may be held at a time.
func TestHostileMemory(t *testing.T) {
	for name, text := range hostile() {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = org.Parse(text)
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 48<<20 {
			t.Errorf("%s: %d MiB are allocated", name, got>>20)
		}
	}
}

func TestIgnored(t *testing.T) {
	t.Parallel()
	o, err := org.Parse([]byte(`{"scope":"s","x\u001b":1,"instances":[{"instance":"a","role":"AGENTS","scopes":[],"note":{"a":[]}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(o.Ignored, " "); got != "x instances[0].note" {
		t.Errorf("ignored: got %q", got)
	}
}

// Ids that mean one instance are one.
func TestProblemsCanonical(t *testing.T) {
	t.Parallel()
	o, err := org.Parse([]byte(`{"scope":"s","instances":[{"instance":"Claude:Lead:1","role":"PRINCIPAL","scopes":["s"]},` +
		`{"instance":"claude:lead:1","role":"PRINCIPAL","scopes":["s"]}],"commEdges":[{"from":"claude:LEAD:1","to":"Claude:lead:1"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(o.Problems(), " "); got != org.DuplicateInstance {
		t.Errorf("problems: got %q, want %q", got, org.DuplicateInstance)
	}
}

// FuzzManifest: nothing makes it panic, what comes out is read again as the same, and drawing it says nothing of its own.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(demo))
	f.Add([]byte(demoJSON))
	f.Add([]byte("scope: 's'\ninstances:\n- instance: a\n  role: \"x\\u0041\"\n  scopes: [a, 'b']\n"))
	f.Add([]byte("scope: <b>&amp;`x`\ninstances: []\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := org.Parse(text)
		if err != nil {
			return
		}
		again, err := org.Parse(o.JSON())
		if err != nil {
			if len(o.JSON()) > org.MaxManifest {
				return
			}
			t.Fatalf("%q: what it reads is refused: %v", text, err)
		}
		if a, b := o.JSON(), again.JSON(); !bytes.Equal(a, b) {
			t.Fatalf("%q: read again as\n%s, and not as\n%s", text, b, a)
		}
		o.Problems()
		checkDrawn(t, o)
	})
}
