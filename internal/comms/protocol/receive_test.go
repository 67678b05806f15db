package protocol

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tutti/internal/core/orgfile"
)

var (
	noon    = time.Date(2026, 4, 27, 12, 0, 30, 0, time.UTC)
	goodKey = strings.Repeat("A", 40)
	good    = Signature{Valid: true, Fingerprint: goodKey}
)

const aName = "20260427T120000Z-from-data-lab-prep-work.org"

// aMessage is a message that is accepted, with lines changed, added, or, when the value is "-", left out.
func aMessage(changes ...string) []byte {
	fields := []string{
		"TITLE: T", "CONVERSATION_ID: prep-work", "MESSAGE_TYPE: request", "SEQUENCE: 2", "TIMESTAMP: 2026-04-27T12:00:00Z",
		"PROTOCOL_VERSION: 5",
	}
	for _, c := range changes {
		key, value, _ := strings.Cut(c, ": ")
		at := slices.IndexFunc(fields, func(f string) bool { return strings.HasPrefix(f, key+":") })
		switch {
		case at < 0:
			fields = append(fields, c)
		case value == "-":
			fields = slices.Delete(fields, at, at+1)
		default:
			fields[at] = c
		}
	}
	return []byte("#+" + strings.Join(fields, "\n#+") + "\n\nBody.\n")
}

func someRules() Rules {
	return Rules{
		Now: noon, Me: Address{"here", "notes"}, Machines: []string{"here.example", "localhost"},
		Verify: func() Signature { return good },
		Tool:   func(name string) bool { return name == "git" },
	}
}

