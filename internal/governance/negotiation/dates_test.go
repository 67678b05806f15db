package negotiation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/registry"
	"tutti/internal/governance/journal"
)

// sealedAt adds an entry with a link and a seal, dated as its writer likes.
func (r *rig) sealedAt(a Act, typ, body string, at time.Time) {
	r.t.Helper()
	payload := fmt.Sprintf(`{"id":"evt-%d","type":%q,"actor":%s,"body":%s,"createdAt":%q}`,
		at.UnixMilli(), typ, actor(a.By, "CONDUCTOR", "scope:pilot", a.Mandate), body, envelope.Stamp(at))
	_, err := journal.New(r.store).Append(r.t.Context(), nego, nil, journal.Seal{By: a.By, Key: a.Key}, func(journal.Tip) ([]byte, error) { return []byte(payload), nil })
	if err != nil {
		r.t.Fatal(err)
	}
}

func settling(hash string) string { return `{"kind":"stabilized","artifactHash":"` + hash + `"}` }

// TestSettledUndated: a settlement without a date does not say when it happened.
func TestSettledUndated(t *testing.T) {
	t.Parallel()
	for name, date := range map[string]string{"none": "", "empty": `,"createdAt":""`, "no date": `,"createdAt":"soon"`, "a number": `,"createdAt":5`} {
		r := newRig(t)
		r.open()
		r.offer(alice, "a")
		revoke(t, r, bob)
		r.now = r.now.Add(time.Hour)
		r.sign(alice)
		hash := hashOf(t, charter("a"))
		r.foreignSign(bob, hash)
		r.plant(fmt.Appendf(nil, `{"id":"evt-end","type":"event","actor":{"instance":%q,"role":"MANDATAIRE","scope":"scope:pilot"},"body":%s%s}`, Steward, settling(hash), date))
		if s := r.status(); s.Final != nil {
			t.Errorf("%s: settled with a stolen key: %+v", name, s.Final)
		}
	}
}

// TestSettledInTheFuture: a settlement with a future date, by an unknown writer, does not invalidate a valid one.
func TestSettledInTheFuture(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open()
	r.offer(alice, "a")
	r.sign(alice, bob)
	hash := hashOf(t, charter("a"))
	to := noon.AddDate(4, 0, 0)
	r.foreignAt(Steward, "event", settling(hash), to, "")
	if s := r.status(); s.Final != nil {
		t.Errorf("settled by what is dated in four years: %+v", s.Final)
	}
	if v := r.verify(); codes(v) != "3:ahead" {
		t.Errorf("%s", codes(v))
	}
	r.stabilize()
	r.want(Stabilized)
	revoke(t, r, alice)
	r.want(Stabilized)
	for _, now := range []time.Time{r.now, to.Add(time.Hour)} {
		r.now = now
		r.want(Stabilized)
	}
}

// TestFutureEntryIsNotCached: the cached state of an entry from the future is not used once its date has come.
func TestFutureEntryIsNotCached(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open()
	r.offer(alice, "a")
	r.sign(alice, bob)
	to := noon.AddDate(1, 0, 0)
	r.foreignAt(Steward, "event", settling(hashOf(t, charter("a"))), to, "")
	r.want(Accepted)
	r.now = to.Add(time.Minute)
	r.want(Stabilized)
	r.now = noon.Add(time.Hour)
	r.want(Accepted)
}

// TestSignFutureEntry: a party that dates an entry far ahead gets no signature for it that it could dispute later.
func TestSignFutureEntry(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open()
	body := `{"artifact":` + string(charter("a")) + `}`
	r.sealedAt(r.act(bob), "propose", body, noon.AddDate(0, 0, 7))
	_, err := r.n.Sign(t.Context(), nego, r.act(alice), "", r.tick())
	if err == nil || !strings.Contains(err.Error(), "clock") || !strings.Contains(err.Error(), string(bob)) {
		t.Errorf("signed behind an entry of next week: %v", err)
	}
	if _, err := r.n.Stabilize(t.Context(), nego, Act{}, r.tick()); err == nil {
		t.Error("stabilised")
	}
	// By programs that do not look: it settles nothing, neither now nor when a key is revoked.
	r.foreignSign(alice, hashOf(t, charter("a")))
	r.foreignSign(bob, hashOf(t, charter("a")))
	r.foreign(Steward, "event", settling(hashOf(t, charter("a"))))
	if s := r.status(); s.Final != nil {
		t.Errorf("settled: %+v", s.Final)
	}
	if v := r.verify(); !strings.Contains(codes(v), "3:ahead") {
		t.Errorf("%s", codes(v))
	}
}

