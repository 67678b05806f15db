package protocol

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// talk makes events of words like "a:request" or "b:progress/3" (an answer to 3) or "a:request/revise" or "a:release/complete",
// one every ten minutes from noon on, numbered from 1. "+26h" lets time pass.
func talk(words string) []Event {
	var events []Event
	at := noon
	for w := range strings.FieldsSeq(words) {
		if pause, is := strings.CutPrefix(w, "+"); is {
			d, err := time.ParseDuration(pause)
			if err != nil {
				panic(err)
			}
			at = at.Add(d)
			continue
		}
		from, what, _ := strings.Cut(w, ":")
		typ, more, _ := strings.Cut(what, "/")
		e := Event{Time: at, From: from, Type: Type(typ), Sequence: len(events) + 1}
		e.Name = fmt.Sprintf("%s-from-%s-q.org", Stamp(at), from)
		switch n, err := strconv.Atoi(more); {
		case err == nil:
			e.InReplyTo = n
		case e.Type == Request:
			e.Response = more
		default:
			e.ReleaseStatus = more
		}
		events = append(events, e)
		at = at.Add(10 * time.Minute)
	}
	return events
}

func TestFold(t *testing.T) {
	t.Parallel()
	ping := strings.Repeat(" b:query a:progress", 6)
	for _, c := range []struct {
		words string
		v     View
		want  string // originator, receiver, awaited, then what holds
	}{
		{"", View{}, "  none"},
		{"a:progress", View{}, "  unknown open one-sided orphan_start"},
		{"a:progress b:request", View{}, "b  receiver open orphan_start"},
		{"a:release/complete", View{}, "  unknown open one-sided orphan_start"},
		{"a:request", View{Self: "b", Partner: "a"}, "a b receiver=b open"},
		{"a:request", View{Self: "a", Partner: "b"}, "a b receiver=b open"},
		{"a:request", View{Self: "a"}, "a  receiver open"},
		{"c:request a:request", View{Self: "a", Partner: "b"}, "a b receiver=b open third_party"},
		{"a:request", View{Missing: true}, "a  receiver open one-sided"},
		{"a:request b:query a:progress", View{}, "a b receiver=b open"},
		{"a:request b:query a:progress/2", View{}, "a b receiver=b open"},
		{"a:request b:query a:progress/1", View{}, "a b originator=a open"},
		{"a:request b:query b:progress", View{}, "a b originator=a open"},
		{"a:request b:query a:query", View{}, "a b receiver=b open"},
		{"a:request b:query b:complete", View{}, "a b originator=a open due"},
		{"a:request b:request a:request", View{}, "a b receiver=b open"},
		{"a:request b:complete a:request", View{}, "a b receiver=b open"},
		{"a:request b:complete b:request", View{}, "a b originator=a open due"},
		{"a:request b:pushback a:pushback", View{}, "a b originator=a open pushback pushback_by_originator"},
		{"a:request b:pushback b:pushback a:request", View{}, "a b receiver=b open insist1"},
		{"a:request b:pushback a:request/revise b:pushback a:request/revise", View{}, "a b receiver=b open"},
		{"a:request b:pushback a:request b:pushback a:request b:progress", View{}, "a b receiver=b open insist2 cap expected_escalate"},
		{"a:request b:pushback a:request b:pushback a:request b:escalate a:request", View{}, "a b receiver=b open"},
		{"a:request b:pushback a:request b:pushback a:request a:release/cancelled", View{}, "a b none status=cancelled"},
		{"a:request b:escalate a:query", View{}, "a b user open paused"},
		{"a:request b:escalate b:complete", View{}, "a b originator=a open due"},
		{"a:request b:escalate b:request", View{}, "a b originator=a open"},
		{"a:request b:escalate a:release/abandoned-after-escalation", View{}, "a b none status=abandoned-after-escalation"},
		{"a:request b:complete a:release/complete b:progress", View{}, "a b none open status=complete late_after_release"},
		{"a:request b:complete a:release/complete b:progress a:release/cancelled", View{}, "a b none status=cancelled late_after_release"},
		{"a:request b:complete a:release/complete b:release/complete", View{}, "a b none open status=complete late_after_release"},
		{"a:request b:complete a:release/complete c:request", View{}, "a b none status=complete third_party"},
		{"a:request b:complete a:release/complete b:progress a:request", View{}, "a b receiver=b open rounds2 late_after_release"},
		{"a:request b:progress +25h", View{Now: noon.Add(26 * time.Hour)}, "a b receiver=b open"},
		{"a:request", View{Now: noon.Add(24*time.Hour + time.Second)}, "a  receiver open overdue-reply"},
		{"a:request", View{Now: noon.Add(24 * time.Hour)}, "a  receiver open"},
		{"a:request b:query +23h50m b:query", View{Now: noon.Add(25 * time.Hour)}, "a b originator=a open overdue-reply"},
		{"a:request b:complete", View{Now: noon.Add(25 * time.Hour)}, "a b originator=a open due overdue"},
		{"a:request b:query b:escalate", View{Now: noon.Add(99 * time.Hour)}, "a b user open paused"},
		{"a:request b:complete +30h a:release/complete", View{Now: noon.Add(2 * time.Hour)}, "a b originator=a open due timestamp_future"},
		{"a:request b:complete a:release/complete", View{Now: noon.Add(9 * time.Minute)}, "a b originator=a open due timestamp_future"},
		{"a:request b:complete a:release/complete", View{Now: noon.Add(10 * time.Minute)}, "a b none status=complete"},
		{"a:request" + ping, View{}, "a b receiver=b open stalled"},
		{"a:request" + ping[:len(ping)-len(" a:progress")], View{}, "a b originator=a open"},
		{"a:request" + ping + " a:request", View{}, "a b receiver=b open"},
		{"a:request" + strings.Repeat(" b:progress", 30), View{}, "a b receiver=b open"},
	} {
		s := Fold(talk(c.words), c.v)
		got := fmt.Sprintf("%s %s %s", s.Originator, s.Receiver, s.Awaited)
		if s.AwaitedName != "" {
			got += "=" + s.AwaitedName
		}
		for _, x := range []struct {
			word string
			is   bool
		}{
			{"open", s.Open},
			{"paused", s.PollingPaused},
			{"due", s.VerificationDue},
			{"overdue", s.VerificationOverdue},
			{"pushback", s.PushbackOpen},
			{fmt.Sprint("insist", s.InsistExchanges), s.InsistExchanges > 0},
			{"cap", s.CapReached},
			{fmt.Sprint("rounds", s.Rounds), s.Rounds > 1},
			{"overdue-reply", s.ReplyOverdue},
			{"stalled", s.Stalled},
			{"one-sided", s.OneSided},
			{"status=" + s.ReleaseStatus, s.ReleaseStatus != ""},
		} {
			if x.is {
				got += " " + x.word
			}
		}
		got = strings.Join(append([]string{got}, s.Warnings...), " ")
		if got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.words, got, c.want)
		}
		if s.CapReached != (s.NextMustBe == Escalate) {
			t.Errorf("%s: cap %v, next must be %q", c.words, s.CapReached, s.NextMustBe)
		}
	}
}

