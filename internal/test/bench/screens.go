package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/snapshot"
	"tutti/internal/platform/proc"
)

// The sizes of the rows about live screens.
const (
	restingSessions = 2
	manyBuses       = 10
	settles         = 10 * time.Second // until a screen has come to rest
	measuredFor     = 30 * time.Second
)

func screenRows() []row {
	all := []row{
		{work: "a snapshot of 50 sessions and 10 buses, with facts", target: within(25e-3), round: snapshots},
		{work: "`top` at rest beside 2 sessions and the screen of one, processor time of a second", target: within(3e-3), once: true, round: restingTop},
		{work: "the same beside 50 sessions that write to their screens", target: within(10e-3), once: true, round: busyTop},
		{work: "`web` at rest with one open page, processor time of a second", target: within(1e-3), once: true, round: restingWeb},
		{work: "from the return of `send` to the stream of an open page, median", target: within(200e-3), once: true, round: shownOnPage},
	}
	for i := range all {
		all[i].subject = "screens"
	}
	return all
}

// inside has this process look as a program in the stage would, until back is called.
func (s *stage) inside() (back func(), err error) {
	was, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	old := os.Environ()
	for _, entry := range s.as("") {
		name, value, _ := strings.Cut(entry, "=")
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
	}
	if err := os.Chdir(s.dir); err != nil {
		return nil, err
	}
	return func() {
		os.Clearenv()
		for _, entry := range old {
			name, value, _ := strings.Cut(entry, "=")
			_ = os.Setenv(name, value) // it was set before
		}
		_ = os.Chdir(was)
	}, nil
}

func snapshots(e *env) (m measured, err error) {
	s, err := e.stage("status")
	if err != nil {
		return m, err
	}
	defer s.leave()
	if err := s.people(manySessions); err != nil {
		return m, err
	}
	for i := range manyBuses - 1 {
		dir := filepath.Join(s.dir, fmt.Sprintf("bus%d", i))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return m, err
		}
		for _, args := range [][]string{{"init"}, {"connect", "--host", "claude", "--name", fmt.Sprintf("there%d", i)}} {
			if _, err := s.run("", append(args, "--root", filepath.Join(dir, ".h2a"))...); err != nil {
				return m, err
			}
		}
	}
	back, err := s.inside()
	if err != nil {
		return m, err
	}
	defer back()
	var took []time.Duration
	for range looks {
		began := time.Now()
		v, err := snapshot.Take(e.ctx, &snapshot.Options{App: app.New(app.Settings{Dir: s.dir}), Facts: true})
		if err != nil {
			return m, err
		}
		took = append(took, time.Since(began))
		if len(v.Sessions) != manySessions || len(v.Buses) != manyBuses {
			return m, fmt.Errorf("the snapshot has %d sessions and %d buses", len(v.Sessions), len(v.Buses))
		}
	}
	return measured{value: median(took)}, nil
}

