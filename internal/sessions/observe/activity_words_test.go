package observe

import (
	"testing"

	"tutti/internal/platform/proc"
)

func TestActivity(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what     string
		found    Observation
		doing    Doing
		underWay bool
		want     string
	}{
		{"tmux did not answer", Observation{State: Unknown}, Doing{Word: Idle}, false, StateUnknown},
		{"another process is at it", Observation{State: Alive}, Doing{Word: Idle}, true, StateUnknown},
		{"its program outlived the session", Observation{State: Absent, Process: proc.ID{PID: 7}}, Doing{}, false, StateUnknown},
		{"no session", Observation{State: Absent}, Doing{Word: Gone}, false, StateEnded},
		{"another owner's session", Observation{State: Other, Foreign: true}, Doing{Word: Working}, false, StateEnded},
		{"a program that was restarted by hand", Observation{State: Other, Replaced: true}, Doing{Word: Working}, false, StateWorking},
		{"idle", Observation{State: Alive}, Doing{Word: Idle}, false, StateIdle},
		{"limited", Observation{State: Alive}, Doing{Word: Limited}, false, StateLimited},
		{"an approval", Observation{State: Alive}, Doing{Word: Asking}, false, StateWaiting},
		{"a dialog at the start", Observation{State: Alive}, Doing{Asks: "whether it trusts this folder"}, false, StateWaiting},
		{"nothing shows", Observation{State: Alive}, Doing{}, false, StateUnknown},
	} {
		if got := Activity(&c.found, &c.doing, c.underWay); got != c.want {
			t.Errorf("%s: got %s, want %s", c.what, got, c.want)
		}
	}
}
