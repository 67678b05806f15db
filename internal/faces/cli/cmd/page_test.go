package cmd

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"tutti/internal/test/scriptprog"
)

// cmdPage types every console block of a page, in order, into one shell, and compares what each command prints with the page. Of the page "..."
// alone in a line stands for any lines; a command below which nothing is printed must succeed. Ids differ from run to run: one that the page
// prints stands for the same id wherever the page repeats it, in what is typed as well.
func cmdPage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: page FILE")
	}
	text, err := os.ReadFile(filepath.Join(repository, filepath.FromSlash(args[0])))
	ts.Check(err)
	p := &page{ids: map[string]string{}, actual: map[string]bool{}}
	steps := p.steps(string(text))
	if len(steps) == 0 {
		ts.Fatalf("%s types nothing", args[0])
	}
	sh, err := startShell(ts)
	ts.Check(err)
	defer sh.end()
	for _, s := range steps {
		out, status, err := sh.run(p.replace(s.typed))
		ts.Check(err)
		ts.Logf("$ %s\n%s", s.typed, out)
		if err := p.compare(s, out, status); err != nil {
			ts.Fatalf("%s: $ %s\n%v", args[0], s.typed, err)
		}
	}
}

// repository is the root of the source as the tests of this package see it. A script works elsewhere.
var repository, _ = filepath.Abs(filepath.Join("..", "..", "..", ".."))

// A step is one command of a page, and what the page shows below it.
type step struct {
	typed string
	shown []string
}

type page struct {
	ids    map[string]string // of the page, and what stands for them in this run
	actual map[string]bool   // those that stand for one already
}

func (*page) steps(text string) (steps []step) {
	for _, block := range regexp.MustCompile("(?ms)^```console\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		first := len(steps)
		for line := range strings.Lines(block[1]) {
			line = strings.TrimSuffix(line, "\n")
			if typed, ok := strings.CutPrefix(line, "$ "); ok {
				steps = append(steps, step{typed: typed})
			} else if len(steps) > first {
				last := &steps[len(steps)-1]
				last.shown = append(last.shown, line)
			}
		}
	}
	return steps
}

