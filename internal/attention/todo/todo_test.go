package todo

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/sessions/job"
)

var noon = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

// TestJoin: one list: first what blocks an agent, oldest first. No kind crowds out another.
func TestJoin(t *testing.T) {
	t.Parallel()
	var many []Item
	for n := range 3 * MaxOfKind {
		many = append(many, Item{Kind: Held, ID: fmt.Sprint(n), At: noon.Add(-time.Duration(n) * time.Second)})
	}
	long := strings.Repeat("é", MaxAbout)
	all := Join(many, []Item{{Kind: Blockage, ID: "b"}, {Kind: Job, ID: "new", At: noon}, {Kind: Job, ID: "old", At: noon.Add(-time.Hour), About: long}},
		[]Item{{Kind: Negotiation, ID: "n"}, {Kind: Escalation, ID: "e"}, {Kind: Complete, ID: "c"}, {Kind: Comms, ID: "u"}}, []Item{{Kind: Permission, ID: "p"}})
	var got []string
	for _, i := range all {
		if i.Kind != Held {
			got = append(got, i.ID)
		}
		if len(i.About) > MaxAbout || !canonjson.Valid(render.JSON(i.View())) {
			t.Errorf("%s: %d bytes, %.100s", i.ID, len(i.About), render.JSON(i.View()))
		}
	}
	if want := "p e u c n old new b"; strings.Join(got, " ") != want || len(all) != MaxOfKind+8 {
		t.Errorf("%d: %v, want %d: %s", len(all), got, MaxOfKind+8, want)
	}
	if first := all[7]; first.Kind != Held || first.ID != fmt.Sprint(3*MaxOfKind-1) {
		t.Errorf("of too many the first is %+v, want the oldest", first)
	}
}

// TestJobs: a job waits for a person, and for the agent that submitted it.
func TestJobs(t *testing.T) {
	t.Parallel()
	jobs := []*job.Job{
		{ID: "done", Status: job.StatusCompleted, Submitter: "claude:c1", Prompt: "count\nmore", Agent: "codex"},
		{ID: "accepted", Status: job.StatusCompleted, Submitter: "claude:c1", Verdict: "accepted"},
		{ID: "asks", Status: job.StatusRunning, Last: job.Permission},
		{ID: "in-tmux", Status: job.StatusRunning, Last: job.Permission, Session: "s"}, // the session is in the list
		{ID: "at-work", Status: job.StatusRunning},
	}
	for who, want := range map[string]string{"person": "done asks", "claude:c1": "done", "claude:c2": ""} {
		var got []string
		for _, i := range Jobs(jobs, func() (string, bool) { return who, who == "person" }) {
			got = append(got, i.ID)
			if i.ID == "done" && (i.Command != "tutti job accept done" || i.About != "says that it is done: count" || i.From != "codex") {
				t.Errorf("%+v", i)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %q", who, got, want)
		}
	}
}
