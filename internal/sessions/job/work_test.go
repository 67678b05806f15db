package job

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A job is typed once, whatever happens in between.
func TestJobTypedOnce(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	id := b.mustRegister(t, order()).ID
	p := &typist{}
	if typed, err := b.HandOver(t.Context(), id, p, "ana"); !typed || err != nil {
		t.Fatalf("%v %v", typed, err)
	}
	if typed, err := b.HandOver(t.Context(), id, p, "ana"); typed || err != nil {
		t.Errorf("again: %v %v", typed, err)
	}
	want := []string{"count the files", "tutti job publish " + id + " started --workspace " + b.Workspace, "tutti job publish " + id + " completed"}
	for _, w := range want {
		if !strings.Contains(p.texts[0], w) {
			t.Errorf("%q is missing in what was typed:\n%s", w, p.texts[0])
		}
	}
	j := b.mustGet(t, id)
	if p.to[0] != "api" || j.Status != StatusRunning || strings.Contains(p.texts[0], j.token) {
		t.Errorf("typed into %q, %s", p.to[0], j.Status)
	}
	if want := "api " + id + ", 0 texts before"; len(p.rows) != 1 || p.rows[0] != want {
		t.Errorf("the registry got %q, want %q", p.rows, want)
	}
	second := b.mustRegister(t, order()).ID
	if typed, err := b.HandOver(t.Context(), second, p, "ana"); typed || err == nil || !strings.Contains(err.Error(), "works on job "+id) || b.mustGet(t, second).Status != StatusPending {
		t.Errorf("a session that works on another one: %v %v, %s", typed, err, b.mustGet(t, second).Status)
	}
	late := *b
	late.Now = func() time.Time { return time.Now().Add(2 * DefaultTimeout) } // nobody has followed the first one
	if typed, err := late.HandOver(t.Context(), second, p, "ana"); !typed || err != nil {
		t.Errorf("a session whose job has run out of time: %v %v", typed, err)
	}
	b.mustCancel(t, second)

	refused := b.mustRegister(t, order()).ID
	p.err = errors.New("its session is gone")
	if _, err := b.HandOver(t.Context(), refused, p, "ana"); err == nil {
		t.Error("a failure was not told")
	}
	if j := b.mustGet(t, refused); j.Status != StatusError || !strings.Contains(j.Detail, "is gone") {
		t.Errorf("%s: %q", j.Status, j.Detail)
	}

	stopped := b.mustRegister(t, order()).ID
	p.err = errHalted
	if _, err := b.HandOver(t.Context(), stopped, p, "ana"); !isHalted(err) {
		t.Errorf("halted meanwhile: %v", err)
	}
	if j := b.mustGet(t, stopped); j.Status != StatusPending {
		t.Errorf("halted meanwhile: %s", j.Status)
	}
	p.err = nil
	if typed, err := b.HandOver(t.Context(), stopped, p, "ana"); !typed || err != nil {
		t.Errorf("after the halt: %v %v", typed, err)
	}
	b.mustCancel(t, stopped)

	claimed := b.mustRegister(t, order()).ID
	if _, err := b.Claim(t.Context(), claimed, "", "bob", false); err != nil {
		t.Fatal(err)
	}
	if typed, err := b.HandOver(t.Context(), claimed, p, "ana"); typed || err == nil || !strings.Contains(err.Error(), "bob") {
		t.Errorf("a job that another agent has taken: %v %v", typed, err)
	}

	cut := b.mustRegister(t, order()).ID
	if _, err := b.with(t.Context(), cut, func(_ *change, j *Job) error { j.Handed = handing + j.turnOf(); return nil }); err != nil {
		t.Fatal(err)
	}
	if typed, err := b.HandOver(t.Context(), cut, p, "ana"); typed || err == nil {
		t.Errorf("after an end in between: %v %v", typed, err)
	}
}

