package remote

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

// TestRaw: an invalid request gets the error of its kind or is cut off, and nothing of it is accepted.
func TestRaw(t *testing.T) {
	open(t).each(func(t *testing.T, one *target) {
		body := string(one.good(t, nil))
		post := func(path string) string { return strings.Replace(one.head(len(body)), one.path, path, 1) + body }
		for what, c := range map[string]struct{ text, want string }{
			"other path":          {post(one.path + "/"), "404"},
			"dots":                {post("/x/.." + one.path), "404"},
			"disguise":            {post(strings.Replace(one.path[1:], "/", "%2F", 1)), "400"},
			"disguised slash":     {post("/" + strings.Replace(one.path[1:], "/", "%2F", 1)), "404"},
			"GET":                 {"GET " + one.path + " HTTP/1.1\r\nHost: x\r\n\r\n", "405"},
			"other method":        {strings.Replace(post(one.path), "POST", "BREW", 1), "405"},
			"claims a gigabyte":   {one.head(1 << 30), "413"},
			"claims one too much": {one.head(one.most + 1), "413"},
			"negative length":     {one.head(-1), "400"},
			"two lengths":         {strings.Replace(post(one.path), "\r\n\r\n", "\r\nContent-Length: 3\r\n\r\n", 1), "400"},
			"length and chunks":   {strings.Replace(post(one.path), "\r\n\r\n", "\r\nTransfer-Encoding: chunked\r\n\r\n", 1) + "\r\n", "400"},
			"long head":           {"POST " + one.path + " HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("a", 64<<10) + "\r\n\r\n", "431"},
			"many heads":          {"POST " + one.path + " HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("A: b\r\n", 10_000) + "\r\n", "431"},
			"not HTTP":            {"\x16\x03\x01\x02\x00\x01\r\n\r\n", "400"},
		} {
			conn := one.dial(t)
			go func() { _, _ = io.WriteString(conn, c.text) }()
			line, _ := bufio.NewReader(conn).ReadString('\n')
			conn.Close()
			if !strings.HasPrefix(line, "HTTP/1.1 "+c.want) {
				t.Errorf("%s: got %q, want %s", what, line, c.want)
			}
		}
		if status, text := one.post(t, []byte(body)); status != 202 {
			t.Errorf("what had come with bad requests was taken: %d %s", status, text)
		}
	})
}

// TestTypes: no member of another type, missing, far too long or with a path in it ends an endpoint or makes it fail inside, neither when a
// stranger has changed it nor when the signer itself has.
func TestTypes(t *testing.T) {
	values := []string{"", "null", "true", "[]", "[null]", "[[[]]]", "{}", `{"by":1,"instance":null}`, `""`, `"../../x"`, `"\u0000"`, "-1", "1e400", "99999999999999999999", `"` + strings.Repeat("x:", 400) + `"`}
	open(t).each(func(t *testing.T, one *target) {
		t.Parallel()
		base := one.good(t, nil)
		paths := pathsOf(base, nil, 5)
		if one.path != "/h2a/drive" && len(paths) < 12 {
			t.Fatalf("%d members only", len(paths))
		}
		tried := 0
		for n, path := range paths {
			for m, value := range values {
				if !soak && (n+m)%11 != 0 {
					continue
				}
				alter := func(raw []byte) []byte { return with(raw, path, value) }
				for _, body := range [][]byte{alter(base), one.good(t, alter)} {
					tried++
					if status, text := one.post(t, body); status != 202 && (status < 400 || status > 499) {
						t.Errorf("%v = %.40s: got %d %s", path, value, status, text)
					}
				}
			}
		}
		one.alive(t, fmt.Sprint(tried, " changed bodies"))
	})
}

// pathsOf are the paths of the members of an object, and of the first elements of lists.
func pathsOf(raw []byte, above []string, depth int) (all [][]string) {
	if depth == 0 {
		return nil
	}
	add := func(name string, value []byte) {
		path := append(append([]string(nil), above...), name)
		all = append(append(all, path), pathsOf(value, path, depth-1)...)
	}
	switch canonjson.Kind(raw) {
	case canonjson.TypeObject:
		for name, value := range canonjson.Members(raw) {
			add(name, value)
		}
	case canonjson.TypeArray:
		for value := range canonjson.Elements(raw) {
			add("[]", value)
			break
		}
	}
	return all
}

// with is a document with another value at a path; "" takes it away.
func with(raw []byte, path []string, value string) []byte {
	if len(path) == 0 {
		return []byte(value)
	}
	if path[0] == "[]" {
		for first := range canonjson.Elements(raw) {
			return append(append([]byte("["), with(first, path[1:], value)...), ']')
		}
		return raw
	}
	old, _ := canonjson.Get(raw, path[0])
	if next := with(old, path[1:], value); len(next) > 0 {
		return canonjson.Set(raw, path[0], next)
	}
	return canonjson.Delete(raw, path[0])
}

// TestEndless: of a body of one gigabyte the server reads no more than the limit and what the system has buffered.
func TestEndless(t *testing.T) {
	open(t).each(func(t *testing.T, one *target) {
		t.Parallel()
		for what, head := range map[string]string{
			"chunks": "Transfer-Encoding: chunked\r\n\r\n", "claimed": "Content-Length: 1073741824\r\n\r\n", "waits to go on": "Expect: 100-continue\r\nContent-Length: 1073741824\r\n\r\n",
		} {
			c := one.dial(t)
			go func() { _, _ = io.Copy(io.Discard, c) }()
			chunk := "10000\r\n" + strings.Repeat(" ", 0x10000) + "\r\n"
			_, err := io.WriteString(c, "POST "+one.path+" HTTP/1.1\r\nHost: x\r\n"+head)
			sent := 0
			for sent < 1<<30 && err == nil {
				var n int
				n, err = io.WriteString(c, chunk)
				sent += n
			}
			c.Close()
			if sent > 64<<20 {
				t.Errorf("%s: %d bytes were taken", what, sent)
			}
		}
		one.alive(t, "endless bodies")
	})
}

// TestManyConnections: connections that send nothing, part of a head or part of a body block no other client, and are all closed in the
// end. The long version opens ten thousand.
func TestManyConnections(t *testing.T) {
	x := open(t)
	crowd := 400
	if soak {
		crowd = 10_000
	}
	x.each(func(t *testing.T, one *target) {
		one.alive(t, "nothing")
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		routines := runtime.NumGoroutine()
		var all []net.Conn
		defer func() {
			for _, c := range all {
				c.Close()
			}
		}()
		for i := range crowd {
			c := one.dial(t)
			all = append(all, c)
			switch i % 4 {
			case 1:
				_, _ = io.WriteString(c, "POST "+one.path+" HTTP/1.1\r\nHost: x\r\nX-Slow: ")
			case 2:
				_, _ = io.WriteString(c, one.head(one.most)+"{")
			case 3:
				_, _ = io.WriteString(c, "POST "+one.path+" HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n")
			}
			if i%(crowd/4) == crowd/4-1 {
				one.alive(t, fmt.Sprint(i+1, " silent connections"))
			}
		}
		runtime.ReadMemStats(&after)
		if more := int64(after.HeapInuse) - int64(before.HeapInuse); more > 48<<20 {
			t.Errorf("the crowd takes %d bytes", more)
		}
		for _, c := range all {
			c.Close()
		}
		all = nil
		for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > routines+20; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d goroutines are left of %d", runtime.NumGoroutine(), routines)
			}
		}
	})
}

