package halt

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func pausesOf(t *testing.T) string {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	return locate().state + pausesName
}

func TestPausedFor(t *testing.T) {
	dir := pausesOf(t)
	repo, other := t.TempDir(), t.TempDir()
	tree := filepath.Join(other, "tree")
	git := filepath.Join(repo, ".git", "worktrees", "tree")
	for _, d := range []string{git, filepath.Join(tree, "sub"), filepath.Join(repo, "sub")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(other, "link")
	for _, err := range []error{
		os.WriteFile(filepath.Join(tree, ".git"), []byte("gitdir: "+git+"\n"), 0o600),
		os.WriteFile(filepath.Join(git, "commondir"), []byte("../..\n"), 0o600),
		os.Symlink(repo, link),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if p, on := PausedFor("claude:api:3f2a9c01b7de", repo); on {
		t.Fatalf("paused without a pause: %+v", p)
	}
	if _, err := SetPause("", link, "over\nbudget"); err != nil {
		t.Fatal(err)
	}
	if _, err := SetPause("claude:api:3f2a9c01b7de", "", ""); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		agent, dir string
		want       bool
	}{
		{"", repo, true},
		{"", filepath.Join(repo, "sub"), true},
		{"", filepath.Join(link, "sub"), true},
		{"", tree, true},
		{"", filepath.Join(tree, "sub"), true},
		{"", other, false},
		{"", repo + "x", false},
		{"", "", false},
		{"Claude:api:3f2a9c01b7de", other, true},
		{"claude:api:3f2a9c01b7de~sub", other, true},
		{"claude:api:3f2a9c01b7df", other, false},
	} {
		if p, got := PausedFor(tt.agent, tt.dir); got != tt.want {
			t.Errorf("PausedFor(%q, %q) = %+v, %t, want %t", tt.agent, tt.dir, p, got, tt.want)
		}
	}
	if p, _ := PausedFor("", repo); p.Reason != "over" || p.Folder != repo || p.Since.IsZero() {
		t.Errorf("the pause of the folder: %+v", p)
	}
	for _, p := range Pauses() {
		if recorded, err := ClearPause(p, Lift{How: AtTerminal}); err != nil || !recorded {
			t.Error(err)
		}
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder of pauses after the last one: %v, want none", err)
	}
}

// TestUnreadablePause: a pause that cannot be read counts, for what its name says or else for everything.
func TestUnreadablePause(t *testing.T) {
	dir := pausesOf(t)
	if err := os.MkdirAll(filepath.Join(dir, "folder=%2Fsrv%2Fapi"), 0o700); err != nil {
		t.Fatal(err)
	}
	if p, on := PausedFor("", "/srv/api/x"); !on || p.Problem == "" {
		t.Errorf("a folder in place of the file: %+v, %t, want paused", p, on)
	}
	if _, on := PausedFor("", "/srv/web"); on {
		t.Error("it covers another folder as well")
	}
	if err := os.WriteFile(filepath.Join(dir, "nonsense"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, on := PausedFor("", "/srv/web"); !on {
		t.Error("a file that does not say what is paused does not count for everything")
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, on := PausedFor("", "/srv/web"); !on {
		t.Error("a file in place of the folder does not count for everything")
	}
}

// TestLifts: a lift is recorded with the number of its halt; a switch that is deleted is noticed once.
func TestLifts(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	if _, _, err := Raise("x"); err != nil {
		t.Fatal(err)
	}
	if _, err := ClearBy(Lift{How: WithoutTerminal, Chain: []string{"bash (pid 7)", "a\tb"}}); err != nil {
		t.Fatal(err)
	}
	all, unseen, end := Lifts()
	if len(all) != 1 || unseen != 1 || all[0].Count != 1 || all[0].How != WithoutTerminal || len(all[0].Chain) != 2 {
		t.Fatalf("lifts: %+v, %d unseen", all, unseen)
	}
	if !strings.Contains(EndText(), "without a terminal") {
		t.Errorf("text for agents: %s", EndText())
	}
	if err := Seen(end); err != nil {
		t.Fatal(err)
	}
	if _, unseen, _ = Lifts(); unseen != 0 {
		t.Errorf("%d unseen lifts after they were seen", unseen)
	}
	if m, _ := Memory(); m.Open {
		t.Error("the halt is open after a recorded lift")
	}
	if _, _, err := Raise("y"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(Path()); err != nil {
		t.Fatal(err)
	}
	m, err := Memory()
	if err != nil {
		t.Fatal(err)
	}
	if un, first := m.Ended(); !un || !first {
		t.Errorf("first look at a deleted switch: %t, %t", un, first)
	}
	if un, first := m.Ended(); !un || first {
		t.Errorf("second look: %t, %t", un, first)
	}
	if !strings.Contains(EndText(), "without a recorded lift") {
		t.Errorf("text for agents: %s", EndText())
	}
}

// TestLostPause: a pause that is deleted is noticed once, and one that was ended is not.
func TestLostPause(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	long := filepath.Join(os.Getenv("HOME"), strings.Repeat("a long name/", 20)+strings.Repeat("ж", 100))
	if err := os.MkdirAll(long, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, p := range []Pause{{Agent: "claude:api:0a1b2c3d4e5f"}, {Agent: "codex:web:0a1b2c3d4e5f"}, {Folder: long}} {
		if _, err := SetPause(p.Agent, p.Folder, "over budget"); err != nil {
			t.Fatal(err)
		}
	}
	p, on := PausedFor("", filepath.Join(long, "below"))
	if !on || p.Folder != long || p.Reason != "over budget" || p.Problem != "" {
		t.Errorf("a folder with a long path: %+v, %t", p, on)
	}
	if lost := LostPauses(); len(lost) > 0 {
		t.Errorf("lost: %q, want none", lost)
	}
	if recorded, err := ClearPause(Pause{Agent: "codex:web:0a1b2c3d4e5f"}, Lift{How: AtTerminal}); err != nil || !recorded {
		t.Fatal(recorded, err)
	}
	if err := os.RemoveAll(filepath.Join(os.Getenv("HOME"), ".local/state/tutti", pausesName)); err != nil {
		t.Fatal(err)
	}
	if lost := LostPauses(); !slices.Equal(lost, []string{long, "claude:api:0a1b2c3d4e5f"}) {
		t.Errorf("lost: %q, want the folder and claude:api", lost)
	}
	if lost := LostPauses(); len(lost) > 0 {
		t.Errorf("lost again: %q", lost)
	}
	all, unseen, _ := Lifts()
	if len(all) != 3 || unseen != 3 || all[1].How != Unrecorded || all[1].Text() != "the pause of "+all[1].Pause+" ended without a recorded lift" {
		t.Errorf("lifts: %+v, %d unseen", all, unseen)
	}
}
