package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/attention/wake"
	"tutti/internal/test/progfile"
)

// A desk is a desktop that writes down what it is to show.
type desk struct {
	r    *rig
	said string
	env  []string
}

// desk makes one, and settings under which people are told of those who stay away after a while.
func (r *rig) desk(settings string) *desk {
	r.t.Helper()
	bin := r.t.TempDir()
	d := &desk{r: r, said: filepath.Join(bin, "said")}
	d.env = []string{"PATH=" + bin + ":/usr/bin:/bin", "DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere"}
	script := "#!/bin/sh\nprintf '%s\\n' \"$*\" >> " + d.said + "\n"
	config := filepath.Join(r.home, ".config/tutti")
	if err := os.MkdirAll(config, 0o700); err != nil {
		r.t.Fatal(err)
	}
	for path, text := range map[string]string{filepath.Join(bin, "notify-send"): script, filepath.Join(config, "config.toml"): settings} {
		if err := progfile.Write(path, []byte(text), 0o700); err != nil {
			r.t.Fatal(err)
		}
	}
	return d
}

// shows waits for a notice for somebody, and returns all that were shown.
func (d *desk) shows(who string) string {
	d.r.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		raw, _ := os.ReadFile(d.said)
		if strings.Contains(string(raw), "Mail for "+who+" ") {
			return string(raw)
		}
		if time.Now().After(end) {
			d.r.t.Fatalf("nothing is shown for %s: %s\n%s", who, raw, d.r.trail())
		}
	}
}

// sleeper is an agent that was there, and is not now.
func (r *rig) sleeper(name string) string {
	r.t.Helper()
	s := r.start(name, []string{"--auto-open", "--host", "codex"})
	me := s.me()
	s.end(0)
	return me
}

// TestNotifyAbsentAgent: the person of an agent without a session is notified of mail once, without the text of the message. Not if the
// agent has come back, or its keys belong to another agent.
func TestNotifyAbsentAgent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := r.desk("[wake]\nclimb = \"4s\"\n")
	away, back := r.sleeper("away"), r.sleeper("back")
	const foreign = "codex:foreign:0123456789ab"
	r.run("register", `{"id":"`+foreign+`","instance":"`+foreign+`","roles":["AGENTS"],"scopes":["scope:default"],"capabilities":[],"endpoints":[],"publicKeys":[],"acceptedPolicies":[],"createdAt":"2026-01-01T00:00:00.000Z"}`)
	a := r.start("a", []string{"--auto-open", "--host", "claude"}, d.env...)
	me := a.me()
	sent := time.Now()
	for _, to := range []string{back, foreign} {
		a.ok("tutti_send", object{"to": to, "text": "secret words"})
	}
	r.start("back", []string{"--auto-open", "--host", "codex"}).me()
	if late := time.Since(sent); late > 3*time.Second {
		t.Skipf("SKIPPED: the machine is too slow: %v until an agent was back", late)
	}
	other := r.start("other", []string{"--auto-open", "--host", "gemini"}, d.env...) // at the same time; it tells as well
	other.me()
	other.ok("tutti_send", object{"to": away, "text": "secret words"})
	var ids []string
	for range 3 {
		said := a.ok("tutti_send", object{"to": away, "text": "secret words"})
		if said.str("outcome") != "deposited" || said.str("stored") == "" || said.str("trace") != "tutti thread --trace "+said.str("id") {
			t.Errorf("to one who is away: %v", said)
		}
		ids = append(ids, said.str("id"))
	}
	all := d.shows(away) // those before it would have been told of before it
	if strings.Count(all, "\n") != 1 || strings.Contains(all, "secret") {
		t.Errorf("shown: %q", all)
	}
	// One of the two has told, and has put that on record for what it had sent itself.
	if trace := r.run("thread", "--trace", ids[0], "--instance", me); !strings.Contains(trace, "stored   by "+me) || strings.Contains(trace, "shown") {
		t.Errorf("on record: %s", trace)
	}
	r.recorded(`"result":"` + wake.Desktop + `"`)
	a.end(0)
	other.end(0)
	if raw, _ := os.ReadFile(d.said); strings.Count(string(raw), "\n") != 1 {
		t.Errorf("shown: %q", raw)
	}
}

