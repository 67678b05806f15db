package vectortest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/render"
	"tutti/internal/governance/conductor"
	"tutti/internal/store"
	"tutti/internal/store/memstore"
)

// An activeClaim is one as the tables have it.
type activeClaim struct {
	Instance address.Instance
	At       string
}

// better are the cases in which this program comes to something else than existing ones, by the number of their weakness: what they
// come to stands in the table, and what is wanted instead stands here.
var better = map[string]struct {
	weakness string
	active   []activeClaim
	seat     address.Instance
}{
	"release under another spelling does not cancel the claim (quirk)": {weakness: "W10"},
	"to claim again moves the claim back": {
		weakness: "W10", active: []activeClaim{{"a:x", "2026-06-01T00:00:00.000Z"}, {"b:y", "2026-06-01T00:01:00.000Z"}},
	},
}

// originalFold is how existing programs read the log, by which it is made sure that their expectation is what the table says.
func originalFold(lines []json.RawMessage, workspace string) (active []activeClaim) {
	type event struct{ Type, WorkspaceID, Instance, At string }
	last, order := map[string]event{}, []string{}
	for _, l := range lines {
		var e event
		if json.Unmarshal(l, &e) != nil || e.Instance == "" || address.Canonical(e.WorkspaceID) != address.Canonical(workspace) {
			continue
		}
		old, known := last[e.Instance]
		if !known {
			order = append(order, e.Instance)
		}
		if e.At >= old.At {
			last[e.Instance] = e
		}
	}
	for _, i := range order {
		if last[i].Type == "claim" {
			active = append(active, activeClaim{address.Instance(i), last[i].At})
		}
	}
	slices.SortStableFunc(active, func(a, b activeClaim) int { return strings.Compare(a.At, b.At) })
	return active
}

// elected is when the tables ask who conducts. Their records are as young as that: in the future a heartbeat counts while it comes (W24).
var elected = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

