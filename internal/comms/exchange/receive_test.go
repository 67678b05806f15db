package exchange

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/comms/protocol"
	"tutti/internal/core/render"
	"tutti/internal/core/termsafe"
	"tutti/internal/halt"
	"tutti/internal/test/commstest"
)

// judge receives a message and wants a decision.
func (r *rig) judge(p Project, name string, want protocol.Word, code string, opt ...ReceiveOptions) *Judgement {
	r.t.Helper()
	o := ReceiveOptions{}
	if len(opt) > 0 {
		o = opt[0]
	}
	j, err := r.Receive(r.t.Context(), filepath.Join(p.MailboxPath(), name), o)
	if err != nil || j.Word != want || j.Code != code {
		r.t.Errorf("%s: %v %v (%v), %v; want %s %s", name, j.Word, j.Code, j.Reason, err, want, code)
	}
	return j
}

func TestReceive(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.keys([]commstest.Who{commstest.Alice}, commstest.Revoked, commstest.Expired)
	p := r.project("notes")
	at := func(n int) time.Time { return start.Add(time.Duration(n) * time.Second) }

	good := r.put(p, "web", note{conv: "good", kind: "request", seq: 1}, commstest.Alice)
	j := r.judge(p, good, protocol.Process, protocol.CodeOK)
	if !slices.Equal(j.Warnings, []string{"signer_unbound"}) || j.SeenBefore || j.Sender != "web" || j.Project != p ||
		j.Signature.Fingerprint != commstest.Fingerprint(t, commstest.Alice) {
		t.Errorf("%+v", j)
	}
	if j := r.judge(p, good, protocol.Process, protocol.CodeOK); !j.SeenBefore {
		t.Error("the second time: not seen before")
	}

	for who, code := range map[commstest.Who]string{
		"": protocol.CodeSignatureMissing, commstest.Bob: protocol.CodeSignatureUnknownKey,
		commstest.Revoked: protocol.CodeSignatureRevoked, commstest.Expired: protocol.CodeSignatureExpired,
	} {
		name := r.put(p, "web", note{conv: "bad-" + string(who) + "x", kind: "request", seq: 1}, who)
		if j := r.judge(p, name, protocol.Reject, code); !strings.HasPrefix(j.Reason, "unsigned/unverified message") {
			t.Errorf("%q: reason %q", who, j.Reason)
		}
	}
	r.judge(p, "20260427T100000Z-from-web-none.org", protocol.Reject, protocol.CodeNotFound)
	r.judge(Project{"none", filepath.Join(r.Home, "none")}, good, protocol.Reject, protocol.CodeNotFound)
	r.judge(p, good+"/"+good, protocol.Reject, protocol.CodeNotFound)
	must(t, os.Symlink(good, filepath.Join(p.MailboxPath(), "20260427T100000Z-from-web-link.org")))
	r.judge(p, "20260427T100000Z-from-web-link.org", protocol.Reject, protocol.CodeNotRegular)
	must(t, os.Mkdir(filepath.Join(p.MailboxPath(), "20260427T100000Z-from-web-folder.org"), 0o700))
	r.judge(p, "20260427T100000Z-from-web-folder.org", protocol.Reject, protocol.CodeNotRegular)
	large := r.put(p, "web", note{conv: "large", kind: "request", seq: 1, body: strings.Repeat("x", 1<<20)}, commstest.Alice)
	r.judge(p, large, protocol.Reject, protocol.CodeTooLarge)

	changed := r.put(p, "web", note{conv: "changed", kind: "request", seq: 1}, commstest.Alice)
	must(t, os.WriteFile(filepath.Join(p.MailboxPath(), changed), note{conv: "changed", kind: "request", seq: 1, body: "more"}.text(), 0o600))
	r.judge(p, changed, protocol.Reject, protocol.CodeSignatureInvalid)
	linked := r.put(p, "web", note{conv: "linked", kind: "request", seq: 1}, commstest.Alice)
	asc := filepath.Join(p.MailboxPath(), linked+".asc")
	must(t, os.Rename(asc, asc+"x"))
	must(t, os.Symlink(asc+"x", asc))
	r.judge(p, linked, protocol.Reject, protocol.CodeSignatureInvalid)

	other := r.put(p, "web", note{conv: "other", kind: "request", seq: 1, more: "#+TO: alpha.web\n"}, commstest.Alice)
	r.judge(p, other, protocol.Reject, protocol.CodeWrongRecipient)
	mine := r.put(p, "web", note{conv: "mine", kind: "request", seq: 1, more: "#+TO: alpha.notes\n#+FROM: beta.web\n"}, commstest.Alice)
	r.judge(p, mine, protocol.Process, protocol.CodeOK)

	// Nothing of a reject is remembered, and only what was verified is in the ledger.
	lines, err := r.Ledger(p).j.read()
	must(t, err)
	if len(lines) != 2 {
		t.Errorf("%d lines in the ledger, want good and mine:\n%s", len(lines), content(t, r.Ledger(p).Path()))
	}
	fixed := r.put(p, "web", note{conv: "bad-x", kind: "request", seq: 1, at: at(0)}, commstest.Alice)
	r.judge(p, fixed, protocol.Process, protocol.CodeOK)
}