func TestReceive(t *testing.T) {
	t.Parallel()
	web, err := ParseSigners([]byte(`signers = {data-lab = ["` + strings.ToLower(goodKey) + `"]}`))
	if err != nil {
		t.Fatal(err)
	}
	strict := func(r *Rules) { r.Strict = true }
	for _, c := range []struct {
		name    string
		changes []string
		file    string
		rules   func(*Rules)
		want    string // word, code, warnings
	}{
		{name: "plain", want: "process ok signer_unbound"},
		{name: "short name", file: "20260427T120000Z-from-data-lab-cold-start.org", changes: []string{"CONVERSATION_ID: cold-start-again"}, want: "process ok name_short_conv signer_unbound"},
		{name: "another project, hyphens moved", changes: []string{"CONVERSATION_ID: lab-prep-work"}, want: "process ok signer_unbound"},
		{name: "... which its FROM does not allow", changes: []string{"CONVERSATION_ID: lab-prep-work", "FROM: x.data-lab"}, want: "reject sender_mismatch signer_unbound"},
		{name: "signature", file: aName + ".asc", want: "reject not_a_message"},
		{name: "halted", rules: func(r *Rules) { r.Halted = true }, want: "halted halted"},

		{name: "skew of a second", changes: []string{"TIMESTAMP: 2026-04-27T12:00:01.9Z"}, rules: strict2, want: "process ok"},
		{name: "skew of two seconds", changes: []string{"TIMESTAMP: 2026-04-27T12:00:02Z"}, want: "process ok signer_unbound timestamp_skew"},
		{name: "skew of two seconds, strict", changes: []string{"TIMESTAMP: 2026-04-27T12:00:02Z"}, rules: strict, want: "reject timestamp_mismatch"},
		{name: "skew at the limit", changes: []string{"TIMESTAMP: 2026-04-27T11:45:00Z"}, want: "process ok signer_unbound timestamp_skew"},
		{name: "skew over the limit", changes: []string{"TIMESTAMP: 2026-04-27T11:44:59Z"}, want: "reject timestamp_mismatch"},
		{name: "skew over a limit of the settings", changes: []string{"TIMESTAMP: 2026-04-27T11:59:00Z"}, rules: func(r *Rules) { r.SkewMax = 30 * time.Second }, want: "reject timestamp_mismatch"},
		{name: "future, ten minutes", rules: func(r *Rules) { r.Now = noon.Add(-30*time.Second - 10*time.Minute) }, want: "process ok signer_unbound"},
		{name: "future, more", rules: func(r *Rules) { r.Now = noon.Add(-31*time.Second - 10*time.Minute) }, want: "process ok signer_unbound timestamp_future"},
		{name: "future, a day", rules: func(r *Rules) { r.Now = noon.Add(-30*time.Second - 24*time.Hour) }, want: "process ok signer_unbound timestamp_future"},
		{name: "future, more than a day", rules: func(r *Rules) { r.Now = noon.Add(-31*time.Second - 24*time.Hour) }, want: "reject timestamp_future"},

		{name: "strict and no map", rules: strict, want: "reject signer_unbound"},
		{name: "the map allows", rules: func(r *Rules) { r.Signers, r.Strict = web, true }, want: "process ok"},
		{name: "the map knows another sender", changes: []string{"CONVERSATION_ID: lab-prep-work"}, rules: func(r *Rules) { r.Signers = web }, want: "reject signer_not_allowed"},
		{name: "no map that can be read", rules: func(r *Rules) { r.Signers = BrokenSigners(errors.New("line 1")) }, want: "reject signer_not_allowed"},
		{name: "... not even unverified", rules: func(r *Rules) { r.Signers, r.NoVerify = BrokenSigners(errors.New("line 1")), true }, want: "reject signer_not_allowed unverified"},
		{name: "no verifier", rules: func(r *Rules) { r.Verify = nil }, want: "reject verifier_unavailable"},
		{name: "a verdict without a key", rules: func(r *Rules) { r.Verify = func() Signature { return Signature{Valid: true} } }, want: "reject verifier_unavailable"},
		{name: "a verdict that contradicts itself", rules: func(r *Rules) {
			r.Verify = func() Signature { return Signature{Valid: true, Fingerprint: goodKey, Code: CodeSignatureExpired} }
		}, want: "reject signature_key_expired"},
		{name: "a verdict without a word", rules: func(r *Rules) { r.Verify = func() Signature { return Signature{} } }, want: "reject signature_invalid"},

		{name: "from", changes: []string{"FROM: beta.Data.Lab"}, want: "process ok signer_unbound"},
		{name: "from without a machine", changes: []string{"FROM: data-lab"}, want: "reject sender_mismatch signer_unbound"},
		{name: "from, empty", changes: []string{"FROM: "}, want: "process ok signer_unbound"},
		{name: "to", changes: []string{"TO: here.notes"}, want: "process ok signer_unbound"},
		{name: "to another name of this machine", changes: []string{"TO: localhost.notes"}, want: "process ok signer_unbound"},
		{name: "to another machine", changes: []string{"TO: beta.notes"}, want: "process ok recipient_machine_differs signer_unbound"},
		{name: "to without a machine", changes: []string{"TO: notes"}, want: "reject wrong_recipient signer_unbound"},
		{name: "to a project that looks like this one", changes: []string{"TO: here.Notes"}, want: "reject wrong_recipient signer_unbound"},
		{name: "to a project, but this is not one", changes: []string{"TO: here.notes"}, rules: func(r *Rules) { r.Me = Address{} }, want: "reject wrong_recipient signer_unbound"},

		{name: "an invalid reply number", changes: []string{"IN_REPLY_TO: x"}, want: "process ok in_reply_to_ignored signer_unbound"},
		{name: "an invalid pushback response", changes: []string{"PUSHBACK_RESPONSE: maybe"}, want: "process ok pushback_response_ignored signer_unbound"},
		{name: "an answer to no pushback", changes: []string{"PUSHBACK_RESPONSE: revise", "MESSAGE_TYPE: progress"}, want: "process ok pushback_response_ignored signer_unbound"},
		{name: "release without a status", changes: []string{"MESSAGE_TYPE: release"}, want: "process ok release_status_missing signer_unbound"},
		{name: "missing comes before wrong", changes: []string{"SEQUENCE: 0", "TIMESTAMP: -"}, want: "reject missing_field:TIMESTAMP"},
		{name: "empty is missing", changes: []string{"TITLE:  "}, want: "reject missing_field:TITLE"},

		{name: "another version", changes: []string{"PROTOCOL_VERSION: 6", "SEQUENCE: x", "TIMESTAMP: soon"}, want: "query version_mismatch signer_unbound"},
		{name: "another version, asked before", changes: []string{"PROTOCOL_VERSION: 6"}, rules: func(r *Rules) { r.Asked = func(string, string) bool { return true } }, want: "query version_mismatch already_asked signer_unbound"},
		{name: "another version without a conversation", changes: []string{"PROTOCOL_VERSION: 6", "CONVERSATION_ID: -"}, want: "reject name_mismatch"},
		{name: "... from a sender who is listed", changes: []string{"PROTOCOL_VERSION: 6", "CONVERSATION_ID: -"}, rules: func(r *Rules) { r.Signers = web }, want: "query version_mismatch"},
		{name: "a query of another version, in capitals", changes: []string{"PROTOCOL_VERSION: 6", "MESSAGE_TYPE: QUERY"}, want: "reject version_mismatch"},
		{name: "another version and key", changes: []string{"PROTOCOL_VERSION: 6"}, rules: func(r *Rules) { r.Signers = BrokenSigners(errors.New("x")) }, want: "reject signer_not_allowed"},
		{name: "the version that is expected", changes: []string{"PROTOCOL_VERSION: 6"}, rules: func(r *Rules) { r.Version = "6" }, want: "process ok signer_unbound"},

		{name: "tool", changes: []string{"REQUIRES_TOOLS: git"}, want: "process ok signer_unbound"},
		{name: "no tool", changes: []string{"REQUIRES_TOOLS: git jq"}, want: "query tool_missing signer_unbound"},
		{name: "no tool, asked before", changes: []string{"REQUIRES_TOOLS: jq"}, rules: func(r *Rules) { r.Asked = func(string, string) bool { return true } }, want: "query tool_missing already_asked signer_unbound"},
		{name: "no tool for a query", changes: []string{"REQUIRES_TOOLS: jq", "MESSAGE_TYPE: query"}, want: "process ok signer_unbound tool_missing"},
		{name: "a path, even if the tool exists", changes: []string{"REQUIRES_TOOLS: /bin/sh"}, rules: func(r *Rules) { r.Tool = func(string) bool { return true } }, want: "query tool_missing signer_unbound"},
		{name: "no tool lookup", changes: []string{"REQUIRES_TOOLS: git"}, rules: func(r *Rules) { r.Tool = nil }, want: "query tool_missing signer_unbound"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := someRules()
			if c.rules != nil {
				c.rules(&r)
			}
			in := Inbound{Name: aName, Text: aMessage(c.changes...)}
			if c.file != "" {
				in.Name = c.file
			}
			d := Receive(in, r)
			got := strings.Join(append([]string{string(d.Word), d.Code}, d.Warnings...), " ")
			if got != c.want {
				t.Errorf("got %s (%s)\nwant %s", got, d.Reason, c.want)
			}
			if (d.Reply != nil) != (d.Word == Ask && !slices.Contains(d.Warnings, WarnAlreadyAsked) && d.Message.Conversation != "") {
				t.Errorf("%s suggests %+v", got, d.Reply)
			}
		})
	}
}

