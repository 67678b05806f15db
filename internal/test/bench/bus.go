package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// noVerbError says that this build does not have a verb that a row measures. The row is then left out, and it is said.
type noVerbError struct{ verb string }

func (e *noVerbError) Error() string { return "this tutti has no verb " + e.verb }

// busRows are about the bus as its users meet it: whole processes that send, list and watch.
func busRows() []row {
	all := append(sendRows(), inboxRows()...)
	all = append(all, watchRows()...)
	for i := range all {
		all[i].subject = "bus"
	}
	return all
}

// A town is a home folder with a bus and two agents on it, both made by the program itself.
type town struct {
	e        *env
	dir      string
	root     string
	from, to string   // instances
	box      string   // folder of the mailbox of to
	more     []string // of the environment
}

// settle makes a town, if the program has the verbs that it takes and those that the row names.
func (e *env) settle(verbs ...string) (*town, error) {
	dir, err := e.fresh()
	if err != nil {
		return nil, err
	}
	return e.settleIn(dir, verbs...)
}

// settleApart is settle in a folder of apart.
func (e *env) settleApart(verbs ...string) (*town, error) {
	dir, err := e.apart()
	if err != nil {
		return nil, err
	}
	return e.settleIn(dir, verbs...)
}

func (e *env) settleIn(dir string, verbs ...string) (*town, error) {
	t := &town{e: e, dir: dir, root: filepath.Join(dir, "h2a-workspace", ".h2a")}
	if err := t.need(append([]string{"init", "connect"}, verbs...)...); err != nil {
		return nil, err
	}
	if _, err := t.run("", "init"); err != nil {
		return nil, err
	}
	for host, who := range map[string]*string{"claude": &t.from, "codex": &t.to} {
		out, err := t.run("", "connect", "--host", host, "--name", host, "--json")
		if err != nil {
			return nil, err
		}
		var answer struct{ Instance string }
		if err := json.Unmarshal(out, &answer); err != nil || answer.Instance == "" {
			return nil, fmt.Errorf("connect printed %q, not an instance: %w", out, err)
		}
		*who = answer.Instance
	}
	t.box = filepath.Join(t.root, "inbox", strings.ReplaceAll(t.to, ":", "__"))
	return t, nil
}

// need makes sure that the program has these verbs.
func (t *town) need(verbs ...string) error {
	for _, verb := range verbs {
		cmd := t.command("", append([]string{"help"}, strings.Fields(verb)...)...)
		if err := cmd.Run(); errors.As(err, new(*exec.ExitError)) {
			return &noVerbError{verb}
		} else if err != nil {
			return err
		}
	}
	return nil
}

// leave removes the town: ten thousand files a round add up.
func (t *town) leave() { _ = os.RemoveAll(t.dir) }

// as returns the environment of an agent of the town; "" is nobody.
func (t *town) as(who string) []string {
	all := append(home(t.dir), t.more...)
	if who != "" {
		all = append(all, "TUTTI_INSTANCE="+who)
	}
	return all
}

// timed is the program with these arguments, to be timed.
func (t *town) timed(who string, args ...string) command {
	return command{path: t.e.tutti, args: args, env: t.as(who), dir: t.dir}
}

func (t *town) command(who string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.e.ctx, t.e.tutti, args...)
	cmd.Env, cmd.Dir = t.as(who), t.dir
	return cmd
}

// run runs the program and returns what it printed.
func (t *town) run(who string, args ...string) ([]byte, error) {
	cmd := t.command(who, args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("tutti %s: %w\n%s", strings.Join(args, " "), err, errs.String())
	}
	return out, nil
}

// send is one send of a usual message.
func (t *town) send() command { return t.timed(t.from, "send", t.to, text) }

// text is that of a usual message.
var text = strings.Repeat("the schema changed, see db/014.sql; ", 8)

// fill puts n signed messages into the mailbox, in one batch.
func (t *town) fill(n int) error {
	path := filepath.Join(t.dir, "batch.jsonl")
	if err := os.WriteFile(path, batch(t.to, n), 0o600); err != nil {
		return err
	}
	if _, err := t.run(t.from, "send", "--batch", path); err != nil {
		return err
	}
	return t.count(n)
}

// count makes sure that the mailbox holds so many messages: a send that sends nothing is quick.
func (t *town) count(want int) error {
	files, err := filepath.Glob(filepath.Join(t.box, "*.json"))
	if err == nil && len(files) != want {
		err = fmt.Errorf("%s holds %d messages, want %d", t.box, len(files), want)
	}
	return err
}

// batch is n messages as send --batch reads them. They bring their ids, so that each is another message on every machine.
func batch(to string, n int) []byte {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"to":%q,"id":"env:%d:0000","text":%q}`+"\n", to, 1780000000000+i, fmt.Sprint(i, " ", text))
	}
	return []byte(b.String())
}

// settleDown lets the clock of the file system pass over what was written: for 2 s it is read again on each use.
func settleDown() { time.Sleep(2500 * time.Millisecond) }

// A part is one of several kinds of work that are timed in turns.
type part func(i int) (time.Duration, error)

// inTurnsOf does each part n times, one after the other in turns, and returns the medians in seconds. The first two turns
// are not counted.
func (e *env) inTurnsOf(n int, parts ...part) ([]float64, error) {
	took := make([][]time.Duration, len(parts))
	for i := range n + 2 {
		for p, work := range parts {
			if err := e.ctx.Err(); err != nil {
				return nil, err
			}
			d, err := work(i)
			if err != nil {
				return nil, err
			}
			if i >= 2 {
				took[p] = append(took[p], d)
			}
		}
	}
	medians := make([]float64, len(parts))
	for p := range parts {
		medians[p] = median(took[p])
	}
	return medians, nil
}

// process is a part that runs a command.
func process(c command, null *os.File) part {
	return func(int) (time.Duration, error) { return c.time(null) }
}

// devNull opens the file that the output of timed processes goes to.
func devNull() (*os.File, error) { return os.OpenFile(os.DevNull, os.O_RDWR, 0) }
