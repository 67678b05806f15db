package exchange

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/comms/protocol"
	"tutti/internal/halt"
	"tutti/internal/test/commstest"
)

// The tests of this file start themselves again as other senders: what to be stands in roleEnv, in which home in homeEnv.
const (
	roleEnv = "COMMS_TEST_ROLE"
	homeEnv = "COMMS_TEST_HOME"
	argEnv  = "COMMS_TEST_ARG"
)

// runRole is the life of such a process.
func runRole(role string) int {
	o := testOffice(os.Getenv(homeEnv))
	p := Project{"notes", filepath.Join(o.Home, "projects", "notes")}
	var err error
	switch role {
	case "writer":
		err = writeMany(o, p, os.Getenv(argEnv))
	case "sender":
		err = sendMany(o, os.Getenv(argEnv))
	case "between": // stops for ever between the two names
		b, oerr := o.MakeMailbox(p)
		if oerr != nil {
			err = oerr
			break
		}
		_, err = b.Deliver(context.Background(), testParcel("dead", 1), func() error {
			fmt.Println("between")
			select {}
		})
	default:
		err = errors.New("no such role")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// testParcel is a message whose signature says which text it is for.
func testParcel(sender string, n int) SignedMessage {
	name, err := protocol.FormatName(start.Add(time.Duration(n)*time.Second), sender, "a-long-conversation")
	if err != nil {
		panic(err)
	}
	text := bytes.Repeat(fmt.Appendf(nil, "%s %d\n", sender, n), 1+n%200)
	return SignedMessage{name, text, []byte("for " + hashOf(text)), nil}
}

// whole tells what is wrong with a message that is seen in a mailbox.
func whole(box, name string) error {
	text, err := os.ReadFile(filepath.Join(box, name))
	if err != nil {
		return err
	}
	sig, err := os.ReadFile(filepath.Join(box, name+".asc"))
	if err != nil {
		return err
	}
	if string(sig) != "for "+hashOf(text) {
		return fmt.Errorf("%s: %d bytes with the signature %q", name, len(text), sig)
	}
	return nil
}

// writeMany delivers messages, and says of each on standard output when it is reported delivered.
func writeMany(o *Service, p Project, arg string) error {
	sender, many, _ := strings.Cut(arg, ":")
	n, err := strconv.Atoi(many)
	if err != nil {
		return err
	}
	b, err := o.MakeMailbox(p)
	if err != nil {
		return err
	}
	defer b.Close()
	for i := range n {
		parcel := testParcel(sender, i)
		if already, err := b.Deliver(context.Background(), parcel, func() error { return o.halted("send") }); err != nil || already {
			return fmt.Errorf("message %d: already=%v, %w", i, already, err)
		}
		fmt.Println(parcel.Name)
	}
	return nil
}

func roleCommand(t *testing.T, home, role, arg string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), roleEnv+"="+role, homeEnv+"="+home, argEnv+"="+arg)
	cmd.Stderr = os.Stderr
	return cmd
}

// A watcher lists a mailbox over and over and keeps what is wrong.
type lister struct {
	stop  chan struct{}
	done  chan struct{}
	looks int
	seen  map[string]bool
	fault error
}

func (r *rig) list(p Project) *lister {
	l := &lister{stop: make(chan struct{}), done: make(chan struct{}), seen: map[string]bool{}}
	b := r.mailbox(p)
	go func() {
		defer close(l.done)
		for l.fault == nil {
			select {
			case <-l.stop:
				return
			default:
			}
			l.looks++
			l.fault = l.look(b)
		}
	}()
	return l
}

func (l *lister) look(b *Mailbox) error {
	got, err := b.List()
	if err != nil {
		return err
	}
	if len(got.Unsigned) > 0 || len(got.Foreign) > 0 {
		return fmt.Errorf("seen: unsigned %v, foreign %v", got.Unsigned, got.Foreign)
	}
	now := map[string]bool{}
	for _, name := range got.Messages {
		if now[name] {
			return fmt.Errorf("%s is listed twice", name)
		}
		now[name] = true
		if l.seen[name] {
			continue
		}
		l.seen[name] = true
		if err := whole(b.Path(), name); err != nil {
			return err
		}
	}
	for name := range l.seen {
		if !now[name] {
			return fmt.Errorf("%s was there and is not", name)
		}
	}
	return nil
}

func (l *lister) end(t *testing.T) {
	t.Helper()
	close(l.stop)
	<-l.done
	if l.fault != nil {
		t.Error(l.fault)
	}
}

// TestManyWriters: 8 processes deliver into one mailbox at once, while it is listed.
func TestManyWriters(t *testing.T) {
	const writers = 8
	each := 200
	if testing.Short() {
		each = 25
	}
	r := newRig(t)
	p := r.project("notes")
	watch := r.list(p)
	var wg sync.WaitGroup
	for w := range writers {
		cmd := roleCommand(t, r.Home, "writer", fmt.Sprintf("writer-%d:%d", w, each))
		wg.Go(func() {
			out, err := cmd.Output()
			if err != nil || bytes.Count(out, []byte("\n")) != each {
				t.Errorf("writer %d: %d messages reported, %v", w, bytes.Count(out, []byte("\n")), err)
			}
		})
	}
	wg.Wait()
	watch.end(t)
	if err := watch.look(r.mailbox(p)); err != nil {
		t.Error(err)
	}
	if len(watch.seen) != writers*each {
		t.Errorf("%d messages, want %d", len(watch.seen), writers*each)
	}
	if got := len(names(t, p.MailboxPath())); got != 2*writers*each {
		t.Errorf("%d files, want two for each message: something is left", got)
	}
	t.Logf("listed %d times meanwhile", watch.looks)
}