// strict2 is as strict as can be for whom the map of signers binds.
func strict2(r *Rules) {
	r.Strict = true
	r.Signers, _ = ParseSigners([]byte("[signers]\n\"*\" = [\"" + goodKey + "\"]"))
}

// A suggested reply goes on where both sides are, and has no text of the message but words that can only be tools.
func TestSuggestedReply(t *testing.T) {
	t.Parallel()
	r := someRules()
	r.Highest = func(string) int { return 7 }
	d := Receive(Inbound{Name: aName, Text: aMessage("REQUIRES_TOOLS: git frob, `rm`;x \x1b[31m")}, r)
	if d.Reply == nil || d.Reply.Sequence != 8 || d.Reply.Type != Query || !strings.Contains(d.Reply.Text, "frob") || strings.ContainsAny(d.Reply.Text, "`\x1b;") {
		t.Errorf("got %+v", d.Reply)
	}
	if want := []string{"frob", "`rm`;x", "\x1b[31m"}; !slices.Equal(d.MissingTools, want) {
		t.Errorf("missing: got %q, want %q", d.MissingTools, want)
	}
}

// TestLookupsAreLazy: lookups that cost time or have effects run only in their step.
func TestLookupsAreLazy(t *testing.T) {
	t.Parallel()
	var asked []string
	r := someRules()
	r.Verify = func() Signature { asked = append(asked, "verify"); return good }
	r.Ledger = func(string, int) []Entry { asked = append(asked, "ledger"); return nil }
	r.Siblings = func(string, int) []Sibling { asked = append(asked, "siblings"); return nil }
	r.Tool = func(string) bool { asked = append(asked, "tool"); return true }
	text := aMessage("REQUIRES_TOOLS: git")
	for _, c := range []struct {
		in   Inbound
		r    func(*Rules)
		want string
	}{
		{Inbound{Name: aName, Text: text}, nil, "[verify ledger siblings tool]"},
		{Inbound{Name: aName, Text: text}, func(r *Rules) { r.Halted = true }, "[]"},
		{Inbound{Name: aName, Text: aMessage("SEQUENCE: 0")}, nil, "[]"},
		{Inbound{Name: aName, Text: aMessage("PROTOCOL_VERSION: 4")}, nil, "[verify]"},
		{Inbound{Name: aName, Text: aMessage("TO: here.web")}, nil, "[verify]"},
		{Inbound{Name: aName, Text: text}, func(r *Rules) { r.NoDedup, r.NoVerify = true, true }, "[tool]"},
	} {
		asked = nil
		r := r
		if c.r != nil {
			c.r(&r)
		}
		if d := Receive(c.in, r); fmt.Sprint(asked) != c.want {
			t.Errorf("%s %s: asked for %v, want %s", d.Word, d.Code, asked, c.want)
		}
	}
}