// TestSlowRequest: a head or a body that comes byte by byte is cut off, however long it could go on.
func TestSlowRequest(t *testing.T) {
	if !soak {
		t.Skip("it takes as long as a request may take; TUTTI_SOAK=1 runs it")
	}
	open(t).each(func(t *testing.T, one *target) {
		t.Parallel()
		for what, begin := range map[string]string{"head": "POST " + one.path + " HTTP/1.1\r\nHost: x\r\nX: ", "body": one.head(one.most), "chunks": "POST " + one.path + " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n"} {
			c := one.dial(t)
			gone := make(chan struct{})
			go func() { _, _ = io.Copy(io.Discard, c); close(gone) }()
			_, _ = io.WriteString(c, begin)
			began := time.Now()
			for over := false; !over; {
				select {
				case <-gone:
					over = true
				case <-time.After(100 * time.Millisecond):
					_, _ = io.WriteString(c, "a")
				}
			}
			c.Close()
			if took := time.Since(began); took > time.Minute {
				t.Errorf("%s: it was cut off after %s", what, took)
			}
		}
		one.alive(t, "dripping ones")
	})
}

// TestReplayed: an accepted message is not accepted again, by the same program or by one started later on the bus, and is stored once.
func TestReplayed(t *testing.T) {
	x := open(t)
	bodies := map[string][]byte{}
	for _, one := range x.all {
		bodies[one.name] = one.good(t, nil)
		if status, text := one.post(t, bodies[one.name]); status != 202 {
			t.Errorf("%s: got %d %s", one.name, status, text)
		}
	}
	for range 3 {
		for _, one := range x.all {
			if status, text := one.post(t, bodies[one.name]); status != 409 || !strings.Contains(text, "replayed") {
				t.Errorf("%s: got %d %s, want 409 replayed", one.name, status, text)
			}
		}
		x.end()
		x = reopen(t, x.home)
	}
	if all, bad, err := x.w.Mail.Read(t.Context(), worker); err != nil || len(bad) > 0 || len(all) != 1 {
		t.Errorf("%d messages lie there, %v, %v", len(all), bad, err)
	}
	if text, err := os.ReadFile(filepath.Join(x.home, "driven")); err != nil || strings.Count(string(text), "[h2a ") != 1 {
		t.Errorf("driven: %q %v", text, err)
	}
	for _, from := range x.all { // and what is meant for one endpoint is nothing to another
		for _, to := range x.all {
			if status, text := to.post(t, from.good(t, nil)); from != to && status/100 != 4 {
				t.Errorf("what is for %s, to %s: got %d %s", from.name, to.name, status, text)
			}
		}
	}
}

