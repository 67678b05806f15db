package wake

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const talk = "0b5e4d1c-7a0f-4e2b-9c55-0d6f3b1a2c3d"

// A post is a bell and those who come to it.
type post struct {
	t     *testing.T
	place SocketDir
	words chan Word
}

func newPost(t *testing.T) *post {
	home := filepath.Join(t.TempDir(), strings.Repeat("deep/", 30)) // far longer than the path of a socket may be
	return &post{t: t, place: SocketDir{Home: home}, words: make(chan Word, 64)}
}

func (p *post) bell(whose string) *Socket {
	p.t.Helper()
	b, err := Listen(BellOptions{Place: p.place, Host: "claude", Whose: whose, Heard: func(w Word) { p.words <- w }})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(b.Close)
	return b
}

func (p *post) caller(event string) Caller {
	return Caller{Place: p.place, Host: "claude", Conversation: talk, Event: event}
}

type end struct {
	mail bool
	err  error
}

// wait has a hook wait, and returns when it does.
func (p *post) wait(event string) <-chan end {
	p.t.Helper()
	out := p.goes(event, 3*time.Second)
	p.word(Word{Conversation: talk, Event: event, Waits: true})
	return out
}

func (p *post) goes(event string, patience time.Duration) <-chan end {
	out := make(chan end, 1)
	go func() {
		mail, err := Wait(p.t.Context(), p.caller(event), patience)
		out <- end{mail == Sentence, err}
	}()
	return out
}

func (p *post) word(want Word) {
	p.t.Helper()
	select {
	case got := <-p.words:
		if got != want {
			p.t.Errorf("heard %+v, want %+v", got, want)
		}
	case <-time.After(time.Minute):
		p.t.Fatalf("nothing was heard, want %+v", want)
	}
}

func (p *post) ends(what string, c <-chan end, mail bool) {
	p.t.Helper()
	select {
	case got := <-c:
		if got.mail != mail || got.err != nil {
			p.t.Errorf("%s: the hook ends with %v, %v; want %v", what, got.mail, got.err, mail)
		}
	case <-time.After(time.Minute):
		p.t.Fatalf("%s: the hook still waits", what)
	}
}