// claimLog is a desk whose log of claims has these lines.
func claimLog(t *testing.T, lines []json.RawMessage) (*conductor.Service, *memstore.Store) {
	t.Helper()
	s := memstore.New(memstore.Options{Now: func() time.Time { return elected }})
	for _, l := range lines {
		var text string
		if json.Unmarshal(l, &text) != nil { // a line that is not valid JSON stands there as a string
			text = string(l)
		}
		if err := s.PlantLine(store.Key{Kind: store.ConductorClaims}, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return &conductor.Service{Log: s, Presence: presence.New(s), Registry: registry.New(s)}, s
}

// wantClaims compares the claims that stand with what the table says, or with what is wanted instead.
func wantClaims(t *testing.T, d *conductor.Service, name, workspace string, lines []json.RawMessage, table []activeClaim) {
	t.Helper()
	if got := originalFold(lines, workspace); fmt.Sprint(got) != fmt.Sprint(table) {
		t.Errorf("%s: existing programs read %v, the table says %v", name, got, table)
	}
	want := table
	if b, other := better[name]; other {
		want = b.active
	}
	claims, err := d.Standing(t.Context(), workspace)
	if err != nil {
		t.Fatal(err)
	}
	var got []activeClaim
	for _, c := range claims {
		got = append(got, activeClaim{c.Instance, c.Since})
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: claims %v, want %v", name, got, want)
	}
}

func conductorClaims(t *testing.T, c kase) {
	var v struct {
		WorkspaceID string
		Events      []json.RawMessage
		Active      []activeClaim
	}
	c.into(t, &v)
	d, _ := claimLog(t, v.Events)
	wantClaims(t, d, "to claim again moves the claim back", v.WorkspaceID, v.Events, v.Active)
}

func conductorElection(t *testing.T, c kase) {
	var v struct {
		Name, WorkspaceID string
		Claims            []json.RawMessage
		Sessions          []struct{ SessionID, Instance, StartedAt, HeartbeatAt, State, WorkspaceID string }
		Registry          map[string][]string
		Now               string
		Expect            struct {
			WorkspaceID          string
			Conductor, ClaimedBy *address.Instance
			Candidates           []struct {
				Instance address.Instance
				Roles    []string
			}
			Live         bool
			ActiveClaims []activeClaim
		}
	}
	c.into(t, &v)
	d, s := claimLog(t, v.Claims)
	for _, x := range v.Sessions {
		place := ""
		if x.WorkspaceID != "" {
			place = fmt.Sprintf(`,"workspace":{"id":%q,"path":"/w","host":"h","label":"w"}`, x.WorkspaceID)
		}
		raw := fmt.Sprintf(`{"sessionId":%q,"instance":%q,"startedAt":%q,"heartbeatAt":%q,"state":%q,"interests":{"scopes":[],"negotiations":[]},"subscribedTopics":[]%s}`,
			x.SessionID, x.Instance, x.StartedAt, x.HeartbeatAt, x.State, place)
		if err := s.Plant(store.Key{Kind: store.Presence, Name: address.Segment(x.SessionID)}, []byte(raw)); err != nil {
			t.Fatal(err)
		}
	}
	for i, roles := range v.Registry {
		raw, _ := json.Marshal(map[string]any{"id": i, "instance": i, "roles": roles})
		if err := s.PlantLine(store.Key{Kind: store.Instances}, raw); err != nil {
			t.Fatal(err)
		}
	}
	wantClaims(t, d, v.Name, v.WorkspaceID, v.Claims, v.Expect.ActiveClaims)
	r, err := d.Resolve(t.Context(), conductor.Where{ID: v.WorkspaceID}, elected)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		WorkspaceID          string
		Conductor, ClaimedBy *address.Instance
		Candidates           []struct {
			Instance address.Instance
			Roles    []string
		}
		Live bool
	}
	if err := json.Unmarshal(render.JSON(r.View()), &got); err != nil {
		t.Fatal(err)
	}
	want := got
	want.WorkspaceID, want.Conductor, want.ClaimedBy, want.Candidates, want.Live =
		v.Expect.WorkspaceID, v.Expect.Conductor, v.Expect.ClaimedBy, v.Expect.Candidates, v.Expect.Live
	if b, other := better[v.Name]; other {
		want.Conductor, want.ClaimedBy = nil, nil
		if b.seat != "" {
			want.Conductor, want.ClaimedBy = &b.seat, &b.seat
		}
	}
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if string(a) != string(b) {
		t.Errorf("%s:\n got %s\nwant %s", v.Name, a, b)
	}
}

func launchIdle(t *testing.T, c kase) {
	var v struct {
		IdleMs *string
		Expect struct {
			OK        bool
			Effective float64
			Exit      int
		}
	}
	c.into(t, &v)
	text := ""
	if v.IdleMs != nil {
		text = *v.IdleMs
	}
	n, err := conductor.Idle(text)
	if (err == nil) != v.Expect.OK || n != v.Expect.Effective {
		t.Errorf("idle %q: %v, %v, want %+v", text, n, err, v.Expect)
	}
}

func launchCheck(t *testing.T, c kase) {
	var v struct {
		Name      string
		Conductor address.Instance
		Track     json.RawMessage
		Expect    map[string]any
	}
	c.into(t, &v)
	var act *conductor.Activity
	if string(v.Track) != "null" {
		var err error
		if act, err = conductor.ParseActivity(v.Track); err != nil {
			t.Fatal(err)
		}
	}
	var got map[string]any
	if err := json.Unmarshal(render.JSON(conductor.Advise("ws:1", &conductor.Resolution{Conductor: v.Conductor}, act).View()), &got); err != nil {
		t.Fatal(err)
	}
	if got["reason"] == "" || got["workspaceId"] != "ws:1" {
		t.Errorf("%s: %v", v.Name, got)
	}
	delete(got, "reason")
	delete(got, "workspaceId")
	if fmt.Sprint(got) != fmt.Sprint(v.Expect) {
		t.Errorf("%s:\n got %v\nwant %v", v.Name, got, v.Expect)
	}
}

// farMarker is the case of a marker in the future, which shuts the gate for existing programs, and here does not (W9).
const farMarker = "marker from the future keeps the cooldown"

func conductorLaunch(t *testing.T, c kase) {
	var v struct {
		Name           string
		Recommendation string
		Confirm        bool
		Instance       address.Instance
		Remote         address.Instance
		LastSpawnAt    string
		LiveSessions   []struct{ Instance, Host string }
		Now            time.Time
		Expect         struct {
			Action      string
			Exit        int
			Marker      bool
			To          address.Instance
			LastSpawnAt string
		}
	}
	c.into(t, &v)
	s := memstore.New(memstore.Options{})
	d := &conductor.Service{Log: s, Presence: presence.New(s), Registry: registry.New(s)}
	spawns := store.Key{Kind: store.ConductorSpawns}
	if v.LastSpawnAt != "" {
		if err := s.PlantLine(spawns, fmt.Appendf(nil, `{"workspaceId":"WS:1","at":%q,"to":"remote:x"}`, v.LastSpawnAt)); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range v.LiveSessions {
		if _, err := d.Presence.Open(t.Context(), presence.Start{Instance: address.Instance(l.Instance), Host: l.Host}, v.Now); err != nil {
			t.Fatal(err)
		}
	}
	sent := 0
	o, err := d.Launch(t.Context(), conductor.Launch{
		Check: &conductor.Check{Workspace: "ws:1", Recommendation: v.Recommendation}, Confirm: v.Confirm, From: v.Instance, Remote: v.Remote, Leases: s, Holder: "test",
		Deliver: func(context.Context, address.Instance, []byte) error { sent++; return nil },
	}, v.Now)
	want := v.Expect
	if v.Name == farMarker {
		want.Action, want.Marker, want.LastSpawnAt, want.To = conductor.DidEmit, true, "", "remote:r:000000000001"
	}
	marks := 0
	for range s.Read(t.Context(), spawns, "") {
		marks++
	}
	if v.LastSpawnAt != "" {
		marks--
	}
	switch {
	case (err != nil) != (want.Exit != 0):
		t.Errorf("%s: %v, want exit status %d", v.Name, err, want.Exit)
	case err == nil && (o.Action != want.Action || o.To != want.To || o.Last != want.LastSpawnAt):
		t.Errorf("%s: %+v, want %+v", v.Name, o, want)
	case (marks == 1) != want.Marker || (sent == 1) != want.Marker:
		t.Errorf("%s: %d markers, %d sent, want %+v", v.Name, marks, sent, want)
	}
}