// A forged or misnamed copy must not make the message itself a duplicate: both would be lost.
func TestRefusedCopies(t *testing.T) {
	t.Parallel()
	text := aMessage("FROM: x.data-lab")
	in := Inbound{Name: "20260427T120005Z-from-data-lab-prep-work.org", Text: text}
	hash := Receive(in, someRules()).SHA256
	for _, c := range []struct {
		name string
		s    Sibling
		want Word
	}{
		{"a good one", Sibling{Name: aName}, Dedup},
		{"a good one, verified", Sibling{Name: aName, Verify: func() Signature { return good }}, Dedup},
		{"a later one", Sibling{Name: "20260427T120006Z-from-data-lab-prep-work.org"}, Process},
		{"without a signature", Sibling{Name: aName, Verify: func() Signature { return Signature{Code: CodeSignatureMissing} }}, Process},
		{"of another hour", Sibling{Name: "20260427T110000Z-from-data-lab-prep-work.org"}, Process},
		{"of another sender", Sibling{Name: "20260427T120000Z-from-web-prep-work.org"}, Process},
		{"of another conversation", Sibling{Name: "20260427T120000Z-from-data-lab-other.org"}, Process},
		{"hidden", Sibling{Name: ".20260427T120000Z-from-data-lab-prep-work.org"}, Process},
		{"other bytes", Sibling{Name: aName, SHA256: "0"}, Process},
	} {
		r := someRules()
		r.Siblings = func(string, int) []Sibling {
			s := c.s
			if s.SHA256 == "" {
				s.SHA256 = hash
			}
			return []Sibling{s}
		}
		d := Receive(in, r)
		if d.Word != c.want || (d.DuplicateOf != "") != (d.Word == Dedup) || slices.Contains(d.Warnings, WarnCollision) != (c.s.SHA256 == "0") {
			t.Errorf("%s: got %s, a copy of %q, %q; want %s", c.name, d.Word, d.DuplicateOf, d.Warnings, c.want)
		}
	}
}

// TestBothCopiesActedOn: if two sessions have acted on two copies at the same time, both keep their message: neither copy becomes a
// duplicate afterwards.
func TestBothCopiesActedOn(t *testing.T) {
	t.Parallel()
	text := aMessage()
	r := someRules()
	later := "20260427T120001Z-from-data-lab-prep-work.org"
	r.Ledger = func(string, int) []Entry { return []Entry{{aName, hashOf(text), Process}, {later, hashOf(text), ""}} }
	for _, name := range []string{aName, later} {
		if d := Receive(Inbound{Name: name, Text: text}, r); d.Word != Process || !d.SeenBefore || d.DuplicateOf != "" {
			t.Errorf("%s: got %s, seen before %v, a copy of %q", name, d.Word, d.SeenBefore, d.DuplicateOf)
		}
	}
	if d := Receive(Inbound{Name: "20260427T120002Z-from-data-lab-prep-work.org", Text: text}, r); d.Word != Dedup || d.DuplicateOf != aName {
		t.Errorf("a third: got %s, a copy of %q", d.Word, d.DuplicateOf)
	}
}