// TestKilledWriters: writers are killed at any moment. What is seen is whole, what was reported is there, and a repeated run completes the rest.
func TestKilledWriters(t *testing.T) {
	r := newRig(t)
	p := r.project("notes")
	watch := r.list(p)
	reported := map[string]bool{}
	for round := range 12 {
		sender := fmt.Sprintf("killed-%d", round)
		cmd := roleCommand(t, r.Home, "writer", sender+":100000")
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for after := 1 + rand.IntN(12); after > 0 && lines.Scan(); after-- {
			reported[lines.Text()] = true
		}
		time.Sleep(time.Duration(rand.IntN(4000)) * time.Microsecond) // to die at another point of a delivery each time
		must(t, cmd.Process.Kill())
		for lines.Scan() {
			reported[lines.Text()] = true
		}
		_ = cmd.Wait() // killed
	}
	watch.end(t)
	b := r.mailbox(p)
	must(t, watch.look(b))
	for name := range reported {
		if !watch.seen[name] {
			t.Errorf("%s was reported delivered and is not there", name)
		}
	}
	if len(watch.seen) > len(reported)+12 {
		t.Errorf("%d messages are there, %d were reported, and each of 12 writers can have one more", len(watch.seen), len(reported))
	}
	r.clock = time.Now().Add(2 * leftAfter)
	if _, err := b.Sweep(); err != nil {
		t.Error(err)
	}
	for _, name := range names(t, b.Path()) {
		if strings.HasPrefix(name, ".") {
			t.Errorf("%s is left after the sweep", name)
		}
	}
}

// TestKilledBetweenFiles: a sender dies after it has written only the signature. No reader sees a message, its lock blocks no one, and the
// same send completes it.
func TestKilledBetweenFiles(t *testing.T) {
	r := newRig(t)
	p := r.project("notes")
	cmd := roleCommand(t, r.Home, "between", "")
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "between\n" {
		t.Fatalf("the sender says %q, %v", line, err)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed
	b := r.mailbox(p)
	if l, err := b.List(); err != nil || len(l.Messages) != 0 || len(l.Foreign) != 0 {
		t.Errorf("seen: %+v, %v; want nothing", l, err)
	}
	parcel := testParcel("dead", 1)
	if _, err := os.Stat(filepath.Join(b.Path(), parcel.Name+".asc")); err != nil {
		t.Errorf("it died too early: %v", err)
	}
	if already, err := b.Deliver(t.Context(), parcel, never); already || err != nil {
		t.Errorf("sent again: already=%v, %v", already, err)
	}
	must(t, whole(b.Path(), parcel.Name))
	r.clock = time.Now().Add(leftAfter + time.Minute)
	if n, err := b.Sweep(); n != 1 || err != nil {
		t.Errorf("swept %d, %v; want the text of the dead one", n, err)
	}
	only(t, b.Path(), parcel.Name, parcel.Name+".asc")
}

// TestHaltAtAnyMoment: the switch is raised at random points of sends. A send that reports the halt has left no message that anybody
// sees, one that reports success has left a whole one, and what was signed is kept.
func TestHaltAtAnyMoment(t *testing.T) {
	r := newRig(t)
	r.keys([]commstest.Who{commstest.Alice})
	from, to := r.project("web"), r.project("notes")
	rounds := 16
	if testing.Short() {
		rounds = 6
	}
	halts := 0
	for i := range rounds {
		at := start.Add(time.Duration(i) * time.Second)
		looks, stopAt := 0, rand.IntN(4)
		inner := r.Halt
		r.Halt = func(action string) error {
			if looks == stopAt {
				r.halt()
			}
			looks++
			return inner(action)
		}
		s, err := r.Send(t.Context(), Draft{
			Destination: "alpha.notes", Sender: "web", Project: from, KeepTimestamp: true,
			Text: note{conv: "talk", kind: "request", seq: i + 1, at: at}.text(),
		})
		r.Halt = inner
		name, ferr := protocol.FormatName(at, "web", "talk")
		must(t, ferr)
		_, there := os.Stat(filepath.Join(to.MailboxPath(), name))
		var halted *halt.Error
		var fault *SendError
		switch {
		case err == nil && (there != nil || s.Name != name):
			t.Errorf("round %d: reported %s, and the text is there: %v", i, s.Name, there)
		case err == nil:
		case !errors.As(err, &fault) || fault.Fault != Halted || !errors.As(err, &halted):
			t.Errorf("round %d: %v, want the halt", i, err)
		case there == nil:
			t.Errorf("round %d: halted at look %d, and the message is there", i, stopAt)
		case (fault.Bundle != "") != (stopAt == 1):
			t.Errorf("round %d: halted at look %d, bundle %q", i, stopAt, fault.Bundle)
		default:
			halts++
		}
		if err := r.halted(""); err != nil {
			r.resume()
		}
	}
	if halts == 0 {
		t.Error("no halt was met")
	}
}
