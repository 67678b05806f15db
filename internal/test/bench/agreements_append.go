package main

import (
	"path/filepath"
	"time"

	people "tutti/internal/bus/registry"
	"tutti/internal/governance/journal"
	"tutti/internal/store/filestore"
)

// journalOf makes a bus on a disk with a journal of so many entries.
func journalOf(e *env, n int, c *council, seal journal.Seal) (*filestore.Store, error) {
	dir, err := e.fresh()
	if err != nil {
		return nil, err
	}
	s, err := filestore.Open(filepath.Join(dir, ".h2a"), filestore.Options{Create: true, CreatedBy: "bench"})
	if err != nil {
		return nil, err
	}
	if err := settle(e, s, n, c, seal); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// settle registers everybody on a bus and lays a journal of so many entries there.
func settle(e *env, s *filestore.Store, n int, c *council, seal journal.Seal) error {
	k, err := journal.KeyOf(nego)
	if err != nil {
		return err
	}
	lines, err := framed(n, c)
	if seal.Key != nil {
		lines, err = sealed(e.ctx, n, c, k, seal)
	}
	if err != nil {
		return err
	}
	reg := people.New(s)
	for i := range c.all {
		if err := reg.Register(e.ctx, c.registration(i, time.Now())); err != nil {
			return err
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return s.Extend(e.ctx, k, lines)
}

// appendLong sets adding to a long journal against adding to an empty one, in turns.
func appendLong(e *env) (measured, error) {
	c := newCouncil()
	seal := journal.Seal{By: c.all[1], Key: c.keys[1]}
	adders := [2]func(int) (time.Duration, error){}
	for which, n := range [2]int{longest, 0} {
		s, err := journalOf(e, n, c, journal.Seal{})
		if err != nil {
			return measured{}, err
		}
		defer s.Close()
		j := journal.New(s, &journal.InProcess{})
		adders[which] = func(i int) (time.Duration, error) {
			began := time.Now()
			_, err := j.Append(e.ctx, nego, nil, seal, func(journal.Tip) ([]byte, error) { return entry(longest+i, c.all[1]), nil })
			return time.Since(began), err
		}
		if _, err := adders[which](0); err != nil { // reads what is there
			return measured{}, err
		}
	}
	return inTurns(e.ctx, 200, adders[0], adders[1])
}

// appendApart is the same with a process for each entry: what the one has verified the next one knows by its hash.
func appendApart(e *env) (measured, error) {
	null, err := devNull()
	if err != nil {
		return measured{}, err
	}
	defer null.Close()
	c := newCouncil()
	adders := [2]func(int) (time.Duration, error){}
	for which, n := range [2]int{longest, 0} {
		dir, err := e.fresh()
		if err != nil {
			return measured{}, err
		}
		t := &town{e: e, dir: dir, root: filepath.Join(dir, "h2a-workspace", ".h2a")}
		if _, err := t.run("", "init"); err != nil {
			return measured{}, err
		}
		if err := t.negotiate(n, c); err != nil {
			return measured{}, err
		}
		add := t.timed("", "negotiate", "event", nego, `{"body":{"kind":"note"}}`, "--instance", string(c.all[1]))
		if _, err := add.time(null); err != nil { // reads what is there
			return measured{}, err
		}
		adders[which] = process(add, null)
	}
	return inTurns(e.ctx, 40, adders[0], adders[1])
}

// negotiate begins a negotiation with so many entries.
func (t *town) negotiate(n int, c *council) error {
	s, err := filestore.Open(t.root, filestore.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := settle(t.e, s, 0, c, journal.Seal{}); err != nil {
		return err
	}
	if _, err := t.run("", "negotiate", "open", string(c.record()), "--instance", string(c.all[0])); err != nil {
		return err
	}
	lines, err := framed(n, c)
	if err != nil || len(lines) == 0 {
		return err
	}
	k, err := journal.KeyOf(nego)
	if err != nil {
		return err
	}
	return s.Extend(t.e.ctx, k, lines)
}
