package exchange

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tutti/internal/comms/protocol"
	"tutti/internal/halt"
)

const aName = "20260427T100000Z-from-web-q.org"

func TestDeliver(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.project("notes")
	b := r.mailbox(p)
	parcel := SignedMessage{Name: aName, Message: []byte("text\n"), Signature: []byte("signature")}
	if already, err := b.Deliver(t.Context(), parcel, never); already || err != nil {
		t.Fatalf("first time: already=%v, %v", already, err)
	}
	only(t, b.Path(), aName, aName+".asc")
	for name, want := range map[string]string{aName: "text\n", aName + ".asc": "signature"} {
		path := filepath.Join(b.Path(), name)
		st, err := os.Stat(path)
		must(t, err)
		if got := content(t, path); got != want || st.Mode() != 0o600 {
			t.Errorf("%s holds %q with mode %v, want %q with 0600", name, got, st.Mode(), want)
		}
	}
	// A second signing gives other bytes; the message is the same.
	parcel.Signature = []byte("another signature")
	if already, err := b.Deliver(t.Context(), parcel, never); !already || err != nil {
		t.Errorf("second time: already=%v, %v; want true, nil", already, err)
	}
	if got := content(t, filepath.Join(b.Path(), aName+".asc")); got != "signature" {
		t.Errorf("the signature became %q", got)
	}
	for _, other := range []string{"", "text", "text\nmore"} {
		var taken *TakenError
		_, err := b.Deliver(t.Context(), SignedMessage{aName, []byte(other), []byte("x"), nil}, never)
		if !errors.As(err, &taken) {
			t.Errorf("other bytes %q: %v, want a *TakenError", other, err)
		}
	}
	only(t, b.Path(), aName, aName+".asc")
	if got := content(t, filepath.Join(b.Path(), aName)); got != "text\n" {
		t.Errorf("the message became %q", got)
	}
}

// TestDeliverNameTakenByNonFile: a link or a folder that has the name is left as it is.
func TestDeliverNameTakenByNonFile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := r.mailbox(r.project("notes"))
	must(t, os.Symlink("/etc/passwd", filepath.Join(b.Path(), aName)))
	var taken *TakenError
	if _, err := b.Deliver(t.Context(), SignedMessage{aName, []byte("x"), []byte("s"), nil}, never); !errors.As(err, &taken) {
		t.Errorf("a link: %v, want a *TakenError", err)
	}
	if st, err := os.Lstat(filepath.Join(b.Path(), aName)); err != nil || st.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", st, err)
	}
}

func TestDeliverHaltedBetweenFiles(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := r.mailbox(r.project("notes"))
	stop := &halt.Error{Reason: "a test"}
	_, err := b.Deliver(t.Context(), SignedMessage{aName, []byte("text\n"), []byte("first"), nil}, func() error {
		only(t, b.Path(), append(temps(t, b), aName+".asc")...)
		return stop
	})
	if !errors.Is(err, stop) {
		t.Fatalf("halted between: %v, want the halt", err)
	}
	only(t, b.Path(), aName+".asc")
	if l, err := b.List(); err != nil || len(l.Messages)+len(l.Foreign)+len(l.Unsigned) != 0 {
		t.Errorf("seen: %+v, %v; want nothing", l, err)
	}
	if _, err := b.Deliver(t.Context(), SignedMessage{aName, []byte("text\n"), []byte("second"), nil}, never); err != nil {
		t.Fatal(err)
	}
	if got := content(t, filepath.Join(b.Path(), aName+".asc")); got != "second" {
		t.Errorf("signature %q, want that of the second try", got)
	}
}

// temps are the hidden entries.
func temps(t *testing.T, b *Mailbox) []string {
	return slices.DeleteFunc(names(t, b.Path()), func(n string) bool { return n[0] != '.' })
}

