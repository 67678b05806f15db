package tmux

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tutti/internal/platform/proc"
	"tutti/internal/test/progfile"
)

func TestSnapshot(t *testing.T) {
	t.Parallel()
	w := start(t)
	begin := time.Now().Add(-time.Minute)
	dead := w.new("second", "sh", "-c", "exit 3")
	dead = w.until(dead.ID, "dead", func(p Pane) bool { return p.Dead })
	w.do("select-pane", "-d", "-t", "=second:")
	w.do("copy-mode", "-t", "=first:")
	w.do("set-option", "-w", "-t", "=first:", "synchronize-panes", "on")
	full := w.new("third", "sh", "-c", `printf '\033[?1049h'; exec cat`)
	full = w.until(full.ID, "the other screen", func(p Pane) bool { return p.Alternate && p.Command == "cat" })

	snap, err := w.Panes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(snap.Panes) != 3 || snap.PID <= 1 || snap.Version == "" ||
		!strings.HasSuffix(snap.Socket, "/"+w.name) || snap.Started.Before(begin) || time.Since(snap.Started) < 0 {
		t.Errorf("the server is %+v", snap)
	}
	first, second := w.pane("%0"), w.pane(dead.ID)
	if first.Dead || !first.InMode || first.InputOff || first.Alternate || !first.Synchronized || first.Command != "cat" ||
		first.SessionName != "first" || first.Session != "$0" || first.Window != "@0" || first.PID <= 1 || first.Server != snap.PID ||
		first.Attached != 0 || first.SessionCreated.Before(begin) || first.Activity.Before(begin) || first.Path != w.dir {
		t.Errorf("the first pane is %+v", first)
	}
	if !second.Dead || second.InMode || !second.InputOff || second.Synchronized || second.SessionName != "second" {
		t.Errorf("the dead pane is %+v", second)
	}
	if full.InMode || full.Dead {
		t.Errorf("the pane with the other screen is %+v", full)
	}
	if _, ok := snap.Find("%99"); ok {
		t.Error("pane %99 is found")
	}
}

