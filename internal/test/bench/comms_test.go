package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"tutti/internal/platform/proc"
)

// TestOfficeLeave: a run that was interrupted ends the agent of its home of gpg, and removes the home.
func TestOfficeLeave(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	o := &office{town: &town{e: &env{ctx: ctx}, dir: t.TempDir()}}
	err := o.makeKey()
	if errors.As(err, new(*noVerbError)) {
		t.Skip("SKIPPED: gpg is not installed: what an interrupted run leaves is not tested")
	}
	defer o.leave()
	if err != nil {
		t.Fatal(err)
	}
	all, err := proc.List()
	if err != nil {
		t.Fatal(err)
	}
	var agents []proc.ID
	for _, p := range all {
		if words, err := proc.Cmdline(p.PID); err == nil && slices.Contains(words, o.keys) {
			agents = append(agents, p.ID)
		}
	}
	if o.key == "" || len(agents) == 0 {
		t.Fatalf("key %q, agents %v; want one of each", o.key, agents)
	}
	stop()
	o.leave()
	gone, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if still := proc.Gone(gone, agents); len(still) > 0 {
		t.Errorf("the agent is there: %v", still)
	}
	if _, err := os.Stat(o.keys); err == nil {
		t.Error("the home is there")
	}
}
