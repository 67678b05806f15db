package inventory

import (
	"os"
	"path/filepath"
	"testing"
)

func real(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func paths(t *testing.T, state string, kind Kind) (all []string) {
	t.Helper()
	places, err := All(state, kind)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range places {
		all = append(all, p.Path)
	}
	return all
}

func mkdir(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestNote: a place is written once, and kinds are kept apart.
func TestNote(t *testing.T) {
	t.Parallel()
	state, at := real(t), real(t)
	if got := paths(t, state, Bus); got != nil {
		t.Fatalf("an inventory that does not exist has %q", got)
	}
	bus, registry := mkdir(t, at+"/b/.h2a"), mkdir(t, at+"/p/.hermes")+"/agent-sessions.yaml"
	for range 2 {
		if err := Note(state, Bus, bus); err != nil {
			t.Fatal(err)
		}
	}
	if err := Note(state, Sessions, registry); err != nil {
		t.Fatal(err)
	}
	if got := paths(t, state, Bus); len(got) != 1 || got[0] != bus {
		t.Errorf("buses: %q", got)
	}
	if got := paths(t, state, Sessions); len(got) != 1 || got[0] != registry {
		t.Errorf("registries: %q", got)
	}
	entry := filepath.Join(state, folder, name(Bus, bus))
	before, err := os.Stat(entry)
	if err != nil {
		t.Fatal(err)
	}
	if err := Note(state, Bus, bus); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(entry); err != nil || !os.SameFile(before, after) {
		t.Errorf("a known place was written again: %v", err)
	}
}

// TestVerified: a place that is gone, was replaced, became a link, or can be written by every user is not returned.
func TestVerified(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, dir string){
		"gone": func(t *testing.T, dir string) { must(t, os.Remove(dir)) },
		"replaced": func(t *testing.T, dir string) {
			must(t, os.Rename(dir, dir+".old"))
			mkdir(t, dir)
		},
		"a link": func(t *testing.T, dir string) {
			must(t, os.Rename(dir, dir+".old"))
			must(t, os.Symlink(dir+".old", dir))
		},
		"open to all": func(t *testing.T, dir string) { must(t, os.Chmod(dir, 0o777)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state, at := real(t), real(t)
			dir := mkdir(t, at+"/.hermes")
			must(t, Note(state, Sessions, dir+"/agent-sessions.yaml"))
			change(t, dir)
			if got := paths(t, state, Sessions); len(got) != 0 {
				t.Errorf("still listed: %q", got)
			}
		})
	}
}

// TestNotNoted: links, folders that every user can write, and relative paths are refused.
func TestNotNoted(t *testing.T) {
	t.Parallel()
	state, at := real(t), real(t)
	dir := mkdir(t, at+"/a")
	must(t, os.Symlink(dir, at+"/link"))
	loose := mkdir(t, at+"/loose")
	must(t, os.Chmod(loose, 0o777))
	for _, path := range []string{at + "/link", loose, "a", at + "/missing"} {
		if err := Note(state, Bus, path); err == nil {
			t.Errorf("%s was noted", path)
		}
	}
	if os.Geteuid() == 0 {
		other := mkdir(t, at+"/other")
		must(t, os.Chown(other, 12345, 12345))
		if err := Note(state, Bus, other); err == nil {
			t.Error("the folder of another user was noted")
		}
	}
}

// TestForeignEntry: an entry that Note did not write in this form is passed over.
func TestForeignEntry(t *testing.T) {
	t.Parallel()
	state, at := real(t), real(t)
	dir := mkdir(t, at+"/a")
	must(t, Note(state, Bus, dir))
	in := filepath.Join(state, folder)
	must(t, os.WriteFile(in+"/bus-0123.json", []byte(`{"kind":"bus","path":"`+dir+`"}`), 0o600))
	must(t, os.WriteFile(in+"/bus-4567.json", []byte("{"), 0o600))
	must(t, os.Symlink(in+"/"+name(Bus, dir), in+"/bus-link.json"))
	if got := paths(t, state, Bus); len(got) != 1 {
		t.Errorf("listed: %q", got)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