// Names, titles and folders that were made to be taken for something else.
func TestHostileTexts(t *testing.T) {
	for name, locale := range map[string]string{"ascii": "C", "utf8": "C.UTF-8"} { // a dot in a session's name becomes _
		t.Run(name, func(t *testing.T) {
			t.Setenv("LC_ALL", locale) // of the server, too
			w := start(t)
			mark := w.file("ran")
			run := "#(touch " + mark + ")"
			folder := w.file("a\nb\tc%0A%25,}#{pid}#(touch ran);\xffä")
			program := filepath.Join(folder, "x") // what tmux calls the program is its path up to the first space
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			cat, err := exec.LookPath("cat")
			if err == nil {
				err = os.Symlink(cat, program)
			}
			if err != nil {
				t.Fatal(err)
			}
			name := "s\t1\n%9 ä" + run
			window := "w\t%41|" + run + ";"
			title := "✋ %0A #{pid} " + run
			w.do("rename-session", "-t", "=first", strings.ReplaceAll(name, "#", "##"))
			w.do("rename-window", "-t", "$0:", strings.ReplaceAll(strings.TrimSuffix(window, ";"), "#", "##")+`\;`)
			w.do("set-option", "-p", "-t", "%0", "remain-on-exit", "on", ";",
				"respawn-pane", "-k", "-t", "%0", "--", "sh", "-c", `printf '\033]2;%s\007' "$2"; cd "${1%/*}" && exec "$1"`, "sh", program, strings.ReplaceAll(title, "#", "##"))
			p := w.until("%0", "its title, folder and program", func(p Pane) bool {
				return strings.Contains(p.Title, "pid") && p.Path == folder && p.Command != "sh"
			})
			// tmux itself makes \t and \n of the tab and the line feed in a name; the title is as the program wrote it.
			if p.SessionName != `s\t1\n%9 ä`+run || p.WindowName != `w\t%41|`+run+";" || p.Title != strings.ReplaceAll(title, "#", "##") {
				t.Errorf("session %q, window %q, title %q", p.SessionName, p.WindowName, p.Title)
			}
			if p.Dead || p.ID != "%0" || !strings.HasPrefix(p.Command, "a\nb\tc%0A%25,}#{pid}#(touch") {
				t.Errorf("pane %+v", p)
			}
			if err := w.Paste(t.Context(), p.Ref(), "und ä;"); err != nil { // the command is compared, whatever it holds
				t.Errorf("paste: %v", err)
			}
			other := p.Ref()
			other.Command += "#"
			want(t, "paste for a similar name", w.Paste(t.Context(), other, "x"), ErrChanged)
			eventually(t, func() (string, bool) {
				text, err := w.Capture(t.Context(), p.Ref(), Capture{})
				return fmt.Sprintf("the screen is %q, %v", text, err), err == nil && strings.Contains(text, "und ä;")
			})
			time.Sleep(300 * time.Millisecond) // a command in a name would run on its own, a little later
			for _, f := range []string{mark, filepath.Join(folder, "ran"), "ran"} {
				if _, err := os.Lstat(f); err == nil {
					t.Errorf("a text was run: %s is there", f)
				}
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	good := "10\t1700000000\t3.3a\t$0\t1700000000\t0\t@0\t1700000000\t%0\t11\t0\t0\t0\t0\t0\t\t\t\t/tmp/s\tname\twin\tcat\tti%09tle%2509\t/x%0Ay\town"
	snap, err := parsePanes([]byte(good + "\n"))
	if err != nil || snap.Panes[0].Owner != "own" || snap.Panes[0].Status != -1 || snap.Panes[0].Path != "/x\ny" || snap.Panes[0].Title != "ti\ttle%09" || snap.Socket != "/tmp/s" {
		t.Fatalf("%+v, %v", snap, err)
	}
	for _, bad := range []string{
		"\n", "x\n", good + "\n\n", good + "\tmore\n", strings.Replace(good, "%0\t", "0\t", 1) + "\n",
		strings.Replace(good, "$0", "$", 1) + "\n", strings.Replace(good, "10\t", "-1\t", 1) + "\n",
		strings.Replace(good, "10\t", "0\t", 1) + "\n", strings.Replace(good, "\t11\t", "\t\t", 1) + "\n",
		strings.Replace(good, "\t11\t0\t", "\t11\tx\t", 1) + "\n",
	} {
		if snap, err := parsePanes([]byte(bad)); err == nil {
			t.Errorf("%q is read as %+v", bad, snap.Panes)
		}
	}
	for state, want := range map[string][3]int{
		"\t\t\t": {-1, 0, 0}, "3\t\t1700000001\t": {3, 0, 1700000001}, "0\t\t1\t": {0, 0, 1}, "\t9\t5\t": {-1, 9, 5}, "\tTERM\t0\t": {-1, 15, 0}, "\tSIGKILL\t\t": {-1, 9, 0},
		"\tnonsense\t\t": {-1, 0, 0}, "x\t\t\t": {}, "-1\t\t\t": {}, "\t-9\t\t": {}, "\t\tx\t": {},
	} {
		snap, err := parsePanes([]byte(strings.Replace(good, "\t\t\t\t", "\t"+state, 1) + "\n"))
		if want == [3]int{} {
			if err == nil {
				t.Errorf("%q is read as %+v", state, snap.Panes)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", state, err)
			continue
		}
		var at int
		if p := snap.Panes[0]; !p.DeadAt.IsZero() {
			at = int(p.DeadAt.Unix())
		}
		if got := [3]int{snap.Panes[0].Status, snap.Panes[0].Signal, at}; got != want {
			t.Errorf("%q: got %v, want %v", state, got, want)
		}
	}
	if snap, err := parsePanes(nil); err != nil || len(snap.Panes) != 0 || snap.PID != 0 {
		t.Errorf("no output: %+v, %v", snap, err)
	}
}

// The proof as a caller makes it, with what the system says about real processes.
func TestRunsForReal(t *testing.T) {
	t.Parallel()
	w := start(t)
	agent := w.new("a", "sh", "-c", `sh -c 'sleep 100 & echo $! >pid; wait' & wait`)
	number := strings.TrimSpace(w.holds("pid", 2))
	pid, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	lineage := func(yield func(int) bool) {
		if !yield(pid) {
			return
		}
		for id := range proc.Ancestors(pid) {
			if !yield(id.PID) {
				return
			}
		}
	}
	if !agent.Runs(lineage) {
		t.Errorf("process %d, below %v, is not found in %+v", pid, slices.Collect(lineage), agent)
	}
	if other := w.pane("%0"); other.Runs(lineage) {
		t.Errorf("process %d, below %v, is found in %+v", pid, slices.Collect(lineage), other)
	}
}

func TestRuns(t *testing.T) {
	t.Parallel()
	pane := Pane{Server: 50, PID: 60}
	for _, c := range []struct {
		name    string
		pane    Pane
		lineage []int
		want    bool
	}{
		{"the first process", pane, []int{60, 50, 1}, true},
		{"below it", pane, []int{80, 70, 60, 50, 1}, true},
		{"another pane of the server", pane, []int{80, 61, 50, 1}, false},
		{"a server inside the pane", pane, []int{80, 70, 1}, false},
		{"the pid belongs to a stranger", pane, []int{80, 60, 2, 1}, false},
		{"unknown owner", pane, []int{80, 60}, false},
		{"nothing known", pane, nil, false},
		{"dead", Pane{Server: 50, PID: 60, Dead: true}, []int{60, 50, 1}, false},
		{"no process", Pane{Server: 50}, []int{60, 0, 50}, false},
	} {
		if got := c.pane.Runs(slices.Values(c.lineage)); got != c.want {
			t.Errorf("%s: lineage %v: got %t, want %t", c.name, c.lineage, got, c.want)
		}
	}
}

// TestQueryWhileServerEnds: one that ends while it is asked is gone some time later, and then that can be known.
func TestQueryWhileServerEnds(t *testing.T) {
	needTmux(t)
	bin := t.TempDir()
	asked := filepath.Join(bin, "asked")
	fake(t, bin, "echo >>"+asked+`; if [ $(wc -l <`+asked+`) -lt 9 ]; then echo 'server exited unexpectedly' >&2; else echo 'no server running on /x' >&2; fi; exit 1`)
	s, err := Named("t" + rand.Text()[:8])
	if err != nil {
		t.Fatal(err)
	}
	pane := Pane{Server: 1 << 22, Started: 1, Session: "$0", ID: "%0", PID: 1 << 22}
	for what, f := range map[string]func() error{
		"find":    func() error { _, err := s.Find(t.Context(), "a"); return err },
		"panes":   func() error { _, err := s.Panes(t.Context()); return err },
		"capture": func() error { _, err := s.Capture(t.Context(), pane.Ref(), Capture{}); return err },
		"kill":    func() error { return s.Kill(t.Context(), pane) },
		"watch":   func() error { _, err := s.Watch(t.Context()); return err },
	} {
		want(t, what, f(), ErrAbsent)
		if err := os.Remove(asked); err != nil {
			t.Errorf("%s: it was not asked: %v", what, err)
		}
	}
}

// fake puts a script in the place of tmux.
func fake(t *testing.T, bin, script string) {
	t.Helper()
	if err := progfile.Write(filepath.Join(bin, "tmux"), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}

// TestOutputHeldByOtherProcess: the output of an ended program is complete, even if another process holds it open: one that was started at
// the same moment, or a server that is starting.
func TestOutputHeldByOtherProcess(t *testing.T) {
	bin := t.TempDir()
	fake(t, bin, "sleep 60 & echo $! >"+bin+`/holder-$$
case $* in
*answer) head -c 40000 /dev/zero | tr '\0' x ;;
*refusal) echo 'no server running on /x' >&2; exit 1 ;;
esac`)
	t.Cleanup(func() {
		holders, _ := filepath.Glob(bin + "/holder-*")
		for _, name := range holders {
			raw, _ := os.ReadFile(name)
			if pid, err := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL) // our sleep, which no test waits for
			}
		}
	})
	var all sync.WaitGroup // each waits for Limit
	for command, c := range map[string]struct {
		want string
		kind error
	}{
		"answer":  {strings.Repeat("x", 40000), nil},
		"refusal": {"", ErrAbsent},
		"nothing": {"", nil},
	} {
		all.Go(func() {
			begin := time.Now()
			out, err := Server{}.run(t.Context(), nil, command)
			if string(out) != c.want || c.kind == nil && err != nil || !errors.Is(err, c.kind) {
				t.Errorf("%s: after %s: %d bytes, want %d; %v", command, time.Since(begin), len(out), len(c.want), err)
			}
		})
	}
	all.Wait()
}

// TestHangs: a server that does not answer is given up after the limit, although it holds the pipes of the client that asked.
func TestHangs(t *testing.T) {
	t.Parallel()
	w := empty(t)
	p := w.make(Spec{Name: "a", Owner: "y"})
	if err := syscall.Kill(p.Server, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(p.Server, syscall.SIGCONT)
	began := time.Now()
	_, err := w.Panes(t.Context())
	if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > Limit+Limit/2 {
		t.Errorf("after %s: %v", took, err)
	}
}