func TestReceiveHalted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.project("notes")
	name := r.put(p, "web", note{conv: "q", kind: "request", seq: 1}, "")
	r.halt()
	var halted *halt.Error
	j, err := r.Receive(t.Context(), filepath.Join(p.MailboxPath(), name), ReceiveOptions{Claim: "s"})
	if !errors.As(err, &halted) || j.Word != protocol.Halted || j.Exit() != 5 {
		t.Errorf("%+v, %v; want halted", j, err)
	}
	only(t, r.StatePath("ledger"))
	only(t, p.MailboxPath(), name)
}

func TestReceiveDuplicates(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.keys([]commstest.Who{commstest.Alice})
	p := r.project("notes")
	n := note{conv: "q", kind: "request", seq: 1}
	const first, second, third = "20260427T100000Z-from-web-q.org", "20260427T100005Z-from-web-q.org", "20260427T100010Z-from-web-q.org"
	// A copy that is refused itself is none: else both would be lost.
	r.lay(p, first, n.text(), "")
	r.lay(p, second, n.text(), commstest.Alice)
	r.lay(p, third, n.text(), commstest.Alice)
	if j := r.judge(p, third, protocol.Dedup, protocol.CodeDuplicate); j.DuplicateOf != second {
		t.Errorf("a copy of %s, want %s", j.DuplicateOf, second)
	}
	r.judge(p, second, protocol.Process, protocol.CodeOK)
	r.judge(p, second, protocol.Process, protocol.CodeOK)
	r.judge(p, first, protocol.Reject, protocol.CodeSignatureMissing)
	r.judge(p, third, protocol.Process, protocol.CodeOK, ReceiveOptions{NoDedup: true, NoLedger: true})
	r.judge(p, third, protocol.Dedup, protocol.CodeDuplicate)

	clash := r.put(p, "web", note{conv: "q", kind: "request", seq: 1, at: start.Add(time.Minute), body: "else"}, commstest.Alice)
	if j := r.judge(p, clash, protocol.Process, protocol.CodeOK); !slices.Contains(j.Warnings, "sequence_collision") ||
		!slices.Contains(j.CollidesWith, second) {
		t.Errorf("another text: %+v", j.Decision)
	}
}

// TestReceiveAfterArchiving: a message that was put away comes again, under its own name and under another.
func TestReceiveAfterArchiving(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprint("ledger lost=", lost), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.keys([]commstest.Who{commstest.Alice})
			p := r.project("notes")
			name := r.put(p, "web", note{conv: "q", kind: "request", seq: 1}, commstest.Alice)
			end := r.put(p, "web", note{conv: "q", kind: "release", seq: 3, at: start.Add(time.Minute), more: "#+RELEASE_STATUS: complete\n"}, commstest.Alice)
			r.judge(p, name, protocol.Process, protocol.CodeOK)
			r.judge(p, end, protocol.Process, protocol.CodeOK)
			reports, err := r.Archive(t.Context(), p, nil, false)
			if err != nil || len(reports) != 1 || len(reports[0].Moved) != 2 || reports[0].Err != nil {
				t.Fatalf("archived: %+v, %v", reports, err)
			}
			only(t, p.MailboxPath())
			if lost {
				must(t, os.Remove(r.Ledger(p).Path()))
			}
			r.put(p, "web", note{conv: "q", kind: "request", seq: 1}, commstest.Alice)
			j := r.judge(p, name, protocol.Dedup, protocol.CodeDuplicate)
			if j.DuplicateOf != "q-20260427T100000Z-from-web.org" {
				t.Errorf("a copy of %q", j.DuplicateOf)
			}
			r.lay(p, "20260427T100010Z-from-web-q.org", note{conv: "q", kind: "request", seq: 1}.text(), commstest.Alice)
			r.judge(p, "20260427T100010Z-from-web-q.org", protocol.Dedup, protocol.CodeDuplicate)
		})
	}
}

