package main

import (
	"fmt"
	"path/filepath"
	"time"

	"tutti/internal/bus/presence"
	people "tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/governance/conductor"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
)

const (
	liveAll   = 1_000
	liveHere  = 20
	fleet     = 100_000 // registrations
	resolving = 50
)

func conductorRows() []row {
	return []row{{
		subject: "conductor", work: "who conducts: 1,000 live sessions, 20 of them here, 100,000 registrations", target: timesBase(4), round: whoConducts,
	}}
}

// whoConducts sets the question, from an opened store to the answer, against the start of an empty program. Each time the store is
// opened anew, so that nothing is left of the last one but the index on the disk.
func whoConducts(e *env) (measured, error) {
	dir, err := e.fresh()
	if err != nil {
		return measured{}, err
	}
	root := filepath.Join(dir, ".h2a")
	options := filestore.Options{Create: true, CreatedBy: "bench", CacheDir: filepath.Join(dir, "cache")}
	s, err := filestore.Open(root, options)
	if err != nil {
		return measured{}, err
	}
	err = fillFleet(e, s)
	if e := s.Close(); err == nil {
		err = e
	}
	if err != nil {
		return measured{}, err
	}
	settleDown()
	null, err := devNull()
	if err != nil {
		return measured{}, err
	}
	defer null.Close()
	ask := func(int) (time.Duration, error) {
		began := time.Now()
		s, err := filestore.Open(root, options)
		if err != nil {
			return 0, err
		}
		defer s.Close()
		d := conductor.Service{Log: s, Presence: presence.New(s), Registry: people.New(s), Machine: presence.Here()}
		r, err := d.Resolve(e.ctx, conductor.Where{Path: "/srv/here", Derived: "ws:derived"}, time.Now())
		if err == nil && (len(r.Candidates) != liveHere || r.Conductor != agentOf(0)) {
			err = fmt.Errorf("%d candidates, %q conducts", len(r.Candidates), r.Conductor)
		}
		return time.Since(began), err
	}
	return inTurns(e.ctx, resolving, ask, process(command{path: e.floor, env: home(dir), dir: dir}, null))
}

func agentOf(n int) address.Instance {
	return address.Instance(fmt.Sprintf("claude:agent%d:%012x", n, n))
}

// fillFleet registers everybody, and makes some of them live.
func fillFleet(e *env, s *filestore.Store) error {
	now := time.Now()
	where := func(n int) (id, path string) {
		if n < liveHere {
			return "ws:here", "/srv/here"
		}
		return fmt.Sprintf("ws:%d", n%500), fmt.Sprintf("/srv/%d", n%500)
	}
	lines := make([][]byte, 0, fleet)
	for n := range fleet {
		id, path := where(n)
		lines = append(lines, people.Build(people.Agent{
			Instance: agentOf(n), Roles: []string{people.Agents}, Scopes: []string{"scope:bench"}, Root: "/bus",
			Workspace: &people.Workspace{ID: id, Path: path, Host: "claude", Label: "w"},
		}, now))
	}
	if _, _, err := store.ExtendWith(e.ctx, s, store.Key{Kind: store.Instances}, store.AnyEnd, lines); err != nil {
		return err
	}
	p := presence.New(s)
	for n := range liveAll {
		id, path := where(n)
		_, err := p.Open(e.ctx, presence.Start{
			SessionID: address.SessionID(fmt.Sprintf("sess:%04d", n)), Instance: agentOf(n), Host: "claude", PID: 4242,
			Workspace: &presence.Workspace{ID: id, Path: path, Host: "claude", Label: "w"},
		}, now.Add(time.Minute)) // none of them expires meanwhile
		if err != nil {
			return err
		}
	}
	d := conductor.Service{Log: s, Presence: p, Registry: people.New(s)}
	for n := range liveHere {
		if _, err := d.Claim(e.ctx, conductor.Request{Where: conductor.Where{ID: "ws:here"}, Instance: agentOf(n)}, now); err != nil {
			return err
		}
	}
	return nil
}
