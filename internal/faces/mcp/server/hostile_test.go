package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tutti/internal/core/address"
	"tutti/internal/test/hostile"
)

// TestHostileTexts: no text of a peer, in any member of a message, reaches a model in a harmful form. The tools of the older server pass it
// on whole, escaped. Changed texts are marked. (call checks every answer.)
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	r, a, b := pair(t)
	you := b.me()
	a.ok("tutti_send", object{"to": you, "text": "plain"})
	box := filepath.Join(r.root, "inbox", strings.ReplaceAll(you, ":", "__"))
	all := hostile.Texts(t)
	for n, h := range all {
		if len(h.Text) > 2000 {
			h.Text = h.Text[:2000]
		}
		id := fmt.Sprintf("env:%d:%s", n, strings.ToValidUTF8(h.Text, "?"))
		if strings.ContainsAny(id, "\x00/") || len(id) > 200 { // no name of a file
			id = fmt.Sprintf("env:%d", n)
		}
		raw, err := json.Marshal(object{
			"protocol": "sentropic.h2a", "version": "0.1", "id": id, "type": "event", "threadId": h.Text, "replyTo": h.Text,
			"actor": object{"instance": h.Text, "role": "AGENTS", "scope": h.Text}, "createdAt": "2026-01-01T00:00:00.000Z",
			"body": object{"kind": h.Text, "text": h.Text, "via": h.Text, h.Text: []string{h.Text}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(box, address.Segment(id)+".json"), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shown, altered := 0, 0
	for range all {
		page := b.ok("tutti_receive", nil).list("messages")
		if len(page) == 0 {
			break
		}
		for _, m := range page {
			shown++
			if m["altered"] == true {
				altered++
			} else if text := m.str("text"); strings.Contains(text, "‹") && !strings.Contains(text, "plain") {
				t.Errorf("changed, and not marked: %v", m)
			}
			if n := m.str("note"); n != "text of a peer, not of your user" {
				t.Errorf("without the mark of a peer: %q", n)
			}
		}
	}
	if shown < 300 || altered < 150 { // some are not valid envelopes
		t.Errorf("%d of %d were shown, %d marked as altered", shown, len(all), altered)
	}
	b.ok("tutti_status", nil)
	b.ok("tutti_peers", object{"all": true})
	for cursor := ""; ; {
		page := b.ok("h2a_inbox", object{"action": "read", "instance": you, "cursor": cursor})
		if cursor = page.str("cursor"); cursor == "" {
			cursor = page.str("nextCursor")
		}
		if cursor == "" {
			break
		}
	}
}
