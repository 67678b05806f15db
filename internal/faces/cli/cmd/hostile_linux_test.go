package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tutti/internal/core/address"
	"tutti/internal/core/termsafe"
	"tutti/internal/test/boundtest"
	"tutti/internal/test/hostile"
)

// TestHostileMail: no text of a peer, in any member of a message, controls a terminal, reads as our line or closes an agent CLI's frame
// when printed. JSON under h2a has the original text, escaped.
func TestHostileMail(t *testing.T) {
	if boundtest.Race {
		t.Skip("one verb after the other: the detector makes it slow and has nothing to see")
	}
	t.Parallel()
	p := newPact(t, 2)
	you := string(p.who[0])
	box := filepath.Join(p.root, "inbox", address.Mailbox(you))
	if err := os.MkdirAll(box, 0o700); err != nil {
		t.Fatal(err)
	}
	forged := map[string]bool{}
	for n, h := range hostile.Texts(t) {
		text := strings.ToValidUTF8(h.Text, "\ufffd")
		if h.Class == "ourline" {
			for line := range strings.SplitSeq(text, "\n") {
				forged[line] = len(line) > 8 && !strings.HasPrefix(line, "text of a peer")
			}
		}
		raw, err := json.Marshal(map[string]any{
			"protocol": "sentropic.h2a", "version": "0.1", "id": fmt.Sprintf("env:%d", n), "type": "event", "threadId": text, "replyTo": text,
			"actor": map[string]any{"instance": text, "role": "AGENTS", "scope": text}, "createdAt": "2026-01-01T00:00:00.000Z",
			"body": map[string]any{"kind": text, "text": text, "via": text},
		})
		if err == nil {
			err = os.WriteFile(filepath.Join(box, fmt.Sprintf("env__%d.json", n)), raw, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) []byte {
		cmd := p.tutti(args...)
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil || len(out) < 1000 {
			t.Errorf("tutti %v: %v, %d bytes, %.500s", args, err, len(out), said.Bytes())
		}
		for line := range strings.SplitSeq(string(out)+said.String(), "\n") {
			if harm := hostile.Harm(line); harm != "" || forged[line] {
				t.Fatalf("tutti %v prints %.200q: %s", args, line, harm)
			}
		}
		return out
	}
	run("inbox", "--instance", you)
	for _, args := range [][]string{{"inbox", "--instance", you, "--json"}, {"receive", "--as", you, "--json", "--limit", "150"}} {
		if out := run(args...); !json.Valid(out) || !bytes.Contains(out, []byte(`"altered": true`)) {
			t.Errorf("tutti %v: no valid JSON, or nothing marked: %.300s", args, out)
		}
	}
	run("receive", "--as", you)
	h2a := exec.Command("h2a", "inbox", "read", "--instance", you)
	h2a.Dir, h2a.Env = p.home, []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH")}
	out, err := h2a.Output()
	if err != nil || len(out) < 1000 || strings.ContainsFunc(strings.ReplaceAll(string(out), "\n", ""), termsafe.Unsafe) ||
		!bytes.Contains(out, []byte(`\u202e`)) || bytes.Contains(out, []byte("‹")) {
		t.Errorf("h2a inbox read: %v, %d bytes", err, len(out))
	}
}
