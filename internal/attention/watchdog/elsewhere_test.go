package watchdog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
)

// TestRemoteAgent: a signed request goes to the endpoint of the agent, and the program there follows it. Without an endpoint, or if the
// endpoint refuses, the agent counts as not asked.
func TestRemoteAgent(t *testing.T) {
	t.Parallel()
	const url = "http://127.0.0.1:1/h2a/envelopes"
	for _, c := range []struct {
		name, url string
		status    int
		err       error
		reason    string // in the entry; "": paused
		why       string // "": it was asked
	}{
		{"taken", url, 202, nil, "", ""},
		{"out of tokens", url, 200, nil, "out-of-tokens", ""},
		{"no endpoint", "", 0, nil, "", "no endpoint"},
		{"refused", url, 409, nil, "", "answered 409"},
		{"not there", url, 0, errors.New("connection refused"), "", "connection refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newPostRig(t, "scope:a")
			status := "paused"
			if c.reason != "" {
				status = c.reason
			}
			r.record(status)
			away := Elsewhere{
				From: envelope.Actor{Instance: asker, Role: "AGENTS", Scope: "scope:a"}, Now: func() time.Time { return r.now },
				Where: func(context.Context, address.Instance) (string, bool, error) { return c.url, true, nil },
				Seal: func(raw []byte, to string) ([]byte, error) {
					if to != c.url {
						t.Errorf("sealed for %q", to)
					}
					return envelope.Sign(raw, asker, r.keys[asker])
				},
				Post: func(_ context.Context, to string, shown bool, raw []byte) (int, error) {
					if to != c.url || !shown {
						t.Errorf("posted to %q, named by another machine: %v", to, shown)
					}
					if c.status/100 == 2 {
						if _, err := r.post.Office.Mail.Put(t.Context(), who, raw); err != nil {
							t.Error(err)
						}
					}
					return c.status, c.err
				},
			}
			a, err := Chain{away}.Try(t.Context(), Target{Entry: r.entry()})
			if err != nil || a.Did != (c.why == "") || !strings.Contains(a.Why, c.why) {
				t.Fatalf("%+v, %v", a, err)
			}
			if !a.Did {
				if n := r.waits(); n != 0 {
					t.Errorf("%d messages wait", n)
				}
				return
			}
			all, _, err := r.post.Office.Mail.Read(t.Context(), who)
			if err != nil || len(all) != 1 {
				t.Fatal(all, err)
			}
			reason := Stopped
			if c.reason != "" {
				reason = OutOfTokens
			}
			want := fmt.Sprintf(`{"kind":"drumbeat.resume","target":%q,"reason":%q,"requestedBy":%q}`, who, reason, asker)
			if got := all[0].Envelope; got.Target != who || string(canonjson.Compact(got.Body)) != want {
				t.Errorf("for %s: %s, want %s", got.Target, got.Body, want)
			}
			if c.reason != "" {
				return // it is waited for until there are tokens again
			}
			r.now = r.now.Add(time.Minute)
			if done, skipped, err := New(r.o).Requests(t.Context(), r.post, who); err != nil || len(done) != 1 || len(r.asked) != 1 {
				t.Errorf("followed: %v, %v, %v", done, skipped, err)
			}
		})
	}
}
