package comms

import (
	"strings"
	"testing"

	"tutti/internal/comms/protocol"
	"tutti/internal/faces/cli/kit"
)

// The guide names every type of message, and each command in it can be typed.
func TestGuide(t *testing.T) {
	t.Parallel()
	for _, kind := range protocol.Types() {
		if !strings.Contains(guide, "- `"+string(kind)+"`: ") {
			t.Errorf("it does not say what %s is for", kind)
		}
	}
	all, typed := kit.Join(Verbs, MoreVerbs, NetVerbs, LookVerbs), 0
	for part := range strings.SplitSeq(guide, "`") {
		words, ok := strings.CutPrefix(part, "tutti comms ")
		if !ok {
			continue
		}
		typed++
		if in, err := kit.Parse(all, kit.Tutti, "", append([]string{"comms"}, strings.Fields(words)...)); err != nil || in.Verb == nil {
			t.Errorf("tutti comms %s: %v", words, err)
		}
	}
	if typed < 4 {
		t.Errorf("only %d commands were found", typed)
	}
}
