//go:build e2e

package e2etest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAgentsReachTheServer is each program's own look whether a server answers. No model has to do with it.
func TestAgentsReachTheServer(t *testing.T) {
	for _, a := range agents {
		t.Run(a.name, func(t *testing.T) {
			d := newDesk(t, a, t.TempDir(), "http://127.0.0.1:1")
			if got := d.run(t, "--version"); !strings.Contains(got, a.version) {
				t.Errorf("version: got %s, want %s", got, a.version)
			}
			out := d.run(t, a.list...)
			if !strings.Contains(out, "tutti") || !strings.Contains(out, a.connected) {
				t.Errorf("%q: got\n%s\nwant %q", a.list, out, a.connected)
			}
		})
	}
}

// TestAgentsCall has each program look around and send a message, with the wire to the server recorded.
func TestAgentsCall(t *testing.T) {
	for _, a := range agents {
		t.Run(a.name, func(t *testing.T) {
			agentPrograms(t)
			home := t.TempDir()
			root := filepath.Join(home, "bus")
			ben := connect(t, home, root, "agy", "ben")
			const text = "from the model: schöne Grüße,\n\"quoted\" <tag> & {braces}"
			m := newModel(t, a.steps(t,
				step{tool: "tutti_status", args: with(object{})},
				step{tool: "tutti_send", args: with(object{"to": ben, "text": text})},
			))
			wire := filepath.Join(home, "wire")
			d := newDesk(t, a, home, m.http.URL, os.Args[0], "wire", wire, here.full, "mcp-serve", "--root", root, "--auto-open", "--host", a.host, "--name", "ana")
			out := d.run(t, a.ask("call the tools")...)
			if !strings.Contains(out, "done") {
				t.Errorf("the last words of the model are missing: %s", out)
			}

			w := readWire(t, wire)
			t.Logf("%s %s: %s", a.name, a.version, w.shake)
			t.Logf("tools in the first request: %q; requests beside: %q", m.seen()[0].offered, m.other)
			for _, tool := range w.listed {
				if has := slices.Contains(m.seen()[0].offered, a.tool(tool)); has == a.deferred {
					t.Errorf("%s is offered in the first request: %v", a.tool(tool), has)
				}
			}
			for _, tool := range []string{"tutti_status", "tutti_send"} {
				sent := w.results[tool]
				got, ok := m.result(a.tool(tool))
				if !ok || sent == "" || !strings.Contains(got, sent) {
					t.Errorf("%s: the server said\n%s\nthe model got\n%s", tool, sent, got)
				}
			}
			if last := m.seen()[len(m.seen())-1]; !bytes.Contains(last.raw, []byte("on one message bus")) {
				t.Errorf("the instructions of the server did not reach the model")
			}

			var receipt struct{ ID string }
			if err := json.Unmarshal([]byte(w.results["tutti_send"]), &receipt); err != nil {
				t.Fatal(err)
			}
			mail := tutti(t, home, "receive", "--root", root, "--as", ben, "--json")
			var got struct {
				Messages []struct {
					ID, From, Verdict string
					Envelope          struct{ Body struct{ Text string } }
				}
			}
			if err := json.Unmarshal(mail, &got); err != nil || len(got.Messages) != 1 {
				t.Fatalf("%v\n%s", err, mail)
			}
			msg := got.Messages[0]
			if msg.ID != receipt.ID || msg.Envelope.Body.Text != text || !strings.HasPrefix(msg.From, a.host+":ana:") || msg.Verdict != "new key" {
				t.Errorf("got %+v, want %s of %s:ana with %q, and the signature of a key not seen before", msg, receipt.ID, a.host, text)
			}
		})
	}
}