func TestDeliverAddsMissingSignature(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := r.mailbox(r.project("notes"))
	must(t, os.WriteFile(filepath.Join(b.Path(), aName), []byte("text\n"), 0o600))
	if already, err := b.Deliver(t.Context(), SignedMessage{aName, []byte("text\n"), []byte("s"), nil}, never); !already || err != nil {
		t.Errorf("already=%v, %v; want true, nil", already, err)
	}
	only(t, b.Path(), aName, aName+".asc")
	if _, err := b.Deliver(t.Context(), SignedMessage{aName, []byte("text\n"), nil, nil}, never); err != nil {
		t.Error(err)
	}
	only(t, b.Path(), aName, aName+".asc")
}

// TestDeliverSignatureNotAFile: a message without a regular signature file is not reported as delivered, because it cannot be verified.
func TestDeliverSignatureNotAFile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := r.mailbox(r.project("notes"))
	p := testParcel("web", 1)
	must(t, os.WriteFile(filepath.Join(b.Path(), p.Name), p.Message, 0o600))
	must(t, os.Symlink("nowhere", filepath.Join(b.Path(), p.Name+".asc")))
	var refused *MailboxError
	if already, err := b.Deliver(t.Context(), p, never); !errors.As(err, &refused) {
		t.Errorf("already %v, %v; want it refused", already, err)
	}
	only(t, b.Path(), p.Name, p.Name+".asc")
}

func TestDeliverUnsigned(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := r.mailbox(r.project("notes"))
	must(t, os.WriteFile(filepath.Join(b.Path(), aName+".asc"), []byte("old"), 0o600))
	_, err := b.Deliver(t.Context(), SignedMessage{aName, []byte("text\n"), nil, nil}, never)
	must(t, err)
	only(t, b.Path(), aName)
}

// TestDeliverKeepsItsSignature: another writer, who knows no lock, has the same name in the same second and puts its signature over ours.
func TestDeliverKeepsItsSignature(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := r.mailbox(r.project("notes"))
	_, err := b.Deliver(t.Context(), SignedMessage{aName, []byte("text\n"), []byte("ours"), nil}, func() error {
		tmp := filepath.Join(b.Path(), ".x")
		must(t, os.WriteFile(tmp, []byte("theirs"), 0o600))
		return os.Rename(tmp, filepath.Join(b.Path(), aName+".asc"))
	})
	must(t, err)
	only(t, b.Path(), aName, aName+".asc")
	if got := content(t, filepath.Join(b.Path(), aName+".asc")); got != "ours" {
		t.Errorf("signature %q, want ours", got)
	}
}

func TestSweep(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := r.mailbox(r.project("notes"))
	old, young := start.Add(-61*time.Minute), start.Add(-59*time.Minute)
	lay := func(name string, at time.Time) string {
		path := filepath.Join(b.Path(), name)
		must(t, os.WriteFile(path, nil, 0o600))
		must(t, os.Chtimes(path, at, at))
		return name
	}
	lay(".tmp.0123456789abcdef."+aName, old)
	lay(".tmp.0123456789abcdef."+aName+".asc", old)
	kept := []string{
		lay(".tmp.1123456789abcdef."+aName, young),
		lay(".tmp.Ab12", old),                       // of mktemp
		lay(".tmp.0123456789abcdeg."+aName, old),    // no hex
		lay(".tmp.0123456789abcdef.notes.txt", old), // no message
		lay("."+aName+".Xy12zA", old),               // of rsync
		lay(aName, old), lay(aName+".asc", old), lay("notes.txt", old),
	}
	if n, err := b.Sweep(); n != 2 || err != nil {
		t.Errorf("swept %d, %v; want 2", n, err)
	}
	only(t, b.Path(), kept...)
}

