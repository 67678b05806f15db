package exchange

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/comms/protocol"
	"tutti/internal/test/commstest"
)

// A side is a project on a machine, with the office of who works there.
type side struct {
	*rig
	m    *commstest.Machine
	p    Project
	to   string // address of the other side
	conv string
}

func newSide(t *testing.T, m *commstest.Machine, project string, who, other commstest.Who) *side {
	r := newRig(t)
	r.Service.Home, r.Service.Host = m.Home, m.Name+".example"
	r.Halt = testOffice(m.Home).Halt
	m.SetEnv("GNUPGHOME", r.keys([]commstest.Who{who}, other).Home)
	m.Project(project)
	return &side{rig: r, m: m, p: Project{project, filepath.Join(m.Home, "projects", project)}, conv: "build-it"}
}

// knows says who the other side is: where it is, and whose key it has.
func (s *side) knows(o *side, key commstest.Who) {
	s.to = o.m.Name + "." + o.p.Name
	s.peers(o.m.Host())
	must(s.t, os.WriteFile(s.SignersPath(), fmt.Appendf(nil, "[signers]\n%s = [%q]\n", o.p.Slug(), commstest.Fingerprint(s.t, key)), 0o600))
}

// says sends a message, and the other side judges it.
func (s *side) says(o *side, kind string, seq int, more string) *Judgement {
	s.t.Helper()
	for _, r := range []*rig{s.rig, o.rig} {
		r.later(time.Second)
	}
	sent, err := s.Send(s.t.Context(), Draft{
		Destination: s.to, Sender: s.p.Slug(), Project: s.p, Text: note{conv: s.conv, kind: kind, seq: seq, at: s.Now(), more: more}.text(),
	})
	if err != nil {
		s.t.Fatalf("%s %d: %v", kind, seq, err)
	}
	if len(sent.Warnings) != 0 || len(sent.Advice) != 0 {
		s.t.Errorf("%s %d: warnings %v, advice %q", kind, seq, sent.Warnings, sent.Advice)
	}
	j, err := o.Receive(s.t.Context(), filepath.Join(o.p.MailboxPath(), sent.Name), ReceiveOptions{Strict: true})
	if err != nil || j.Word != protocol.Process || !j.Bound || len(j.Warnings) != 0 || j.SHA256 != sent.SHA256 {
		s.t.Errorf("%s %d is received as %+v, %v", kind, seq, j, err)
	}
	return j
}

func (s *side) awaits(want protocol.Side) {
	s.t.Helper()
	got, err := s.Thread(s.t.Context(), s.p, s.conv)
	if err != nil || got.State.Awaited != want || got.State.OneSided || len(got.State.Warnings) != 0 {
		s.t.Errorf("on %s: %+v, %v; want it to wait for the %s", s.m.Name, got.State, err, want)
	}
}

// twoSides are two projects on two machines that know each other, and what makes sure of whom both await.
func twoSides(t *testing.T, second string) (web, lab *side, both func(want protocol.Side)) {
	t.Helper()
	web = newSide(t, commstest.NewMachine(t, "alpha", commstest.MachineOptions{}), "web", commstest.Alice, commstest.Bob)
	lab = newSide(t, commstest.NewMachine(t, "beta", commstest.MachineOptions{}), second, commstest.Bob, commstest.Alice)
	web.knows(lab, commstest.Bob)
	lab.knows(web, commstest.Alice)
	return web, lab, func(want protocol.Side) {
		t.Helper()
		web.awaits(want)
		lab.awaits(want)
	}
}

// TestLifeCycle: two projects on two machines, over real ssh, with keys of two people.
func TestLifeCycle(t *testing.T) {
	t.Parallel()
	web, lab, both := twoSides(t, "Data.Lab")
	web.says(lab, "request", 1, "")
	both(protocol.Receiver)
	lab.says(web, "pushback", 2, "")
	both(protocol.Originator)
	web.says(lab, "request", 3, "#+PUSHBACK_RESPONSE: revise\n")
	lab.says(web, "query", 4, "")
	both(protocol.Originator)
	web.says(lab, "progress", 5, "#+IN_REPLY_TO: 4\n")
	lab.says(web, "complete", 6, "")
	both(protocol.Originator)
	web.says(lab, "release", 7, "#+RELEASE_STATUS: complete\n")
	both(protocol.NoSide)
	for _, s := range []*side{web, lab} {
		reports, err := s.Archive(t.Context(), s.p, nil, false)
		if err != nil || len(reports) != 1 || reports[0].Err != nil || len(names(t, s.p.MailboxPath())) != 0 {
			t.Errorf("archive on %s: %+v, %v", s.m.Name, reports, err)
		}
		if got, err := s.Thread(t.Context(), s.p, s.conv); err != nil || len(got.Messages) != 7 {
			t.Errorf("after that: %d messages, %v; want 7", len(got.Messages), err)
		}
	}
}

