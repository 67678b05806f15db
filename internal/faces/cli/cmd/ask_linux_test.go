package cmd

import (
	"slices"
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
	d.has(d.run(0, "status"), "2 things wait for you") // the mail that announces a question is not counted beside it
	d.run(0, "answer", first, "yes")
	if shown := d.run(0, "status"); strings.Count(shown, " asks: ") != 1 || strings.Contains(shown, "you have") {
		t.Errorf("after the answer status shows:\n%s", shown)
	}
	shown := d.run(0, "receive", "--as", "claude:bo")
	d.has(shown, "(Deploy?): yes", "verified", "answer of your user:")
	if strings.Contains(shown, "not of your user") {
		t.Errorf("the answer of the user is headed as that of a peer:\n%s", shown)
	}
	d.run(0, "send", "claude:bo", "a plain message")
	d.has(d.run(0, "receive", "--as", "claude:bo"), "message signed with the key of your user at a terminal:")
	if shown := d.run(0, "ask", "--as", "claude:bo", "Now?", "--for", "1ms", "--default", "no"); !strings.Contains(shown, "\nno\n") {
		t.Errorf("after its end: %q", shown)
	}
	d.has(d.run(0, "negotiate", "list"), "no negotiation")
	bo := strings.Fields(d.run(0, "whoami", "--as", "claude:bo"))[0]
	for _, verb := range []string{"verify", "show"} {
		if shown := d.run(0, "negotiate", verb, "nego:questions:"+bo); strings.Contains(shown, "next:") || strings.Contains(shown, "negotiate offer") {
			t.Errorf("%s of the questions asks for an offer:\n%s", verb, shown)
		}
	}

	// A shell that speaks as an agent is told how its user answers.
	env, me := d.env, "human:"+strings.Fields(strings.SplitN(d.run(0, "whoami"), "human:", 2)[1])[0]
	d.env = append(slices.Clone(env), "TUTTI_INSTANCE="+bo)
	which := strings.Fields(d.run(0, "ask", "Which one?", "--no-wait"))[0]
	for _, args := range [][]string{{"answer", which, "yes"}, {"escalation", "answer", which, "yes"}} {
		d.has(d.run(1, args...), "TUTTI_INSTANCE is set to claude:bo", "so this would be its answer", "hint: unset TUTTI_INSTANCE", "--as human:")
	}
	d.has(d.run(0, "answer", which, "yes", "--as", me), "answered: yes, by "+me)
	d.env = env

	// No agent answers.
	d.typed = ""
	d.has(d.run(1, "answer", "yes", "--instance", "claude:bo"), "only a person answers it")
}
