package remote

import (
	"sync/atomic"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/canonjson"
)

// TestQuota: a mailbox has a limited number of waiting messages per signer. Others still get through, and so does the signer after some
// were acknowledged. The error says why.
func TestQuota(t *testing.T) {
	var later atomic.Int64 // how far the clock of the endpoint is ahead
	x := open(t, func(r *Receiver) {
		r.Unread = 3
		r.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	})
	x.register(eve, keys[eve].Public().PEM())
	now := time.Now()
	fromEve := func(id string) []byte {
		raw := canonjson.Delete(letter(t, id, now), "signatures")
		raw = canonjson.Set(raw, "actor", []byte(`{"instance":"`+string(eve)+`","role":"AGENTS","scope":"scope:default"}`))
		raw, err := envelope.Sign(raw, eve, keys[eve])
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	for _, id := range []string{"env:1", "env:2", "env:3"} {
		x.wants(id, letter(t, id, now), 202, "ok")
	}
	x.wants("one too many", letter(t, "env:4", now), 507, `"mailbox-full"`)
	x.wants("of another signer", fromEve("env:5"), 202, "ok")
	if n := x.box(bob); n != 4 {
		t.Errorf("%d messages lie in the mailbox, want 4", n)
	}
	if _, err := x.mail.Take(t.Context(), bob, "env:1"); err != nil {
		t.Fatal(err)
	}
	later.Store(int64(countAgain))
	x.wants("after one was acknowledged", letter(t, "env:4", now), 202, "ok")
	x.wants("and one too many", letter(t, "env:6", now), 507, `"mailbox-full"`)
}
