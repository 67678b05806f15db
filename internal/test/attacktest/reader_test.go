package attacktest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tutti/internal/test/progfile"
	"tutti/internal/test/scriptprog"
)

// A sight is what a reader sees of an attack: one run of a program.
type sight struct {
	args   []string
	stdin  string
	below  bool // the program is started by an agent
	status int
	words  []string // regular expressions
	not    bool     // none of them is there
}

// What verify says first. NEGO stands for the negotiation.
const (
	valid   = "^valid +NEGO"
	invalid = "^invalid +NEGO"
)

// verify is what the verb says that looks at everything. It fails unless the first word is valid.
func verify(words ...string) sight {
	s := sight{args: []string{"negotiate", "verify"}, status: 2, words: words}
	if words[0] == valid {
		s.status = 0
	}
	return s
}

func show(words ...string) sight { return sight{args: []string{"negotiate", "show"}, words: words} }
func list(words ...string) sight { return sight{args: []string{"negotiate", "list"}, words: words} }

// hides says that show does not have these words.
func hides(words ...string) sight {
	return sight{args: []string{"negotiate", "show"}, words: words, not: true}
}

// broken is what is seen of a journal whose entries do not follow each other. verify looks at the seals as well, and may name another rule.
func broken(rule string, words ...string) []sight {
	if words == nil {
		words = []string{`entry \d+ ` + rule}
	}
	refused := show(`journal of "NEGO" is bad: ` + rule)
	refused.status = 2
	return []sight{verify(append([]string{invalid, "nothing behind it counts"}, words...)...), refused, list(`warning: status of NEGO: .* is bad: ` + rule)}
}

// stays is what is seen of a negotiation that does not become what the forger wants: verify names the entry, and the state is the one that it
// has without it.
func stays(state string, words ...string) []sight {
	return []sight{verify(append([]string{invalid}, words...)...), show("^NEGO  " + state), list("^NEGO +" + state)}
}

// see runs the programs of all sights and returns what is not as it must be.
func (h *home) see(id string, sights []sight) (faults []string) {
	h.Helper()
	for _, s := range sights {
		args := s.args
		if len(args) == 2 && args[1] != "list" {
			args = append(args, id)
		}
		var out string
		var status int
		if s.below {
			out, status = h.runBelow(args)
		} else {
			out, status = h.runWith(strings.ReplaceAll(s.stdin, "NEGO", id), nil, "tutti", args...)
		}
		h.Logf("tutti %s: exit status %d\n%s", strings.Join(args, " "), status, out)
		fault := func(format string, a ...any) {
			faults = append(faults, fmt.Sprintf("tutti %s: %s; exit status %d\n%s", strings.Join(args, " "), fmt.Sprintf(format, a...), status, out))
		}
		if status != s.status && !s.not {
			fault("want exit status %d", s.status)
		}
		for _, word := range s.words {
			word = strings.ReplaceAll(word, "NEGO", id)
			if found := regexp.MustCompile("(?m)" + word).MatchString(out); found == s.not {
				fault("%q found: %v", word, found)
			}
		}
	}
	return faults
}

// An attack is one row.
type attack struct {
	class, name string
	on          string // the negotiation that is attacked
	seen        bool   // the reader has seen it before
	harm        func(h *home)
	sights      []sight
	later       []sight // what a reader does not see yet
	pending     string  // why not
}

// attempt makes one attack.
func attempt(t *testing.T, base *home, a attack) {
	t.Parallel()
	h := base.copy(t)
	if a.seen {
		h.see(a.on, []sight{verify(valid), show(""), list("")})
	}
	if a.harm != nil {
		a.harm(h)
	}
	for _, fault := range h.see(a.on, a.sights) {
		t.Error(fault)
	}
	if a.later == nil {
		return
	}
	faults := h.see(a.on, a.later)
	if len(faults) == 0 {
		t.Errorf("a reader sees it now: move what is in later to sights (pending: %s)", a.pending)
	}
	t.Logf("pending: %s\n%s", a.pending, strings.Join(faults, "\n"))
}

// refused is a verb that does not run at all.
func refused(verb string, words ...string) sight {
	return sight{args: []string{"negotiate", verb}, status: 1, words: words}
}

// says is what any other run says. The negotiation is not added to its arguments.
func says(status int, args []string, words ...string) sight {
	return sight{args: args, status: status, words: words}
}

// below is what a run says that an agent of another name starts. A first argument - goes before a variable, and h2a is the program.
func below(status int, args []string, words ...string) sight {
	return sight{args: args, status: status, words: words, below: true}
}

// runBelow runs the program below a process that is an agent CLI and has connected.
func (h *home) runBelow(args []string) (out string, status int) {
	h.Helper()
	agent := filepath.Join(h.dir, "codex")
	if _, err := os.Stat(agent); err != nil {
		sh, err := os.ReadFile("/bin/sh")
		h.check(err)
		h.check(progfile.Write(agent, sh, 0o700))
		h.check(os.Symlink(self(h), filepath.Join(h.dir, "tutti")))
		h.check(os.Symlink(self(h), filepath.Join(h.dir, "h2a")))
	}
	line := "tutti"
	switch args[0] {
	case "-":
		line, args = args[1]+" tutti", args[2:]
	case "h2a":
		line, args = "h2a", args[1:]
	}
	for _, a := range args {
		line += " '" + a + "'"
	}
	script := h.file("tutti connect --host codex --name mal >/dev/null 2>&1 || exit 99\n" + line + "\n")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, agent, script)
	c.Dir = h.dir
	c.Env = []string{"HOME=" + h.dir, "PATH=" + h.dir + ":" + os.Getenv("PATH"), "TZ=UTC", "GOMAXPROCS=1", scriptprog.TopVariable + "=" + strconv.Itoa(os.Getpid())}
	raw, err := c.CombinedOutput()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return string(raw), failed.ExitCode()
	}
	h.check(err)
	return string(raw), 0
}
