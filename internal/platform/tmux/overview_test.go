package tmux

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"testing"
	"time"
)

// A survey sees what Panes sees, whatever stands in titles, folders and owners.
func TestSurveyed(t *testing.T) {
	t.Parallel()
	w := empty(t)
	w.make(Spec{Name: "a b", Owner: "0123"})
	w.make(Spec{Name: "dead", Argv: []string{"sh", "-c", "exit 3"}})
	w.make(Spec{Name: "killed", Argv: []string{"sh", "-c", "kill -9 $$"}})
	w.do("set-option", "-t", "=dead:", "@owner_id", "x\ty\n%0A 100% #{pid} #(true)")
	w.do("select-pane", "-t", "=killed:", "-T", "50% of #{pid}")
	odd := w.file("tab\tand\nline")
	if err := os.Mkdir(odd, 0o700); err != nil {
		t.Fatal(err)
	}
	w.do("split-window", "-t", "=a b:", "-c", odd, "sleep", "1000")
	var all *Snapshot
	eventually(t, func() (string, bool) {
		var err error
		all, err = w.Panes(t.Context())
		return fmt.Sprint(all, err), err == nil && len(all.Panes) == 4 && all.Panes[0].Path != "" && all.Panes[1].Path == odd && // their processes have gone there
			all.Panes[2].Dead && all.Panes[3].Dead && !all.Panes[2].unreaped() && !all.Panes[3].unreaped()
	})
	want := *all
	want.Socket, want.Panes = "", nil
	for _, p := range all.Panes {
		p.Window, p.WindowName, p.Activity = "", "", time.Time{}
		p.InMode, p.InputOff, p.Alternate, p.Synchronized = false, false, false, false
		want.Panes = append(want.Panes, p)
	}
	for what, survey := range map[string]func() (*Snapshot, map[string]string, error){
		"at once":      func() (*Snapshot, map[string]string, error) { return w.Overview(t.Context(), nil) },
		"in two steps": func() (*Snapshot, map[string]string, error) { return w.ToSurvey().Overview(t.Context(), nil) },
	} {
		if got, _, err := survey(); err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: got %+v, %v\nwant %+v", what, got, err, want)
		}
	}
}

// What was not asked for is not taken for a pane.
func TestParseSurvey(t *testing.T) {
	t.Parallel()
	const one = "$1\t1700000000\t2\t%2\t99\t0\t\t\t\ta\tbMshMtitleM/homeMownM\n"
	got, err := parseSurvey("7\t9\t3.3a\n"+one+one, "M")
	pane := Pane{
		Server: 7, Started: 9, Session: "$1", SessionCreated: time.Unix(1700000000, 0), Attached: 2, ID: "%2", PID: 99, Status: -1,
		SessionName: "a\tb", Command: "sh", Title: "title", Path: "/home", Owner: "own",
	}
	if want := (&Snapshot{PID: 7, Started: time.Unix(9, 0), Version: "3.3a", Panes: []Pane{pane, pane}}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if got, err := parseSurvey("7\t9\t3.3a\n", "M"); err != nil || !reflect.DeepEqual(got, &Snapshot{}) {
		t.Errorf("no panes: %+v, %v", got, err)
	}
	for _, bad := range []string{
		"", "\n", one, "7\t9\n" + one, "0\t9\t3.3a\n" + one, "7\t9\t3.3a", "7\t9\t3.3a\n" + one[:len(one)-1], "7\t9\t3.3a\n" + one + "M", "7\t9\t3.3a\n\n", "7\t9\t3.3a\n" + one + "x" + one,
		"7\t9\t3.3a\n" + one[1:], "7\t9\t3.3a\n$1\t1700000000\t2\t%2\t99\t0\taMshMtitleM/homeMownM\n", "7\t9\t3.3a\n" + one + "\nMMMMM\n",
	} {
		if got, err := parseSurvey(bad, "M"); !errors.Is(err, errRow) {
			t.Errorf("%q: %+v, %v", bad, got, err)
		}
	}
}
