package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBadMailbox: an error in one mailbox or message hides no other, old or new.
func TestBadMailbox(t *testing.T) {
	t.Parallel()
	b := prepare(t)
	bad, good := b.agent("bad"), b.agent("good")
	b.mail(bad, "env:0")
	box := filepath.Join(b.w.Root.Path, "inbox", bad.Mailbox())
	for name, text := range map[string]string{"env__1.json": "{", "env__2.json": `{"no":"message"}`, "env__3.json": ""} {
		if err := os.WriteFile(filepath.Join(box, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(box, "env__4.json")); err != nil {
		t.Fatal(err)
	}
	trail := filepath.Join(b.w.Root.Path, "trail", bad.Mailbox()+".jsonl") // what became of its mail cannot be read
	if err := os.RemoveAll(trail); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(trail, 0o700); err != nil {
		t.Fatal(err)
	}
	b.mail(good, "env:8")
	b.serve()
	b.out.shows(t, "cannot read the mailbox of "+string(bad)+"")
	b.out.shows(t, " mail: mail waits for "+string(good)+", and it has not been read: 1 message\n")
	later := b.agent("later")
	b.mail(bad, "env:9")
	b.mail(later, "env:10")
	b.out.shows(t, " mail: mail waits for "+string(later)+", and it has not been read: 1 message\n")
	if text := b.out.String(); strings.Contains(text, "; again in ") {
		t.Errorf("the part was begun again:\n%s", text)
	}
}
