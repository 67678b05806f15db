package trust

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/test/hostile"
)

// A name that looks like that of another agent is never verified and never pinned, whatever key it is registered and signed with.
func TestLookalikeName(t *testing.T) {
	t.Parallel()
	for _, name := range hostile.LookAlikes {
		who := address.Instance(name)
		key := signature.Generate()
		raw, err := envelope.Draft{Actor: envelope.Actor{Instance: who, Role: "AGENTS", Scope: "s"}, Created: now, Text: "hello"}.Bytes()
		if err == nil {
			raw, err = envelope.Sign(raw, who, key)
		}
		if err != nil {
			t.Fatal(err)
		}
		e, err := envelope.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		all := []signature.Public{key.Public()}
		for _, pins := range [][]signature.Public{nil, all} {
			k := Keys{Active: all, Pins: pins}
			s := e.Summary()
			row, ok := JudgeSummary(&s, k)
			if v := k.Judge(e); v.Word != BadSignature || row != v || !ok || !strings.Contains(v.Detail, "name") {
				t.Errorf("%q with %d pins: %+v, as a row %+v", who, len(pins), v, row)
			}
		}
		p := OpenPins(filepath.Join(t.TempDir(), "pins"))
		if !errors.Is(p.Pin(who, key.Public(), now), ErrName) || !errors.Is(p.Trust(who, key.Public(), now), ErrName) || len(p.All()) != 0 {
			t.Errorf("%q was pinned: %v", who, p.All())
		}
	}
}
