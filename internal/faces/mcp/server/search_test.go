package server_test

import (
	"os"
	"path/filepath"
	"testing"
)

// A search finds what an agent got on the bus and what projects got, in one list, and nothing that it sent.
func TestSearch(t *testing.T) {
	t.Parallel()
	r, a, b := pair(t)
	a.ok("tutti_send", object{"to": b.me(), "text": "the Schema of the answers"})
	b.ok("tutti_send", object{"to": a.me(), "text": "another schema"})
	inbox := filepath.Join(r.home, "projects", "web", "inbox", "from-agents")
	for _, dir := range []string{inbox, filepath.Join(r.home, "projects", "web", ".ai")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	const message = "#+TITLE: Schema\n#+CONVERSATION_ID: api\n#+MESSAGE_TYPE: request\n#+SEQUENCE: 1\n#+TIMESTAMP: 2026-04-27T09:00:00+00:00\n\nWhich schema is it?\n"
	if err := os.WriteFile(filepath.Join(inbox, "20260427T090000Z-from-web-api.org"), []byte(message), 0o600); err != nil {
		t.Fatal(err)
	}
	got := b.ok("tutti_search", object{"text": "SCHEMA"})
	hits := got.list("hits")
	if got["found"] != float64(2) || len(hits) != 2 {
		t.Fatalf("found: %v", got)
	}
	if h := hits[0]; h.str("kind") != "bus" || h.str("from") != a.me() || h.str("snippet") != "the Schema of the answers" || h.str("where") != "inbox" {
		t.Errorf("of the bus: %v", h)
	}
	if h := hits[1]; h.str("kind") != "project" || h.str("title") != "Schema" || h.str("verdict") != "unsigned" {
		t.Errorf("of a project: %v", h)
	}
	if got := b.ok("tutti_search", object{"text": "schema", "from": "claude", "limit": 1}); got["found"] != float64(1) {
		t.Errorf("by its sender: %v", got)
	}
	b.refused("missing 'text'", "tutti_search", object{"text": " "})
}
