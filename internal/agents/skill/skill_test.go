package skill

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/agents/driver"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// request is for programs of a user who has nothing yet.
func request(t *testing.T, names ...string) *Request {
	t.Helper()
	q := &Request{Place: driver.Site{Home: t.TempDir(), Dir: t.TempDir()}, Now: noon}
	for _, n := range names {
		d, ok := driver.Get(n)
		if !ok {
			t.Fatalf("no program %q", n)
		}
		q.Drivers = append(q.Drivers, d)
	}
	return q
}

func (q *Request) write(t *testing.T, rel, text string) string {
	t.Helper()
	path := filepath.Join(q.Place.Home, rel)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func textOf(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// lines are the files of a report: state, path below the home folder or the project, and why.
func (q *Request) lines(r *Report) (all []string) {
	for _, f := range r.Files {
		rel := strings.TrimPrefix(strings.TrimPrefix(f.Path, q.Place.Home+"/"), q.Place.Dir+"/")
		line := f.State.String() + " " + rel
		if f.Why != "" {
			line += ": " + f.Why
		}
		if f.Err != nil {
			line += ": " + f.Err.Error()
		}
		all = append(all, line)
	}
	return all
}

func (q *Request) expect(t *testing.T, r *Report, want ...string) {
	t.Helper()
	if got := q.lines(r); !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// files is everything below a folder, sorted.
func files(t *testing.T, root string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(root, path)
			all = append(all, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The text has to go through four programs, of which some give a meaning to signs in it: placeholders, files to be read in,
// commands to be run while it is loaded.
func TestText(t *testing.T) {
	t.Parallel()
	main := Parts(Name, driver.Markdown, nil)[1].Text
	if len(main) > 9<<10 {
		t.Errorf("SKILL.md has %d bytes: a model reads them each time", len(main))
	}
	head, about := frontMatter(main), strings.ReplaceAll(description, "%NAME%", Name)
	if head["name"] != Name || head["version"] != Version || head["description"] != about {
		t.Errorf("front matter: %q", head)
	}
	if len(description) > 1024 || strings.Contains(description, ": ") || strings.Contains(description, " #") || strings.ContainsAny(description, "'\\\n\"") {
		t.Errorf("%q is longer than programs take, or means something in YAML or TOML", description)
	}
	for _, form := range []driver.Form{driver.Markdown, driver.Command} {
		for _, p := range Parts(Name, form, []string{"A", "B"}) {
			for _, sign := range []string{"$", "@", "!`", "!{", "{{", "%", "\t", "\r", " \n"} {
				if at := strings.Index(p.Text, sign); at >= 0 {
					t.Errorf("%s has %q: …%s", p.Name, sign, p.Text[max(0, at-30):at+len(sign)])
				}
			}
			if !Ours([]byte(p.Text)) {
				t.Errorf("%s is not told for ours: %s", p.Name, p.Text[len(p.Text)-100:])
			}
		}
	}
	command := Parts(Name, driver.Command, []string{"Gemini CLI", "Antigravity"})[0].Text
	if strings.Count(command, "'''") != 2 || !strings.HasPrefix(command, `description = "`+about+"\"\nprompt = '''\n") ||
		!strings.Contains(command, "/tutti of Gemini CLI and Antigravity;") || !strings.Contains(command, "## Profiles") || strings.Contains(command, modelFile) {
		t.Errorf("the command:\n%s", command)
	}
	if !strings.Contains(main, modelBeside) {
		t.Error("SKILL.md does not name the file beside it")
	}
}

// Each route has a row, a heading and a piece, and no piece is left over.
func TestRoutes(t *testing.T) {
	t.Parallel()
	main := Parts(Name, driver.Markdown, nil)[1].Text
	var want []string
	for _, r := range Routes {
		want = append(want, "route-"+r.Name+".md")
		if !strings.Contains(main, "| `"+r.typed()+"` |") || !strings.Contains(main, "\n### "+r.Name+"\n\n"+piece("route-" + r.Name)[:20]) {
			t.Errorf("%s: no row, or no section with its steps", r.Name)
		}
	}
	want = append(want, "head.md", "model.md")
	slices.Sort(want)
	entries, err := pieces.ReadDir("text")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		if !e.IsDir() {
			got = append(got, e.Name())
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("pieces:\ngot  %q\nwant %q", got, want)
	}
}

// TestKnownLines: lines that users know by heart are unchanged.
func TestKnownLines(t *testing.T) {
	t.Parallel()
	main := Parts(Name, driver.Markdown, nil)[1].Text
	for _, line := range []string{
		"`Connected. Try /tutti discover to see who else is around, or /tutti send <peer> \"hi\" to message someone.`",
		"`To message one of these: /tutti send <instance> \"<text>\".`",
		"`Delivered to <peer> (live)`",
		"`<peer> is dormant — envelope deposited for its wake`",
		"Not live is not idle",
		"halt active",
		"HOST:LABEL:ID",
	} {
		if !strings.Contains(main, line) {
			t.Errorf("missing: %s", line)
		}
	}
	model := Parts(Name, driver.Markdown, nil)[0].Text
	for _, word := range []string{
		"PRINCIPAL", "EXECUTIF", "CONDUCTOR", "AGENTS", "CONTROL", "MANDATAIRE",
		"SCOPE", "CONTRACT", "POLICY", "ENGAGEMENT", "MANDATE", "SLOT", "BINDING", "NEGOTIATION", "AUTHORITY",
		"A_ENTERPRISE", "B_ECOSYSTEM", "C_GOVERNMENT_CITIZEN", "D_SAFE",
		"Mermaid", "evaluations/<slug>.md", "\n10. ", "**A, ", "**B, ", "**C, ", "**D, ", "**E, ", "SysML", "NHI",
	} {
		if !strings.Contains(model, word) {
			t.Errorf("model.md lacks %s", word)
		}
	}
}

func TestOurs(t *testing.T) {
	t.Parallel()
	good := sealed(Name, "any text\n", "<!-- ", " -->")
	for text, want := range map[string]bool{
		good:                                    true,
		sealed(Name, "", "# ", ""):              true,
		"":                                      false,
		"any text\n":                            false,
		"Any" + good[3:]:                        false,
		good + "\n":                             false,
		good + good:                             false,
		strings.TrimSuffix(good, "\n"):          false,
		strings.Replace(good, " -->", " ->", 1): false,
		good[:len(good)-10]:                     false,
		"<!-- " + markWords:                     false,
	} {
		if got := Ours([]byte(text)); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}

func TestFrontMatter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, name string }{
		{"---\nname: a\ndescription: long\n  name: b\n---\n", "a"},
		{"\ufeff---\r\nname: \"a\"\r\n---\r\n", "a"},
		{"---\nname: 'a'\n\nx: y\n---", "a"},
		{"---\nname:\n  a\n---\n", "a"},
		{"name: a\n", ""},
		{"---\nname: a\n", ""},
		{"\n---\nname: a\n---\n", ""},
		{"---\nnames: a\n---\n", ""},
		{"", ""},
	} {
		if got := frontMatter(c.text)["name"]; got != c.name {
			t.Errorf("%q: got %q, want %q", c.text, got, c.name)
		}
	}
}