func TestWaiting(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	b := p.bell(talk)
	if there, err := b.Ring(t.Context(), Sentence); there || err != nil || b.Waited() {
		t.Errorf("no waiter: the bell returns %v, %v", there, err)
	}
	first := p.wait("SessionStart")
	second := p.wait("Stop")
	p.ends("a newer one waits", first, false)
	if there, err := b.Ring(t.Context(), Sentence); !there || err != nil {
		t.Errorf("the bell says %v, %v", there, err)
	}
	p.ends("there is mail", second, true)
	if there, _ := b.Ring(t.Context(), Sentence); there {
		t.Error("a hook hears the bell twice")
	}
	fourth := p.wait("Stop")
	b.Close()
	p.ends("the session is over", fourth, false)
	if left, err := os.ReadDir(b.folder.Name()); len(left) > 0 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestWaitWithoutServer(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	began := time.Now()
	if _, err := Wait(t.Context(), p.caller("Stop"), 0); !errors.Is(err, ErrNobody) || time.Since(began) > 10*time.Second {
		t.Errorf("without a server, after %v: %v", time.Since(began), err)
	}
	if err := Tell(p.caller("Stop")); !errors.Is(err, ErrNobody) {
		t.Errorf("no server to notify: %v", err)
	}
	waits := p.goes("SessionStart", 10*time.Second)
	b := p.bell(talk) // comes later, or not: the hook finds it
	p.word(Word{Conversation: talk, Event: "SessionStart", Waits: true})
	b.Ring(t.Context(), Sentence)
	p.ends("there is mail", waits, true)
	began = time.Now()
	b.Close()
	if _, err := Wait(t.Context(), p.caller("SessionStart"), 100*time.Millisecond); !errors.Is(err, ErrNobody) || time.Since(began) < 100*time.Millisecond {
		t.Errorf("a server that never came, after %v: %v", time.Since(began), err)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	b := p.bell(talk)
	ctx, stop := context.WithCancel(t.Context())
	out := make(chan error, 1)
	go func() {
		_, err := Wait(ctx, p.caller("Stop"), 0)
		out <- err
	}()
	p.word(Word{Conversation: talk, Event: "Stop", Waits: true})
	stop()
	if err := <-out; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for end := time.Now().Add(time.Minute); b.Waited(); {
		if time.Now().After(end) {
			t.Fatal("it still counts as waiting")
		}
		time.Sleep(time.Millisecond)
	}
}

// TestRelease: a person who has cleared a halt learns from each server what its agent waits for, and the hook keeps waiting.
func TestRelease(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	words := make(chan Word, 4)
	held := Released{Instance: "claude:api:3f2a9c01b7de", Conversation: talk, Stopped: true, Unread: 2}
	b, err := Listen(BellOptions{Place: p.place, Host: "claude", Whose: talk, Released: func(w Word) Released {
		words <- w
		return held
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	silent, err := Listen(BellOptions{Place: p.place, Host: "codex", Whose: "of another build"})
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	waits := p.goes("Stop", 0)
	for end := time.Now().Add(time.Minute); !b.Waited(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no hook waits")
		}
	}
	for _, w := range []Word{{Ask: true}, {GoOn: true, Instance: held.Instance}} {
		if got := Release(p.place, w, 5*time.Second); len(got) != 1 || got[0] != held {
			t.Errorf("got %+v", got)
		}
		if got := <-words; got != w {
			t.Errorf("the server heard %+v, want %+v", got, w)
		}
	}
	if there, err := b.Ring(t.Context(), Sentence); !there || err != nil {
		t.Errorf("the bell says %v, %v", there, err)
	}
	p.ends("after the halt", waits, true)
}

// TestHookOfEndedProgram: when the agent CLI of a waiting hook has ended, only the shell between them would see the hook's exit. The
// bell reports that.
func TestHookOfEndedProgram(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	b := p.bell(talk)
	shell := exec.Command("/bin/sh", "-c", `"$0" & wait`, os.Args[0])
	shell.Env = append(os.Environ(), "WAKE_TEST_WAIT="+p.place.Home)
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	p.word(Word{Conversation: talk, Event: "Stop", Waits: true})
	_ = shell.Process.Kill()
	_ = shell.Wait()
	if there, err := b.Ring(t.Context(), Sentence); !there || !errors.Is(err, errUnheard) {
		t.Errorf("the bell says %v, %v", there, err)
	}
}

// TestHookGivesUpWhenAgentEnds: a hook that looks for a server gives up when its agent CLI has ended.
func TestHookGivesUpWhenAgentEnds(t *testing.T) {
	t.Parallel()
	shell := exec.Command("/bin/sh", "-c", `"$0" & wait`, os.Args[0])
	shell.Env = append(os.Environ(), "WAKE_TEST_MEET="+t.TempDir())
	out, hook, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	shell.Stdout = hook
	err = shell.Start()
	hook.Close()
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "waiting" {
		t.Fatalf("the hook says %q", lines.Text())
	}
	_ = shell.Process.Kill()
	_ = shell.Wait()
	if err := out.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if !lines.Scan() || lines.Text() != "ended" {
		t.Errorf("the hook says %q: %v", lines.Text(), lines.Err())
	}
}

func TestTell(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	p.bell("claude:api:3f2a9c01b7de") // of a server that does not know its conversation
	c := p.caller("PostToolUse")
	c.Instance = "claude:api:3f2a9c01b7de"
	if err := Tell(c); err != nil {
		t.Fatal(err)
	}
	p.word(Word{Conversation: talk, Event: "PostToolUse"})
}

// TestInvalidInput: a client that sends an unknown word, too much, or nothing is disconnected, and others are still served.
func TestInvalidInput(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	b := p.bell(talk)
	for _, said := range []string{"", "x", "[]\n", strings.Repeat("x", 2*maxLine), "{\"waits\":1}\n"} {
		f, err := dial(b.folder, b.name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = f.WriteString(said)
		f.Close()
	}
	for range 3 * maxVisitors {
		if f, err := dial(b.folder, b.name); err == nil {
			defer f.Close() // says nothing
		}
	}
	for { // the last bad one is a word without meaning
		select {
		case <-p.words:
			continue
		case <-time.After(50 * time.Millisecond):
		}
		break
	}
	waits := p.goes("Stop", 10*time.Second)
	p.word(Word{Conversation: talk, Event: "Stop", Waits: true})
	b.Ring(t.Context(), Sentence)
	p.ends("there is mail", waits, true)
}

// TestTwoServers: of two servers with one conversation, a hook finds the one that its own program has started.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	other := exec.Command(os.Args[0], "-test.run=^TestOtherServer$")
	other.Env = append(os.Environ(), "WAKE_TEST_HOME="+p.place.Home)
	in, _ := other.StdinPipe()
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make([]byte, 6)
	if _, err := out.Read(ready); err != nil || string(ready) != "ready\n" {
		t.Fatalf("%q, %v", ready, err)
	}
	b := p.bell(talk)
	waits := p.wait("Stop")
	if there, err := b.Ring(t.Context(), Sentence); !there || err != nil {
		t.Errorf("the hook is not at its own server: %v, %v", there, err)
	}
	p.ends("there is mail", waits, true)
	// With the own one gone, the other one is found; when that was killed, nothing is, and the next server cleans up.
	b.Close()
	if err := Tell(p.caller("Stop")); err != nil {
		t.Errorf("the other server: %v", err)
	}
	_ = other.Process.Kill()
	_ = other.Wait()
	in.Close()
	if err := Tell(p.caller("Stop")); !errors.Is(err, ErrNobody) {
		t.Errorf("a server that was killed: %v", err)
	}
	b = p.bell(talk)
	if left, _ := os.ReadDir(b.folder.Name()); len(left) != 1 {
		t.Errorf("in the folder: %v", left)
	}
}

// TestOtherServer is the other process of TestTwoServers.
func TestOtherServer(t *testing.T) {
	home := os.Getenv("WAKE_TEST_HOME")
	if home == "" {
		t.Skip("a part of another test")
	}
	b, err := Listen(BellOptions{Place: SocketDir{Home: home}, Host: "claude", Whose: talk})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	_, _ = os.Stdout.WriteString("ready\n")
	_, _ = os.Stdin.Read(make([]byte, 1))
}

func TestFolder(t *testing.T) {
	t.Parallel()
	home, run := t.TempDir(), t.TempDir()
	env := func(name string) string {
		if name == "XDG_RUNTIME_DIR" {
			return run
		}
		return ""
	}
	p := SocketDir{Home: home, Env: env}
	b, err := Listen(BellOptions{Place: p, Host: "codex", Whose: talk})
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(run, "tutti"); b.folder.Name() != want {
		t.Errorf("the folder is %s, want %s", b.folder.Name(), want)
	}
	if info, _ := os.Stat(b.folder.Name()); info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is open: %v", info.Mode())
	}
	b.Close()

	// A server that was started without the variable is found by a hook that has it.
	b, err = Listen(BellOptions{Place: SocketDir{Home: home}, Host: "codex", Whose: talk})
	if err != nil {
		t.Fatal(err)
	}
	if err := Tell(Caller{Place: p, Host: "codex", Conversation: talk}); err != nil {
		t.Error(err)
	}
	b.Close()

	// A folder that others may enter is closed; a link is none; a runtime folder that is not there is not made.
	os.Chmod(filepath.Join(run, "tutti"), 0o777)
	if b, err = Listen(BellOptions{Place: p, Host: "codex", Whose: talk}); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(b.folder.Name()); info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is open: %v", info.Mode())
	}
	b.Close()
	os.Remove(filepath.Join(run, "tutti"))
	os.Symlink(t.TempDir(), filepath.Join(run, "tutti"))
	if b, err = Listen(BellOptions{Place: p, Host: "codex", Whose: talk}); err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(home, ".local/state/tutti/run"); b.folder.Name() != want {
		t.Errorf("the folder is %s, want %s", b.folder.Name(), want)
	}
	b.Close()
	os.Remove(filepath.Join(run, "tutti"))
	if os.Geteuid() == 0 { // nobody else can give a folder away: one of somebody else is none, neither for a server nor for a hook
		foreign := filepath.Join(run, "tutti")
		if err := errors.Join(os.Mkdir(foreign, 0o777), os.Chown(foreign, 12345, 12345)); err != nil {
			t.Fatal(err)
		}
		if b, err = Listen(BellOptions{Place: p, Host: "codex", Whose: talk}); err != nil {
			t.Fatal(err)
		}
		if want := filepath.Join(home, ".local/state/tutti/run"); b.folder.Name() != want {
			t.Errorf("the folder is %s, want %s", b.folder.Name(), want)
		}
		if err := Tell(Caller{Place: p, Host: "codex", Conversation: talk}); err != nil {
			t.Errorf("a hook beside a folder of another user: %v", err)
		}
		if left, _ := os.ReadDir(foreign); len(left) > 0 {
			t.Errorf("in the folder of another user: %v", left)
		}
		b.Close()
	}
	if _, err := Listen(BellOptions{Host: "codex", Whose: talk}); !errors.Is(err, errNoFolder) {
		t.Errorf("without any folder: %v", err)
	}
}

// TestLateEventIsIgnored: an event that arrives after a later one is ignored.
func TestLateEventIsIgnored(t *testing.T) {
	t.Parallel()
	var heard []string
	b := &Socket{o: BellOptions{Heard: func(w Word) { heard = append(heard, w.Event) }}}
	for _, c := range []struct {
		n     uint64
		event string
		waits bool
	}{
		{1, "UserPromptSubmit", false},
		{3, "Stop", false},
		{2, "PostToolUse", false},
		{4, "UserPromptSubmit", false},
		{6, "waits", true}, // it comes at the end of the turn, beside the hook that says so
		{5, "Stop", false},
	} {
		b.hear(&visitor{n: c.n}, Word{Event: c.event, Waits: c.waits})
	}
	if got, want := strings.Join(heard, " "), "UserPromptSubmit Stop UserPromptSubmit waits Stop"; got != want {
		t.Errorf("heard %q, want %q", got, want)
	}
}
