package exchange

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"tutti/internal/test/commstest"
	"tutti/internal/test/progfile"
)

// TestSendSignatureNotAFile: a message is delivered only after its signature is stored beside it.
func TestSendSignatureNotAFile(t *testing.T) {
	t.Parallel()
	r, _, box := remote(t)
	must(t, os.MkdirAll(filepath.Join(box, talk1+".asc"), 0o700))
	must(t, os.Chmod(filepath.Dir(box), 0o700))
	r.fails(r.letter(1), General, CodeMailbox)
	only(t, box, talk1+".asc")
	only(t, filepath.Join(box, talk1+".asc"))
	only(t, r.StatePath("failed-sends"))

	must(t, os.Remove(filepath.Join(box, talk1+".asc")))
	r.sends(r.letter(1))
	must(t, os.Remove(filepath.Join(box, talk1+".asc")))
	must(t, os.Symlink(r.Home, filepath.Join(box, talk1+".asc")))
	r.fails(r.letter(1), General, CodeMailbox) // the text lies there, and nobody can verify it
}

// TestSendRecordedBeforeBundleRemoved: a sender that is killed in between sends again, and then the send is recorded. In the other order
// the send would never be recorded.
func TestSendRecordedBeforeBundleRemoved(t *testing.T) {
	t.Parallel()
	r, m, _ := remote(t)
	waiting, now := 0, r.Now
	r.Now = func() time.Time { // the record of sends is the last that asks for the time
		waiting = r.BundleCount()
		return now()
	}
	r.sends(r.letter(1))
	if waiting != 1 {
		t.Errorf("%d bundles when it was recorded, want 1", waiting)
	}
	only(t, r.StatePath("failed-sends"))
	m.Stop()
	e := r.fails(r.letter(2), NotDelivered, CodeUndelivered)
	m.Start()
	waiting = 0
	if _, err := r.Resend(t.Context(), e.Bundle, 0); err != nil || waiting != 1 {
		t.Errorf("sent again: %d bundles when it was recorded, %v; want 1", waiting, err)
	}
	only(t, r.StatePath("failed-sends"))
	if got, err := r.Sent(r.project("web")).Entries("talk"); err != nil || len(got) != 2 {
		t.Errorf("recorded: %+v, %v", got, err)
	}
}

// TestSendToMachineWithoutHash: a file of an earlier try that could not be hashed is not taken for another sender's.
func TestSendToMachineWithoutHash(t *testing.T) {
	t.Parallel()
	r, m, box := remote(t)
	for _, name := range []string{"sha256sum", "shasum", "openssl"} {
		must(t, progfile.Write(filepath.Join(m.Bin, name), []byte("#!/bin/sh\nexit 1\n"), 0o700))
	}
	push := filepath.Join(t.TempDir(), "rsync")
	must(t, os.WriteFile(push, []byte("#!/bin/sh\ncase \"$*\" in *--ignore-existing*) [ -e \"$0.once\" ] || { : >\"$0.once\"; "+
		commstest.Program("rsync")+" \"$@\"; exit 12; };; esac\nexec "+commstest.Program("rsync")+" \"$@\"\n"), 0o700))
	r.SSH.Rsync = push
	s := r.sends(r.letter(1))
	if s.Tries != 2 {
		t.Errorf("%d tries, want 2: the first one brought it and did not hear so", s.Tries)
	}
	only(t, box, talk1, talk1+".asc")
	r.fails(r.letter(1), General, CodeNameTaken) // nobody can tell
}

// TestSendWithShellStartupFiles: the start-up files of the login shell there may go to another folder, and have a cd that prints.
func TestSendWithShellStartupFiles(t *testing.T) {
	t.Parallel()
	m := commstest.NewMachine(t, "beta", commstest.MachineOptions{Shell: commstest.Program("bash")})
	must(t, os.WriteFile(filepath.Join(m.Home, ".bashrc"), []byte("cd() { builtin cd \"$@\" && echo \"now in $PWD\"; }\nbuiltin cd ~/work\n"), 0o600))
	must(t, os.Mkdir(filepath.Join(m.Home, "work"), 0o700))
	r := newRig(t)
	r.keys([]commstest.Who{commstest.Alice})
	r.peers(m.Host())
	box := filepath.Join(m.Project("notes"), "inbox", "from-agents")
	l := r.letter(1)
	l.Artifact = filepath.Join(t.TempDir(), "figures.csv")
	must(t, os.WriteFile(l.Artifact, []byte("1,2,3\n"), 0o600))
	r.sends(l)
	only(t, box, talk1, talk1+".asc", "artifacts")
	only(t, filepath.Join(box, "artifacts"), hashOf([]byte("1,2,3\n"))[:12]+"-figures.csv")
	only(t, filepath.Join(m.Home, "work"))
}
