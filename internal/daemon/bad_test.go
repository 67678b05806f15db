package daemon

import (
	"os"
	"path/filepath"
	"testing"
)

// TestBadMailbox: what is wrong with one mailbox, or one message, hides no other.
func TestBadMailbox(t *testing.T) {
	t.Parallel()
	b := begin(t)
	bad, good := b.agent("bad"), b.agent("good")
	box := filepath.Join(b.w.Root.Path, "inbox", bad.Mailbox())
	if err := os.MkdirAll(box, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"env__1.json": "{", "env__2.json": `{"no":"message"}`, "env__3.json": ""} {
		if err := os.WriteFile(filepath.Join(box, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(box, "env__4.json")); err != nil {
		t.Fatal(err)
	}
	b.mail(good, "env:9")
	b.out.shows(t, " mail: mail waits for "+string(good)+", and nobody has looked: 1 message\n")
}