// TestNotifyAfterCommandSend: messages that an agent sends by its command line count too, even its first. The step is in the trace of the
// message.
func TestNotifyAfterCommandSend(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := r.desk("[wake]\nclimb = \"1s\"\n")
	first, second := r.sleeper("first"), r.sleeper("second")
	a := r.start("a", []string{"--auto-open", "--host", "claude"}, d.env...)
	me := a.me()
	for _, to := range []string{first, second} {
		said := r.run("send", to, "secret words", "--as", me)
		_, id, _ := strings.Cut(said, "--trace ")
		id, _, _ = strings.Cut(strings.TrimSpace(id), " ") // flags may follow
		if all := d.shows(to); strings.Contains(all, "secret") || strings.Count(all, to) != 1 {
			t.Errorf("shown: %q", all)
		}
		for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
			trace := r.run("thread", "--trace", id, "--instance", me)
			if strings.Contains(trace, "pushed   "+wake.Desktop+"  by "+me) && strings.Contains(trace, "stored   by "+me) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("what was tried does not stand on record: %s", trace)
			}
		}
	}
}

// TestNotifyPerson: a person has no session and is notified at once. Mail from before a halt causes no notice afterwards; later mail does.
func TestNotifyPerson(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := r.desk("[wake]\nclimb = \"6s\"\n")
	before, after := r.sleeper("before"), r.sleeper("after")
	a := r.start("a", []string{"--auto-open", "--host", "claude"}, d.env...)
	r.run("send", a.me(), "which table?")
	person, _, _ := strings.Cut(r.run("whoami"), "\n")
	person = person[strings.Index(person, "human:"):]
	name := strings.Join(strings.Split(person, ":")[:2], ":")
	began := time.Now()
	a.ok("tutti_send", object{"to": before, "text": "x"})
	sent := time.Since(began)
	halted := r.run("halt", "a test")
	raised := time.Since(began)
	r.run("resume")
	lifted := time.Since(began)
	a.ok("tutti_send", object{"to": name, "text": "the old one"})
	if all := d.shows(name); !strings.Contains(all, "-- Mail for "+name+" To read it, run \"tutti receive\".\n") {
		t.Errorf("shown: %q", all)
	}
	a.ok("tutti_send", object{"to": after, "text": "x"})
	if all := d.shows(after); strings.Contains(all, before) {
		t.Errorf("of what lay there when the halt came: %q; sent after %v, halted after %v, lifted after %v of %v; halt: %s; the log:\n%s",
			all, sent, raised, lifted, time.Since(began), halted, r.run("log", "--long"))
	}
}

// TestNotifyIdleAgent: the person of an agent that cannot be woken is notified by the agent's own server.
func TestNotifyIdleAgent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := r.desk("[wake]\nquiet = \"1s\"\nclimb = \"1s\"\n")
	g := r.start("g", []string{"--auto-open", "--host", "gemini"}, d.env...)
	me := g.me()
	b := r.start("b", []string{"--auto-open", "--host", "codex"})
	b.me()
	b.ok("tutti_send", object{"to": me, "text": "secret words"})
	if all := d.shows(me); strings.Contains(all, "secret") {
		t.Errorf("shown: %q", all)
	}
	r.recorded(`"result":"desktop"`)

	quiet := newRig(t)
	d = quiet.desk("[wake]\nquiet = \"1s\"\nclimb = \"1s\"\ndesktop = false\n")
	sleeper := quiet.sleeper("sleeper")
	c := quiet.start("c", []string{"--auto-open", "--host", "gemini"}, d.env...)
	c.me()
	c.ok("tutti_send", object{"to": sleeper, "text": "x"})
	time.Sleep(1500 * time.Millisecond) // for a notice that must not come
	if raw, err := os.ReadFile(d.said); err == nil {
		t.Errorf("shown although it was switched off: %q", raw)
	}
}

// TestIdleFromHooks: hooks report that an agent is idle, also for a program that cannot be woken. Then no waiter is expected.
func TestIdleFromHooks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := r.desk("[wake]\nquiet = \"1h\"\nclimb = \"1h\"\n")
	g := r.start("g", []string{"--auto-open", "--host", "gemini"}, d.env...)
	me := g.me()
	hook := r.command("tutti", []string{"hook", "gemini", "SessionStart"}, "TUTTI_INSTANCE="+me)
	hook.Dir = filepath.Join(r.home, "g")
	hook.Stdin = strings.NewReader(`{"hook_event_name":"SessionStart","session_id":"` + talk + `","cwd":"` + hook.Dir + `"}`)
	if out, err := hook.CombinedOutput(); err != nil {
		t.Fatalf("hook: %v: %s", err, out)
	}
	b := r.start("b", []string{"--auto-open", "--host", "codex"})
	b.me()
	b.ok("tutti_send", object{"to": me, "text": "x"})
	d.shows(me)
}
