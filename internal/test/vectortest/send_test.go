package vectortest

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/comms/protocol"
	"tutti/internal/core/orgfile"
)

// sendValidate makes a draft of what a case changes in a good one, and prepares it.
func sendValidate(t *testing.T, c kase) {
	var v struct {
		ID, St, Drop, Note string
		Set                map[string]string
		Flags              []string
		Expect             struct {
			Exit        int
			Stderr      string `json:"stderr_contains"`
			Visible     *int   `json:"visible_messages"`
			Overwritten *bool  // whether the file of another message was
		}
	}
	c.into(t, &v)
	if v.Expect.Visible != nil {
		cutOff(t, *v.Expect.Visible)
		return
	}
	if v.Expect.Overwritten != nil {
		nameTaken(t, v.Expect.Exit, *v.Expect.Overwritten)
		return
	}
	now := time.Date(2026, 4, 27, 5, 0, 30, 0, time.FixedZone("", -5*3600))
	fields := [][2]string{
		{orgfile.Title, "T"},
		{orgfile.ConversationID, "test-conv"},
		{orgfile.MessageType, "request"},
		{orgfile.Sequence, "3"},
		{orgfile.Timestamp, "2026-04-27T05:00:00-05:00"},
		{orgfile.ProtocolVersion, "5"},
	}
	var text bytes.Buffer
	for _, f := range fields {
		if f[0] == v.Drop {
			continue
		}
		if to, set := v.Set[f[0]]; set {
			if f[1] = to; to == "one hour old" {
				f[1] = protocol.FormatTime(now.Add(-time.Hour))
			}
		}
		text.WriteString("#+" + f[0] + ": " + f[1] + "\n")
	}
	text.WriteString("\nBody.\n")
	d := protocol.Draft{
		Text: text.Bytes(), Sender: "alpha", Now: now,
		From:          protocol.Address{Machine: "here", Project: "alpha"},
		To:            protocol.Address{Machine: "here", Project: "notes"},
		Restamp:       slices.Contains(v.Flags, "--restamp"),
		KeepTimestamp: slices.Contains(v.Flags, "--keep-timestamp"),
	}
	switch {
	case strings.Contains(v.Note, "highest seen is 5"):
		d.State = func(string) protocol.State {
			return talk(now, "request", "progress", "progress", "progress", "progress")
		}
	case strings.Contains(v.Note, "next_must_be escalate"):
		d.State = func(string) protocol.State {
			return talk(now, "request", "pushback", "request", "pushback", "request")
		}
	}
	out, problems := protocol.Prepare(d)
	exit := protocol.ExitOK
	if len(problems) > 0 {
		exit = protocol.ExitBadDraft
	}
	if exit != v.Expect.Exit {
		t.Fatalf("got %d (%q), want %d", exit, problems, v.Expect.Exit)
	}
	if !strings.Contains(strings.Join(out.Advice, "\n"), v.Expect.Stderr) {
		t.Errorf("got the advice %q, want one with %q", out.Advice, v.Expect.Stderr)
	}
	if exit != protocol.ExitOK {
		return
	}
	r := protocol.Rules{
		Now: now, Me: d.To, NoVerify: true,
		Tool: func(string) bool { return true },
	}
	if got := protocol.Receive(protocol.Inbound{Name: out.Name, Text: out.Text}, r); got.Word != protocol.Process {
		t.Errorf("what is sent is not accepted: %s %s (%s)\n%s", got.Word, got.Code, got.Reason, out.Text)
	}
}

// talk is a conversation between alpha, who asks, and notes, one message a minute until now.
func talk(now time.Time, types ...string) protocol.State {
	var events []protocol.Event
	for i, typ := range types {
		from := "alpha"
		if slices.Contains([]string{"progress", "pushback", "complete"}, typ) {
			from = "notes"
		}
		events = append(events, protocol.Event{
			Time: now.Add(time.Duration(i-len(types)) * time.Minute), From: from, Type: protocol.Type(typ), Sequence: i + 1,
		})
	}
	return protocol.Fold(events, protocol.View{Now: now})
}

// cutOff is a mailbox in which a sender was killed between its two steps.
func cutOff(t *testing.T, want int) {
	t.Helper()
	l := protocol.ListMailbox(dirEntries([]string{"20260427T100000Z-from-alpha-test-conv.org.asc"}))
	if len(l.Messages) != want || len(l.Foreign) > 0 {
		t.Errorf("got %+v, want %d messages", l, want)
	}
}