// One direction is seen to be missing when numbers are left out and all is by one writer.
func TestOneSided(t *testing.T) {
	t.Parallel()
	all := talk("a:request b:progress a:query b:progress b:complete a:release/complete")
	only := func(from string) (list []Event) {
		for _, e := range all {
			if e.From == from {
				list = append(list, e)
			}
		}
		return list
	}
	for _, from := range []string{"a", "b"} {
		if s := Fold(only(from), View{}); !s.OneSided {
			t.Errorf("only of %s: got %+v", from, s)
		}
	}
	if s := Fold(all, View{}); s.OneSided {
		t.Errorf("all: got %+v", s)
	}
}

// A message that is seen in two places is one: the second pair of eyes would take the insisting that reached the cap for
// one that goes beyond it.
func TestSeenTwice(t *testing.T) {
	t.Parallel()
	events := talk("a:request b:pushback a:request b:pushback a:request")
	if s := Fold(append(slices.Clone(events), events...), View{}); s.InsistExchanges != 2 || len(s.Warnings) > 0 {
		t.Errorf("got %+v", s)
	}
}

func aTalk(t *rapid.T) []Event {
	var words []string
	for range rapid.IntRange(0, 14).Draw(t, "messages") {
		words = append(words, rapid.SampledFrom([]string{"a", "a", "b", "b", "c"}).Draw(t, "from")+":"+string(rapid.SampledFrom(Types()).Draw(t, "type")))
	}
	events := talk(strings.Join(words, " "))
	for i := range events {
		if rapid.IntRange(0, 3).Draw(t, "same time") == 0 && i > 0 {
			events[i].Time = events[i-1].Time
		}
	}
	return events
}