// TestSweepAtStart: an endpoint that begins forgets what is no longer fresh, and keeps what still counts; a marker that tells nothing stays until it
// is old.
func TestSweepAtStart(t *testing.T) {
	x := open(t)
	taken := map[string][]byte{}
	for _, one := range x.all {
		taken[one.name] = one.good(t, nil)
		if status, text := one.post(t, taken[one.name]); status != 202 {
			t.Fatalf("%s: got %d %s", one.name, status, text)
		}
	}
	x.end()
	long := time.Now().Add(-2 * time.Hour)
	stamp := long.UTC().Format("2006-01-02T15:04:05.000Z")
	root := x.w.Root.Path
	var old, kept []string
	for name, c := range map[string]struct {
		text string
		at   time.Time
		goes bool
	}{
		"old": {`{"id":"a","createdAt":"` + stamp + `"}`, long, true}, "silent": {`{"id":"b"}`, long, true},
		"set-back": {`{"id":"c","createdAt":"2999-01-01T00:00:00.000Z"}`, long, false}, "new": {`{"id":"d","createdAt":"` + stamp + `"}`, time.Now(), false},
	} {
		path := filepath.Join(root, "drive-replay", name+".json")
		if err := os.WriteFile(path, []byte(c.text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, c.at, c.at); err != nil {
			t.Fatal(err)
		}
		if c.goes {
			old = append(old, path)
		} else {
			kept = append(kept, path)
		}
	}
	line := func(at string) string {
		return `{"since":"` + at + `","taken":["` + strings.Repeat("a", 40) + `"]}` + "\n"
	}
	page := store.Key{Kind: store.RemoteReplay, Name: fmt.Sprintf("%02d", (long.UTC().Minute()/5*5+30)%60)} // one on which nothing of this hour stands
	future := line("2999-01-01T00:00:00.000Z")
	path := filepath.Join(root, "remote-replay", page.Name+".jsonl")
	if err := os.WriteFile(path, []byte(line(stamp)+line(stamp)+future), 0o600); err != nil {
		t.Fatal(err)
	}
	x = reopen(t, x.home)
	for _, path := range old {
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			if _, err := os.Lstat(path); err != nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s is still there", path)
			}
		}
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(path)
		if string(text) == future {
			break
		}
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("%s still is %q, %v", path, text, err)
		}
	}
	for _, path := range kept {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%s was removed", path)
		}
	}
	for _, one := range x.all {
		if status, text := one.post(t, taken[one.name]); status != 409 {
			t.Errorf("%s, after the sweep: got %d %s", one.name, status, text)
		}
	}
}

