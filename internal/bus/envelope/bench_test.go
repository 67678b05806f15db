package envelope

import (
	"strings"
	"testing"
)

// BenchmarkParse reads a signed message of about 600 bytes, as they lie in mailboxes.
func BenchmarkParse(b *testing.B) {
	raw := []byte(`{"protocol":"sentropic.h2a","version":"0.1","id":"env:1781258400000:9c1e","type":"event",` +
		`"actor":{"instance":"claude:api:3f2a9c01b7de","role":"AGENTS","scope":"sent-tech"},"target":{"instance":"codex:web:bbbbbbbbbbbb"},` +
		`"threadId":"thr:1781258400000:1f2e","body":{"kind":"message","text":"` + strings.Repeat("text ", 20) + `"},"createdAt":"2026-06-12T12:00:00.000Z",` +
		`"signatures":[{"by":"claude:api:3f2a9c01b7de","alg":"ed25519","value":"` + strings.Repeat("A", 86) + `=="}]}`)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(raw); err != nil {
			b.Fatal(err)
		}
	}
}