// TestFoldProperties: the order of reading, and copies from a second place, change nothing. Only the originator of the round ends a
// conversation.
func TestFoldProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events := aTalk(t)
		v := View{Now: noon.Add(30 * time.Hour)}
		want := Fold(events, v)
		other := append(rapid.Permutation(events).Draw(t, "order"), events[:rapid.IntRange(0, len(events)).Draw(t, "copies")]...)
		if got := Fold(other, v); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%v:\ngot  %+v\nwant %+v", events, got, want)
		}
		s := want
		if s.Terminal != (s.Awaited == NoSide) && len(events) > 0 || s.Terminal && s.PollingPaused || !s.Terminal && !s.Open && len(events) > 0 {
			t.Fatalf("%v: %+v", events, s)
		}
		if s.Terminal && !slices.ContainsFunc(events, func(e Event) bool { return e.Type == Release && e.From == s.Originator }) {
			t.Fatalf("%v: ended without a side that may end it: %+v", events, s)
		}
		highest := 0
		for _, e := range events {
			highest = max(highest, e.Sequence)
		}
		if s.NextSequence != highest+1 {
			t.Fatalf("%v: next is %d", events, s.NextSequence)
		}
	})
}

// TestPushbackCap: messages that the rules allow never exceed the cap: after the second insistence neither side may push back or insist
// until one escalates, completes or releases.
func TestPushbackCap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events := talk("a:request")
		for range rapid.IntRange(0, 30).Draw(t, "messages") {
			s := Fold(events, View{})
			from := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "from")
			typ := rapid.SampledFrom([]Type{Request, Pushback, Pushback, Progress, Escalate, Complete}).Draw(t, "type")
			response := rapid.SampledFrom([]string{"", Revise, Insist}).Draw(t, "response")
			if typ != Request {
				response = ""
			}
			if s.Refuses(from, typ, response) == CodeCapReached {
				if !s.CapReached || typ != Request && typ != Pushback || response == Revise {
					t.Fatalf("%s %s %s is refused in %+v", from, typ, response, s)
				}
				continue
			}
			events = append(events, Event{Time: events[len(events)-1].Time.Add(time.Minute), From: from, Type: typ, Sequence: len(events) + 1, Response: response})
			if s := Fold(events, View{}); s.InsistExchanges > InsistCap {
				t.Fatalf("%d exchanges: %v", s.InsistExchanges, events)
			}
		}
	})
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	deadlock := "a:request b:pushback a:request b:pushback a:request"
	for _, c := range []struct {
		words, sender string
		t             Type
		response      string
		want          string
	}{
		{"", "a", Request, "", ""},
		{"a:request", "b", Progress, "", ""},
		{"a:request", "b", Release, "", WarnReleaseByReceiver},
		{"a:request", "a", Complete, "", WarnCompleteByOriginator},
		{"a:request b:complete a:release", "b", Progress, "", WarnLate},
		{"a:request b:complete a:release", "b", Request, "", ""},
		{deadlock, "b", Pushback, "", CodeCapReached},
		{deadlock, "a", Request, Insist, CodeCapReached},
		{deadlock, "a", Request, "", WarnExpectedEscalate}, // nothing was pushed back that it could insist on
		{deadlock + " b:pushback", "a", Request, "", CodeCapReached},
		{deadlock + " b:pushback", "a", Request, Revise, WarnExpectedEscalate},
		{deadlock, "b", Request, "", WarnExpectedEscalate},
		{deadlock, "b", Complete, "", WarnExpectedEscalate},
		{deadlock, "b", Escalate, "", ""},
		{deadlock, "a", Release, "", ""},
		{deadlock, "b", Release, "", WarnReleaseByReceiver},
	} {
		s := Fold(talk(c.words), View{})
		if got := s.Refuses(c.sender, c.t, c.response); got != c.want {
			t.Errorf("%q, then %s:%s/%s: got %q, want %q", c.words, c.sender, c.t, c.response, got, c.want)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	s := Fold(talk("a:request b:query"), View{})
	if got, want := StateLine("q", &s), "q at sequence 2, awaiting originator"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := Surfacing("the tests", "web", Query), "While we were working on the tests, a cross-agent message landed from web. It's a query: now, or after we finish?"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
