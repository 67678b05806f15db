package remote

import (
	"strings"
	"testing"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
)

// TestActive: keys are remembered of those who have proven one, once however they are spelled, and of no more agents and keys than is said.
func TestActive(t *testing.T) {
	x := open(t)
	good := letter(t, "env-1", time.Now())
	x.wants("a strange key", canonjson.Set(good, "body", []byte(`{"text":"changed"}`)), 401, "bad-signature")
	if got := x.r.active.of(alice); got != nil {
		t.Errorf("remembered for an unproven signer: %v", got)
	}
	x.wants("good", good, 202, "ok")
	x.wants("a strange key, where one is remembered", canonjson.Set(letter(t, "env-2", time.Now()), "body", []byte(`{"text":"changed"}`)), 401, "bad-signature")
	if got := x.r.active.of(alice); len(got) != 1 || got[0] != keys[alice].Public() {
		t.Errorf("remembered: %v", got)
	}
	var a active
	many := make([]signature.Public, maxKeys+10)
	for i := range many {
		many[i][0], many[i][1] = byte(i), byte(i>>8)
	}
	for _, who := range []address.Instance{"claude:api:ABCDEFABCDEF", "claude:api:abcdefabcdef", "claude:API:abcdefabcdef"} {
		a.put(who, many)
	}
	if len(a.by) != 1 || len(a.of("claude:api:AbCdEfabcdef")) != maxKeys || a.of("claude:api:AbCdEfabcdef")[maxKeys-1] != many[len(many)-1] {
		t.Errorf("%d agents, %d keys", len(a.by), len(a.of("claude:api:abcdefabcdef")))
	}
	for i := range 2 * maxSigners {
		a.put(address.Instance("claude:api:"+strings.Repeat("0", 8)+string([]byte{"0123456789abcdef"[i>>12&15], "0123456789abcdef"[i>>8&15], "0123456789abcdef"[i>>4&15], "0123456789abcdef"[i&15]})), many[:1])
		if len(a.by) > maxSigners {
			t.Fatalf("%d agents", len(a.by))
		}
	}
}
