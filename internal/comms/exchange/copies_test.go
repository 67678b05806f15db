package exchange

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tutti/internal/comms/protocol"
	"tutti/internal/test/commstest"
)

// TestCopiesWithoutLedger: if the ledger is new or lost, one of two copies in a mailbox is the message, whichever is judged first.
func TestCopiesWithoutLedger(t *testing.T) {
	t.Parallel()
	const first, second, third = "20260427T100000Z-from-web-q.org", "20260427T100005Z-from-web-q.org", "20260427T100010Z-from-web-q.org"
	for _, order := range [][]string{
		{first, second, third}, {first, third, second}, {second, first, third}, {second, third, first}, {third, first, second}, {third, second, first},
	} {
		r := newRig(t)
		r.keys([]commstest.Who{commstest.Alice})
		p := r.project("notes")
		for _, name := range order {
			r.lay(p, name, note{conv: "q", kind: "request", seq: 1}.text(), commstest.Alice)
		}
		for round := range 2 {
			taken := []string{}
			for _, name := range order {
				j, err := r.Receive(t.Context(), filepath.Join(p.MailboxPath(), name), ReceiveOptions{})
				must(t, err)
				if j.Word == protocol.Process {
					taken = append(taken, name)
				}
			}
			if len(taken) != 1 || taken[0] != first {
				t.Errorf("judged in the order %v, round %d: %v are acted on, want %s alone", order, round, taken, first)
			}
		}
	}
}

// TestSignersNotAFile: if the signers file is not a regular file, no signer is allowed, and reading it does not block.
func TestSignersNotAFile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	path := r.SignersPath()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	refuses := func(what string) {
		t.Helper()
		done := make(chan protocol.Signers, 1)
		go func() { done <- r.Signers() }()
		select {
		case s := <-done:
			if !s.Present() || s.Fault() == nil {
				t.Errorf("%s: present %v, fault %v; want it to allow no signer", what, s.Present(), s.Fault())
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%s: waited for", what)
			if f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
				f.Close()
			}
		}
		must(t, os.Remove(path))
	}
	must(t, syscall.Mkfifo(path, 0o600))
	refuses("a pipe")
	must(t, os.WriteFile(path, nil, 0o600))
	must(t, os.Truncate(path, 10<<30))
	refuses("ten gigabytes")
	must(t, os.WriteFile(path, []byte("[signers]\n"), 0o600))
	must(t, os.Chmod(path, 0o666))
	refuses("others can write it")
	if s := r.Signers(); s.Present() {
		t.Error("there is none")
	}
}

// TestLinkedProject: a project whose folder, or the folder of all projects, is a link is the same project under both names.
func TestLinkedProject(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"project", "projects"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.keys([]commstest.Who{commstest.Alice})
			p := Project{"notes", filepath.Join(r.Home, "projects", "notes")}
			var real string
			if what == "project" {
				real = filepath.Join(r.Home, "data", "notes-of-2026")
				must(t, os.MkdirAll(filepath.Dir(p.Path), 0o700))
				must(t, os.MkdirAll(real, 0o700))
				must(t, os.Symlink(real, p.Path))
			} else {
				real = filepath.Join(r.Home, "data", "notes")
				must(t, os.MkdirAll(real, 0o700))
				must(t, os.Symlink("data", filepath.Join(r.Home, "projects")))
			}
			must(t, os.Mkdir(filepath.Join(real, ".ai"), 0o700))
			l := r.letter(1)
			l.Destination = "local.notes"
			s := r.sends(l)
			j := r.judge(p, s.Name, protocol.Process, protocol.CodeOK)
			again := r.judge(Project{Name: "notes", Path: real}, s.Name, protocol.Process, protocol.CodeOK)
			if j.Project.Name != "notes" || again.Project.Name != "notes" || !again.SeenBefore {
				t.Errorf("project %+v, and behind the link %+v, seen before %v; want one", j.Project, again.Project, again.SeenBefore)
			}
			if a, b := r.Sent(p).Path(), r.Sent(again.Project).Path(); a != b {
				t.Errorf("two records of sends: %s and %s", a, b)
			}
		})
	}
}