func TestMailboxChecks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var refused *MailboxError
	var none *NoProjectError

	bare := Project{"bare", filepath.Join(r.Home, "projects", "bare")}
	must(t, os.MkdirAll(bare.Path, 0o700))
	if _, err := r.MakeMailbox(bare); !errors.As(err, &none) {
		t.Errorf("no project: %v, want a *NoProjectError", err)
	}
	only(t, bare.Path)

	for name, spoil := range map[string]func(p Project) error{
		"mailbox-link": func(p Project) error {
			must(t, os.MkdirAll(p.Path+"/inbox", 0o700))
			return os.Symlink(t.TempDir(), p.MailboxPath())
		},
		"inbox-link": func(p Project) error { return os.Symlink(t.TempDir(), p.Path+"/inbox") },
		"file": func(p Project) error {
			must(t, os.MkdirAll(p.Path+"/inbox", 0o700))
			return os.WriteFile(p.MailboxPath(), nil, 0o600)
		},
	} {
		p := r.project(name)
		must(t, spoil(p))
		if _, err := r.MakeMailbox(p); !errors.As(err, &refused) {
			t.Errorf("%s: %v, want a *MailboxError", name, err)
		}
	}

	p := r.project("notes")
	if _, err := r.Mailbox(p); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no mailbox: %v, want fs.ErrNotExist", err)
	}
	b := r.mailbox(p)
	if st, err := os.Stat(b.Path()); err != nil || st.Mode().Perm() != 0o700 || b.Wide {
		t.Errorf("made with %v, %v, wide %v; want 0700", st.Mode(), err, b.Wide)
	}
	must(t, os.Chmod(b.Path(), 0o750))
	if b := r.mailbox(p); !b.Wide {
		t.Error("a mailbox with mode 0750 is not told to be wide")
	}
}

func TestMailboxOfAnotherOwner(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder away")
	}
	r := newRig(t)
	p := r.project("notes")
	b := r.mailbox(p)
	must(t, os.Chown(b.Path(), 12345, -1))
	var refused *MailboxError
	if _, err := r.Mailbox(p); !errors.As(err, &refused) {
		t.Errorf("%v, want a *MailboxError", err)
	}
	r.judge(p, aName, protocol.Reject, protocol.CodeNotRegular)
}

func TestList(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := r.mailbox(r.project("notes"))
	const later = "20260427T100500Z-from-web-q.org"
	for _, name := range []string{later, aName, aName + ".asc", "20260427T090000Z-from-web-q.org.asc", ".tmp.x", ".hidden.org", "notes.txt", aName + "~"} {
		must(t, os.WriteFile(filepath.Join(b.Path(), name), nil, 0o600))
	}
	must(t, os.Mkdir(filepath.Join(b.Path(), "artifacts"), 0o700))
	l, err := b.List()
	must(t, err)
	if !slices.Equal(l.Messages, []string{aName, later}) || !slices.Equal(l.Unsigned, []string{later}) ||
		!slices.Equal(l.Foreign, []string{aName + "~", "notes.txt"}) {
		t.Errorf("%+v", l)
	}
}

// TestLinkedArtifacts: the folder itself must not lead out of the mailbox.
func TestLinkedArtifacts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := r.mailbox(r.project("notes"))
	must(t, os.WriteFile(filepath.Join(r.Home, "secret"), nil, 0o600))
	must(t, os.Symlink(r.Home, filepath.Join(b.Path(), "artifacts")))
	if path, err := b.Artifact("artifacts/secret"); err == nil {
		t.Errorf("given: %s", path)
	}
}

func TestArtifact(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := r.mailbox(r.project("notes"))
	folder := filepath.Join(b.Path(), "artifacts")
	must(t, os.MkdirAll(filepath.Join(folder, "sub"), 0o700))
	must(t, os.WriteFile(filepath.Join(folder, "sub", "a.csv"), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(b.Path(), "secret"), nil, 0o600))
	must(t, os.Symlink("../secret", filepath.Join(folder, "out")))
	must(t, os.Symlink("sub/a.csv", filepath.Join(folder, "in")))
	for ref, ok := range map[string]bool{
		"artifacts/sub/a.csv": true, "artifacts/in": true, "artifacts/out": false, "artifacts/../secret": false, "/etc/passwd": false,
		"artifacts": false, "artifacts/": false, "artifacts/none": false, "secret": false, "artifacts/sub/../../secret": false,
	} {
		path, err := b.Artifact(ref)
		if (err == nil) != ok || ok && path != filepath.Join(b.Path(), ref) {
			t.Errorf("Artifact(%q) = %q, %v; want it %v", ref, path, err, map[bool]string{true: "given", false: "refused"}[ok])
		}
	}
}
