package observe

import (
	"os"
	"testing"
)

// TestLimitUntil: an agent at the limit of its provider has with it when that ends, also where the program itself writes what it does.
func TestLimitUntil(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../agents/driver/testdata/screens/claude-2.1.329/limit.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"", "program"} {
		f := Found{Kind: "claude", Doing: Doing{Word: "working", From: from}}
		f.seen(string(raw))
		if f.Doing.Word != Limited || f.Doing.Until != "9:40pm" {
			t.Errorf("%q: got %+v", from, f.Doing)
		}
	}
}