// TestMandateBackdated: a mandate that has expired is not brought to life by an early date.
func TestMandateBackdated(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.register(boss, registry.Principal)
	r.grant(mandateOf("m:short", `["*"]`, "2026-06-12T14:00:00.000Z", eve, "scope:pilot"))
	r.open()
	r.offer(alice, "a")
	r.now = noon.Add(26 * time.Hour)
	r.sign(bob)
	a := r.act(eve)
	a.Mandate = "m:short"
	body := `{"artifact":` + string(charter("e")) + `}`
	r.sealedAt(a, "counter", body, noon.Add(time.Hour))
	if v := r.verify(); codes(v) != "2:mandate" {
		t.Errorf("%s", codes(v))
	}
}

// TestSharedKey: two signers with one key are reported, because they cannot be told apart.
func TestSharedKey(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	second := twin(t, r, bob)
	all := fmt.Sprintf(`["%s","%s"]`, bob, second)
	r.open("parties="+all, "requiredSigners="+all)
	r.offer(bob, "a")
	r.sign(bob, second)
	r.stabilize()
	if v := r.verify(); codes(v) != "2:same-key+" || !v.OK() {
		t.Errorf("%s", codes(v))
	}
}

// TestExpiredInTheFuture: one of a quorum who dates the end behind the deadline does not end the negotiation for the others.
func TestExpiredInTheFuture(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	all := fmt.Sprintf(`["%s","%s","%s"]`, alice, bob, carol)
	r.open("parties="+all, "requiredSigners="+all, `authority={"kind":"AUTHORITY","id":"q","authorityKind":"quorum","members":`+all+`,"threshold":2}`, `deadline="2026-06-20T12:00:00.000Z"`)
	r.offer(alice, "a")
	r.sealedAt(r.act(carol), "event", `{"kind":"expired"}`, noon.AddDate(0, 0, 9))
	if v := r.verify(); codes(v) != "1:not-theirs" {
		t.Errorf("%s", codes(v))
	}
	r.sign(alice, bob)
	r.stabilize()
	r.want(Stabilized)
}

// TestClockSkew: parties whose clocks are wrong by an hour in each direction reach an agreement before a deadline, under a mandate and with
// any stabiliser. An entry after the deadline by its writer's clock does not count.
func TestClockSkew(t *testing.T) {
	t.Parallel()
	for name, off := range map[string][2]time.Duration{
		"the first ahead": {time.Hour, -time.Hour}, "the second ahead": {-time.Hour, time.Hour},
	} {
		r := newRig(t)
		r.register(boss, registry.Principal)
		r.grant(mandateOf("m:apart", `["negotiate"]`, "2026-06-12T20:00:00.000Z", eve, "scope:pilot"))
		r.open(`deadline="2026-06-12T18:00:00.000Z"`)
		ctx, a, b := t.Context(), func() time.Time { return r.tick().Add(off[0]) }, func() time.Time { return r.tick().Add(off[1]) }
		other := r.fresh()
		act := r.act(eve)
		act.Mandate = "m:apart"
		if _, err := r.n.Offer(ctx, nego, act, Offering{Artifact: charter("a")}, a()); err != nil {
			t.Fatal(name, err)
		}
		if _, err := other.Counter(ctx, nego, r.act(bob), Offering{Artifact: charter("b"), Base: LatestBase}, b()); err != nil {
			t.Fatal(name, err)
		}
		if _, err := r.n.Sign(ctx, nego, r.act(alice), "", a()); err != nil {
			t.Fatal(name, err)
		}
		if _, err := other.Sign(ctx, nego, r.act(bob), "", b()); err != nil {
			t.Fatal(name, err)
		}
		r.now = noon.AddDate(0, 0, 1) // the deadline has passed between the last signature and the end
		if _, err := other.Stabilize(ctx, nego, Act{}, b()); err != nil {
			t.Fatal(name, err)
		}
		r.want(Stabilized)
		if v := r.verify(); !v.OK() {
			t.Errorf("%s: %s", name, codes(v))
		}
	}
}

// TestDeadlineBetween: a deadline that passes between the offer and the last signature leaves nothing to stabilise.
func TestDeadlineBetween(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open(`deadline="2026-06-12T13:00:00.000Z"`)
	r.offer(alice, "a")
	r.sign(alice)
	r.now = noon.Add(2 * time.Hour)
	if _, err := r.n.Sign(t.Context(), nego, r.act(bob), "", r.tick()); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("signed after the deadline: %v", err)
	}
	if _, err := r.n.Stabilize(t.Context(), nego, Act{}, r.tick()); err == nil {
		t.Error("stabilised after the deadline what not all have signed")
	}
	r.want(Expired)
	// A clock that is an hour late still signs.
	if _, err := r.n.Sign(t.Context(), nego, r.act(bob), "", noon.Add(30*time.Minute)); err != nil {
		t.Errorf("by a clock that is before the deadline: %v", err)
	}
	r.stabilize()
}
