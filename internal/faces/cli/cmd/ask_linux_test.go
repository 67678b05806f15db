package cmd

import (
	"strings"
	"testing"
	"time"
)

// TestAsk: an agent asks its user and gets the answer in one command, and the user answers in one.
func TestAsk(t *testing.T) {
	t.Parallel()
	d := newSitting(t)
	d.run(0, "connect", "--host", "claude", "--name", "bo")
	answered := make(chan string, 1)
	go func() {
		shown, code := typedOnTerminal(d.T, 160, d.typed, d.env, "ask", "--as", "claude:bo", "Which database?", "--options", "pg,sqlite")
		if code != 0 {
			shown += " (it failed)"
		}
		answered <- shown
	}()
	// The user has no identity yet, and sees the question all the same.
	for end := time.Now().Add(30 * time.Second); !strings.Contains(d.run(0, "status"), "claude:bo asks: Which database? (pg, sqlite)"); {
		if time.Now().After(end) {
			t.Fatalf("status does not show the question:\n%s", d.run(0, "status"))
		}
	}
	d.has(d.run(0, "status"), "tutti answer evt-escalation-")
	d.has(d.run(1, "answer", "mysql"), "none of the options")
	d.has(d.run(0, "answer", "pg", "--note", "we know it"), "answered: pg (we know it), by human:")
	if shown := <-answered; !strings.Contains(shown, "\npg\n") || strings.Contains(shown, "it failed") {
		t.Errorf("ask printed %q", shown)
	}
	d.has(d.run(0, "inbox", "--as", "claude:bo"), "no mail") // the answer is not shown a second time
	d.has(d.run(2, "answer", "pg"), "no question is open")

	// Without a wait the answer comes as mail; of several questions the one is named.
	first := strings.Fields(d.run(0, "ask", "--as", "claude:bo", "Deploy?", "--no-wait"))[0]
	d.run(0, "ask", "--as", "claude:bo", "Really?", "--no-wait")
	d.has(d.run(1, "answer", "yes"), "2 questions are open", "tutti answer "+first+" ANSWER")
	d.run(0, "answer", first, "yes")
	d.has(d.run(0, "receive", "--as", "claude:bo"), "(Deploy?): yes")
	if shown := d.run(0, "ask", "--as", "claude:bo", "Now?", "--for", "1ms", "--default", "no"); !strings.Contains(shown, "\nno\n") {
		t.Errorf("after its end: %q", shown)
	}
	d.has(d.run(0, "negotiate", "list"), "no negotiation")

	// No agent answers.
	d.typed = ""
	d.has(d.run(1, "answer", "yes", "--instance", "claude:bo"), "by a person")
}