func TestReceiveRebuildsTheLedger(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.keys([]commstest.Who{commstest.Alice})
	p := r.project("notes")
	one := r.put(p, "web", note{conv: "one", kind: "request", seq: 1}, commstest.Alice)
	r.put(p, "web", note{conv: "two", kind: "request", seq: 1}, "")
	three := r.put(p, "web", note{conv: "three", kind: "request", seq: 1}, commstest.Alice)
	r.judge(p, three, protocol.Process, protocol.CodeOK)
	if got, err := r.Ledger(p).Entries("one"); err != nil || len(got) != 1 || !got[0].Rebuilt || got[0].Name != one {
		t.Errorf("one: %+v, %v", got, err)
	}
	if got, err := r.Ledger(p).Entries("two"); err != nil || len(got) != 0 {
		t.Errorf("unsigned, and in the ledger: %+v, %v", got, err)
	}
	if lines, err := r.Ledger(p).j.read(); err != nil || len(lines) != 3 {
		t.Errorf("%d lines, %v; want that it was rebuilt, one and three", len(lines), err)
	}
	// Whether it was acted on is not known.
	if j := r.judge(p, one, protocol.Process, protocol.CodeOK); j.SeenBefore {
		t.Error("a line that was rebuilt says that it was seen")
	}
	if j := r.judge(p, one, protocol.Process, protocol.CodeOK); !j.SeenBefore {
		t.Error("the second time: not seen before")
	}
}

func TestReceiveClaims(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.keys([]commstest.Who{commstest.Alice})
	p := r.project("notes")
	name := r.put(p, "web", note{conv: "q", kind: "request", seq: 1}, commstest.Alice)
	r.judge(p, name, protocol.Process, protocol.CodeOK, ReceiveOptions{Claim: "s1"})
	j := r.judge(p, name, protocol.Dedup, protocol.CodeClaimed, ReceiveOptions{Claim: "s2"})
	if j.Holder != "s1" || j.Exit() != 1 || !strings.Contains(string(render.JSON(j.View())), `"claimed_by":"s1"`) {
		t.Errorf("%+v", j)
	}
	r.judge(p, name, protocol.Process, protocol.CodeOK, ReceiveOptions{Claim: "s1"})
	r.later(ClaimTime + time.Second)
	if j := r.judge(p, name, protocol.Process, protocol.CodeOK, ReceiveOptions{Claim: "s2"}); !j.SeenBefore {
		t.Error("after the lease: not seen before")
	}
}

func TestReceiveSuggestsOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.keys([]commstest.Who{commstest.Alice})
	r.Tools = []string{"mcp:calendar"}
	p := r.project("notes")
	name := r.put(p, "web", note{conv: "q", kind: "request", seq: 4, more: "#+REQUIRES_TOOLS: sh, mcp:calendar, no-such-tool-anywhere\n"}, commstest.Alice)
	quiet := ReceiveOptions{NoLedger: true}
	for _, opt := range []ReceiveOptions{quiet, quiet, {}} {
		j := r.judge(p, name, protocol.Ask, protocol.CodeToolMissing, opt)
		if j.Reply == nil || j.Reply.Sequence != 5 || !slices.Equal(j.MissingTools, []string{"no-such-tool-anywhere"}) {
			t.Errorf("%+v: %+v, missing %v", opt, j.Reply, j.MissingTools)
		}
	}
	if j := r.judge(p, name, protocol.Ask, protocol.CodeToolMissing); j.Reply != nil || !slices.Contains(j.Warnings, "already_asked") {
		t.Errorf("the second time: %+v, %v", j.Reply, j.Warnings)
	}
	if _, err := os.Stat(r.Ledger(p).Path()); err == nil {
		t.Error("a query is in the ledger")
	}
}

