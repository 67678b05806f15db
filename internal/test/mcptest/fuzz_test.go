package mcptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/faces/mcp/server"
)

// seeds are inputs that a server has to live through, one or more lines each.
func seeds() []string {
	call := func(tool, args string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, args)
	}
	deep := strings.Repeat(`{"a":[`, 100_000)
	return []string{
		"", "\n\n\r\n", "\x00", "\xff\xfe{\x00}\x00", "\xef\xbb\xbf{}", "null", "7", `"x"`, "[]", "{}", "{", "}{", "nul", "\x1b[2J",
		deep, strings.Repeat("[", 1<<20), call("tutti_status", deep), call("tutti_status", strings.Repeat(`{"a":`, 9000)+"1"+strings.Repeat("}", 9000)),
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`,
		`{"jsonrpc":"2.0","jsonrpc":"1.0","id":1,"id":2,"method":"ping","method":"tools/list","method":7}`,
		`{"jsonrpc":"2.0","id":{"a":[1]},"method":"ping"}`, `{"jsonrpc":"2.0","id":1e999,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":"\ud800","method":"\udfff"}`, `{"jsonrpc":"2.0","id":"\ud83d\ude00\u0000","method":"ping"}`,
		call("tutti_send", `{"to":"\ud800:x","text":"\udfff","text":"\u0000"}`), call("tutti_send", `{"to":"codex:x","text":"\ud800","wait":1e400}`),
		call(strings.Repeat("t", 1<<20), `{}`), call("tutti_read", `{"id":"`+strings.Repeat("i", 1<<20)+`","offset":-1}`),
		call("h2a_inbox", `{"action":"put","instance":"codex:x","envelope":{"__proto__":{},"id":"../..","body":{"a":1,"a":2}}}`),
		call("h2a_inbox", `{"action":"put","instance":"codex:x","envelope":`+strings.Repeat(`{"body":`, 3000)+"1"+strings.Repeat("}", 3000)+"}"),
		call("h2a_session_open", `{"instance":"claude:\u202e","pid":1e300,"interests":{"scopes":[null,7]},"sessionId":"../x"}`),
		call("h2a_register_instance", `{"registration":{"id":"a:b","id":"c:d","publicKeys":[{}],"createdAt":[]}}`),
		call("tutti_receive", `{"limit":{},"wait":"1e9999"}`), call("tutti_ack", `{"ids":["\ud800",""]}`), call("tutti_thread", `{"thread":"x","cursor":7,"limit":-0}`),
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n" + call("tutti_receive", `{"wait":50}`) + "\n" +
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n", 1000),
		strings.Repeat("x", 17<<20), `{"jsonrpc":"2.0","id":1,"method":"ping","x":"` + strings.Repeat("y", 15<<20) + `"}`,
	}
}

// final is the line that comes last.
const final = `{"jsonrpc":"2.0","id":"the last one","method":"ping"}`

// survives writes bytes to a server that is a process, and after them the last line. It ends by itself.
func survives(t *testing.T, c *exec.Cmd, input []byte) {
	t.Helper()
	var errs bytes.Buffer
	c.Stdin = io.MultiReader(bytes.NewReader(input), strings.NewReader("\n"+final+"\n"))
	c.Stderr = &errs
	began := time.Now()
	stop := time.AfterFunc(patience, func() { _ = c.Process.Kill() })
	out, err := c.Output()
	stop.Stop()
	if err != nil {
		t.Errorf("%v after %v: %s", err, time.Since(began), tail(errs.String()))
	}
	if strings.Contains(errs.String(), "panic") {
		t.Errorf("it panicked: %s", tail(errs.String()))
	}
	sound(t, out, input)
}

