package foreigntest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/test/boundtest"
)

// programEnv makes the test binary behave as the program of that name.
const programEnv = "FOREIGNTEST_PROGRAM"

// A desk is a user with a home and a bus, at which programs are run.
type desk struct {
	t    *testing.T
	home string
	root string
	dir  string // where programs run
	env  []string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	if boundtest.Race {
		t.Skip("hundreds of processes of one goroutine each: the detector takes a second for each and sees no race")
	}
	base := t.TempDir()
	d := &desk{t: t, home: filepath.Join(base, "home"), root: filepath.Join(base, "bus"), dir: filepath.Join(base, "work")}
	for _, dir := range []string{d.home, d.dir} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	d.env = []string{"HOME=" + d.home, "H2A_ROOT=" + d.root, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + base}
	d.run("init")
	return d
}

// try runs tutti and returns what it printed and its exit status.
func (d *desk) try(env []string, stdin string, args ...string) (stdout, stderr string, status int) {
	exe, err := os.Executable()
	if err != nil {
		d.t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Args[0] = "tutti"
	cmd.Dir = d.dir
	cmd.Env = append(append([]string{programEnv + "=tutti"}, d.env...), env...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		d.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// run is try for what has to succeed.
func (d *desk) run(args ...string) string {
	d.t.Helper()
	out, errs, status := d.try(nil, "", args...)
	if status != 0 {
		d.t.Fatalf("tutti %q: status %d\n%s%s", args, status, out, errs)
	}
	return out
}

// connect makes an agent and returns its id.
func (d *desk) connect(host, name string) string {
	d.t.Helper()
	var r struct{ Instance string }
	if out := d.run("connect", "--host", host, "--name", name, "--json"); json.Unmarshal([]byte(out), &r) != nil || r.Instance == "" {
		d.t.Fatalf("connect printed %s", out)
	}
	return r.Instance
}

// received is what receive --json prints, as far as it matters here.
type received struct {
	Messages []struct {
		ID, From, Verdict string
		Envelope          struct{ Body struct{ Text string } }
	}
}

func (d *desk) receive(env []string, args ...string) received {
	var r received
	out, errs, status := d.try(env, "", append([]string{"receive", "--json"}, args...)...)
	if status != 0 || json.Unmarshal([]byte(out), &r) != nil {
		d.t.Errorf("receive %q: status %d\n%s%s", args, status, out, errs)
	}
	return r
}

// TestFiftyProcessesSend: fifty processes send to one inbox while five receive and acknowledge. Nothing is lost and nothing
// is given out twice.
func TestFiftyProcessesSend(t *testing.T) {
	d := newDesk(t)
	bob := d.connect("codex", "bob")
	const senders, each, readers = 50, 4, 5
	ana := d.connect("claude", "ana")
	var sending, reading sync.WaitGroup
	for i := range senders {
		sending.Go(func() {
			for n := range each {
				if out, errs, status := d.try(nil, "", "send", bob, fmt.Sprint(i, ".", n), "--as", ana); status != 0 {
					t.Errorf("send: status %d\n%s%s", status, out, errs)
				}
			}
		})
	}
	var mu sync.Mutex
	given := map[string]int{}
	ctx, stop := context.WithCancel(t.Context())
	for range readers {
		reading.Go(func() {
			for {
				done := ctx.Err() != nil
				got := d.receive(nil, "--as", bob)
				if len(got.Messages) == 0 && done {
					return
				}
				for _, m := range got.Messages {
					mu.Lock()
					given[m.Envelope.Body.Text]++
					mu.Unlock()
					if out, errs, status := d.try(nil, "", "ack", m.ID, "--as", bob); status != 0 {
						t.Errorf("ack: status %d\n%s%s", status, out, errs)
					}
				}
			}
		})
	}
	sending.Wait()
	stop()
	reading.Wait()
	if len(given) != senders*each {
		t.Errorf("%d of %d messages were given out", len(given), senders*each)
	}
	for text, n := range given {
		if n != 1 {
			t.Errorf("message %s was given out %d times", text, n)
		}
	}
}

// TestTwoSessionsOfOneAgent: two conversations in one folder are one agent. Each of ten messages is offered to one of them
// and answered once.
func TestTwoSessionsOfOneAgent(t *testing.T) {
	d := newDesk(t)
	ana := d.connect("codex", "ana")
	first := []string{"CLAUDE_CODE_SESSION_ID=11111111-1111-4111-8111-111111111111"}
	second := []string{"CLAUDE_CODE_SESSION_ID=22222222-2222-4222-8222-222222222222"}
	var who [2]struct{ Instance string }
	for i, env := range [][]string{first, second} {
		out, errs, _ := d.try(env, "", "connect", "--host", "claude", "--json")
		if err := json.Unmarshal([]byte(out), &who[i]); err != nil {
			t.Fatalf("connect: %v\n%s%s", err, out, errs)
		}
	}
	if who[0].Instance == "" || who[0] != who[1] {
		t.Fatalf("two conversations in one folder are %v", who)
	}
	for i := range 10 {
		d.run("send", who[0].Instance, fmt.Sprint("question ", i), "--as", ana)
	}
	var wait sync.WaitGroup
	for _, env := range [][]string{first, second} {
		wait.Go(func() {
			for range 6 {
				for _, m := range d.receive(env, "--limit", "2").Messages {
					if out, errs, status := d.try(env, "", "reply", m.ID, "answer to "+m.Envelope.Body.Text); status != 0 {
						t.Errorf("reply: status %d\n%s%s", status, out, errs)
					}
				}
			}
		})
	}
	wait.Wait()
	answers := map[string]int{}
	for _, m := range d.receive(nil, "--as", ana).Messages {
		answers[m.Envelope.Body.Text]++
	}
	for i := range 10 {
		if n := answers[fmt.Sprint("answer to question ", i)]; n != 1 {
			t.Errorf("question %d was answered %d times", i, n)
		}
	}
}

// TestCommandsBesideForeignPrograms lets tutti and a foreign program send to, read and empty one mailbox, register, and look at
// presence, each as it does. Nothing is lost, nothing given out twice, and the foreign one chokes on nothing of ours.
func TestCommandsBesideForeignPrograms(t *testing.T) {
	span := 5 * time.Second
	if os.Getenv("TUTTI_SOAK") != "" {
		span = time.Minute
	}
	d := newDesk(t)
	bob, ana := d.connect("codex", "bob"), d.connect("claude", "ana")
	p := &Program{Root: d.root}
	end := time.Now().Add(span)
	var mu sync.Mutex
	put, seen := map[string]bool{}, map[string]int{}
	note := func(f func()) { mu.Lock(); defer mu.Unlock(); f() }
	var all sync.WaitGroup
	loop := func(f func(n int) error) {
		all.Go(func() {
			for n := 0; time.Now().Before(end); n++ {
				if err := f(n); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	loop(func(n int) error { // ours sends
		text := fmt.Sprint("ours ", n)
		d.run("send", bob, text, "--as", ana)
		note(func() { put[text] = true })
		return nil
	})
	loop(func(n int) error { // theirs puts
		text := fmt.Sprint("theirs ", n)
		m := message(fmt.Sprintf("env:%d:f", n))
		m["body"] = map[string]any{"kind": "message", "text": text}
		err := p.Put(bob, m["id"].(string), m)
		note(func() { put[text] = true })
		time.Sleep(2 * time.Millisecond)
		return err
	})
	loop(func(int) error { // ours receives and acknowledges
		for _, m := range d.receive(nil, "--as", bob, "--limit", "5").Messages {
			_, errs, status := d.try(nil, "", "ack", m.ID, "--as", bob)
			switch {
			case status == 0:
				note(func() { seen[m.Envelope.Body.Text]++ })
			case !strings.Contains(errs, "no such message"): // the foreign one popped it, who keeps no claims
				return fmt.Errorf("ack: status %d: %s", status, errs)
			}
		}
		return nil
	})
	loop(func(n int) error { // theirs reads all and pops one
		time.Sleep(5 * time.Millisecond)
		found, err := p.Read(bob)
		var choke *ChokeError
		if errors.As(err, &choke) && strings.Contains(choke.Path, "__f.json") {
			return nil // it met a half-written file of its own
		}
		if err != nil || len(found) == 0 {
			return err
		}
		m, err := p.Pop(bob, found[n%len(found)]["id"].(string))
		if err == nil {
			note(func() { seen[m["body"].(map[string]any)["text"].(string)]++ })
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	loop(func(n int) error { // both register
		time.Sleep(20 * time.Millisecond)
		return p.Register(map[string]any{"id": fmt.Sprint("gemini:f:", n), "instance": fmt.Sprint("gemini:f:", n)})
	})
	loop(func(n int) error {
		raw, _ := json.Marshal(map[string]any{
			"id": fmt.Sprint("gemini:o:", n), "instance": fmt.Sprint("gemini:o:", n),
			"roles": []string{"AGENTS"}, "scopes": []string{"s"}, "capabilities": []string{}, "endpoints": []string{},
			"publicKeys": []string{}, "acceptedPolicies": []string{}, "createdAt": stamp(),
		})
		d.run("register", string(raw))
		time.Sleep(20 * time.Millisecond)
		return nil
	})
	loop(func(n int) error { // presence: announced and patched there, listed by both
		time.Sleep(10 * time.Millisecond)
		id := fmt.Sprint("sess:", n%7)
		if n < 7 {
			return p.Announce(Session(id, "gemini:f:000000000001"))
		}
		d.run("discover")
		_, senseless, err := p.Sessions()
		if len(senseless) > 0 {
			err = fmt.Errorf("swept as senseless: %q", senseless)
		}
		return errors.Join(err, p.Heartbeat(id))
	})
	all.Wait()
	rest, err := p.Read(bob)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range rest {
		seen[m["body"].(map[string]any)["text"].(string)]++
	}
	for text := range put {
		if seen[text] != 1 {
			t.Errorf("%q was put once and seen %d times", text, seen[text])
		}
	}
	if _, err := p.Log("registry/instances.jsonl"); err != nil {
		t.Error(err)
	}
	t.Logf("%d messages, %d left", len(put), len(rest))
	if len(put) < 40 {
		t.Error("too little happened")
	}
}
