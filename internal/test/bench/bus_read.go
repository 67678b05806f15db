package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// listings is how often a mailbox is listed in one round.
const listings = 25

func inboxRows() []row {
	return []row{
		{work: "`inbox`, newest 20 of 10,000, warm, whole process", target: timesBase(3), round: listed("inbox")},
		{work: "`inbox` with one new message since", target: within(12e-3), round: listedAfterOne},
		{work: "`inbox --all`, 10,000 as text, whole process", target: timesBase(20), round: listed("inbox", "--all")},
		{work: "`h2a inbox read`, 10,000 as JSON, whole process", target: within(80e-3), round: readAsH2A},
	}
}

// fullTown is a town with 10,000 messages in the mailbox that was listed before.
func (e *env) fullTown(verb string, warm ...string) (*town, error) {
	t, err := e.settle("send", verb)
	if err != nil {
		return nil, err
	}
	if err := t.fill(messages); err != nil {
		t.leave()
		return nil, err
	}
	settleDown()
	for range 2 {
		if _, err := t.run(t.to, warm...); err != nil {
			t.leave()
			return nil, err
		}
	}
	return t, nil
}

// listed times a listing and the empty program in turns.
func listed(args ...string) func(*env) (measured, error) {
	return func(e *env) (measured, error) {
		t, err := e.fullTown("inbox", args...)
		if err != nil {
			return measured{}, err
		}
		defer t.leave()
		return againstFloorOf(e, t.timed(t.to, args...), listings)
	}
}

func againstFloorOf(e *env, c command, n int) (measured, error) {
	null, err := devNull()
	if err != nil {
		return measured{}, err
	}
	defer null.Close()
	floor := command{path: e.floor, env: c.env, dir: c.dir}
	return inTurns(e.ctx, n, process(c, null), process(floor, null))
}

// listedAfterOne lets a message come before each listing.
func listedAfterOne(e *env) (measured, error) {
	t, err := e.fullTown("inbox", "inbox")
	if err != nil {
		return measured{}, err
	}
	defer t.leave()
	null, err := devNull()
	if err != nil {
		return measured{}, err
	}
	defer null.Close()
	m, err := inTurns(e.ctx, listings, process(t.timed(t.to, "inbox"), null), process(t.send(), null))
	return measured{value: m.value}, err
}

func readAsH2A(e *env) (measured, error) {
	t, err := e.fullTown("inbox read", "inbox", "read")
	if err != nil {
		return measured{}, err
	}
	defer t.leave()
	h2a := filepath.Join(t.dir, "h2a")
	if err := os.Symlink(e.tutti, h2a); err != nil {
		return measured{}, err
	}
	m, err := againstFloorOf(e, command{path: h2a, args: []string{"inbox", "read", "--instance", t.to}, env: t.as(""), dir: t.dir}, listings)
	return measured{value: m.value}, err
}

func watchRows() []row {
	return []row{
		{work: "from the return of `send` to the line of `watch`, median", target: within(2e-3), round: sendToLine},
		{
			work: fmt.Sprintf("voluntary context switches of an idle `watch` in %.0f s", idleFor.Seconds()),
			unit: count, target: within(0), once: true, round: func(e *env) (measured, error) { return idleWatch(e, idleSwitches) },
		},
		{
			work: "anonymous memory of an idle `watch` of 10,000 messages", unit: bytes, target: within(12 << 20), once: true,
			round: func(e *env) (measured, error) { return idleWatch(e, anonymous) },
		},
	}
}

// A lookout is a watch that runs.
type lookout struct {
	cmd   *exec.Cmd
	lines chan time.Time // when each line of mail was there
	fault chan error
}

// look starts a watch of the mailbox and waits until it says that it misses nothing.
func (t *town) look() (*lookout, error) {
	return lookOut(t.command(t.to, "watch", "--json"), `"event":"watching"`, `"event":"mail"`)
}

// lookOut starts a watch and waits for the one line from which on it misses nothing. The lines of mail are told by what is in them.
func lookOut(cmd *exec.Cmd, begun, mail string) (*lookout, error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	l := &lookout{cmd: cmd, lines: make(chan time.Time, 4*sends), fault: make(chan error, 1)}
	ready := make(chan struct{})
	go l.read(bufio.NewReader(out), begun, mail, ready)
	select {
	case <-ready:
		return l, nil
	case err := <-l.fault:
		l.fault <- err
		l.end()
		return nil, fmt.Errorf("watch: %w", err)
	case <-time.After(10 * time.Second):
		l.end()
		return nil, errors.New("watch does not begin within 10 s")
	}
}

func (l *lookout) read(in *bufio.Reader, begun, mail string, ready chan struct{}) {
	for {
		line, err := in.ReadString('\n')
		now := time.Now()
		switch {
		case errors.Is(err, io.EOF):
			l.fault <- errors.New("it has ended")
			return
		case err != nil:
			l.fault <- err
			return
		case strings.Contains(line, begun):
			close(ready)
		case strings.Contains(line, mail):
			l.lines <- now
		}
	}
}

// next waits for a line, and returns when it was there.
func (l *lookout) next(e *env) (time.Time, error) {
	select {
	case seen := <-l.lines:
		return seen, nil
	case <-time.After(10 * time.Second):
		return time.Time{}, errors.New("no line within 10 s after a message")
	case <-e.ctx.Done():
		return time.Time{}, e.ctx.Err()
	}
}

// end asks the watch to end, and waits until its output has been read.
func (l *lookout) end() {
	_ = l.cmd.Process.Signal(syscall.SIGTERM)
	// It was asked to end: neither how the reading nor how the program ended says anything.
	_ = errors.Join(<-l.fault, l.cmd.Wait())
}

// sendToLine takes the time from the end of each send to the line. A line that was there before counts as no time.
func sendToLine(e *env) (measured, error) {
	t, err := e.settle("send", "watch")
	if err != nil {
		return measured{}, err
	}
	defer t.leave()
	null, err := devNull()
	if err != nil {
		return measured{}, err
	}
	defer null.Close()
	l, err := t.look()
	if err != nil {
		return measured{}, err
	}
	defer l.end()
	took := make([]time.Duration, 0, sends)
	for range sends {
		if _, err := t.send().time(null); err != nil {
			return measured{}, err
		}
		sent := time.Now()
		seen, err := l.next(e)
		if err != nil {
			return measured{}, err
		}
		took = append(took, max(seen.Sub(sent), 0))
	}
	return measured{value: median(took)}, nil
}

// idleWatch looks from outside at a watch that has nothing to tell.
func idleWatch(e *env, look func(*env, int) (float64, error)) (measured, error) {
	t, err := e.settle("send", "watch")
	if err != nil {
		return measured{}, err
	}
	defer t.leave()
	if err := t.fill(messages); err != nil {
		return measured{}, err
	}
	l, err := t.look()
	if err != nil {
		return measured{}, err
	}
	defer l.end()
	v, err := look(e, l.cmd.Process.Pid)
	return measured{value: v}, err
}

// anonymous reads how much memory of its own a process holds, once it has come to rest.
func anonymous(_ *env, pid int) (float64, error) {
	if _, err := settled(pid); err != nil {
		return 0, err
	}
	return memory(pid, "RssAnon")
}

// memory reads a line of /proc/PID/status, in bytes.
func memory(pid int, name string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		var kib float64
		if _, err := fmt.Sscanf(line, name+": %f kB", &kib); err == nil {
			return kib * 1024, nil
		}
	}
	return 0, errors.New("the system tells no " + name)
}