var (
	pageID = regexp.MustCompile(`(env|thr|nego):[0-9a-z]+[:-][0-9a-f]+|\b[0-9a-f]{12}\b|\b\d{8}T\d{6}Z\b`)
	// What differs from run to run and is not repeated: times, processes, and who runs the test.
	pageVague = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z|\b\d+(\.\d+)? ?(ms|s)\b|process \d+|by \w+ since`)
)

// replace puts the ids of this run in the place of those that the page shows.
func (p *page) replace(text string) string {
	return pageID.ReplaceAllStringFunc(text, func(id string) string {
		if is, ok := p.ids[id]; ok {
			return is
		}
		return id
	})
}

// compare tells where what was printed differs from what the page shows.
func (p *page) compare(s step, out string, status int) error {
	failed := strings.HasPrefix(strings.Join(s.shown, "\n"), "halted;")
	if (status != 0) != failed {
		return fmt.Errorf("exit status %d:\n%s", status, out)
	}
	if len(s.shown) == 0 {
		return nil
	}
	lines, next, any := strings.Split(strings.TrimRight(out, "\n"), "\n"), 0, false
	for _, want := range s.shown {
		if want == "..." {
			any = true
			continue
		}
		for next < len(lines) && any && !p.same(want, lines[next]) {
			next++
		}
		if next == len(lines) || !p.same(want, lines[next]) {
			return fmt.Errorf("the page shows\n\t%s\nwhich is not printed here:\n%s", want, out)
		}
		p.learn(want, lines[next])
		next, any = next+1, false
	}
	if next < len(lines) && !any {
		return fmt.Errorf("the page does not show\n\t%s", lines[next])
	}
	return nil
}

// same tells whether a line of the page can be that line of the output.
func (p *page) same(shown, printed string) bool {
	was, is := pageID.FindAllString(shown, -1), pageID.FindAllString(printed, -1)
	if len(was) != len(is) {
		return false
	}
	for i := range was {
		if known, ok := p.ids[was[i]]; ok != p.actual[is[i]] || ok && known != is[i] {
			return false
		}
	}
	plain := func(line string) string {
		return pageVague.ReplaceAllString(pageID.ReplaceAllString(line, "ID"), "VARIES")
	}
	return plain(shown) == plain(printed)
}

func (p *page) learn(shown, printed string) {
	is := pageID.FindAllString(printed, -1)
	for i, was := range pageID.FindAllString(shown, -1) {
		p.ids[was], p.actual[is[i]] = is[i], true
	}
}

// A shell is one bash that keeps its folder and its variables from one command to the next.
type shell struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

const shellMark = "\x01"

func startShell(ts *testscript.TestScript) (*shell, error) {
	cmd := exec.Command("bash", "--noprofile", "--norc")
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"HOME", "PATH", "TMUX_TMPDIR", "TZ", "BIN", scriptprog.TopVariable, "WORK", "FAKE_SYSTEMCTL", "GNUPGHOME"} {
		if value := ts.Getenv(name); value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = cmd.Stdout
	return &shell{cmd, in, bufio.NewReader(out)}, cmd.Start()
}

// run types a command and returns what it printed and its exit status.
func (s *shell) run(command string) (out string, status int, err error) {
	if _, err := fmt.Fprintf(s.in, "%s </dev/null\nprintf '\\1%%d\\n' $?\n", command); err != nil {
		return "", 0, err
	}
	out, err = s.out.ReadString(shellMark[0])
	if err != nil {
		return out, 0, fmt.Errorf("the shell has ended: %w", err)
	}
	_, err = fmt.Fscanln(s.out, &status)
	return strings.TrimSuffix(out, shellMark), status, err
}

func (s *shell) end() {
	s.in.Close()
	_ = s.cmd.Wait()
}

// TestPageCompare: differences that the comparison accepts, and differences that it reports.
func TestPageCompare(t *testing.T) {
	t.Parallel()
	shown := []string{"sent env:1:aa", "..", "...", "in 3ms to claude:api:111111111111"}
	for _, tc := range []struct {
		out    string
		status int
		ok     bool
	}{
		{"sent env:2:bb\n..\nx\ny\nin 44ms to codex:api:222222222222\n", 0, false},
		{"sent env:2:bb\n..\nx\ny\nin 44ms to claude:api:222222222222\n", 0, true},
		{"sent env:2:bb\n..\nin 44ms to claude:api:222222222222\n", 0, true},
		{"sent env:2:bb\n..\nin 44ms to claude:api:222222222222\nmore\n", 0, false},
		{"x\nsent env:2:bb\n..\nin 44ms to claude:api:222222222222\n", 0, false},
		{"sent env:2:bb\n..\nin 44ms to claude:api:222222222222\n", 1, false},
		{"sent\n..\nin 44ms to claude:api:222222222222\n", 0, false},
	} {
		p := &page{ids: map[string]string{}, actual: map[string]bool{}}
		if err := p.compare(step{"send", shown}, tc.out, tc.status); (err == nil) != tc.ok {
			t.Errorf("%q, status %d: got %v", tc.out, tc.status, err)
		}
	}
	p := &page{ids: map[string]string{}, actual: map[string]bool{}}
	if err := p.compare(step{"a", []string{"env:1:aa"}}, "env:2:bb\n", 0); err != nil || p.replace("reply env:1:aa") != "reply env:2:bb" {
		t.Errorf("the id of the run is not typed: %q, %v", p.replace("reply env:1:aa"), err)
	}
	if p.compare(step{"b", []string{"env:1:aa"}}, "env:3:cc\n", 0) == nil || p.compare(step{"b", []string{"env:7:77"}}, "env:2:bb\n", 0) == nil {
		t.Error("one id of the page stands for two, or two for one")
	}
	if got := p.steps("x\n```console\n$ a\nb\n```\ny\n```\n$ no\n```\n```console\n$ c\n```\n"); len(got) != 2 || got[0].typed != "a" || got[1].typed != "c" || len(got[0].shown) != 1 {
		t.Errorf("steps of a page: %v", got)
	}
}

// README.md is short: what tutti is, how to install it, the commands of a normal day.
func TestReadmeIsShort(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(repository, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n > 120 {
		t.Errorf("README.md has %d lines, more than 120", n)
	}
}