func TestReceiveBySigners(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.keys([]commstest.Who{commstest.Alice, commstest.Bob})
	p := r.project("notes")
	must(t, os.MkdirAll(filepath.Dir(r.SignersPath()), 0o700))
	hers := r.put(p, "web", note{conv: "hers", kind: "request", seq: 1}, commstest.Alice)
	his := r.put(p, "web", note{conv: "his", kind: "request", seq: 1}, commstest.Bob)
	must(t, os.WriteFile(r.SignersPath(), fmt.Appendf(nil, "[signers]\nweb = [%q]\n", commstest.Fingerprint(t, commstest.Alice)), 0o600))
	if j := r.judge(p, hers, protocol.Process, protocol.CodeOK); !j.Bound || len(j.Warnings) != 0 {
		t.Errorf("%+v", j.Decision)
	}
	r.judge(p, his, protocol.Reject, protocol.CodeSignerNotAllowed)
	for _, broken := range []func() error{
		func() error { return os.WriteFile(r.SignersPath(), []byte("[signers"), 0o600) },
		func() error { return errors.Join(os.Remove(r.SignersPath()), os.Symlink("nowhere", r.SignersPath())) },
		func() error { return errors.Join(os.Remove(r.SignersPath()), os.Mkdir(r.SignersPath(), 0o700)) },
	} {
		must(t, broken())
		r.judge(p, hers, protocol.Reject, protocol.CodeSignerNotAllowed)
	}
}

func TestReceiveWithoutGPG(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.GPG.Path = filepath.Join(r.Home, "no-gpg")
	p := r.project("notes")
	name := "20260427T100000Z-from-web-q.org"
	r.lay(p, name, note{conv: "q", kind: "request", seq: 1}.text(), "")
	must(t, os.WriteFile(filepath.Join(p.MailboxPath(), name+".asc"), []byte("x"), 0o600))
	r.judge(p, name, protocol.Reject, protocol.CodeNoVerifier)
	r.judge(p, name, protocol.Process, protocol.CodeOK, ReceiveOptions{NoVerify: true})
	if !r.Ledger(p).Lost() {
		t.Error("an unverified message is in the ledger")
	}
}

func TestReceiveLedgerNotWritable(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.keys([]commstest.Who{commstest.Alice})
	p := r.project("notes")
	name := r.put(p, "web", note{conv: "q", kind: "request", seq: 1}, commstest.Alice)
	must(t, os.MkdirAll(r.Ledger(p).Path(), 0o700)) // a folder in its place
	if j := r.judge(p, name, protocol.Process, protocol.CodeOK); !slices.Contains(j.Warnings, "ledger_unwritable") || len(j.Notes) == 0 {
		t.Errorf("%v, %v", j.Warnings, j.Notes)
	}
	must(t, os.MkdirAll(filepath.Dir(r.SignersPath()), 0o700))
	must(t, os.WriteFile(r.SignersPath(), fmt.Appendf(nil, "[signers]\nweb = [%q]\n", commstest.Fingerprint(t, commstest.Alice)), 0o600))
	j, err := r.Receive(t.Context(), filepath.Join(p.MailboxPath(), name), ReceiveOptions{Strict: true})
	if j == nil || j.Word != protocol.Process || !errors.Is(err, ErrLedger) {
		t.Errorf("strict: %+v, %v; want process, and ErrLedger", j, err)
	}
}