// top starts the live screen in a terminal and returns its process.
func (s *stage) top() (pid int, err error) {
	out, err := s.raw("new-session", "-d", "-P", "-F", "#{pane_pid}", "-x", "160", "-y", "40", "-s", "top", "-c", s.dir, "--", s.e.full(), "top").Output()
	if err != nil {
		return 0, err
	}
	pid, err = strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		return 0, err
	}
	for range 100 {
		screen, err := s.raw("capture-pane", "-p", "-t", "=top:").Output()
		if err == nil && strings.Contains(string(screen), "s0-creator") {
			return pid, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return 0, errors.New("top does not show the sessions")
}

// perSecond is the processor time of a second that a process and the programs that it has started take.
func (e *env) perSecond(pid int) (measured, error) {
	select {
	case <-time.After(settles):
	case <-e.ctx.Done():
		return measured{}, e.ctx.Err()
	}
	sum := func() (float64, error) {
		own, err := processor(pid)
		if err != nil {
			return 0, err
		}
		started, err := childTime(pid)
		return own + started, err
	}
	before, err := sum()
	if err != nil {
		return measured{}, err
	}
	began := time.Now()
	select {
	case <-time.After(measuredFor):
	case <-e.ctx.Done():
		return measured{}, e.ctx.Err()
	}
	after, err := sum()
	return measured{value: (after - before) / time.Since(began).Seconds()}, err
}

// childTime is the processor time of ended children, in seconds: the members cutime and cstime of /proc/PID/stat, in hundredths.
func childTime(pid int) (float64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	f := strings.Fields(rest)
	if len(f) < 15 {
		return 0, fmt.Errorf("/proc/%d/stat is too short", pid)
	}
	user, err1 := strconv.ParseFloat(f[13], 64)
	system, err2 := strconv.ParseFloat(f[14], 64)
	return (user + system) / 100, errors.Join(err1, err2)
}

func restingTop(e *env) (m measured, err error) {
	s, err := e.stage("top")
	if err != nil {
		return m, err
	}
	defer s.leave()
	if err := s.people(restingSessions); err != nil {
		return m, err
	}
	pid, err := s.top()
	if err != nil {
		return m, err
	}
	return e.perSecond(pid)
}

// spinner writes to its screen ten times a second, as an agent CLI at work does.
const spinner = `package main

import (
	"fmt"
	"time"
)

func main() {
	for n := 0; ; n++ {
		fmt.Printf("\r%c thinking (%ds, esc to interrupt)", "|/-+"[n%4], n/10)
		time.Sleep(100 * time.Millisecond)
	}
}
`

// work starts n more sessions whose programs write all the time and report nothing of themselves.
func (s *stage) work(n int) error {
	src, bin := filepath.Join(s.dir, "spinner.go"), filepath.Join(s.dir, "codex")
	if err := os.WriteFile(src, []byte(spinner), 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(s.e.ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", bin, src)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the spinner: %w\n%s", err, out)
	}
	registry := filepath.Join(s.dir, ".hermes", "agent-sessions.yaml")
	text, err := os.ReadFile(registry)
	if err != nil {
		return err
	}
	for i := range n {
		name := fmt.Sprintf("w%d-creator-codex", i)
		out, err := s.raw("new-session", "-d", "-P", "-F", "#{pane_pid} #{pane_id}", "-s", name, "-c", s.dir, "--", bin,
			";", "set-option", "@owner_id", fmt.Sprintf("%016x", 1000+i)).Output()
		if err != nil {
			return err
		}
		var pid int
		var pane string
		if _, err := fmt.Sscan(string(out), &pid, &pane); err != nil {
			return err
		}
		id, err := proc.Of(pid)
		if err != nil {
			return err
		}
		text = fmt.Appendf(text, "  - name: %s\n    status: running\n    tmux_server: %s\n    agent: codex\n    owner_id: \"%016x\"\n    boot_id: %s\n"+
			"    pane:\n      pid: %d\n      cmd: codex\n      cwd: %s\n      id: \"%s\"\n      start_ticks: %d\n", name, s.server, 1000+i, id.Boot, pid, s.dir, pane, id.Start)
	}
	if err := os.WriteFile(registry, text, 0o600); err != nil {
		return err
	}
	_, err = s.run("", "session", "list")
	return err
}

func busyTop(e *env) (m measured, err error) {
	s, err := e.stage("top")
	if err != nil {
		return m, err
	}
	defer s.leave()
	if err := errors.Join(s.people(restingSessions), s.work(manySessions)); err != nil {
		return m, err
	}
	pid, err := s.top()
	if err != nil {
		return m, err
	}
	return e.perSecond(pid)
}

// A page is an open page of tutti web.
type page struct {
	cmd    *exec.Cmd
	stream *http.Response
	lines  *bufio.Scanner
}

// open starts the web server and opens its first page.
func (s *stage) open() (*page, error) {
	cmd := exec.CommandContext(s.e.ctx, s.e.full(), "web", "--no-open", "--json")
	cmd.Env, cmd.Dir = s.as(""), s.dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &page{cmd: cmd}
	if err := p.enter(s.e.ctx, bufio.NewReader(out)); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// enter uses the link and follows the first page.
func (p *page) enter(ctx context.Context, out *bufio.Reader) error {
	line, err := out.ReadBytes('\n')
	if err != nil {
		return err
	}
	var link struct {
		URL  string `json:"url"`
		Port int    `json:"port"`
	}
	if err := json.Unmarshal(line, &link); err != nil {
		return err
	}
	get := func(url string, cookies ...*http.Cookie) (*http.Response, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return nil, err
		}
		for _, c := range cookies {
			r.AddCookie(c)
		}
		return http.DefaultClient.Do(r)
	}
	login, err := get(link.URL)
	if err != nil {
		return err
	}
	login.Body.Close()
	if p.stream, err = get(fmt.Sprintf("http://127.0.0.1:%d/events?view=/", link.Port), login.Cookies()...); err != nil {
		return err
	}
	if p.stream.StatusCode != http.StatusOK {
		return errors.New("the stream: " + p.stream.Status)
	}
	p.lines = bufio.NewScanner(p.stream.Body)
	p.lines.Buffer(nil, 8<<20)
	return p.until("s0-creator")
}

// until reads the stream up to an update with a text in it.
func (p *page) until(text string) error {
	for p.lines.Scan() {
		if strings.HasPrefix(p.lines.Text(), "data: ") && strings.Contains(p.lines.Text(), text) {
			return nil
		}
	}
	return errors.Join(fmt.Errorf("the stream ended before %q", text), p.lines.Err())
}

func (p *page) close() {
	if p.stream != nil {
		p.stream.Body.Close()
	}
	_ = p.cmd.Process.Signal(syscall.SIGINT)
	_ = p.cmd.Wait() // it ends with 130
}

// restingPage opens the page beside sessions that rest. done closes it and ends them.
func (e *env) restingPage() (s *stage, p *page, done func(), err error) {
	if s, err = e.stage("web"); err != nil {
		return nil, nil, nil, err
	}
	if err = s.people(restingSessions); err == nil {
		p, err = s.open()
	}
	if err != nil {
		s.leave()
		return nil, nil, nil, err
	}
	return s, p, func() { p.close(); s.leave() }, nil
}

func restingWeb(e *env) (m measured, err error) {
	_, p, done, err := e.restingPage()
	if err != nil {
		return m, err
	}
	defer done()
	return e.perSecond(p.cmd.Process.Pid)
}

func shownOnPage(e *env) (m measured, err error) {
	s, p, done, err := e.restingPage()
	if err != nil {
		return m, err
	}
	defer done()
	late := time.AfterFunc(2*time.Minute, p.close)
	defer late.Stop()
	var took []time.Duration
	for i := range someSessions {
		time.Sleep(time.Second) // one message after another, as people write
		word := fmt.Sprintf("message number %d of the bench", i)
		if _, err := s.run(s.from, "send", s.to, word); err != nil {
			return m, err
		}
		began := time.Now()
		if err := p.until(word); err != nil {
			return m, err
		}
		took = append(took, time.Since(began))
	}
	return measured{value: median(took)}, nil
}
