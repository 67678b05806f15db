package exchange

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/halt"
	"tutti/internal/platform/ssh"
	"tutti/internal/test/commstest"
)

// peers writes the list of peers.
func (r *rig) peers(hosts ...ssh.Host) {
	r.t.Helper()
	var text strings.Builder
	for _, h := range hosts {
		text.WriteString(commstest.PeerTOML(h))
	}
	must(r.t, os.MkdirAll(filepath.Dir(r.PeersPath()), 0o700))
	must(r.t, os.WriteFile(r.PeersPath(), []byte(text.String()), 0o600))
}

// letter is one to the machine beta, signed.
func (r *rig) letter(seq int) Draft {
	return Draft{
		Destination: "beta.notes", Sender: "web", Project: r.project("web"), Retries: DefaultRetries,
		Text: note{conv: "talk", kind: "request", seq: seq, at: start.Add(time.Duration(seq) * time.Second)}.text(),
	}
}

// remote makes an office with a key, the machine beta and the project notes on it.
func remote(t *testing.T) (*rig, *commstest.Machine, string) {
	t.Helper()
	m := commstest.NewMachine(t, "beta", commstest.MachineOptions{})
	r := newRig(t)
	r.keys([]commstest.Who{commstest.Alice})
	r.peers(m.Host())
	return r, m, filepath.Join(m.Project("notes"), "inbox", "from-agents")
}

func (r *rig) fails(l Draft, fault Fault, code string) *SendError {
	r.t.Helper()
	s, err := r.Send(r.t.Context(), l)
	var e *SendError
	if !errors.As(err, &e) || e.Fault != fault || e.Code != code {
		r.t.Errorf("sent %+v, %v; want fault %d %s", s, err, fault, code)
		return &SendError{Err: errors.New("none")}
	}
	return e
}

func (r *rig) sends(l Draft) *Sent {
	r.t.Helper()
	s, err := r.Send(r.t.Context(), l)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

const talk1, talk2 = "20260427T100001Z-from-web-talk.org", "20260427T100002Z-from-web-talk.org"

func TestSendToAnotherMachine(t *testing.T) {
	t.Parallel()
	r, m, box := remote(t)
	s := r.sends(r.letter(1))
	if s.Name != talk1 || s.Destination != "beta.notes" || s.Tries != 1 || s.Already || len(s.Warnings) != 0 || s.Path != "" {
		t.Errorf("%+v", s)
	}
	only(t, box, talk1, talk1+".asc")
	for _, path := range []string{box, filepath.Dir(box)} {
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v; want 0700", path, st.Mode(), err)
		}
	}
	if st, err := os.Stat(filepath.Join(box, talk1)); err != nil || st.Mode() != 0o600 || hashOf([]byte(content(t, filepath.Join(box, talk1)))) != s.SHA256 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if text := content(t, filepath.Join(box, talk1)); !strings.Contains(text, "#+FROM: alpha.web\n#+TO: beta.notes\n") {
		t.Errorf("the message is\n%s", text)
	}
	only(t, r.StatePath("failed-sends"))
	if got, err := r.Sent(r.project("web")).Entries("talk"); err != nil || len(got) != 1 || got[0].Name != talk1 || got[0].To != "beta.notes" {
		t.Errorf("record of sends: %+v, %v", got, err)
	}
	// Once more: other signature, same message.
	if s := r.sends(r.letter(1)); !s.Already {
		t.Errorf("sent again: %+v", s)
	}
	only(t, box, talk1, talk1+".asc")
	// There it can be received.
	there := testOffice(m.Home)
	there.Host, there.GPG, there.Now = "beta.example", r.GPG, r.Now
	j, err := there.Receive(t.Context(), filepath.Join(box, talk1), ReceiveOptions{})
	if err != nil || j.Exit() != 0 || j.Sender != "web" {
		t.Errorf("received as %+v, %v", j, err)
	}
	// A name that is taken by other bytes.
	other := r.letter(1)
	other.Text = append(other.Text, "more\n"...)
	if e := r.fails(other, General, CodeNameTaken); e.Bundle != "" {
		t.Errorf("kept as %s, and it can never be delivered", e.Bundle)
	}
	only(t, r.StatePath("failed-sends"))
	if hashOf([]byte(content(t, filepath.Join(box, talk1)))) != s.SHA256 {
		t.Error("the message was overwritten")
	}
}