// A sender that names files by its clock, and repeats a draft twenty minutes later, has sent a copy. Anything else of that kind has a wrong
// time.
func TestCopyWithLaterName(t *testing.T) {
	t.Parallel()
	text, later := aMessage(), "20260427T122000Z-from-data-lab-prep-work.org"
	sibling := func(s Sibling) func(string, int) []Sibling {
		return func(string, int) []Sibling { return []Sibling{s} }
	}
	bad := func() Signature { return Signature{Code: CodeSignatureInvalid} }
	for _, c := range []struct {
		name  string
		rules func(*Rules)
		want  string
	}{
		{"the first was acted on", func(r *Rules) {
			r.Ledger = func(string, int) []Entry { return []Entry{{aName, hashOf(text), Process}} }
		}, "dedup duplicate"},
		{"the first copy is there", func(r *Rules) { r.Siblings = sibling(Sibling{Name: aName, SHA256: hashOf(text)}) }, "dedup duplicate"},
		{"the first is forged", func(r *Rules) { r.Siblings = sibling(Sibling{Name: aName, SHA256: hashOf(text), Verify: bad}) }, "reject timestamp_mismatch"},
		{"the first is later still", func(r *Rules) {
			r.Siblings = sibling(Sibling{Name: "20260427T124000Z" + aName[16:], SHA256: hashOf(text)})
		}, "reject timestamp_mismatch"},
		{"the first says something else", func(r *Rules) { r.Siblings = sibling(Sibling{Name: aName, SHA256: hashOf(nil)}) }, "reject timestamp_mismatch"},
		{"the copy is forged", func(r *Rules) {
			r.Verify, r.Siblings = bad, sibling(Sibling{Name: aName, SHA256: hashOf(text)})
		}, "reject timestamp_mismatch"},
		{"no first one", func(*Rules) {}, "reject timestamp_mismatch"},
	} {
		r := someRules()
		r.Now = noon.Add(20 * time.Minute)
		c.rules(&r)
		if d := Receive(Inbound{Name: later, Text: text}, r); string(d.Word)+" "+d.Code != c.want {
			t.Errorf("%s: got %s %s, want %s", c.name, d.Word, d.Code, c.want)
		}
	}
}

// Copies of one message come in, are judged in any order and again, and are archived: exactly one is acted on, and stays
// the one.
func TestOneCopyIsActedOn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := aMessage()
		var lying []string
		var ledger []Entry
		acted := ""
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			name := fmt.Sprintf("20260427T1200%02dZ-from-data-lab-prep-work.org", rapid.IntRange(0, 5).Draw(t, "second"))
			if there := slices.Index(lying, name); there < 0 {
				lying = append(lying, name)
				continue
			} else if rapid.IntRange(0, 4).Draw(t, "archive") == 0 && name == acted {
				lying = slices.Delete(lying, there, there+1)
				continue
			}
			r := someRules()
			r.Ledger = func(string, int) []Entry { return ledger }
			r.Siblings = func(string, int) (list []Sibling) {
				for _, other := range lying {
					list = append(list, Sibling{Name: other, SHA256: hashOf(text)})
				}
				return list
			}
			d := Receive(Inbound{Name: name, Text: text}, r)
			switch {
			case d.Word == Process && acted != "" && acted != name:
				t.Fatalf("%s and %s were both acted on", acted, name)
			case d.Word == Process && d.SeenBefore != (acted == name):
				t.Fatalf("%s: seen before is %v", name, d.SeenBefore)
			case d.Word == Process:
				acted = name
			case d.Word != Dedup:
				t.Fatalf("%s: %s %s", name, d.Word, d.Code)
			case acted == "" && name == slices.Min(lying):
				t.Fatalf("%s is a copy of %s, which was never acted on", name, d.DuplicateOf)
			case acted == name:
				t.Fatalf("%s was acted on, and then is a copy of %s", name, d.DuplicateOf)
			}
			if d.Records() {
				ledger = append(ledger, Entry{name, d.SHA256, d.Word})
			}
		}
	})
}

func hashOf(text []byte) string {
	return Receive(Inbound{Name: aName, Text: text}, Rules{Now: noon}).SHA256
}