func TestJudgementJSON(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.keys([]commstest.Who{commstest.Alice})
	p := r.project("notes")
	name := r.put(p, "web", note{conv: "q", kind: "release", seq: 3, more: "#+RELEASE_STATUS: complete\n#+FROM: beta.web\n"}, commstest.Alice)
	want := []string{
		"decision", "exit", "reason_code", "reason", "file", "name", "project", "sha256", "title", "conversation_id", "message_type",
		"sequence", "timestamp", "timestamp_utc", "protocol_version", "release_status", "sender", "from", "to", "signature",
		"missing_tools", "collides_with", "duplicate_of", "seen_before", "suggested_reply", "warnings",
	}
	for _, name := range []string{name, "none.org"} {
		j, err := r.Receive(t.Context(), filepath.Join(p.MailboxPath(), name), ReceiveOptions{})
		must(t, err)
		var got map[string]any
		if err := json.Unmarshal(render.JSON(j.View()), &got); err != nil || len(got) != len(want) {
			t.Fatalf("%v: %s", err, render.JSON(j.View()))
		}
		for _, key := range want {
			if _, ok := got[key]; !ok {
				t.Errorf("%s: no %s in %s", name, key, render.JSON(j.View()))
			}
		}
		if name == "none.org" {
			if got["decision"] != "reject" || got["exit"] != 3.0 || got["sequence"] != nil || got["title"] != nil {
				t.Errorf("%s", render.JSON(j.View()))
			}
			continue
		}
		sig := got["signature"].(map[string]any)
		if got["timestamp_utc"] != "2026-04-27T10:00:00Z" || got["release_status"] != "complete" || got["from"] != "beta.web" || got["to"] != nil ||
			got["sequence"] != 3.0 || sig["valid"] != true || sig["bound"] != false || got["suggested_reply"] != nil {
			t.Errorf("%s", render.JSON(j.View()))
		}
	}
}

// TestJSONHidesNothing: terminal control characters are escaped in JSON too, and remain part of the text.
func TestJSONHidesNothing(t *testing.T) {
	t.Parallel()
	const title = "a\u009b31mb\u202ec\x7fd\u00e9\U000e0041"
	for _, raw := range [][]byte{
		render.JSON((&Judgement{Decision: protocol.Decision{Message: protocol.Message{Title: title}}}).View()),
		render.JSON((&Sent{Advice: []string{title}}).View()),
		render.JSON((&SendError{Err: errors.New(title)}).View()),
	} {
		if i := strings.IndexFunc(string(raw), termsafe.Unsafe); i >= 0 {
			t.Errorf("raw at byte %d: %q", i, raw)
		}
		var got struct {
			Title, Reason string
			Advice        []string
		}
		if err := json.Unmarshal(raw, &got); err != nil || got.Title+got.Reason+strings.Join(got.Advice, "") != title {
			t.Errorf("%+q, %v; want the text %+q", raw, err, title)
		}
	}
}

// TestReceiveRebuildsOnce: a mailbox in which nothing is good is not looked through again for each message.
func TestReceiveRebuildsOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.keys(nil, commstest.Alice)
	p := r.project("notes")
	one := r.put(p, "web", note{conv: "one", kind: "request", seq: 1}, commstest.Bob)
	two := r.put(p, "web", note{conv: "two", kind: "request", seq: 1}, "")
	for range 2 {
		r.judge(p, one, protocol.Reject, protocol.CodeSignatureUnknownKey)
		r.judge(p, two, protocol.Reject, protocol.CodeSignatureMissing)
	}
	if lines, err := r.Ledger(p).j.read(); err != nil || len(lines) != 1 {
		t.Errorf("%d lines, %v; want one that says that it was rebuilt", len(lines), err)
	}
}

// TestReceiveOutsideProject: receive works from any folder.
func TestReceiveOutsideProject(t *testing.T) {
	r := newRig(t)
	r.keys([]commstest.Who{commstest.Alice})
	here := r.project("here")
	t.Chdir(here.Path)
	must(t, os.MkdirAll(filepath.Join(here.Path, protocol.ArchiveFolder), 0o700))
	text := note{conv: "q", kind: "request", seq: 1}.text()
	must(t, os.WriteFile(filepath.Join(here.Path, protocol.ArchiveFolder, "q-20260427T100000Z-from-web.org"), text, 0o600))
	folder := filepath.Join(r.Home, "elsewhere")
	must(t, os.Mkdir(folder, 0o700))
	const name = "20260427T100000Z-from-web-q.org"
	must(t, os.WriteFile(filepath.Join(folder, name), text, 0o600))
	must(t, os.WriteFile(filepath.Join(folder, name+".asc"), commstest.Sign(t, commstest.Alice, text), 0o600))
	j, err := r.Receive(t.Context(), filepath.Join(folder, name), ReceiveOptions{})
	if err != nil || j.Word != protocol.Process || j.Project.Path != "" {
		t.Errorf("%+v, %v; want process, for no project", j, err)
	}
}
