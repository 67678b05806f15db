package main

import (
	"fmt"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/governance/blocker"
	"tutti/internal/store/filestore"
)

const (
	blocked = 1_000
	asks    = 30
)

func blockageRows() []row {
	return []row{{
		subject: "blockages", work: "`blockage list` of 1,000, whole process", target: timesBase(10), round: listBlocked,
	}}
}

// listBlocked lists agents of which each is blocked by something.
func listBlocked(e *env) (measured, error) {
	t, err := e.settle("blockage list")
	if err != nil {
		return measured{}, err
	}
	defer t.leave()
	if err := t.block(); err != nil {
		return measured{}, err
	}
	settleDown()
	null, err := devNull()
	if err != nil {
		return measured{}, err
	}
	defer null.Close()
	return inTurns(e.ctx, asks, process(t.timed("", "blockage", "list", "--json"), null), process(command{path: e.floor, env: t.as(""), dir: t.dir}, null))
}

// block raises the blockages.
func (t *town) block() error {
	s, err := filestore.Open(t.root, filestore.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	all := blocker.New(s)
	for n := range blocked {
		_, _, err := all.Raise(t.e.ctx, blocker.Call{
			Instance: address.Instance(fmt.Sprintf("claude:agent%d:%012x", n, n)), Scope: "scope:bench", Reason: "the schema is not there yet", Needs: "db/014.sql",
		}, time.Now())
		if err != nil {
			return err
		}
	}
	return nil
}
