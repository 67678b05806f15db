package protocol

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tutti/internal/core/orgfile"
)

func aDraft(changes ...string) Draft {
	return Draft{
		Text: aMessage(changes...), Sender: "data-lab", Now: noon,
		From: Address{"here", "Data.Lab"}, To: Address{"beta", "notes"}, ToMachines: []string{"beta.example"},
	}
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		changes []string
		draft   func(*Draft)
		want    string // codes of problems, or of warnings behind "ok"
	}{
		{name: "plain", want: "ok"},
		{name: "all faults are reported together", changes: []string{"TITLE: -", "SEQUENCE: x", "PROTOCOL_VERSION: 4"}, want: "missing_field:TITLE bad_sequence version_mismatch"},
		{name: "not even a header", draft: func(d *Draft) { d.Text = []byte("Hello") }, want: "no_frontmatter"},
		{name: "first is not a request", changes: []string{"SEQUENCE: 1", "MESSAGE_TYPE: query"}, want: "sequence1_not_request"},
		{name: "release without a status", changes: []string{"MESSAGE_TYPE: release"}, want: "missing_field:RELEASE_STATUS"},
		{name: "release with another status", changes: []string{"MESSAGE_TYPE: release", "RELEASE_STATUS: done"}, want: "bad_release_status"},
		{name: "status on a query", changes: []string{"MESSAGE_TYPE: query", "RELEASE_STATUS: complete"}, want: "ok release_status_ignored"},
		{name: "bad number of a reply", changes: []string{"IN_REPLY_TO: one"}, want: "bad_in_reply_to"},
		{name: "bad answer", changes: []string{"PUSHBACK_RESPONSE: no"}, want: "bad_pushback_response"},
		{name: "stale", draft: func(d *Draft) { d.Now = noon.Add(10 * time.Minute) }, want: "timestamp_stale"},
		{name: "not yet stale", draft: func(d *Draft) { d.Now = noon.Add(10*time.Minute - 30*time.Second) }, want: "ok"},
		{name: "stale and kept", draft: func(d *Draft) { d.Now, d.KeepTimestamp = noon.Add(time.Hour), true }, want: "ok"},
		{name: "no time, and a new one", changes: []string{"TIMESTAMP: [2026-04-27 Mon]"}, draft: func(d *Draft) { d.Restamp = true }, want: "ok"},
		{name: "no line for a new time", changes: []string{"TIMESTAMP: -"}, draft: func(d *Draft) { d.Restamp = true }, want: "missing_field:TIMESTAMP"},
		{name: "sender is not a slug", draft: func(d *Draft) { d.Sender = "Data.Lab" }, want: "bad_sender"},
		{name: "from another sender", changes: []string{"FROM: here.web"}, want: "sender_mismatch"},
		{name: "from us on another machine", changes: []string{"FROM: other.data-lab"}, want: "ok"},
		{name: "to another recipient", changes: []string{"TO: beta.web"}, want: "wrong_recipient"},
		{name: "to another machine", changes: []string{"TO: gamma.notes"}, want: "wrong_recipient"},
		{name: "a machine that others cannot read", draft: func(d *Draft) { d.From.Machine = "Here" }, want: "bad_sender"},
		{name: "nothing added", draft: func(d *Draft) { d.NoEnvelope = true }, want: "ok"},
		{name: "no room", draft: func(d *Draft) {
			d.Text = append(bytes.Repeat([]byte("#+X: y\n"), orgfile.MaxHeaderLines-7), d.Text...)
		}, want: "too_large"},
		{name: "wrong side", changes: []string{"MESSAGE_TYPE: complete"}, draft: func(d *Draft) {
			d.State = func(string) State { return Fold(talk("data-lab:request"), View{}) }
		}, want: "ok complete_by_originator"},
	} {
		d := aDraft(c.changes...)
		if c.draft != nil {
			c.draft(&d)
		}
		out, problems := Prepare(d)
		var got []string
		for _, p := range problems {
			got = append(got, p.Code)
		}
		if len(problems) == 0 {
			got = append([]string{"ok"}, out.Warnings...)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %q (%q), want %q", c.name, got, problems, c.want)
		}
		if len(problems) > 0 && (out.Name != "" || out.Text != nil) {
			t.Errorf("%s: something to send in spite of %q", c.name, problems)
		}
	}
}

