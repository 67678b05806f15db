package server_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestPropose: two models agree in two calls of one tool, by short names.
func TestPropose(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.start("a", []string{"--auto-open", "--host", "claude", "--name", "ana", "--tools", "lean"})
	b := r.start("b", []string{"--auto-open", "--host", "codex", "--name", "bob", "--tools", "lean"})
	b.ok("tutti_status", object{}) // it is there before it is named
	id := a.ok("tutti_negotiate", object{"act": "propose", "with": []string{"bob"}, "text": "Bob owns db/"}).str("negotiationId")
	a.refused("zed", "tutti_negotiate", object{"act": "propose", "with": []string{"codex:zed"}, "text": "x"})
	a.refused("missing 'with'", "tutti_negotiate", object{"act": "propose", "text": "x"})
	if done := b.ok("tutti_negotiate", object{"act": "accept", "negotiationId": id}); done["complete"] != true {
		t.Errorf("accepting did not complete it: %v", done)
	}
	again := a.ok("tutti_negotiate", object{"act": "propose", "with": []string{"bob"}, "text": "Bob owns ui/"}).str("negotiationId")
	b.ok("tutti_receive", object{})
	bob := b.ok("tutti_status", object{}).str("instance")
	b.ok("h2a_counteroffer", object{"negotiationId": again, "instance": bob, "artifact": object{"text": "Ana owns ui/"}})
	if got := fmt.Sprint(a.ok("tutti_receive", object{})); !strings.Contains(got, "An offer in "+again+" (contract) waits for your signature.") {
		t.Errorf("the signer got %s", got)
	}
	if is := a.ok("tutti_negotiation", object{"negotiationId": id}); is.str("state") != "stabilized" {
		t.Errorf("the state is %v", is)
	}
}
