package mcptest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// hostEnv makes the test binary the program of an agent: it starts a server in the folder that the variable names, writes a
// call to it, copies what it says, and stays until it is killed.
const hostEnv = "TUTTI_TEST_HOST"

func host() int {
	c := exec.Command(filepath.Join(os.Getenv(hostEnv), "tutti-full"), "mcp-serve", "--auto-open", "--host", "claude")
	in, err := c.StdinPipe()
	out, err2 := c.StdoutPipe()
	if err := errors.Join(err, err2, c.Start()); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(c.Process.Pid)
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tutti_receive","arguments":{"wait":50}}}`+"\n"); err != nil {
		return 1
	}
	_, _ = io.Copy(os.Stdout, out)
	return 0
}

// soon is how long a server may take to end. It is a second; where everything is tested at once the machine takes its part.
const soon = 5 * time.Second

// TestParentKilled: the program of the agent dies without a word, with a call in hand. The server ends, and its session with it.
func TestParentKilled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self)
	c.Env, c.Dir = append([]string{hostEnv + "=" + r.bin}, r.env...), r.home
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	pid := 0
	if _, scan := fmt.Sscan(line, &pid); err != nil || scan != nil {
		t.Fatalf("%q %v %v", line, err, scan)
	}
	eventually(t, "its session is open", func() bool { return len(r.sessions()) == 1 })
	began := time.Now()
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	eventually(t, "its session is closed", func() bool { return len(r.sessions()) == 0 })
	eventually(t, "the server is gone", func() bool { return gone(pid) })
	if took := time.Since(began); took > soon {
		t.Errorf("it took %v", took)
	} else {
		t.Logf("it took %v", took)
	}
}

// gone tells whether a process has ended; one whose parent has not looked has.
func gone(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, state, _ := strings.Cut(string(raw), ") ")
	return strings.HasPrefix(state, "Z")
}

// A deaf client writes and does not read.
type deaf struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  io.Closer
	errs locked
}

// deafen starts a server and asks it for more than the pipes hold, until it can take no more.
func (r *rig) deafen(folder string) *deaf {
	r.t.Helper()
	d := &deaf{cmd: r.serve("claude", folder)}
	d.cmd.Stderr = &d.errs
	in, err := d.cmd.StdinPipe()
	out, err2 := d.cmd.StdoutPipe()
	if err := errors.Join(err, err2, d.cmd.Start()); err != nil {
		r.t.Fatal(err)
	}
	d.in, d.out = in, out
	line := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n")
	full := make(chan struct{})
	wrote := make(chan struct{}, 1)
	go func() {
		defer close(full)
		for {
			if _, err := in.Write(line); err != nil {
				return
			}
			select {
			case wrote <- struct{}{}:
			default:
			}
		}
	}()
	r.t.Cleanup(func() {
		_ = d.cmd.Process.Kill()
		_ = d.cmd.Wait()
		<-full
	})
	for stuck := false; !stuck; {
		select {
		case <-wrote:
		case <-full:
			r.t.Fatalf("the server has ended: %s", &d.errs)
		case <-time.After(time.Second):
			stuck = true
		}
	}
	return d
}

// ends waits until the server is gone and says how long that took from then on.
func (d *deaf) ends(t *testing.T, began time.Time) time.Duration {
	t.Helper()
	eventually(t, "the server is gone", func() bool { return gone(d.cmd.Process.Pid) })
	return time.Since(began)
}

