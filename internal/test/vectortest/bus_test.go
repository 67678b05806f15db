package vectortest

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
)

func activeKeys(t *testing.T, c kase) {
	var v struct {
		Registration, Active []string
		Events               []struct{ Type, Key string }
	}
	c.into(t, &v)
	var events []registry.Event
	for _, e := range v.Events {
		events = append(events, registry.Event{Instance: "a:b", Type: e.Type, Key: e.Key})
	}
	if got := registry.Fold("a:b", v.Registration, events).PEM; !slices.Equal(got, v.Active) {
		t.Errorf("%s: active %q, want %q", c.raw, got, v.Active)
	}
}

func sessionValidation(t *testing.T, c kase) {
	var v struct {
		Name  string
		Value json.RawMessage
		OK    bool
	}
	c.into(t, &v)
	if _, err := presence.Parse(v.Value); (err == nil) != v.OK {
		t.Errorf("Check(%s): %v, want ok %v", v.Value, err, v.OK)
	}
}

func sessionExpiry(t *testing.T, c kase) {
	var v struct {
		State, HeartbeatAt, Now string
		AgeMs, ExpiryMs         int64
		Expired                 bool
	}
	c.into(t, &v)
	s := &presence.Session{State: v.State, HeartbeatAt: v.HeartbeatAt}
	if got := presence.Expired(s, clock(t, v.Now), time.Duration(v.ExpiryMs)*time.Millisecond); got != v.Expired {
		t.Errorf("%s: expired %v, want %v", c.raw, got, v.Expired)
	}
}

func clock(t *testing.T, text string) time.Time {
	t.Helper()
	now, ok := envelope.ParseTime(text)
	if !ok {
		t.Fatalf("%q is not a time", text)
	}
	return now
}

// A stallVerdict is what both stall tables expect.
type stallVerdict struct {
	Stalled bool
	Reason  string
}

func stall(t *testing.T, c kase) {
	var v struct {
		State, WorkStatus string
		AgeMs             int64
		Expected          stallVerdict
	}
	c.into(t, &v)
	now := time.UnixMilli(1_781_258_400_000)
	beat := envelope.Stamp(now.Add(-time.Duration(v.AgeMs) * time.Millisecond))
	wantStall(t, c, presence.Session{State: v.State, WorkStatus: v.WorkStatus, HeartbeatAt: beat}, now, v.Expected)
}

func inferStall(t *testing.T, c kase) {
	var v struct {
		Name, Now string
		Session   struct{ WorkStatus, HeartbeatAt, State string }
		Expect    stallVerdict
	}
	c.into(t, &v)
	s := presence.Session{State: v.Session.State, WorkStatus: v.Session.WorkStatus, HeartbeatAt: v.Session.HeartbeatAt}
	wantStall(t, c, s, clock(t, v.Now), v.Expect)
}

func wantStall(t *testing.T, c kase, s presence.Session, now time.Time, want stallVerdict) {
	t.Helper()
	if reason, stalled := presence.Stalled(&s, now); stalled != want.Stalled || reason != want.Reason {
		t.Errorf("%s: stalled %v (%s), want %+v", c.raw, stalled, reason, want)
	}
}
