package demo

import (
	"bufio"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tutti/internal/attention/watchdog"
	"tutti/internal/core/termsafe"
)

// stall is the play of two agents who stop.
var stall = []step{
	{"Two agents stop in the middle of their work", "two agents live in tmux", (*play).moveIn},
	{"", "both stop", (*play).bothStop},
	{"The watchdog asks them to go on", "a dry run: no agent is asked", (*play).dryRun},
	{"", "both are asked to go on", (*play).drums},
	{"", "a second program sees who asks", (*play).twice},
	{"One goes on, the other does not", "ana goes on, bob is asked again and escalated to you", (*play).recovers},
	{"What the watchdog typed", "what was typed", (*play).typed},
	{"What waits for you", "who waits for you", (*play).waits},
}

// Stall is Run for the play in which two agents stop: one goes on when it is asked, the other one does not.
func Stall(ctx context.Context, o Options) error { return perform(ctx, o, stall) }

//go:embed claude.sh
var scripted []byte

// A halting is what the play about agents who stop has come to.
type halting struct {
	server  string // of tmux
	sockets string // folder of its socket
	watch   *exec.Cmd
	events  chan beat
	asked   map[string][]time.Time
}

// A beat is a line of "tutti watchdog watch".
type beat struct {
	Event, Instance, Text string
	RelanceCount          int
	at                    time.Time
}

const (
	anaID = "claude:ana:0a0a0a0a0a0a"
	bobID = "claude:bob:0b0b0b0b0b0b"
)

// moveIn starts a server of tmux of our own, and in it a program for each agent that looks as one to all who look at it.
func (p *play) moveIn(ctx context.Context) {
	if _, err := exec.LookPath("tmux"); err != nil {
		check(errors.New("tmux is not installed"))
	}
	p.run(ctx, "init", "--root", p.root)
	h := &p.halting
	h.asked = map[string][]time.Time{}
	var err error
	base := os.TempDir()
	const most = 60 // the path of a socket may have 107 bytes
	if len(base) > most {
		base = "/tmp"
	}
	h.sockets, err = os.MkdirTemp(base, "td")
	check(err)
	h.server = "demo" + rand.Text()[:8]
	p.env = append(p.env, "TMUX_TMPDIR="+h.sockets, "DEMO_TUTTI="+p.Server, "DEMO_BUS="+p.root)
	p.ends = append(p.ends, p.moveOut)
	program := filepath.Join(p.home, "claude")
	check(os.WriteFile(program, scripted, 0o700))
	for _, who := range [...][3]string{{"ana", anaID, "goes on"}, {"bob", bobID, "stops again"}} {
		// The sentence has to fit into one line of the screen.
		_, err := p.tmux(ctx, "-f", "/dev/null", "new-session", "-d", "-s", who[0], "-x", "120", "-y", "20", "--", program, who[0], who[1], who[2])
		check(err)
	}
	p.say("", "two agents live in tmux (a server of their own, -L %s): ana, bob", h.server)
	for _, id := range [...]string{anaID, bobID} {
		p.run(ctx, "send", id, "Run the tests, please.", "--deposit", "--root", p.root)
	}
	p.say("you", "tutti send to both: Run the tests, please.")
}

// tmux runs a command of it in our server. It is a matter of milliseconds, and no interrupt ends it: one that is ended while it starts the server
// leaves a stray server behind.
func (p *play) tmux(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "tmux", append([]string{"-u", "-L", p.halting.server}, args...)...)
	cmd.Env, cmd.Dir = p.env, p.home
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // nor does the one that a terminal sends to all
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("tmux %s: %w: %s", args[0], err, termsafe.Clean(string(out)))
	}
	return string(out), nil
}

// moveOut ends all of that.
func (p *play) moveOut() error {
	h := &p.halting
	if h.watch != nil {
		_ = h.watch.Process.Signal(syscall.SIGINT) // it may be over
		late := time.AfterFunc(patience, func() { _ = h.watch.Process.Kill() })
		_ = h.watch.Wait()
		late.Stop()
	}
	panes, _ := p.tmux(context.Background(), "list-panes", "-a", "-F", "#{pane_pid}") // likewise
	_, _ = p.tmux(context.Background(), "kill-server")
	for text := range strings.FieldsSeq(panes) {
		if pid, err := strconv.Atoi(text); err == nil && pid > 1 {
			killed(pid)
		}
	}
	return os.RemoveAll(h.sockets)
}