// Whatever comes in: nothing is acted on or answered that is not verified, a query is never answered with a query, and
// what is refused goes into no ledger.
func TestUnverifiedIsNotActedOn(t *testing.T) {
	t.Parallel()
	changes := []string{
		"TITLE: -", "MESSAGE_TYPE: query", "MESSAGE_TYPE: release", "MESSAGE_TYPE: ack", "SEQUENCE: 1", "SEQUENCE: x", "PROTOCOL_VERSION: 6",
		"TIMESTAMP: 2026-04-27T11:50:00Z", "CONVERSATION_ID: work", "CONVERSATION_ID: lab-prep-work", "FROM: a.data-lab", "FROM: a.web",
		"TO: here.notes", "TO: x.y", "REQUIRES_TOOLS: git", "REQUIRES_TOOLS: jq /bin/sh", "PUSHBACK_RESPONSE: insist",
	}
	verdicts := []Signature{good, {}, {Valid: true}, {Valid: true, Fingerprint: goodKey, Code: CodeSignatureRevoked}, {Code: CodeSignatureMissing}, {Fingerprint: goodKey}}
	rapid.Check(t, func(t *rapid.T) {
		text := aMessage(rapid.SliceOfN(rapid.SampledFrom(changes), 0, 4).Draw(t, "changes")...)
		if rapid.IntRange(0, 5).Draw(t, "noise") == 0 {
			at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
			text[at] = rapid.Byte().Draw(t, "byte")
		}
		verdict := rapid.SampledFrom(verdicts).Draw(t, "verdict")
		r := someRules()
		r.Verify = func() Signature { return verdict }
		if rapid.Bool().Draw(t, "no verifier") {
			r.Verify = nil
		}
		r.Strict, r.NoDedup = rapid.Bool().Draw(t, "strict"), rapid.Bool().Draw(t, "no dedup")
		if rapid.Bool().Draw(t, "map") {
			strict2(&r)
		}
		r.Siblings = func(string, int) []Sibling {
			return []Sibling{{Name: "20260427T115959Z-from-data-lab-prep-work.org", SHA256: hashOf(text), Verify: r.Verify}}
		}
		d := Receive(Inbound{Name: rapid.SampledFrom([]string{aName, aName, ".x", "a.org"}).Draw(t, "name"), Text: text}, r)
		genuine := r.Verify != nil && verdict.Valid && verdict.Fingerprint != "" && verdict.Code == ""
		if d.Word != Reject && !genuine {
			t.Fatalf("%s %s, though the verdict was %+v", d.Word, d.Code, verdict)
		}
		if d.Word == Ask && strings.EqualFold(value(d.Header, orgfile.MessageType), "query") {
			t.Fatalf("a query is answered with a query: %s", d.Code)
		}
		if d.Records() && d.Word != Process && d.Word != Dedup {
			t.Fatalf("%s %s would be recorded", d.Word, d.Code)
		}
		if d.Word == Process && (d.Sender == "" || d.Message.Conversation == "" || d.Message.Sequence == 0 || !d.Message.Type.Valid()) {
			t.Fatalf("acted on: %+v", d)
		}
	})
}

func value(h orgfile.Header, key string) string {
	v, _ := h.Get(key)
	return v
}

func FuzzReceive(f *testing.F) {
	f.Add(aName, aMessage())
	f.Add(aName, aMessage("PROTOCOL_VERSION: 6", "CONVERSATION_ID: -"))
	f.Add("20260427T120000Z-from-a-b.org", aMessage("REQUIRES_TOOLS: a,b c", "FROM: x.y", "TO: here.notes"))
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		r := someRules()
		r.Verify = func() Signature { return Signature{Code: CodeSignatureMissing} }
		if d := Receive(Inbound{Name: name, Text: text}, r); d.Word != Reject || d.Records() || d.Exit() != ExitReject {
			t.Fatalf("%q, %q: %s %s without a signature", name, text, d.Word, d.Code)
		}
		d := Receive(Inbound{Name: name, Text: text}, someRules())
		if d.Word == Process && (!Slug(d.Sender) || !Slug(d.Message.Conversation) || d.Code != CodeOK) {
			t.Fatalf("%q, %q: %+v", name, text, d)
		}
	})
}