// sendMany is the life of a process that sends to another machine until it is killed. It says on standard output what was reported sent.
func sendMany(o *Service, arg string) error {
	lane, first, _ := strings.Cut(arg, ":")
	n, err := strconv.Atoi(first)
	if err != nil {
		return err
	}
	o.SSH = commstest.NewClient()
	for ; ; n++ {
		s, err := o.Send(context.Background(), Draft{
			Destination: "beta.notes", Sender: lane, Project: Project{Name: lane}, KeepTimestamp: true,
			Text: note{
				conv: "talk-" + lane, kind: "request", seq: n, at: start.Add(time.Duration(n) * time.Second), body: strings.Repeat("text\n", n%3000),
			}.text(),
		})
		if err != nil {
			return err
		}
		fmt.Println(s.Name, s.SHA256)
	}
}

// TestKilledSenders: senders to another machine are killed at any moment. What was reported sent is there, once and whole; nothing is seen in
// part; and what was kept is sent later.
func TestKilledSenders(t *testing.T) {
	lanes, kills := 4, 2
	if many, err := strconv.Atoi(os.Getenv("TUTTI_KILLS")); err == nil {
		kills = (many + lanes - 1) / lanes
	}
	if os.Getenv("TUTTI_SOAK") != "" {
		lanes, kills = 8, 125
	}
	r, _, box := remote(t)
	k := commstest.NewKeyring(t, []commstest.Who{commstest.Alice})
	var mu sync.Mutex
	reported := map[string]string{}
	var wg sync.WaitGroup
	// run is the life of one sender: it is killed after a while, or with 0 when it has said that a message is sent.
	run := func(lane, number int, after time.Duration) {
		cmd := roleCommand(t, r.Home, "sender", fmt.Sprintf("lane-%d:%d", lane, 1+1000*number))
		cmd.Env = append(cmd.Env, "GNUPGHOME="+k.Home)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Error(err)
			return
		}
		if after > 0 {
			defer time.AfterFunc(after, func() { _ = cmd.Process.Kill() }).Stop()
		}
		for lines := bufio.NewScanner(out); lines.Scan(); {
			name, sum, _ := strings.Cut(lines.Text(), " ")
			mu.Lock()
			reported[name] = sum
			mu.Unlock()
			if after == 0 {
				_ = cmd.Process.Kill()
			}
		}
		_ = cmd.Wait() // killed
	}
	// How long a send takes here and now says when to kill, so that some get through on a machine that is slow or busy.
	begun := time.Now()
	for lane := range lanes {
		wg.Go(func() { run(lane, kills, 0) })
	}
	wg.Wait()
	window := min(max(2*time.Since(begun), 500*time.Millisecond), 4*time.Second)
	for lane := range lanes {
		wg.Go(func() {
			for kill := range kills {
				run(lane, kill, 1+rand.N(window))
			}
		})
	}
	wg.Wait()
	check := func() map[string]bool {
		t.Helper()
		must(t, os.MkdirAll(box, 0o700))
		if err := seenWhole(box); err != nil {
			t.Error(err)
		}
		seen := map[string]bool{}
		for _, name := range names(t, box) {
			if name[0] != '.' && strings.HasSuffix(name, ".org") {
				seen[name] = true
			}
		}
		for name, sum := range reported {
			if data, err := os.ReadFile(filepath.Join(box, name)); err != nil || hashOf(data) != sum {
				t.Errorf("%s was reported sent, and is not there as it was: %v", name, err)
			}
		}
		return seen
	}
	if len(reported) < lanes {
		t.Errorf("%d messages were reported sent, want %d at least", len(reported), lanes)
	}
	before := check()
	bundles, errs := r.Bundles()
	if len(errs) > 0 {
		t.Error(errs)
	}
	waiting := make(chan Bundle)
	for range lanes {
		wg.Go(func() {
			for b := range waiting {
				s, err := r.Resend(context.Background(), b.ID, 0)
				if err != nil {
					t.Errorf("%s: %v", b.ID, err)
					continue
				}
				mu.Lock()
				before[s.Name] = true
				mu.Unlock()
			}
		})
	}
	for _, b := range bundles {
		waiting <- b
	}
	close(waiting)
	wg.Wait()
	after := check()
	if len(after) != len(before) {
		t.Errorf("%d messages there, want %d", len(after), len(before))
	}
	hidden := slices.DeleteFunc(names(t, r.StatePath("failed-sends")), func(n string) bool { return n[0] == '.' })
	if len(hidden) != 0 {
		t.Errorf("left: %v", hidden)
	}
	// Each of them is signed.
	ring := r.GPG
	for name := range after {
		text := []byte(content(t, filepath.Join(box, name)))
		sig := []byte(content(t, filepath.Join(box, name+".asc")))
		if v, err := ring.Verify(t.Context(), sig, text); err != nil || !v.Valid || !bytes.Contains(text, []byte("#+TO: beta.notes")) {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
	t.Logf("%d kills within %v: %d reported, %d kept and sent later, %d there", lanes*(kills+1), window.Round(time.Millisecond), len(reported), len(bundles), len(after))
}
