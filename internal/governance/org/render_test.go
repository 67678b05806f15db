package org_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tutti/internal/governance/org"
)

func parse(t *testing.T, text string) *org.Org {
	t.Helper()
	o, err := org.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestTree(t *testing.T) {
	t.Parallel()
	const want = `org:demo (version 1)
├─ PRINCIPAL
│  └─ human:owner  [org:demo]
└─ CONDUCTOR
   └─ claude:lead  [org:demo, scope:parser]  may review
      └→ human:owner
`
	if got := string(org.Render(parse(t, demo), org.Tree)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := org.Render(parse(t, demo), "png"); got != nil {
		t.Errorf("a format that there is not: got %q", got)
	}
}

// nasty is a manifest whose texts try to be something else wherever they are drawn.
func nasty(t *testing.T) *org.Org {
	return parse(t, `{"scope":"]]><script>alert(1)</script>\"\\","instances":[
		{"instance":"a\"]; x --> y %% <img src=x onerror=alert(1)>","role":"PRINCIPAL\\l","scopes":["\\\"];}","&lt;"],"mandateRights":["`+"`x`"+`"]},
		{"instance":"","role":"","scopes":[]}],
		"commEdges":[{"from":"ghost' onload='x","to":"a\"]; x --> y %% <img src=x onerror=alert(1)>"},{"from":"ghost' onload='x","to":"ghost' onload='x"}]}`)
}

func TestEscaped(t *testing.T) {
	t.Parallel()
	checkDrawn(t, nasty(t))
	checkDrawn(t, parse(t, demo))
	checkDrawn(t, parse(t, `{"scope":"s","instances":[]}`))
}

var (
	mermaidLine = regexp.MustCompile(`^(flowchart TD|  end|  subgraph org\["[^"<>\x60&%\\]*"\]|    n\d+\["([^"<>\x60&%\\]|<br/>)*"\]|  n\d+ --> n\d+)$`)
	dotLine     = regexp.MustCompile(`^(digraph org \{|  rankdir=TB;|  labelloc=t;|  label="([^"\\]|\\.)*";|  node \[shape=box\];|  \{ rank=same; /\* rank \d+ \*/|` +
		`    n\d+ \[label="([^"\\]|\\.)*"(, style=dashed)?\];|  n\d+ -> n\d+;|  \}|\})$`)
)

// checkDrawn checks that no text of a manifest has become a part of the drawing's language.
func checkDrawn(t *testing.T, o *org.Org) {
	t.Helper()
	for format, line := range map[org.Format]*regexp.Regexp{org.Mermaid: mermaidLine, org.Dot: dotLine} {
		for l := range strings.SplitSeq(strings.TrimSuffix(string(org.Render(o, format)), "\n"), "\n") {
			if !line.MatchString(l) {
				t.Errorf("%s: the line %q is none of ours", format, l)
			}
		}
	}
	d := xml.NewDecoder(strings.NewReader(string(org.Render(o, org.SVG))))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the picture is not XML: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok {
			if !strings.Contains(" svg title defs marker path rect text g ", " "+e.Name.Local+" ") {
				t.Errorf("the picture has an element %s", e.Name.Local)
			}
			for _, a := range e.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || strings.Contains(a.Name.Local, "href") {
					t.Errorf("the picture has an attribute %s", a.Name.Local)
				}
			}
		}
	}
	if tree := string(org.Render(o, org.Tree)); strings.ContainsAny(tree, "\x1b\r\x00") {
		t.Errorf("the tree holds control characters: %q", tree)
	}
}

// No two boxes of a picture lie on one another, and all lie in it.
func TestLayout(t *testing.T) {
	t.Parallel()
	var members []string
	for _, role := range append([]string{"BOSS"}, org.Roles...) {
		for n := range 9 {
			members = append(members, `{"instance":"`+strings.Repeat("w", 4*n+1)+strings.ToLower(role)+`","role":"`+role+`","scopes":["a","b"]}`)
		}
	}
	svg := string(org.Render(parse(t, `{"scope":"s","instances":[`+strings.Join(members, ",")+`]}`), org.SVG))
	type rect struct{ x, y, w, h int }
	number := func(tag, name string) int {
		m := regexp.MustCompile(` ` + name + `="(\d+)"`).FindStringSubmatch(tag)
		n := 0
		for _, c := range m[1] {
			n = 10*n + int(c-'0')
		}
		return n
	}
	root := regexp.MustCompile(`<svg [^>]*>`).FindString(svg)
	wide, high := number(root, "width"), number(root, "height")
	var boxes []rect
	for _, tag := range regexp.MustCompile(`<rect x=[^>]*>`).FindAllString(svg, -1) {
		boxes = append(boxes, rect{number(tag, "x"), number(tag, "y"), number(tag, "width"), number(tag, "height")})
	}
	if len(boxes) != len(members) {
		t.Fatalf("%d boxes for %d members", len(boxes), len(members))
	}
	for i, a := range boxes {
		if a.x+a.w > wide || a.y+a.h > high {
			t.Errorf("box %+v lies outside of %d × %d", a, wide, high)
		}
		for _, b := range boxes[:i] {
			if a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.h && b.y < a.y+a.h {
				t.Errorf("boxes %+v and %+v lie on one another", a, b)
			}
		}
	}
}

// TestGraphviz: Graphviz, where it is installed, accepts our output.
func TestGraphviz(t *testing.T) {
	t.Parallel()
	dot, err := exec.LookPath("dot")
	if err != nil {
		t.Skip("graphviz is not here: whether it takes the source for it is not tried")
	}
	path := filepath.Join(t.TempDir(), "org.dot")
	if err := os.WriteFile(path, org.Render(nasty(t), org.Dot), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), dot, "-Tsvg", path).CombinedOutput(); err != nil {
		t.Errorf("dot: %v\n%s", err, out)
	}
}
