package demo

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// The program offers the other plays, and what it advises next can be pasted.
func TestNext(t *testing.T) {
	t.Parallel()
	for called, want := range map[string]string{
		"tutti":                 "tutti",
		"bin/tutti":             "bin/tutti",
		"./tutti":               "./tutti",
		"/opt/a b/bin/h2a":      "'/opt/a b/bin/tutti'",
		"/usr/local/tutti-full": "/usr/local/tutti",
	} {
		got := Next(called, "stall")
		if !strings.Contains(got, "\nnext: "+want+" setup   ") || !strings.Contains(got, "more: "+want+" demo agreement  ") || strings.Contains(got, "demo stall") {
			t.Errorf("%s: got\n%s", called, got)
		}
	}
}

// A heading comes with the first line below it, and each agent has one colour.
func TestSay(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &play{Options: Options{Out: &out, Color: true}}
	p.heading = "Two meet"
	if out.Len() > 0 {
		t.Errorf("a heading was printed before anything was seen: %q", out.String())
	}
	p.say("ana", "joins")
	p.say("bob", "joins\x1b[2J")
	p.heading = "They talk"
	p.say("ana", "writes")
	p.say("", "delivered")
	p.say("you", "halt")
	want := "\x1b[1m── Two meet ──\x1b[0m\n\x1b[36mana  \x1b[0m joins\n\x1b[33mbob  \x1b[0m joins[2J\n\n\x1b[1m── They talk ──\x1b[0m\n" +
		"\x1b[36mana  \x1b[0m writes\n      \x1b[2mdelivered\x1b[0m\n\x1b[1myou  \x1b[0m halt\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}

// A paced play waits between two lines, the longer the line the longer, unless it is interrupted.
func TestPace(t *testing.T) {
	t.Parallel()
	p := &play{Options: Options{Out: new(bytes.Buffer), Pace: 20 * time.Millisecond}}
	began := time.Now()
	p.say("ana", "%s", strings.Repeat("x", 80))
	p.say("bob", "joins")
	if took := time.Since(began); took < 60*time.Millisecond {
		t.Errorf("the second line came after %s", took)
	}
	over := make(chan struct{})
	close(over)
	p.Pace, p.interrupted = time.Hour, over
	p.say("ana", "one")
	p.say("ana", "two") // an hour later, if it waited
}