// sound checks what a server wrote: lines of JSON-RPC, of which one answers the last line that was written to it.
func sound(t *testing.T, out, input []byte) {
	t.Helper()
	last := 0
	for line := range bytes.Lines(out) {
		var m struct {
			JSONRPC string
			ID      json.RawMessage
			Method  string
			Result  json.RawMessage
			Error   json.RawMessage
		}
		err := json.Unmarshal(line, &m)
		switch {
		case err != nil || m.JSONRPC != "2.0" || !bytes.HasSuffix(line, []byte("\n")):
			t.Errorf("it wrote %.300q: %v", line, err)
		case m.Method == "" && (m.ID == nil || (m.Result == nil) == (m.Error == nil)):
			t.Errorf("it wrote no answer: %.300q", line)
		case string(m.ID) == `"the last one"` && string(m.Result) == "{}":
			last++
		}
	}
	if last != 1 {
		t.Errorf("the last line was answered %d times", last)
	}
	if t.Failed() {
		t.Logf("the input was %.2000q", input[:min(len(input), 2000)])
	}
}

// large is from how many bytes on an input is tried as it is, and only so: to tear and to join them takes all of the time.
const large = 20_000

// TestLargeLines: lines of up to the limit and beyond it, and deep ones.
func TestLargeLines(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, s := range seeds() {
		if len(s) > large {
			survives(t, r.serve("claude", "a"), []byte(s))
		}
	}
}

// FuzzServer gives a server on a bus of its own whatever bytes. It answers the last line and ends by itself. The server is part of
// the test program, so that the search sees which code an input reaches; processes are for the tests beside it.
func FuzzServer(f *testing.F) {
	for _, s := range seeds() {
		if len(s) <= large {
			f.Add([]byte(s))
		}
	}
	f.Setenv("HOME", f.TempDir()) // where the halt switch is looked for
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) > large || bytes.Contains(input, []byte("the last one")) {
			t.Skip("too large, or it says the last line itself")
		}
		home := folder(t)
		service := full.Service{
			App: app.New(app.Settings{Root: filepath.Join(home, "bus"), Home: home, Dir: home, Getenv: func(string) string { return "" }}),
			MCP: full.MCPFlags{AutoOpen: true, Host: "claude"},
			// Nobody answers, so that waiting for an answer would be all that this does.
			In:  io.MultiReader(bytes.NewReader(bytes.ReplaceAll(input, []byte("wait"), []byte("wail"))), strings.NewReader("\n"+final+"\n")),
			Err: io.Discard, Version: "0.0.0",
		}
		var out bytes.Buffer
		service.Out = &out
		if err := server.Serve(t.Context(), service); err != nil {
			t.Error(err)
		}
		sound(t, out.Bytes(), input)
	})
}

// folder is one of the test's own. A server whose input ended waits only 700 ms for its last writes, since it ends with its process; here
// the process goes on, and on a busy machine a file may still come.
func folder(t *testing.T) string {
	dir, err := os.MkdirTemp("", "tutti-fuzz")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			if err := os.RemoveAll(dir); err == nil || time.Now().After(end) {
				if err != nil {
					t.Error(err)
				}
				return
			}
		}
	})
	return dir
}

// TestRandomBytes: one server is given thousands of lines of every seed, torn, doubled, joined and with wrong bytes in them.
func TestRandomBytes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rnd := rand.New(rand.NewPCG(5, 8))
	lines := 3000
	if soak {
		lines = 30_000
	}
	all := seeds()
	var input []byte
	for range lines {
		line := []byte(all[rnd.IntN(len(all))])
		if len(line) > large {
			continue
		}
		for range rnd.IntN(4) {
			if len(line) == 0 {
				break
			}
			switch at := rnd.IntN(len(line)); rnd.IntN(5) {
			case 0:
				line = line[:at]
			case 1:
				line[at] = byte(rnd.Uint32())
			case 2:
				line = append(line[:at:at], append([]byte{byte(rnd.Uint32())}, line[at:]...)...)
			case 3:
				line = append(line, line[at:]...)
			case 4:
				line = append(line[:at:at], all[rnd.IntN(14)]...)
			}
		}
		input = append(append(input, bytes.ReplaceAll(line, []byte(`"wait":50`), []byte(`"wait":0`))...), '\n')
	}
	survives(t, r.serve("claude", "a"), input)
}