// TestClientNotReading: a client that does not read its answers blocks only itself: heartbeats continue, mail arrives and other clients are
// served. The server ends on request, and its session with it.
func TestClientNotReading(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick...)
	d := r.deafen("a")
	eventually(t, "its session is open", func() bool { return len(r.sessions()) == 1 })
	record := r.sessions()[0]
	first := heartbeat(t, record)
	eventually(t, "its heartbeat goes on", func() bool { return heartbeat(t, record).Sub(first) > time.Second })
	b := r.start("codex", "b")
	ana := ""
	for _, p := range b.ok("tutti_peers", nil).list("peers") {
		ana, _ = p["instance"].(string)
	}
	for range 20 { // more pushes for it, which it cannot be told
		b.ok("tutti_send", object{"to": ana, "text": strings.Repeat("x", 1000)})
	}
	if n := len(b.noted(func(n note) bool { return n.Topic == "presence.peer_left" })); n > 0 {
		t.Error("it is said to have left")
	}
	began := time.Now()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	took := d.ends(t, began)
	if there(record) {
		t.Errorf("its session is still open: %s", &d.errs)
	}
	if t.Logf("it took %v", took); took > soon {
		t.Errorf("it took %v to end", took)
	}
}

// TestClientNotReadingEnds: the same when the input of a client that does not read comes to its end. What it asked for cannot be
// answered, and is given up.
func TestClientNotReadingEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick...)
	d := r.deafen("a")
	eventually(t, "its session is open", func() bool { return len(r.sessions()) == 1 })
	began := time.Now()
	_ = d.in.Close()
	_ = d.out.Close() // nobody reads, and nobody ever will
	took := d.ends(t, began)
	if n := len(r.sessions()); n > 0 {
		t.Errorf("its session is still open: %s", &d.errs)
	}
	if t.Logf("it took %v", took); took > soon {
		t.Errorf("it took %v to end", took)
	}
}

// heartbeat is when a session last said that it is there.
func heartbeat(t *testing.T, record string) time.Time {
	t.Helper()
	var r struct{ HeartbeatAt time.Time }
	raw, err := os.ReadFile(record)
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r.HeartbeatAt
}

// TestServerKilled: a killed server leaves its session, and the next server of that agent removes it. Other agents are notified once that
// it left.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := r.start("codex", "b")
	a := r.start("claude", "a")
	ana, at := a.me(), a.session()
	eventually(t, "its peer is notified", func() bool { return b.about("presence.peer_joined", at) == 1 })
	wait := a.ask("tutti_receive", object{"wait": 50})
	a.signal(syscall.SIGKILL)
	<-a.ended
	<-wait
	if !there(r.record(at)) {
		t.Fatal("its session was closed")
	}
	id := b.ok("tutti_send", object{"to": ana, "text": "while the server is down"}).str("id")
	a = r.start("claude", "a")
	if a.me() != ana {
		t.Errorf("the next server is %s, want %s", a.me(), ana)
	}
	if there(r.record(at)) {
		t.Error("the session of the killed one is still there")
	}
	next := a.session()
	eventually(t, "its peer is notified of both", func() bool {
		return b.about("presence.peer_left", at) == 1 && b.about("presence.peer_joined", next) == 1
	})
	eventually(t, "it is notified of mail from the meantime", func() bool { return a.arrived(id) == 1 })
	if got := a.ok("tutti_receive", nil).list("messages"); len(got) != 1 || got[0]["id"] != id {
		t.Errorf("received %v", got)
	}
}

// TestOneOffer: of two servers of one agent that both wait for mail, one is offered each message.
func TestOneOffer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := []*serverProcess{r.start("claude", "a"), r.start("claude", "a")}, r.start("codex", "b")
	ana := a[0].me()
	const most = 30
	var mu sync.Mutex
	offered := map[string]int{}
	var all sync.WaitGroup
	for _, s := range a {
		all.Go(func() {
			for done := false; !done; {
				for _, m := range s.call("tutti_receive", object{"wait": 2}).list("messages") {
					mu.Lock()
					offered[m["text"].(string)]++
					mu.Unlock()
				}
				mu.Lock()
				done = len(offered) == most+1
				mu.Unlock()
			}
		})
	}
	for n := range most + 1 {
		if n == most {
			time.Sleep(100 * time.Millisecond) // for an offer of the one before by the other server
		}
		b.ok("tutti_send", object{"to": ana, "text": fmt.Sprint(n)})
	}
	all.Wait()
	for text, n := range offered {
		if n != 1 {
			t.Errorf("message %s was offered %d times", text, n)
		}
	}
}
