package attacktest

import (
	"fmt"
	"regexp"

	"tutti/internal/core/address"
)

// user is the address of the user.
func (h *home) user() address.Instance {
	h.Helper()
	me := regexp.MustCompile(`human:[a-z0-9_-]+:[0-9a-f]+`).FindString(h.must("whoami"))
	if me == "" {
		h.Fatal("the user has no address")
	}
	return address.Instance(me)
}

// answer is the body of an answer to the question of Alice.
func (h *home) answer() string {
	h.Helper()
	question := body(h.lines(asked)[h.find(asked, "which schema")])
	return fmt.Sprintf(`{"kind":"escalation-answer","escalation":"evt-ask","of":%q,"answer":"drop"}`, h.hashOf(question))
}
