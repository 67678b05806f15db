package reservation_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/reservation"
	"tutti/internal/store"
)

// planted is a document of a path, as somebody writes it by hand: as the lease that is taken on it, with some members changed.
func planted(t *testing.T, d *reservation.Reservations, path string, change map[string]string) {
	t.Helper()
	take(t, d, reservation.Want{Spots: file(path), Holder: beta}, now)
	for e, err := range d.Docs.List(t.Context(), store.FileLease, "") {
		if err != nil {
			t.Fatal(err)
		}
		doc, err := d.Docs.Get(t.Context(), e.Key)
		if err != nil {
			t.Fatal(err)
		}
		if at, ok := canonjson.Get(doc.Data, "path"); !ok || !canonjson.Is(at, path) {
			continue
		}
		data := doc.Data
		for name, value := range change {
			data = canonjson.Set(data, name, []byte(value))
		}
		if _, err := d.Docs.Replace(t.Context(), e.Key, data, doc.Rev); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("there is no document of %s", path)
}

// TestByHand: a record written by hand reserves only what it names, blocks no other agent, and is removed in time.
func TestByHand(t *testing.T) {
	each(t, func(t *testing.T, d *reservation.Reservations) {
		d.Home = "/home/ana"
		s, err := d.Presence.Open(t.Context(), presence.Start{SessionID: "sess:gamma", Instance: gamma}, now)
		if err != nil {
			t.Fatal(err)
		}
		for path, change := range map[string]map[string]string{
			"/ahead":      {"since": `"2027-06-12T10:00:00.000Z"`, "until": `"2027-06-12T11:00:00.000Z"`},
			"/backwards":  {"until": `"2025-06-12T11:00:00.000Z"`},
			"/year":       {"since": `"2026-06-10T10:00:00.000Z"`, "until": `"9999-12-31T23:59:59.999Z"`},
			"/foreign":    {"sessionId": `"` + string(s.SessionID) + `"`},
			"/none":       {"sessionId": `"sess:none"`, "agent": `{"pid":1,"start":0,"boot":"x"}`},
			"/home":       {"kind": `"folder"`},
			"/home/ana":   {"kind": `"folder"`},
			"/never/done": {"take": `{"id":"x","turn":1}`},
		} {
			d.Home = "" // or it could not be made
			planted(t, d, path, change)
			d.Home = "/home/ana"
			if got := holders(t, d, path, now) + holders(t, d, path+"/x", now); got != "" {
				t.Errorf("%s is held by %q", path, got)
			}
			if all, err := d.Standing(t.Context(), now); err != nil || len(all) != 0 {
				t.Errorf("%s is listed: %v, %v", path, all, err)
			}
			if path == "/year" || path == "/foreign" || change["kind"] != "" { // a wide one cannot be taken by anybody
				continue
			}
			take(t, d, reservation.Want{Spots: file(path), Holder: alpha}, now)
			if err := d.Release(t.Context(), path, alpha, now); err != nil {
				t.Error(err)
			}
		}
		var told []string
		d.Tell = func(_ context.Context, e reservation.Ending) error {
			told = append(told, e.Lease.Path)
			return nil
		}
		if ended, err := d.Sweep(t.Context(), now); err != nil || len(ended) != 2 || len(told) != 2 {
			t.Errorf("ended: %v, told: %q, %v", ended, told, err)
		}
		if all := left(t, d); len(all) != 2 { // leases that are too wide are ignored, and not deleted
			t.Errorf("stored: %q", all)
		}
		for _, wide := range []string{"/", "/home", "/home/ana"} {
			if _, err := d.Take(t.Context(), reservation.Want{Spots: folder(wide), Holder: alpha}, now); err == nil {
				t.Errorf("%s is taken as a whole", wide)
			}
		}
		take(t, d, reservation.Want{Spots: folder("/home/ana/web"), Holder: alpha}, now)
		take(t, d, reservation.Want{Spots: folder("/home/anabel"), Holder: alpha}, now)
	})
}

// TestTurnByHand: whatever the turn document contains, and whatever partial takes seem to be under way, files can be reserved.
func TestTurnByHand(t *testing.T) {
	each(t, func(t *testing.T, d *reservation.Reservations) {
		key := store.Key{Kind: store.FileLease, Name: strings.TrimSuffix(reservation.TurnFile, ".json")}
		for n, text := range []string{"{", "7", "", `{"turn":-1}`, `{"turn":9223372036854775807,"take":""}`, `{"turn":"x","take":7}`, `{"turn":4,"take":"x"}`} {
			path := fmt.Sprint("/t", n)
			take(t, d, reservation.Want{Spots: file(path), Holder: alpha}, now)
			doc, err := d.Docs.Get(t.Context(), key)
			if err == nil {
				_, err = d.Docs.Replace(t.Context(), key, []byte(text), doc.Rev)
			}
			if err != nil {
				t.Fatal(err)
			}
			planted(t, d, path+"x", nil)
			turn, err := d.Docs.Get(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			number, _ := canonjson.Get(turn.Data, "turn")
			planted(t, d, path+"x", map[string]string{"take": `{"id":"somebody","turn":` + string(number) + `}`})
			if got := holders(t, d, path, now); got != "alpha" {
				t.Errorf("with %q: held by %q", text, got)
			}
			take(t, d, reservation.Want{Spots: files(path, path+"x", path+"y"), Holder: alpha}, now)
		}
	})
}

// TestLongNames: however long the names of the agents to notify, and whatever the path, a reservation has room for some of them, and no
// take fails because there is not room for all.
func TestLongNames(t *testing.T) {
	each(t, func(t *testing.T, d *reservation.Reservations) {
		name := func(n int) address.Instance {
			return address.Instance(fmt.Sprintf("codex:%s%02d:bbbbbbbbbbb2", strings.Repeat("x", 170), n))
		}
		path := "/" + strings.Repeat(`a"\`, 400)
		l := take(t, d, reservation.Want{Spots: file(path), Holder: name(0), Note: strings.Repeat(`"\`, 100)}, now)
		for n := range 20 {
			all, err := d.On(t.Context(), path)
			if err != nil || len(all) != 1 {
				t.Fatal(all, err)
			}
			if n%2 == 0 {
				err = d.Warn(t.Context(), all[0], name(n+1))
			} else {
				_, err = d.Take(t.Context(), reservation.Want{Spots: file(path), Holder: name(n + 1)}, now)
				if err != nil && strings.Contains(err.Error(), "is reserved by") && !strings.Contains(err.Error(), "too large") {
					err = nil
				}
			}
			if err != nil {
				t.Errorf("%d: %v", n, err)
			}
		}
		all, err := d.On(t.Context(), path)
		if err != nil || len(all) != 1 || len(all[0].Warned) < 2 || len(all[0].Waits) < 2 || all[0].Warned[0] != name(1) || !all[0].Until.Equal(l.Until) {
			t.Fatalf("%v, %v", all, err)
		}
		if _, err := d.Sweep(t.Context(), now.Add(time.Hour)); err != nil || len(left(t, d)) != 0 {
			t.Errorf("%v, %v", left(t, d), err)
		}
	})
}
