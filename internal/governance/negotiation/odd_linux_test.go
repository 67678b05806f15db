package negotiation

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tutti/internal/store"
)

// TestOddFiles: replaces each file of a negotiation with something that is not a regular file: every verb returns, none follows a link out
// of the bus, and none reports an agreement.
func TestOddFiles(t *testing.T) {
	t.Parallel()
	places := map[string]func(r *rig, res *Result) string{
		"journal": func(r *rig, _ *Result) string {
			return filepath.Join(r.root, "negotiations/nego__pilot-1/journal.jsonl")
		},
		"record":   func(r *rig, _ *Result) string { return filepath.Join(r.root, stateKey(nego).Path()) },
		"folder":   func(r *rig, _ *Result) string { return filepath.Join(r.root, "negotiations/nego__pilot-1") },
		"artifact": func(r *rig, res *Result) string { return filepath.Join(r.root, res.Path) },
	}
	kinds := map[string]func(path, away string) error{
		"fifo":    func(path, _ string) error { return syscall.Mkfifo(path, 0o600) },
		"link":    func(path, away string) error { return os.Symlink(away, path) },
		"endless": func(path, _ string) error { return os.Symlink("/dev/zero", path) },
		"loop":    func(path, _ string) error { return os.Symlink(filepath.Base(path), path) },
		"folder":  func(path, _ string) error { return os.Mkdir(path, 0o700) },
		"sparse": func(path, _ string) error {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(path, 1<<40)
		},
	}
	for place, of := range places {
		for kind, lay := range kinds {
			if place == "folder" && kind == "folder" {
				continue
			}
			t.Run(place+" "+kind, func(t *testing.T) {
				t.Parallel()
				r := filesRig(t)
				r.open()
				r.offer(alice, "a")
				r.sign(alice, bob)
				res := r.stabilize()
				path := of(r, res)
				away := filepath.Join(t.TempDir(), "away")
				if err := os.Rename(path, away); err != nil {
					t.Fatal(err)
				}
				before := r.content(away)
				if err := lay(path, away); err != nil {
					t.Skip(err) // a file system that has none of these
				}
				r.n = r.fresh()
				start := time.Now()
				v, err := r.n.Verify(t.Context(), nego, r.now)
				if err == nil && v.OK() {
					t.Error("it holds")
				}
				s, serr := r.n.Status(t.Context(), nego, r.now)
				_, _ = r.n.Offer(t.Context(), nego, r.act(alice), Offering{Artifact: charter("b"), Base: LatestBase}, r.tick())
				_, _ = r.n.Sign(t.Context(), nego, r.act(bob), "", r.tick())
				_, _ = r.n.Open(t.Context(), record(), Act{}, r.now)
				_, stab := r.n.Stabilize(t.Context(), nego, Act{}, r.tick())
				if took := time.Since(start); took > 20*time.Second {
					t.Errorf("it took %v", took)
				}
				if s != nil && s.State == Stabilized && place == "journal" {
					t.Errorf("it is stabilised without a journal: %v, %v", serr, stab)
				}
				if !bytes.Equal(r.content(away), before) {
					t.Error("what lies outside of the bus was changed")
				}
				for range r.n.All(t.Context()) {
				}
			})
		}
	}
}

// content is what lies in a file, or in those of a folder.
func (r *rig) content(path string) []byte {
	r.t.Helper()
	var all []byte
	err := filepath.WalkDir(path, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		all = append(append(all, p...), data...)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

// TestHardLink: the file of an agreement that has a second name can be changed by that name, which is found like any other change.
func TestHardLink(t *testing.T) {
	t.Parallel()
	r := filesRig(t)
	r.open()
	r.offer(alice, "a")
	r.sign(alice, bob)
	res := r.stabilize()
	second := filepath.Join(r.root, "second")
	if err := os.Link(filepath.Join(r.root, res.Path), second); err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(second, []byte(`{"kind":"ENGAGEMENT"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if v := r.verify(); v.OK() || v.Artifact == nil {
		t.Errorf("%+v", v)
	}
	k := store.Key{Kind: store.Journal, Name: "nego__pilot-1"}
	if err := os.Link(filepath.Join(r.root, k.Path()), filepath.Join(r.root, "third")); err != nil {
		t.Skip(err)
	}
	f, err := os.OpenFile(filepath.Join(r.root, "third"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("{}\n"); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if v := r.verify(); v.Report.Bad == nil {
		t.Error("a line that came by another name was not found")
	}
}