// Worker and reviewer take turns until the reviewer is content, or the rounds are used up.
func TestLoop(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	o := order()
	o.Type, o.Reviewer, o.ReviewerSession, o.Rounds = Loop, "codex", "tmux:review", 2
	say := func(id string, k Kind, role, detail string) error {
		_, _, err := b.Publish(t.Context(), id, Draft{Kind: k, Detail: detail, Role: role}, ByAgent)
		return err
	}
	for _, c := range []struct {
		name   string
		words  []string // of the reviewer, in order
		status Status
	}{
		{"content at once", []string{"PASS"}, StatusCompleted},
		{"content in the end", []string{"tests are missing; rm -rf /", "PASS: fine"}, StatusCompleted},
		{"never content", []string{"no", "PASSABLE it is not"}, StatusError},
	} {
		p := &typist{}
		id := b.mustRegister(t, o).ID
		for _, word := range c.words {
			if typed, err := b.HandOver(t.Context(), id, p, "ana"); !typed || err != nil {
				t.Fatalf("%s: worker: %v %v", c.name, typed, err)
			}
			if err := say(id, Done, RoleReviewer, "PASS"); err == nil {
				t.Fatalf("%s: the reviewer spoke out of turn", c.name)
			}
			if err := errors.Join(say(id, Started, "", ""), say(id, Done, "", "it is done")); err != nil {
				t.Fatal(err)
			}
			if b.mustGet(t, id).Status != StatusRunning || say(id, Done, "", "really") == nil {
				t.Errorf("%s: the word of the worker ended it", c.name)
			}
			if typed, err := b.HandOver(t.Context(), id, p, "ana"); !typed || err != nil {
				t.Fatalf("%s: reviewer: %v %v", c.name, typed, err)
			}
			if err := say(id, Done, RoleReviewer, word); err != nil {
				t.Fatal(err)
			}
		}
		if j := b.mustGet(t, id); j.Status != c.status {
			t.Errorf("%s: %s, want %s", c.name, j.Status, c.status)
		}
		if typed, err := b.HandOver(t.Context(), id, p, "ana"); typed || err != nil {
			t.Errorf("%s: typed when it was over: %v %v", c.name, typed, err)
		}
		for i, to := range p.to {
			if want := []string{"api", "review"}[i%2]; to != want || strings.Contains(p.texts[i], "rm -rf") || strings.Contains(p.texts[i], "it is done") {
				t.Errorf("%s: text %d went to %s, want %s, and holds no word of an agent:\n%s", c.name, i, to, want, p.texts[i])
			}
		}
	}
}

// TestByHook: hooks report for an agent that forgets to.
func TestByHook(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	const owner = "api0123456789abcdef"
	id := b.mustRegister(t, order()).ID
	if _, err := b.HandOver(t.Context(), id, &typist{}, "ana"); err != nil {
		t.Fatal(err)
	}
	deep := filepath.Join(b.Workspace, "src")
	if err := os.Mkdir(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		m    Moment
		told bool
	}{{Works, false}, {Rests, false}, {Begins, true}, {Begins, false}, {Works, false}, {Asks, true}, {Asks, false}, {Works, true}, {Rests, true}, {Ends, false}} {
		told, err := ByHook(t.Context(), Report{Dir: deep, Session: owner, Moment: c.m})
		if err != nil || told != c.told {
			t.Errorf("moment %d: %v %v, want %v", c.m, told, err, c.told)
		}
	}
	want := []string{"registered", "delivering", "delivered", "started", "permission_required", "progress", "completed"}
	if got := b.what(t, id); !slices.Equal(got, want) {
		t.Errorf("log:\n got %q\nwant %q", got, want)
	}
	if id, _ := b.Bound(owner); id != "" {
		t.Errorf("the session is still bound to %s", id)
	}
	for _, r := range []Report{{Dir: deep, Session: ""}, {Dir: deep, Session: "../x"}, {Dir: "", Session: owner}, {Dir: deep, Session: "ffff"}} {
		if told, err := ByHook(t.Context(), r); told || err != nil {
			t.Errorf("%+v: %v %v", r, told, err)
		}
	}
	ended := b.mustRegister(t, order()).ID
	if _, err := b.HandOver(t.Context(), ended, &typist{}, "ana"); err != nil {
		t.Fatal(err)
	}
	if told, err := ByHook(t.Context(), Report{Dir: deep, Session: owner, Moment: Ends}); !told || err != nil || b.mustGet(t, ended).Status != StatusError {
		t.Errorf("an agent that ended: %v %v", told, err)
	}
}

