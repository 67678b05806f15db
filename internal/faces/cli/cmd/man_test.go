package cmd

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tutti/internal/faces/cli/cmd/setup"
	"tutti/internal/faces/cli/docs"
	"tutti/internal/faces/cli/kit"
)

func TestEscapeRoff(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, want string }{
		{".TH is not a request", `\&.TH is not a request`},
		{"'quoted' \"text\"", `\(aqquoted\(aq \(dqtext\(dq`},
		{`a\nb --flag`, `a\(rsnb \-\-flag`},
		{"~/x `y` ^z", `\(ti/x \(gay\(ga \(haz`},
		{"… \x1b[1m", `\[u2026] [1m`},
		{"", `\&`},
	} {
		r := &docs.Roff{}
		r.Line(docs.EscapeRoff(tc.text))
		if got := strings.TrimSuffix(string(r.B), "\n"); got != tc.want {
			t.Errorf("%q: got %q, want %q", tc.text, got, tc.want)
		}
	}
}

// The requests and escapes that pages use. Whatever else begins with a dot or a backslash has slipped through.
var (
	pageRequest = regexp.MustCompile(`^(\.\\" .*|\.TH "[^"]+" 1 "" "tutti [^"]+" "tutti manual"|\.SH [A-Z ]+|\.SS "[^"]+"|\.(nh|ad l|PP|TP|RS 4|RE|nf|fi))$`)
	pageEscape  = regexp.MustCompile(`\\(f[BR]|-|&|\((rs|aq|dq|ga|ha|ti)|\[u[0-9A-F]{4,6}\])`)
	reference   = regexp.MustCompile(`\\fB([a-z0-9\\-]+)\\fR\(1\)`)
)

// TestManPages holds every page to its parts and to what may stand in it, and every reference to a page that exists.
func TestManPages(t *testing.T) {
	t.Parallel()
	pages := map[string]string{}
	for name, page := range docs.ManPages(verbs) {
		if pages[name] != "" {
			t.Errorf("%s: two pages", name)
		}
		pages[name] = string(page)
	}
	for v := range verbs.Of(kit.Tutti) {
		if page := pages[docs.PageName(v, kit.Tutti)+".1"]; (page == "") != v.Hidden {
			t.Errorf("%s: hidden is %v, and its page has %d bytes", v.Name, v.Hidden, len(page))
		}
	}
	for name, page := range docs.ManPages(verbs) {
		if pages[name] != string(page) {
			t.Errorf("%s: differs when it is written again", name)
		}
	}
	for name, page := range pages {
		if plain := strings.TrimSuffix(name, ".1"); !docs.HasPage(verbs, plain) || docs.HasPage(verbs, plain+"-x") {
			t.Errorf("%s: hasPage says otherwise", name)
		}
		title := strings.ReplaceAll(strings.TrimSuffix(name, ".1"), "-", `\-`)
		for _, part := range []string{
			docs.PageMark + "\n", "\n.SH NAME\n" + title + ` \- `, "\n.SH SYNOPSIS\n", "\n.SH DESCRIPTION\n",
			"\n.SH EXIT STATUS\n.TP\n\\fB0\\fR\n", "\n.SH SEE ALSO\n\\fB",
		} {
			if !strings.Contains(page, part) {
				t.Errorf("%s lacks %q", name, part)
			}
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(page, "\n"), "\n") {
			switch rest := pageEscape.ReplaceAllString(line, ""); {
			case strings.HasPrefix(line, ".") && !pageRequest.MatchString(line):
				t.Errorf("%s: request %q", name, line)
			case !strings.HasPrefix(line, ".") && strings.ContainsAny(rest, "\\-\"'`^~"), line == "", strings.HasPrefix(line, "'"):
				t.Errorf("%s: %q is not escaped", name, line)
			}
		}
		for _, ref := range reference.FindAllStringSubmatch(page, -1) {
			if pages[strings.ReplaceAll(ref[1], `\`, "")+".1"] == "" {
				t.Errorf("%s: there is no page %s", name, ref[1])
			}
		}
	}
}

// TestManPagesFormat lets the real formatter read every page and complain.
func TestManPagesFormat(t *testing.T) {
	t.Parallel()
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is not installed: the manual pages were NOT read by a formatter (apt-get install groff-base)")
	}
	dir := t.TempDir()
	var files []string
	for name, page := range docs.ManPages(verbs) {
		files = append(files, filepath.Join(dir, name))
		if err := os.WriteFile(files[len(files)-1], page, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var complaints bytes.Buffer
	cmd := exec.Command(groff, append([]string{"-ww", "-man", "-Tutf8"}, files...)...)
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil || complaints.Len() > 0 {
		t.Errorf("groff: %v\n%s", err, complaints.String())
	}
	if want := "TUTTI-SEND(1)"; !bytes.Contains(out, []byte(want)) {
		t.Errorf("groff: %d bytes without %q", len(out), want)
	}
}

// Where the pages for programs in a folder go is where man looks for them.
func TestPageDir(t *testing.T) {
	t.Parallel()
	for _, tc := range [][2]string{
		{"/home/ana/.local/bin", "/home/ana/.local/share/man/man1"},
		{"/usr/local/bin", "/usr/local/share/man/man1"},
		{"/home/ana/tools", "/home/ana/tools/share/man/man1"},
	} {
		if got := setup.PageDir(tc[0]); got != tc[1] {
			t.Errorf("programs in %s: got %s, want %s", tc[0], got, tc[1])
		}
	}
}