// A send reads the numbers of the mailbox on the other machine: another sender of this project may have gone further in the conversation.
func TestSendReadsRemoteSequence(t *testing.T) {
	t.Parallel()
	r, _, box := remote(t)
	r.sends(r.letter(2))
	if err := os.Remove(r.Sent(r.project("web")).Path()); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(content(t, filepath.Join(box, talk2)), "#+SEQUENCE: 2", "#+SEQUENCE: 14", 1)
	if err := os.WriteFile(filepath.Join(box, talk2), []byte(text+"\n#+SEQUENCE: 99\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := r.sends(r.letter(1))
	if want := "SEQUENCE is 1, and the mailbox of beta.notes has messages of this conversation up to 14"; !slices.Contains(s.Advice, want) {
		t.Errorf("advice: %q", s.Advice)
	}
	if s := r.sends(r.letter(1)); strings.Contains(strings.Join(s.Advice, " "), "up to 14") || !s.Already {
		t.Errorf("sent again: %q, already %v", s.Advice, s.Already)
	}
}

// A file goes to another machine beside its message, also when that is sent again later, from what was kept.
func TestArtifactToAnotherMachine(t *testing.T) {
	t.Parallel()
	r, m, box := remote(t)
	path := filepath.Join(t.TempDir(), "a b.csv")
	must(t, os.WriteFile(path, []byte("1,2,3\n"), 0o600))
	name := hashOf([]byte("1,2,3\n"))[:12] + "-a-b.csv"
	l := r.letter(1)
	l.Artifact = path
	r.sends(l)
	only(t, filepath.Join(box, "artifacts"), name)
	m.Stop()
	l = r.letter(2)
	l.Artifact, l.Retries = path, -1
	e := r.fails(l, NotDelivered, CodeUndelivered)
	must(t, os.Remove(path))
	must(t, os.RemoveAll(filepath.Join(box, "artifacts")))
	m.Start()
	if _, err := r.Resend(t.Context(), e.Bundle, 0); err != nil {
		t.Fatal(err)
	}
	if got := content(t, filepath.Join(box, "artifacts", name)); got != "1,2,3\n" {
		t.Errorf("it is %q there", got)
	}
	there := testOffice(m.Home)
	there.Host, there.GPG, there.Now = "beta.example", r.GPG, r.Now
	j, err := there.Receive(t.Context(), filepath.Join(box, talk2), ReceiveOptions{})
	if err != nil || len(j.Artifacts) != 1 || filepath.Base(j.Artifacts[0]) != name {
		t.Errorf("received with %q, %v", j.Artifacts, err)
	}
}

func TestSendToUnknownProject(t *testing.T) {
	t.Parallel()
	r, m, box := remote(t)
	l := r.letter(1)
	l.Destination = "beta.nowhere"
	r.fails(l, NoDestination, CodeNoProject)
	if _, err := os.Stat(filepath.Join(m.Home, "projects", "nowhere")); err == nil {
		t.Error("a project was made")
	}
	must(t, os.MkdirAll(filepath.Dir(box), 0o700))
	must(t, os.Symlink(t.TempDir(), box))
	r.fails(r.letter(1), General, CodeMailbox)
	must(t, os.Remove(box))
	must(t, os.Mkdir(box, 0o755))
	if s := r.sends(r.letter(1)); !slices.Equal(s.Warnings, []string{WarnMailboxWide}) {
		t.Errorf("a mailbox with mode 0755: %v", s.Warnings)
	}
	if len(r.waits) != 0 {
		t.Errorf("waited %v for what does not change", r.waits)
	}
	only(t, r.StatePath("failed-sends"))
}

func TestSendToHaltedMachine(t *testing.T) {
	t.Parallel()
	r, m, box := remote(t)
	must(t, os.MkdirAll(filepath.Join(m.Home, configFolder), 0o700))
	must(t, os.Symlink("nowhere", filepath.Join(m.Home, configFolder, "HALT")))
	if s := r.sends(r.letter(1)); !slices.Equal(s.Warnings, []string{WarnPeerHalted}) {
		t.Errorf("%v", s.Warnings)
	}
	only(t, box, talk1, talk1+".asc")
}

// TestSendToUnreachableMachine: three more tries, with waits that grow, and the message is kept and can be sent later.
func TestSendToUnreachableMachine(t *testing.T) {
	t.Parallel()
	r, m, box := remote(t)
	m.Stop()
	var said []string
	r.Tell = func(text string) { said = append(said, text) }
	e := r.fails(r.letter(1), NotDelivered, CodeUndelivered)
	var total time.Duration
	for _, w := range r.waits {
		if total += w; w > time.Second {
			t.Errorf("waited %v without a look at the switch", w)
		}
	}
	if total != 42*time.Second || len(said) != 3 {
		t.Errorf("waited %v in all, said %q; want 2+8+32 s", total, said)
	}
	b, err := r.Bundle(e.Bundle)
	if err != nil || b.Tries != 4 || b.Cause != CauseUnreachable || b.FirstTry != start || b.LastTry != start.Add(42*time.Second) || b.LastError == "" {
		t.Errorf("bundle %+v, %v", b, err)
	}
	kept := content(t, r.StatePath("failed-sends/"+b.ID+"/message.org.asc"))
	if got, err := r.Sent(r.project("web")).Entries(""); err != nil || len(got) != 0 {
		t.Errorf("in the record of sends: %+v, %v", got, err)
	}
	m.Start()
	r.later(24 * time.Hour) // the age of a bundle is no matter
	var told []string
	worst := r.ResendAll(t.Context(), 0, func(id string, s *Sent, err error) {
		told = append(told, fmt.Sprint(id, " ", s.Name, " ", err))
	})
	if worst != 0 || !slices.Equal(told, []string{b.ID + " " + talk1 + " <nil>"}) {
		t.Errorf("fault %d, %q", worst, told)
	}
	only(t, box, talk1, talk1+".asc")
	if content(t, filepath.Join(box, talk1+".asc")) != kept {
		t.Error("it went with another signature")
	}
	only(t, r.StatePath("failed-sends"))
	if got, err := r.Sent(r.project("web")).Entries(""); err != nil || len(got) != 1 {
		t.Errorf("in the record of sends: %+v, %v", got, err)
	}
}

func TestSendHaltedWhileWaiting(t *testing.T) {
	t.Parallel()
	r, m, _ := remote(t)
	m.Stop()
	pause := r.Pause
	r.Tell = func(string) { r.halt() }
	e := r.fails(r.letter(1), Halted, CodeHalted)
	var halted *halt.Error
	if !errors.As(e, &halted) || len(r.waits) != 1 {
		t.Errorf("%v after %v, want the halt within a second", e, r.waits)
	}
	if b, err := r.Bundle(e.Bundle); err != nil || b.Cause != CauseHalted || b.Tries != 1 {
		t.Errorf("bundle %+v, %v", b, err)
	}
	r.Pause = pause
	if worst := r.ResendAll(t.Context(), 0, func(string, *Sent, error) {}); worst != Halted {
		t.Errorf("sent again under the halt: fault %d", worst)
	}
}

// TestSendHaltedBetweenFiles: the signature is there, the text is not, and the message is kept.
func TestSendHaltedBetweenFiles(t *testing.T) {
	t.Parallel()
	r, _, box := remote(t)
	inner := r.Halt
	r.Halt = func(action string) error {
		if _, err := os.Stat(filepath.Join(box, talk1+".asc")); err == nil {
			r.halt()
		}
		return inner(action)
	}
	e := r.fails(r.letter(1), Halted, CodeHalted)
	only(t, box, talk1+".asc")
	r.Halt = inner
	r.resume()
	if s, err := r.Resend(t.Context(), e.Bundle, 0); err != nil || s.Name != talk1 || s.Message.Sequence != 1 {
		t.Errorf("sent again: %+v, %v", s, err)
	}
	only(t, box, talk1, talk1+".asc")
}

func TestSendRefusedByMachine(t *testing.T) {
	t.Parallel()
	r, m, _ := remote(t)
	m.NewHostKey()
	e := r.fails(r.letter(1), NotDelivered, CodeRefused)
	if len(r.waits) != 0 || e.Bundle == "" {
		t.Errorf("waited %v, bundle %q; want none and one", r.waits, e.Bundle)
	}
	if b, err := r.Bundle(e.Bundle); err != nil || b.Tries != 1 || b.Cause != CauseRefused {
		t.Errorf("%+v, %v", b, err)
	}
}

func TestSendWithoutRsync(t *testing.T) {
	t.Parallel()
	r, _, box := remote(t)
	r.SSH.Rsync = "no-rsync-anywhere"
	r.fails(r.letter(1), General, CodeNoRsync)
	only(t, box)
	only(t, r.StatePath("failed-sends"))
}

// TestSendConnectionBreaks: the line breaks, or falls silent, at every stage of the first try. What is seen there then is whole or
// nothing, and the next try completes the send.
func TestSendConnectionBreaks(t *testing.T) {
	t.Parallel()
	r, m, box := remote(t)
	r.SSH.Limit = 2 * time.Second // for a line that is silent
	line := commstest.NewProxy(t, m.Addr())
	r.peers(m.Through(line))
	r.sends(r.letter(1))
	whole := line.Sent()
	const stages = 6
	broken := 0
	for i := 1; i < stages; i++ {
		silent := i == 3
		after := whole * int64(i) / stages
		if silent {
			line.StallAfter(after)
		} else {
			line.CutAfter(after)
		}
		r.Tell = func(said string) {
			broken++
			if err := seenWhole(box); err != nil {
				t.Errorf("broken after %d bytes (%s): %v", after, said, err)
			}
			line.Mend()
		}
		s, err := r.Send(t.Context(), r.letter(i+1))
		if err != nil {
			t.Errorf("broken after %d bytes: %v", after, err)
			line.Mend()
			continue
		}
		if err := sameAs(box, s); err != nil {
			t.Errorf("broken after %d bytes: %v", after, err)
		}
		line.Mend()
	}
	if broken < stages/2 {
		t.Errorf("%d sends of %d were broken: nothing was tried", broken, stages-1)
	}
	messages := slices.DeleteFunc(names(t, box), func(n string) bool { return n[0] == '.' })
	if len(messages) != 2*stages {
		t.Errorf("%d files, want %d: %v", len(messages), 2*stages, messages)
	}
}

// seenWhole tells what is wrong with the messages that are seen in a mailbox.
func seenWhole(box string) error {
	entries, err := os.ReadDir(box)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); name[0] != '.' && strings.HasSuffix(name, ".org") {
			text, err := os.ReadFile(filepath.Join(box, name))
			if err == nil && !strings.HasSuffix(string(text), "\n\n") {
				err = fmt.Errorf("%s is not whole", name)
			}
			if _, aerr := os.Stat(filepath.Join(box, name+".asc")); err == nil {
				err = aerr
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// sameAs tells whether a message lies in a mailbox as it was sent.
func sameAs(box string, s *Sent) error {
	text, err := os.ReadFile(filepath.Join(box, s.Name))
	if err == nil && hashOf(text) != s.SHA256 {
		err = errors.New("other bytes")
	}
	if _, aerr := os.Stat(filepath.Join(box, s.Name+".asc")); err == nil {
		err = aerr
	}
	return err
}

func TestSight(t *testing.T) {
	t.Parallel()
	full := "motd\ntutti-look halt on\r\ntutti-look project present\ntutti-look wide yes\ntutti-look file absent\ntutti-look file.asc ab12\n" +
		"tutti-look highest 4\ntutti-look end\nbye"
	want := sight{halted: true, project: true, wide: true, text: "absent", sig: "ab12", highest: 4}
	if got, err := readSight([]byte(full)); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for i := range strings.Index(full, "tutti-look end") {
		if got, err := readSight([]byte(full[:i])); err == nil {
			t.Fatalf("cut off after %q it is read as %+v", full[:i], got)
		}
	}
	for _, bad := range [][4]string{{"", "x", "t"}, {"x", "", "t"}, {"x", "x", ""}, {"a\nb", "x", "t"}, {"x", "a\nb", "t"}, {"x", "a\x00", "t"}, {"x", "x", "t\n"}} {
		if in, err := lookInput(bad[0], bad[1], bad[2], bad[3]); err == nil {
			t.Errorf("lookInput(%q) = %q", bad, in)
		}
	}
}