// TestMirroredStaysIndirect: a mirrored session stays indirect, whatever else its agent sends.
func TestMirroredStaysIndirect(t *testing.T) {
	x := open(t)
	mirrors := x.all[1]
	claim := func(raw []byte) []byte {
		raw = with(raw, []string{"body", "presence", "[]", "mirroredAt"}, "")
		raw = with(raw, []string{"body", "presence", "[]", "pid"}, fmt.Sprint(os.Getpid()))
		return with(raw, []string{"body", "presence", "[]", "launchContext"}, `{"cwd":"/","command":"sh","tmux":{"session":"main","pane":"%0"}}`)
	}
	for range 2 {
		if status, text := mirrors.post(t, mirrors.good(t, claim)); status != 202 {
			t.Fatalf("got %d %s", status, text)
		}
	}
	all, err := x.w.Presence.Of(t.Context(), far, time.Now())
	if err != nil || len(all) != 1 || all[0].MirroredAt == "" || all[0].Launch != nil || all[0].PID != 0 || all[0].State != presence.Live {
		t.Fatalf("got %+v %v", all, err)
	}
	if done, reason, err := Drive(t.Context(), x.w, itself(far)); err != nil || reason != "unauthorized" {
		t.Errorf("it drives itself: %+v %q %v; want that it may not", done, reason, err)
	}
}

// TestTextBesideSignedLine: a hook lets a whole prompt through or nothing, so text beside a signed line counts as part of it. A reader of
// single lines gets only the line.
func TestTextBesideSignedLine(t *testing.T) {
	const line = "[h2a from=a:b:c to=d:e:f nonce=n at=t sig=s] do it"
	prompt := func(text string) string {
		return `{"hook_event_name":"UserPromptSubmit","prompt":` + string(canonjson.AppendString(nil, text)) + `}`
	}
	for in, want := range map[string]struct {
		line     string
		is, hook bool
	}{
		line:                          {line, true, false},
		"before\n" + line + "\nafter": {line, true, false},
		"before":                      {"before", false, false},
		prompt(line):                  {line, true, true},
		prompt("\n" + line + "\r\n"):  {line, true, true},
		prompt(line + " "):            {line + " ", true, true},
		prompt("before\n" + line):     {"before\n" + line, true, true},
		prompt(line + "\nafter"):      {line + "\nafter", true, true},
		prompt(line + "\n[h2a from=a:b:c] another"): {line + "\n[h2a from=a:b:c] another", true, true},
		prompt("before"): {"before", false, true},
	} {
		if got, is, hook := Heard([]byte(in), false); got != want.line || is != want.is || hook != want.hook {
			t.Errorf("%q: got %q %v %v, want %+v", in, got, is, hook, want)
		}
	}
}
