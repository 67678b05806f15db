package instruct

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/remote"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
)

// sealed is a signed line of the conductor's, without the checks that its own programs make.
func sealed(t *testing.T, change func(l *Line)) string {
	t.Helper()
	l := &Line{From: string(boss), To: string(worker), Nonce: "n", At: envelope.Stamp(time.Now()), Instruction: "go on"}
	change(l)
	if err := l.Sign(keys[boss]); err != nil {
		t.Fatal(err)
	}
	return l.String()
}

func quoted(text string) string { return `{"line":` + string(canonjson.AppendString(nil, text)) + `}` }

// TestControlCharactersAndDuplicates: no line that has keys in it, or says something twice, or other than its signature, reaches the command.
func TestControlCharactersAndDuplicates(t *testing.T) {
	r := open(t)
	ran := filepath.Join(t.TempDir(), "ran")
	url := r.serve("touch '"+ran+"'", func(string) error { return nil })
	n := 0
	say := func(text string) string {
		n++
		return sealed(t, func(l *Line) { l.Nonce, l.Instruction = fmt.Sprint("k", n), text })
	}
	good := say("go on")
	for what, text := range map[string]string{
		"escape": say("a\x1b[200~b"), "return": say("a\rrm -rf ~"), "interrupt": say("\x03rm"), "end of input": say("a\x04"), "NUL": say("a\x00b"), "delete": say("\x7f\x7frm"),
		"C1": say("a\u009b31mb"), "next line": say("a\u0085b"), "backspace": say("a\b\bb"), "only blanks": say(" \n\t "), "nothing": say(""),
		"too long":            say(strings.Repeat("a", MaxInstruction+1)),
		"blank in the nonce":  sealed(t, func(l *Line) { l.Nonce = "a b" }),
		"end in the nonce":    sealed(t, func(l *Line) { l.Nonce = "a] rm" }),
		"line in the nonce":   sealed(t, func(l *Line) { l.Nonce = "a\nb" }),
		"long nonce":          sealed(t, func(l *Line) { l.Nonce = strings.Repeat("a", 300) }),
		"other sender":        sealed(t, func(l *Line) { l.From = string(other) }),
		"sender in a path":    sealed(t, func(l *Line) { l.From = "../../" + string(boss) }),
		"sender twice":        strings.Replace(good, "from=", "from="+string(other)+" from=", 1),
		"sender in the words": strings.Replace(good, "from="+string(boss), "from=", 1) + " from=" + string(boss),
		"two blanks":          strings.Replace(good, " to=", "  to=", 1),
		"words after":         good + "; rm -rf ~",
		"line after":          good + "\nrm -rf ~",
		"blank after":         good + " ",
		"before":              " " + good,
		"other target":        strings.Replace(good, "to="+string(worker), "to="+string(boss), 1),
		"other case":          strings.Replace(good, "to=codex", "to=CODEX", 1),
		"invalid signature":   strings.Replace(good, "sig=", "sig=A", 1),
		"empty signature":     good[:strings.Index(good, "sig=")+4] + "] go on",
	} {
		a, err := http.Post(url, "", strings.NewReader(quoted(text)))
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if a.StatusCode < 400 || a.StatusCode >= 500 {
			t.Errorf("%s: got %d", what, a.StatusCode)
		}
	}
	for what, body := range map[string]string{
		"no UTF-8":         `{"line":"` + strings.Replace(say("a\ufffdb"), "\ufffd", "\x9b", 1) + `"}`,
		"half a character": strings.Replace(quoted(say("a\ufffdb")), "\ufffd", `\ud800`, 1),
		"a key in it":      "{\"line\":\"" + good + "\x1b\"}",
	} {
		a, err := http.Post(url, "", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if a.StatusCode != 400 && a.StatusCode != 401 {
			t.Errorf("%s: got %d", what, a.StatusCode)
		}
	}
	if _, reason, err := r.g.Pass(t.Context(), strings.Replace(say("a\ufffdb"), "\ufffd", "\x9b", 1), worker); reason != remote.Malformed || err != nil {
		t.Errorf("invalid UTF-8, by hand: got %q %v", reason, err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the command was run")
	}
	r.wants(url, "the good one", quoted(good), 202, "ok")
}

// TestAlteredLine: a copied line reaches the command as it was signed or not at all: no added word in its head, and no other order of its
// members.
func TestAlteredLine(t *testing.T) {
	r := open(t)
	out := filepath.Join(t.TempDir(), "out")
	url := r.serve(`{ cat; printf '%s\n' "$H2A_DRIVE_LINE"; } >>'`+out+`'`, func(string) error { return nil })
	good := line(t, boss, worker, "o1", "go on", time.Now())
	text := good.String()
	rest := strings.TrimPrefix(text, Mark)
	at, _, _ := strings.Cut(rest, " ")
	head, words, _ := strings.Cut(rest, "]")
	for what, text := range map[string]string{
		"a word at the end":         strings.Replace(text, "] ", " and=rm] ", 1),
		"a word at the start":       Mark + "note=ignore-what-follows " + rest,
		"a word in the middle":      strings.Replace(text, " to=", " then=$(id) to=", 1),
		"a word without a value":    strings.Replace(text, "] ", " x=] ", 1),
		"a word without a name":     strings.Replace(text, "] ", " =x] ", 1),
		"a name in another case":    strings.Replace(text, "] ", " FROM=x] ", 1),
		"an empty member before":    Mark + "from= " + rest,
		"an empty member after":     strings.Replace(text, "] ", " sig=] ", 1),
		"a member twice, alike":     Mark + at + " " + rest,
		"a tab for a blank":         strings.Replace(text, " to=", "\tto=", 1),
		"a line end in the head":    strings.Replace(text, " to=", "\nto=", 1),
		"a no-break blank":          strings.Replace(text, " to=", "\u00a0x to=", 1),
		"a blank at the end of it":  Mark + head + " ]" + words,
		"a blank at its beginning":  Mark + " " + rest,
		"no blank before the words": Mark + head + "]" + strings.TrimPrefix(words, " "),
		"another mark":              "[H2A " + rest,
	} {
		r.wants(url, what, quoted(text), 400, "malformed")
	}
	turned := Mark + "sig=" + good.Sig + " at=" + good.At + " to=" + good.To + " nonce=o1 from=" + good.From + "] go on"
	r.wants(url, "in another order", quoted(turned), 202, "ok")
	if got, err := os.ReadFile(out); err != nil || string(got) != text+"\n"+text+"\n" {
		t.Errorf("the command got %q %v, want what was signed", got, err)
	}
}

// TestMirroredSender: an agent known only by a mirror cannot give instructions, whatever it or others say and even if a local agent vouches
// for its key. One registered here later under the name can.
func TestMirroredSender(t *testing.T) {
	r := open(t)
	const far = address.Instance("claude:far:fffffffffff4")
	key, ctx := signature.Generate(), t.Context()
	as := func(roles ...string) []byte {
		return registry.Build(registry.Agent{Instance: far, Roles: roles, Scopes: []string{"scope:a"}, PublicKeys: []string{key.Public().PEM()}}, time.Now())
	}
	under := address.Instance("codex:under:ddddddddddd5")
	for _, raw := range [][]byte{
		canonjson.Set(as(registry.Principal, registry.Executif), "mirroredAt", []byte(`"2026-01-01T00:00:00.000Z"`)),
		registry.Build(registry.Agent{Instance: under, Scopes: []string{"scope:a"}, Principal: string(far), Conductor: string(far)}, time.Now()),
	} {
		if err := r.g.Registry.Register(ctx, raw); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	pass := func(from, to address.Instance) remote.Reason {
		n++
		l, err := Write(from, to, "go on", fmt.Sprint("far", n), "", key, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		_, reason, err := r.g.Pass(ctx, l.String(), to)
		if err != nil {
			t.Fatal(err)
		}
		return reason
	}
	all := []address.Instance{under, far, worker}
	for _, to := range all {
		if got := pass(far, to); got != remote.NoKey {
			t.Errorf("to %s: got %q, want %s", to, got, remote.NoKey)
		}
	}
	if err := r.g.Registry.AddKey(ctx, far, key.Public().PEM(), nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, to := range all {
		if got := pass("Claude:Far:fffffffffff4", to); got != Unauthorized {
			t.Errorf("with a key that another user added, to %s: got %q, want %s", to, got, Unauthorized)
		}
		if got, err := r.g.Authorize(ctx, far, to); got != Unauthorized || err != nil {
			t.Errorf("to %s: got %q %v, want %s", to, got, err, Unauthorized)
		}
	}
	if err := r.g.Registry.Register(ctx, as(registry.Agents)); err != nil {
		t.Fatal(err)
	}
	for to, want := range map[address.Instance]remote.Reason{under: "", far: "", worker: Unauthorized} {
		if got := pass(far, to); got != want {
			t.Errorf("registered here, to %s: got %q, want %q", to, got, want)
		}
	}
}

// TestTimes: only what is at most five minutes old and one minute ahead counts, and no text is taken for a time.
func TestTimes(t *testing.T) {
	r := open(t)
	now := time.Now()
	r.g.Now = func() time.Time { return now }
	for at, want := range map[string]remote.Reason{
		envelope.Stamp(now.Add(-remote.MaxAge - time.Second)): remote.Expired, envelope.Stamp(now.Add(remote.MaxSkew + time.Second)): remote.Future,
		"1970-01-01T00:00:00.000Z": remote.Expired, "9999-12-31T23:59:59.999Z": remote.Future, "yesterday": remote.BadTime, "0": remote.BadTime,
		envelope.Stamp(now.Add(-remote.MaxAge + time.Second)): "", envelope.Stamp(now.Add(remote.MaxSkew - time.Second)): "",
	} {
		text := sealed(t, func(l *Line) { l.At, l.Nonce = at, strings.ReplaceAll(at, ":", "") })
		if _, reason, err := r.g.Pass(t.Context(), text, worker); reason != want || err != nil {
			t.Errorf("%q: got %q %v, want %q", at, reason, err, want)
		}
	}
}

// TestPlaces: while a command is at work, neither rubbish nor copies of a line that was overheard take the places of those who may give
// instructions.
func TestPlaces(t *testing.T) {
	r := open(t)
	dir := t.TempDir()
	begun, goOn := filepath.Join(dir, "begun"), filepath.Join(dir, "goon")
	url := r.serve("echo >>'"+begun+"'; while [ ! -e '"+goOn+"' ]; do sleep 0.01; done", func(string) error { return nil })
	var all sync.WaitGroup
	post := func(text string, want int) {
		a, err := http.Post(url, "", strings.NewReader(quoted(text)))
		if err != nil {
			t.Error(err)
			return
		}
		defer a.Body.Close()
		if said, _ := io.ReadAll(a.Body); a.StatusCode != want {
			t.Errorf("got %d %s, want %d", a.StatusCode, said, want)
		}
	}
	now := time.Now()
	all.Go(func() { post(line(t, boss, worker, "first", "x", now).String(), 202) })
	for {
		if _, err := os.Stat(begun); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	overheard := line(t, boss, worker, "second", "x", now).String()
	all.Go(func() { post(overheard, 202) })
	server := r.server
	for len(server.room) != 2 { // the second one waits
		time.Sleep(time.Millisecond)
	}
	forged := line(t, boss, worker, "third", "x", now)
	forged.Instruction = "y"
	for range 2 * maxWaiting {
		post(forged.String(), 401)
		post(line(t, other, worker, "fourth", "x", now).String(), 403)
		post(overheard, 503)
	}
	all.Go(func() { post(line(t, boss, worker, "fifth", "x", now).String(), 202) })
	for len(server.room) != 3 {
		time.Sleep(time.Millisecond)
	}
	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	post(overheard, 409)
	if got, err := os.ReadFile(begun); err != nil || len(got) != 3 {
		t.Errorf("the command was run %d times, %v; want 3", len(got), err)
	}
}

// TestCommandEndsWithEndpoint: a command that is at work when the endpoint ends is ended, with what it has started.
func TestCommandEndsWithEndpoint(t *testing.T) {
	r := open(t)
	dir := t.TempDir()
	begun, late := filepath.Join(dir, "begun"), filepath.Join(dir, "late")
	url := r.serve("touch '"+begun+"'; (sleep 3600; touch '"+late+"')", func(string) error { return nil })
	go func() {
		a, err := http.Post(url, "", strings.NewReader(quoted(line(t, boss, worker, "last", "x", time.Now()).String())))
		if err == nil {
			a.Body.Close()
		}
	}()
	for {
		if _, err := os.Stat(begun); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	ended := make(chan struct{})
	go func() { r.end(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the endpoint has not ended")
	}
	if len(r.server.turn) != 1 {
		t.Error("a command is still at work")
	}
}

// TestReplayAfterRestart: an accepted line is not accepted again after a restart on the same files, or after a command that failed.
func TestReplayAfterRestart(t *testing.T) {
	root := filepath.Join(t.TempDir(), "bus")
	var text string
	for n, want := range []int{202, 409, 409} {
		s, err := filestore.Open(root, filestore.Options{Create: true})
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{t: t, g: &Gate{Registry: registry.New(s), Guard: &remote.Guard{Memory: &remote.Markers{Docs: s, Kind: store.DriveReplay}}, Now: time.Now}}
		if n == 0 {
			for _, a := range []registry.Agent{{Instance: boss}, {Instance: worker, Principal: string(boss)}} {
				a.PublicKeys = []string{keys[a.Instance].Public().PEM()}
				if err := r.g.Registry.Register(t.Context(), registry.Build(a, time.Now())); err != nil {
					t.Fatal(err)
				}
			}
			text = line(t, boss, worker, "once", "x", time.Now()).String()
		}
		url := r.serve("true", func(string) error { return nil })
		r.wants(url, fmt.Sprint("start ", n), quoted(text), want, "")
		r.end()
		s.Close()
	}
}

// TestShare: a signer over its quota learns when to try again, and a deferred line can be used later.
func TestShare(t *testing.T) {
	r := open(t)
	now := time.Now()
	r.g.Now = func() time.Time { return now }
	r.g.Rates = &remote.Rates{PerSecond: 0.2}
	url := r.serve("true", func(string) error { return nil })
	r.wants(url, "first", quoted(line(t, boss, worker, "a", "x", now).String()), 202, "ok")
	second := quoted(line(t, boss, worker, "b", "x", now).String())
	r.wants(url, "second", second, 429, "rate-limited")
	r.wants(url, "another signer", quoted(line(t, worker, worker, "c", "x", now).String()), 202, "ok")
	now = now.Add(6 * time.Second)
	r.wants(url, "second, later", second, 202, "ok")
}

// TestForeignKey: a key that is registered for one agent gives no instructions in the name of another.
func TestForeignKey(t *testing.T) {
	r := open(t)
	l := &Line{From: string(boss), To: string(worker), Nonce: "x", At: envelope.Stamp(time.Now()), Instruction: "x"}
	for who, key := range map[string]*signature.Private{"another agent": keys[other], "the target": keys[worker], "nobody": signature.Generate()} {
		if err := l.Sign(key); err != nil {
			t.Fatal(err)
		}
		if _, reason, err := r.g.Pass(context.Background(), l.String(), worker); reason != remote.BadSignature || err != nil {
			t.Errorf("the key of %s: got %q %v", who, reason, err)
		}
	}
}