// While the session is being ended its hooks neither call the work done nor failed: who ends it says so once it is certain.
func TestByHookWhileStopped(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	const owner = "api0123456789abcdef"
	id := b.mustRegister(t, order()).ID
	if _, err := b.HandOver(t.Context(), id, &typist{}, "ana"); err != nil {
		t.Fatal(err)
	}
	hear := func(m Moment, want bool) {
		t.Helper()
		if told, err := ByHook(t.Context(), Report{Dir: b.Workspace, Session: owner, Moment: m}); err != nil || told != want {
			t.Errorf("moment %d: %v %v, want %v", m, told, err, want)
		}
	}
	hear(Begins, true)
	if _, err := b.Session(t.Context(), id, Progress, Terminating); err != nil {
		t.Fatal(err)
	}
	hear(Works, false)
	hear(Rests, false)
	hear(Ends, false)
	if j := b.mustGet(t, id); j.Status != StatusRunning {
		t.Errorf("the job is %s: %s", j.Status, j.Detail)
	}
	hear(Begins, true) // it was not ended after all
	hear(Rests, true)
	if j := b.mustGet(t, id); j.Status != StatusCompleted {
		t.Errorf("the job is %s: %s", j.Status, j.Detail)
	}
}

// TestFollow: a follower gets each line as it is written, and each job that runs out of time.
func TestFollow(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	old := b.mustRegister(t, order()).ID
	b.mustPublish(t, old, Started, "before")
	ready, lines, ended := make(chan struct{}), make(chan string, 100), make(chan error, 1)
	go func() {
		ended <- b.Follow(t.Context(), Follower{Ready: func(bool) error { close(ready); return nil }, Line: func(l *Line, j *Job) error {
			lines <- l.Job + " " + l.What
			if l.What == "error" {
				return ErrEnough
			}
			return nil
		}})
	}()
	next := func() string {
		select {
		case l := <-lines:
			return l
		case <-time.After(30 * time.Second):
			t.Fatal("nothing was reported")
			return ""
		}
	}
	<-ready
	b.mustPublish(t, old, Progress, "")
	if got := next(); got != old+" progress" {
		t.Errorf("got %q", got)
	}
	o := order()
	o.Timeout = time.Second
	id := b.mustRegister(t, o).ID
	if got := next(); got != id+" registered" {
		t.Errorf("got %q", got)
	}
	b.mustPublish(t, id, Started, "")
	if got := next(); got != id+" started" {
		t.Errorf("got %q", got)
	}
	if got := next(); got != id+" error" { // it ran out of time
		t.Errorf("got %q", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if j := b.mustGet(t, id); j.Detail != "timeout" {
		t.Errorf("%s %q", j.Status, j.Detail)
	}
}

// TestFollowBetween: a line that was written after the record was read comes with the job as it is after that line.
func TestFollowBetween(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	before := b.mustRegister(t, order())
	b.mustPublish(t, before.ID, Started, "")
	b.mustPublish(t, before.ID, Done, "")
	var got []Status
	s := &seen{b: b, at: map[string]*place{}, f: &Follower{Line: func(_ *Line, j *Job) error {
		got = append(got, j.Status)
		return nil
	}}}
	after, err := s.lines(before, false)
	if err != nil || after.Status != StatusCompleted {
		t.Errorf("the job is %v, %v", after, err)
	}
	for _, status := range got {
		if status != StatusCompleted {
			t.Errorf("the lines came with %v", got)
		}
	}
}

func TestBroker(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, file string
		env        map[string]string
		want       Broker
		fails      string
	}{
		{name: "nothing", fails: "no broker"},
		{name: "environment", env: map[string]string{"MQTT_BROKER": "localhost"}, want: Broker{Host: "localhost", Port: 1883}},
		{
			name: "file fills in", file: "# x\nexport MQTT_BROKER='10.0.0.5'\nMQTT_PORT=2883 # own\nMQTT_USERNAME=\"u # v\"\nTUTTI_PUBLIC_BROKER=evil.example.com\nPATH=/evil\r\n",
			env: map[string]string{"MQTT_PORT": "9883", "MQTT_TLS": "true"}, want: Broker{Host: "10.0.0.5", Port: 9883, TLS: true, Username: "u # v"},
		},
		{name: "public", env: map[string]string{"MQTT_BROKER": "test.mosquitto.org"}, fails: "public networks"},
		{name: "public address", env: map[string]string{"MQTT_BROKER": "8.8.8.8"}, fails: "public networks"},
		{name: "named", env: map[string]string{"MQTT_BROKER": "mqtt.example.com", PublicVariable: "mqtt.example.com", "MQTT_TLS": "1"}, want: Broker{Host: "mqtt.example.com", Port: 8883, TLS: true, Public: true}},
		{name: "another one is named", env: map[string]string{"MQTT_BROKER": "mqtt.example.com", PublicVariable: "example.com"}, fails: "public networks"},
		{name: "a file cannot name it", file: "MQTT_BROKER=evil.example.com\nTUTTI_PUBLIC_BROKER=evil.example.com\n", fails: "public networks"},
		{name: "tailnet", env: map[string]string{"MQTT_BROKER": "100.100.1.2"}, want: Broker{Host: "100.100.1.2", Port: 1883}},
		{name: "a disguised address", env: map[string]string{"MQTT_BROKER": "::ffff:8.8.8.8"}, fails: "public networks"},
		{name: "an address as a number", env: map[string]string{"MQTT_BROKER": "134744072"}, fails: "public networks"},
		{name: "as another one", env: map[string]string{"MQTT_BROKER": "0x08080808"}, fails: "public networks"},
		{name: "brackets", env: map[string]string{"MQTT_BROKER": "[::1]"}, want: Broker{Host: "::1", Port: 1883}},
		{name: "for a shell", file: "MQTT_BROKER=x.example.com;reboot\n", fails: "name or address"},
		{name: "for a terminal", file: "MQTT_BROKER=\x1b[2Jx.example.com\n", fails: "name or address"},
		{name: "a password for a broker named in a file", file: "MQTT_BROKER=printer\n", env: map[string]string{"MQTT_PASSWORD": "secret"}, fails: "MQTT_PASSWORD"},
		{name: "a password for another port", file: "MQTT_PORT=99\n", env: map[string]string{"MQTT_BROKER": "localhost", "MQTT_PASSWORD": "secret"}, fails: "MQTT_PORT"},
		{name: "a password and foreign certificates", file: "MQTT_CA_CERTS=evil.pem\n", env: map[string]string{"MQTT_BROKER": "localhost", "MQTT_TLS": "1", "MQTT_PASSWORD": "secret"}, fails: "MQTT_CA_CERTS"},
		{name: "all in a file", file: "MQTT_BROKER=printer\nMQTT_PASSWORD=secret\n", want: Broker{Host: "printer", Port: 1883, Password: "secret"}},
		{name: "a password in a file", file: "MQTT_PASSWORD=secret\n", env: map[string]string{"MQTT_BROKER": "localhost"}, want: Broker{Host: "localhost", Port: 1883, Password: "secret"}},
		{name: "a scheme", env: map[string]string{"MQTT_BROKER": "tcp://localhost"}, fails: "without a scheme"},
		{name: "port", env: map[string]string{"MQTT_BROKER": "localhost", "MQTT_PORT": "99999"}, fails: "MQTT_PORT"},
		{name: "certificates without tls", env: map[string]string{"MQTT_BROKER": "localhost", "MQTT_CA_CERTS": "/ca.pem"}, fails: "say MQTT_TLS=true"},
		{name: "no tls and certificates", file: "MQTT_CERTFILE=a.pem\n", env: map[string]string{"MQTT_BROKER": "localhost", "MQTT_TLS": "off"}, fails: "MQTT_CERTFILE is set"},
		{
			name: "certificates", file: "MQTT_CERTFILE=tls/a.pem\nMQTT_KEYFILE=/k.pem\n", env: map[string]string{"MQTT_BROKER": "localhost", "MQTT_TLS": "1", "MQTT_CA_CERTS": "ca.pem"},
			want: Broker{Host: "localhost", Port: 8883, TLS: true, CA: "ca.pem", Cert: "DIR/tls/a.pem", Key: "/k.pem"},
		},
		{name: "tls", env: map[string]string{"MQTT_BROKER": "localhost", "MQTT_TLS": "maybe"}, fails: "MQTT_TLS"},
	} {
		dir := t.TempDir()
		if c.file != "" {
			if err := os.WriteFile(filepath.Join(dir, ".env"), []byte(c.file), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if c.name == "nothing" {
			if err := os.Symlink("/etc/passwd", filepath.Join(dir, ".env")); err != nil {
				t.Fatal(err)
			}
		}
		c.want.Cert = strings.Replace(c.want.Cert, "DIR", dir, 1)
		got, err := BrokerOf(dir, func(k string) string { return c.env[k] })
		if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) || got != c.want {
			t.Errorf("%s: got %+v %v, want %+v %q", c.name, got, err, c.want, c.fails)
		}
	}
}

// TestFollowForeign: a follower of all jobs gets each damaged one once, and one that another program has ended without a line.
func TestFollowForeign(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	id := b.mustRegister(t, order()).ID
	bad, ready := make(chan string, 10), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- b.Follow(t.Context(), Follower{
			Ready: func(bool) error { close(ready); return nil }, Line: func(*Line, *Job) error { return nil },
			Bad: func(id string, _ error) { bad <- id },
			State: func(j *Job) error {
				if j.ID == id && j.Status == StatusCompleted {
					return ErrEnough
				}
				return nil
			},
		})
	}()
	<-ready
	replace := func(name, text string) { // as the other programs do, in one step
		part := filepath.Join(b.Workspace, name)
		if err := errors.Join(os.WriteFile(part, []byte(text), 0o600), os.Rename(part, filepath.Join(b.Dir(), name))); err != nil {
			t.Fatal(err)
		}
	}
	replace("bad00001.json", "{")
	replace("bad00001.json", "{")
	select {
	case got := <-bad:
		if got != "bad00001" {
			t.Errorf("got %s", got)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("a damaged record is not told of")
	}
	raw, err := os.ReadFile(filepath.Join(b.Dir(), id+".json"))
	if err != nil {
		t.Fatal(err)
	}
	replace(id+".json", strings.Replace(string(raw), `"pending"`, `"completed"`, 1))
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the end is not told of")
	}
	for len(bad) > 0 {
		if got := <-bad; got == "bad00001" {
			t.Error("told of twice")
		}
	}
}

// TestManyFlush: concurrent flushes to a broker keep the order, and send no line twice.
func TestManyFlush(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	id := b.mustRegister(t, order()).ID
	p := &told{}
	const workers, each = 4, 5
	done := make(chan error, workers)
	for range workers {
		go func() {
			var errs error
			for range each {
				_, _, err := b.Publish(t.Context(), id, Draft{Kind: Progress}, ByAgent)
				_, err2 := b.Flush(t.Context(), id, p)
				errs = errors.Join(errs, err, err2)
			}
			done <- errs
		}()
	}
	for range workers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if len(p.all) != workers*each {
		t.Fatalf("%d messages, want %d", len(p.all), workers*each)
	}
	for i, m := range p.all {
		if e, err := parseEvent(m.Payload, id); err != nil || e.Seq != int64(i+1) {
			t.Fatalf("message %d: %s %v", i+1, m.Payload, err)
		}
	}
}

// TestByHookOfOne: child processes of an agent have the mark of its session too; only the agent itself reports for the job.
func TestByHookOfOne(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	const owner = "api0123456789abcdef"
	id := b.mustRegister(t, order()).ID
	if _, err := b.HandOver(t.Context(), id, &typist{}, "ana"); err != nil {
		t.Fatal(err)
	}
	beside := t.TempDir() // as a worktree is
	for i, c := range []struct {
		conversation string
		m            Moment
		told         bool
	}{
		{"mine", Begins, true},
		{"other", Asks, false},
		{"other", Rests, false},
		{"other", Ends, false},
		{"other", Leaves, false},
		{"mine", Asks, true},
		{"mine", Leaves, false}, // its user begins anew
		{"next", Begins, true},
		{"mine", Rests, false},
		{"next", Ends, true},
	} {
		r := Report{Dir: beside, Home: b.Workspace, Session: owner, Conversation: c.conversation, Moment: c.m}
		if told, err := ByHook(t.Context(), r); err != nil || told != c.told {
			t.Errorf("%d, %+v: %v %v, want %v", i, r, told, err, c.told)
		}
	}
	if j := b.mustGet(t, id); j.Status != StatusError {
		t.Errorf("in the end %s", j.Status)
	}
	claimed := b.mustRegister(t, order()).ID
	if _, err := b.Claim(t.Context(), claimed, "", "session:"+owner, false); err != nil {
		t.Fatal(err)
	}
	if err := b.Bind(owner, claimed); err != nil {
		t.Fatal(err)
	}
	for _, m := range []Moment{Works, Rests} {
		if told, err := ByHook(t.Context(), Report{Dir: b.Workspace, Session: owner, Conversation: "mine", Moment: m}); !told || err != nil {
			t.Errorf("claimed, moment %d: %v %v", m, told, err)
		}
	}
	if got, want := b.what(t, claimed), []string{"registered", "claimed", "started", "completed"}; !slices.Equal(got, want) {
		t.Errorf("log:\n got %q\nwant %q", got, want)
	}
}
