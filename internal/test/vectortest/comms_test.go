package vectortest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/protocol"
	"tutti/internal/halt"
	"tutti/internal/platform/ssh"
	"tutti/internal/test/commstest"
	"tutti/internal/test/progfile"
)

// commsOffice is an office in a home of its own, with the projects alpha and notes.
func commsOffice(t *testing.T) (o *exchange.Service, alpha, notes exchange.Project) {
	t.Helper()
	layHalt(t, "no HALT entry")
	o = &exchange.Service{Home: os.Getenv("HOME"), Host: "here"}
	for _, name := range []string{"alpha", "notes"} {
		if err := os.MkdirAll(filepath.Join(o.Home, "projects", name, ".ai"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if alpha, err = o.Project("alpha"); err == nil {
		notes, err = o.Project("notes")
	}
	if err != nil {
		t.Fatal(err)
	}
	return o, alpha, notes
}

// commsLetter is one from alpha, written now. The signature is not what is tested.
func commsLetter(from exchange.Project, to, body string) exchange.Draft {
	text := "#+TITLE: T\n#+CONVERSATION_ID: test-conv\n#+MESSAGE_TYPE: request\n#+SEQUENCE: 1\n#+TIMESTAMP: " +
		protocol.FormatTime(time.Date(2026, 4, 27, 5, 0, 0, 0, time.FixedZone("", -5*3600))) + "\n#+PROTOCOL_VERSION: 5\n\n" + body + "\n"
	return exchange.Draft{Destination: to, Sender: from.Name, Project: from, Text: []byte(text), KeepTimestamp: true, NoSign: true, Retries: 3}
}

// nameTaken sends two messages of one second.
func nameTaken(t *testing.T, exit int, overwritten bool) {
	t.Helper()
	o, alpha, _ := commsOffice(t)
	first, err := o.Send(t.Context(), commsLetter(alpha, "here.notes", "one"))
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(first.Path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = o.Send(t.Context(), commsLetter(alpha, "here.notes", "two"))
	if got := faultOf(err); got != exit {
		t.Errorf("got %d (%v), want %d", got, err, exit)
	}
	if after, err := os.ReadFile(first.Path); err != nil || (string(after) != string(before)) != overwritten {
		t.Errorf("overwritten: the file holds %q, %v", after, err)
	}
}

// faultOf is the exit status of a send.
func faultOf(err error) int {
	var e *exchange.SendError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return int(e.Fault)
	}
	return protocol.ExitInternal
}

// linkOut asks for an artifact that is a link out of the folder.
func linkOut(t *testing.T) {
	t.Helper()
	o, _, notes := commsOffice(t)
	b, err := o.MakeMailbox(notes)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	folder := filepath.Join(b.Path(), protocol.ArtifactFolder)
	if err := errors.Join(os.Mkdir(folder, 0o700), os.Symlink("/etc/passwd", filepath.Join(folder, "link"))); err != nil {
		t.Fatal(err)
	}
	if path, err := b.Artifact("artifacts/link"); err == nil {
		t.Errorf("got %q, want it refused", path)
	}
}

// commsHalted runs what a halt does to a send and to the receiving of a message.
func commsHalted(t *testing.T, c kase) {
	var v struct {
		ID, St, Component, When string
		Expect                  struct {
			Exit            int
			Delivered       []string
			OrgDelivered    bool   `json:"org_delivered"`
			BundleKept      bool   `json:"bundle_kept"`
			FileUntouched   bool   `json:"file_untouched"`
			LedgerUntouched bool   `json:"ledger_untouched"`
			Stderr          string `json:"stderr_contains"`
		}
	}
	c.into(t, &v)
	o, alpha, notes := commsOffice(t)
	raise := func() {
		if _, _, err := halt.Raise("a test"); err != nil {
			t.Error(err)
		}
	}
	to, looks := "here.notes", 0
	switch {
	case v.Component == "recv":
		s, serr := o.Send(t.Context(), commsLetter(alpha, to, "one"))
		if serr != nil {
			t.Fatal(serr)
		}
		raise()
		j, rerr := o.Receive(t.Context(), s.Path, exchange.ReceiveOptions{})
		if j.Exit() != v.Expect.Exit {
			t.Errorf("got %d, want %d", j.Exit(), v.Expect.Exit)
		}
		if _, serr := os.Stat(s.Path); serr != nil || !v.Expect.FileUntouched {
			t.Errorf("the file: %v", serr)
		}
		if !o.Ledger(notes).Lost() || !v.Expect.LedgerUntouched {
			t.Error("there is a ledger")
		}
		checkBanner(t, rerr, v.Expect.Stderr)
		return
	case v.When == "start":
		raise()
	case v.When == "after .asc, before .org":
		o.Halt = func(action string) error {
			if looks++; looks == 2 {
				raise()
			}
			return halt.Check(action)
		}
	case v.When == "during back-off":
		to = "beta.notes"
		unreachable(t, o)
		o.Pause = func(context.Context, time.Duration) error { raise(); return nil }
	default:
		t.Fatalf("no test knows how to run %q when %q", v.Component, v.When)
	}
	l := commsLetter(alpha, to, "one")
	l.NoSign, l.Key = false, "alice"
	o.GPG = commstest.NewKeyring(t, []commstest.Who{commstest.Alice}).Program()
	_, err := o.Send(t.Context(), l)
	if got := faultOf(err); got != v.Expect.Exit {
		t.Errorf("got %d (%v), want %d", got, err, v.Expect.Exit)
	}
	checkBanner(t, err, v.Expect.Stderr)
	var there []string
	entries, _ := os.ReadDir(notes.MailboxPath())
	for _, e := range entries {
		there = append(there, filepath.Ext(e.Name()))
	}
	if !slices.Equal(there, v.Expect.Delivered) && v.Expect.Delivered != nil || slices.Contains(there, ".org") != v.Expect.OrgDelivered {
		t.Errorf("delivered %q, want %q", there, v.Expect.Delivered)
	}
	if kept := o.BundleCount() == 1; kept != v.Expect.BundleKept {
		t.Errorf("bundle kept: %v, want %v", kept, v.Expect.BundleKept)
	}
}

func checkBanner(t *testing.T, err error, want string) {
	t.Helper()
	var halted *halt.Error
	if !errors.As(err, &halted) || !strings.Contains(halted.Banner(), want) {
		t.Errorf("got %v, want a halt that says %q", err, want)
	}
}

// unreachable gives the office a machine beta to which no network leads.
func unreachable(t *testing.T, o *exchange.Service) {
	t.Helper()
	ssh255 := filepath.Join(o.Home, "ssh")
	err := errors.Join(
		progfile.Write(ssh255, []byte("#!/bin/sh\nexit 255\n"), 0o700),
		os.MkdirAll(filepath.Dir(o.PeersPath()), 0o700),
		os.WriteFile(o.PeersPath(), []byte("[peers.beta]\nhost = \"beta.example\"\n"), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	o.SSH = &ssh.Client{SSH: ssh255, Rsync: "true"}
}