func TestPreparedText(t *testing.T) {
	t.Parallel()
	body := "\nBody.\n"
	head := strings.TrimSuffix(string(aMessage()), body)
	for _, c := range []struct {
		name  string
		draft func(*Draft)
		want  string
	}{
		{"both are added", func(*Draft) {}, head + "#+FROM: here.Data.Lab\n#+TO: beta.notes\n" + body},
		{"no envelope", func(d *Draft) { d.NoEnvelope = true }, head + body},
		{"the sender has another name than its folder", func(d *Draft) { d.From.Project = "work" }, head + "#+FROM: here.data-lab\n#+TO: beta.notes\n" + body},
		{"an empty line is filled", func(d *Draft) { d.Text = aMessage("TO: ", "FROM: x.data-lab") }, head + "#+TO: beta.notes\n#+FROM: x.data-lab\n" + body},
		{"a new time, in the zone of the clock", func(d *Draft) {
			d.Restamp, d.NoEnvelope, d.Now = true, true, noon.Add(time.Hour).In(time.FixedZone("", 2*3600))
		}, strings.Replace(head, "2026-04-27T12:00:00Z", "2026-04-27T15:00:30+02:00", 1) + body},
	} {
		d := aDraft()
		c.draft(&d)
		out, problems := Prepare(d)
		if string(out.Text) != c.want {
			t.Errorf("%s: %q\ngot  %q\nwant %q", c.name, problems, out.Text, c.want)
		}
	}
	out, _ := Prepare(aDraft())
	if out.Name != aName || out.Message.To != "beta.notes" {
		t.Errorf("got %q, %+v", out.Name, out.Message)
	}
}

func TestAdvice(t *testing.T) {
	t.Parallel()
	for sequence, want := range map[string]int{"2": 0, "3": 1, "1": 1} {
		d := aDraft("SEQUENCE: "+sequence, "MESSAGE_TYPE: request")
		d.State = func(id string) State {
			if id != "prep-work" {
				t.Errorf("asked for %q", id)
			}
			return Fold(talk("data-lab:request"), View{})
		}
		out, problems := Prepare(d)
		if len(problems) > 0 || len(out.Advice) != want || want == 1 && !strings.Contains(out.Advice[0], "is 2") {
			t.Errorf("%s: %q, %q", sequence, problems, out.Advice)
		}
	}
}

// TestSentIsAccepted: a sent message is accepted by the receiver, is unchanged when it is sent again, and has the bytes of the draft.
func TestSentIsAccepted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := aDraft(rapid.SliceOfN(rapid.SampledFrom([]string{
			"SEQUENCE: 1", "SEQUENCE: 9", "MESSAGE_TYPE: query", "MESSAGE_TYPE: progress", "MESSAGE_TYPE: release", "RELEASE_STATUS: complete", "IN_REPLY_TO: 1",
			"TITLE: \u00e4", "FROM: ", "TO: beta.notes", "X: y", "CONVERSATION_ID: a-b-c", "TIMESTAMP: 2026-04-27T14:00:00.5+0200", "TITLE: -",
		}), 0, 5).Draw(t, "changes")...)
		if rapid.Bool().Draw(t, "crlf") {
			d.Text = bytes.ReplaceAll(d.Text, []byte("\n"), []byte("\r\n"))
		}
		d.Restamp = rapid.Bool().Draw(t, "restamp")
		out, problems := Prepare(d)
		if len(problems) > 0 {
			return
		}
		r := someRules()
		r.Me = Address{"other-name", "notes"}
		got := Receive(Inbound{Name: out.Name, Text: out.Text}, r)
		if got.Word != Process || got.Sender != d.Sender || got.SHA256 != out.SHA256 {
			t.Fatalf("%s %s (%s):\n%s", got.Word, got.Code, got.Reason, out.Text)
		}
		for _, w := range got.Warnings {
			if w == WarnSkew || w == WarnShortName || w == WarnFuture {
				t.Fatalf("accepted with %q", got.Warnings)
			}
		}
		again := d
		again.Text, again.Restamp = out.Text, false
		if second, problems := Prepare(again); len(problems) > 0 || second.Name != out.Name || !bytes.Equal(second.Text, out.Text) {
			t.Fatalf("sent again: %q\n%q\n%q", problems, out.Text, second.Text)
		}
		if !d.Restamp {
			rest := out.Text
			for _, key := range []string{orgfile.From, orgfile.To} {
				rest = without(rest, key)
			}
			if !bytes.Equal(rest, without(without(d.Text, orgfile.From), orgfile.To)) {
				t.Fatalf("other bytes changed:\n%q\n%q", d.Text, out.Text)
			}
		}
	})
}

// without cuts the line of a key out of a text.
func without(text []byte, key string) []byte {
	h, err := orgfile.Parse(text)
	if f, there := h.Field(key); err == nil && there {
		return append(bytes.Clone(text[:f.Start]), text[f.End:]...)
	}
	return text
}