// killed ends all that runs in a pane, of which that process is the first, and waits until nothing of it writes any more: the folder is about to go.
func killed(first int) {
	const long = 2 * time.Second
	for end := time.Now().Add(long); syscall.Kill(-first, syscall.SIGKILL) == nil && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// until waits for something that is a matter of moments.
func until(ctx context.Context, what string, is func() bool) {
	const long = 20 * time.Second // on a machine that is busy
	for end := time.Now().Add(long); !is(); {
		if time.Now().After(end) {
			check(fmt.Errorf("it does not happen that %s", what))
		}
		select {
		case <-ctx.Done():
			check(context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (p *play) bothStop(ctx context.Context) {
	until(ctx, "both stop", func() bool {
		out := p.run(ctx, "drumbeat", "scan", "--root", p.root)
		return strings.Contains(out, anaID) && strings.Contains(out, bobID)
	})
	for _, who := range [...]string{"ana", "bob"} {
		screen, err := p.tmux(ctx, "capture-pane", "-p", "-t", "="+who+":")
		check(err)
		p.say(who, "stops in the middle of its work: %q; a hook runs tutti watchdog record --status paused", strings.TrimPrefix(firstLine(screen), "● "))
	}
}

// settings make the play short: times of seconds, not of minutes.
var settings = []string{"--interval-ms", "1000", "--min-age", "1ms", "--spacing", "500ms", "--progress", "500ms", "--max-relances", "2", "--json"}

func (p *play) dryRun(ctx context.Context) {
	out := p.run(ctx, append([]string{"drumbeat", "watch", "--once", "--root", p.root}, settings...)...)
	if n := strings.Count(out, `"event":"would-relance"`); n != 2 {
		check(fmt.Errorf("tutti watchdog watch would ask %d agents: %s", n, out))
	}
	p.say("you", "tutti watchdog watch: would ask both, and asks neither; nothing is written")
}

// drums starts the program that asks.
func (p *play) drums(ctx context.Context) {
	h := &p.halting
	cmd := exec.Command(p.Server, append([]string{"drumbeat", "watch", "--relauncher", "local-tmux", "--root", p.root}, settings...)...)
	cmd.Args[0], cmd.Env, cmd.Dir = "tutti", p.env, p.home
	said := &tail{}
	cmd.Stderr = said
	out, err := cmd.StdoutPipe()
	check(err)
	check(cmd.Start())
	h.watch, h.events = cmd, make(chan beat, 64)
	go func() {
		defer close(h.events)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			b := beat{at: time.Now()}
			if json.Unmarshal(lines.Bytes(), &b) == nil {
				h.events <- b
			}
		}
	}()
	p.say("you", "tutti watchdog watch --relauncher local-tmux (times of seconds instead of minutes)")
	for len(h.asked) < 2 {
		p.next(ctx, said, watchdog.Asked)
	}
}

// next waits for the next event of a kind, and tells of it.
func (p *play) next(ctx context.Context, said *tail, kinds ...string) {
	const long = 30 * time.Second // on a machine that is busy
	timer := time.NewTimer(long)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			check(context.Cause(ctx))
		case <-timer.C:
			check(fmt.Errorf("tutti watchdog watch does not say %q", kinds))
		case b, ok := <-p.halting.events:
			if !ok {
				check(fmt.Errorf("tutti watchdog watch has ended: %s", termsafe.Clean(said.String())))
			}
			if slices.Contains(kinds, b.Event) {
				p.happened(&b)
				return
			}
		}
	}
}

func (p *play) happened(b *beat) {
	h := &p.halting
	name := map[string]string{anaID: "ana", bobID: "bob"}[b.Instance]
	words := strings.ReplaceAll(b.Text, b.Instance, name)
	if b.Event == watchdog.Asked {
		if before := h.asked[name]; len(before) > 0 {
			words += fmt.Sprintf(", %.1f s later", b.at.Sub(before[len(before)-1]).Seconds())
		}
		h.asked[name] = append(h.asked[name], b.at)
	}
	if b.Event == watchdog.Raised {
		h.asked["escalated"] = append(h.asked["escalated"], b.at)
		last := h.asked[name]
		words += fmt.Sprintf(" (%.1f s after the last time)", b.at.Sub(last[len(last)-1]).Seconds())
	}
	if b.Event == watchdog.WentOn {
		h.asked["went on"] = append(h.asked["went on"], b.at)
	}
	p.say(name, "%s", words)
}

func (p *play) twice(ctx context.Context) {
	out, err := p.output(ctx, "drumbeat", "watch", "--relauncher", "local-tmux", "--root", p.root)
	if err == nil || !strings.Contains(out, "by another program already: tutti watchdog watch, process ") {
		check(fmt.Errorf("a second program was not told who asks: %w: %s", err, termsafe.Clean(out)))
	}
	p.say("you", "the same once more: agents are asked by process %d already", p.halting.watch.Process.Pid)
}

func (p *play) recovers(ctx context.Context) {
	h := &p.halting
	for len(h.asked["went on"]) == 0 || len(h.asked["escalated"]) == 0 {
		p.next(ctx, &tail{}, watchdog.Asked, watchdog.WentOn, watchdog.Raised)
	}
	if a, b := len(h.asked["ana"]), len(h.asked["bob"]); a != 1 || b != 2 {
		check(fmt.Errorf("ana was asked %d times and bob %d times; want 1 and 2", a, b))
	}
	marked := p.bobsMark(ctx)
	first, second := h.asked["bob"][0], h.asked["bob"][1]
	if gap, last := second.Sub(first), h.asked["escalated"][0].Sub(marked); gap < 500*time.Millisecond || last < time.Second {
		check(fmt.Errorf("bob was left alone for %s and then for %s; want half a second and a second at least", gap, last))
	}
}

// bobsMark is when bob was marked as asked, for the last time. Patience counts from there: what is typed, and said, comes a moment after it.
func (p *play) bobsMark(ctx context.Context) (at time.Time) {
	out := p.run(ctx, "drumbeat", "scan", "--max-relances", "2", "--root", p.root, "--json")
	var scan struct {
		Exhausted []struct {
			Instance      string
			LastRelanceAt time.Time
		}
	}
	if err := json.Unmarshal([]byte(out), &scan); err != nil {
		check(fmt.Errorf("tutti watchdog scan --json: %w: %s", err, termsafe.Clean(out)))
	}
	for _, e := range scan.Exhausted {
		if e.Instance == bobID {
			return e.LastRelanceAt
		}
	}
	check(fmt.Errorf("tutti watchdog scan does not say that bob was asked twice: %s", termsafe.Clean(out)))
	return at
}

// typed compares what the agents were given with the one sentence.
func (p *play) typed(context.Context) {
	for who, times := range map[string]int{"ana": 1, "bob": 2} {
		got, err := os.ReadFile(filepath.Join(p.home, "got-"+who))
		check(err)
		if want := strings.Repeat(watchdog.Sentence+"\n", times); string(got) != want {
			check(fmt.Errorf("%s was typed into the pane of %s, and should be %q", got, who, want))
		}
	}
	p.say("", "typed into their panes, and nothing else: %q", watchdog.Sentence)
}

func (p *play) waits(ctx context.Context) {
	onlyBob := func(verb string) string {
		out := p.run(ctx, "drumbeat", verb, "--root", p.root)
		if strings.Contains(out, anaID) || !strings.Contains(out, bobID) {
			check(fmt.Errorf("tutti watchdog %s should name bob and not ana: %s", verb, out))
		}
		return out
	}
	onlyBob("scan")
	out := onlyBob("escalations")
	found := false
	for line := range strings.Lines(out) { // remarks stand between them
		if words := strings.Fields(line); len(words) > 0 && words[0] == bobID {
			p.say("you", "tutti watchdog escalations: %s", strings.Join(words, " "))
			found = true
		}
	}
	if !found {
		check(fmt.Errorf("tutti watchdog escalations has no row for bob: %s", out))
	}
	p.waitsOnYou(ctx)
}

// waitsOnYou looks at the list of all that waits.
func (p *play) waitsOnYou(ctx context.Context) {
	out := p.run(ctx, "status", "--root", p.root, "--json")
	var status struct {
		Waiting []struct{ Kind, ID, About, Command string }
	}
	if err := json.Unmarshal([]byte(out), &status); err != nil {
		check(fmt.Errorf("tutti status --json: %w: %s", err, termsafe.Clean(out)))
	}
	for _, w := range status.Waiting {
		if w.ID == bobID {
			p.say("you", "tutti status, what waits for you: %s %s: %s; %s", w.Kind, w.ID, w.About, w.Command)
			return
		}
	}
	check(fmt.Errorf("tutti status does not say that bob waits for you: %s", termsafe.Clean(out)))
}
