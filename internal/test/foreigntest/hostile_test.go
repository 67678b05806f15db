package foreigntest

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
)

// TestHostileFolders plants hostile things in the folder of every kind of document: each is named, none is handed out or
// touched, and what is good beside it is read, listed, viewed, changed and taken as ever.
func TestHostileFolders(t *testing.T) {
	root := filepath.Join(t.TempDir(), "bus")
	s, err := filestore.Open(root, filestore.Options{Create: true, CacheDir: filepath.Join(t.TempDir(), "cache")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, kind := range store.Kinds() {
		spec := kind.Spec()
		if spec.IsLog() || !spec.HasName() || !strings.HasSuffix(spec.Path, "{name}.json") {
			continue
		}
		t.Run(spec.Name, func(t *testing.T) {
			good := store.Key{Kind: kind, Name: "good"}
			if spec.HasOwner() {
				good.Owner = "claude__api"
			}
			dir := filepath.Dir(filepath.Join(root, filepath.FromSlash(good.Path())))
			if err := Plant(root, dir); err != nil {
				t.Fatal(err)
			}
			before, err := Snapshot(dir)
			if err != nil {
				t.Fatal(err)
			}
			rev, err := s.Create(t.Context(), good, []byte(`{"id":"good"}`))
			if err != nil {
				t.Fatal(err)
			}
			checkList(t, s, good)
			checkView(t, s, good)
			if err := s.Delete(t.Context(), good, rev); err != nil {
				t.Fatal(err)
			}
			after, err := Snapshot(dir)
			if err != nil || dropLocks(after) != before {
				t.Errorf("the folder was\n%s\nand is\n%s\n%v", before, after, err)
			}
		})
	}
}

// dropLocks leaves out what locking puts beside the documents.
func dropLocks(snapshot string) string {
	var kept []string
	for line := range strings.SplitSeq(snapshot, "\n") {
		if !strings.HasPrefix(line, `".flock"`) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// unfitNames are those that no store may hand out.
var unfitNames = []string{"out", "key", "dangling", "folder", "fifo", "large"}

func checkList(t *testing.T, s *filestore.Store, good store.Key) {
	t.Helper()
	unfit := map[string]bool{}
	seen := false
	for e, err := range s.List(t.Context(), good.Kind, good.Owner) {
		var u *store.UnfitError
		switch {
		case errors.As(err, &u):
			unfit[u.Key.Name] = true
		case err != nil:
			t.Errorf("list: %v", err)
		default:
			seen = seen || e.Key == good
		}
	}
	if !seen {
		t.Error("the good one is not listed")
	}
	for _, name := range unfitNames {
		if !unfit[name] {
			t.Errorf("%s is not named as unfit", name)
		}
		k := good
		k.Name = name
		var u *store.UnfitError
		if d, err := s.Get(t.Context(), k); !errors.As(err, &u) {
			t.Errorf("get %s gives %.40q, %v", name, d.Data, err)
		}
	}
}

func checkView(t *testing.T, s *filestore.Store, good store.Key) {
	t.Helper()
	p := &store.Projection{Name: "hostile", Version: 1, Make: idOf}
	for _, q := range []store.Query{{}, {Newest: 3}, {Exact: true}} {
		seen, unfit := false, map[string]bool{}
		for row, err := range s.View(t.Context(), good.Kind, good.Owner, p, q) {
			var u *store.UnfitError
			switch {
			case errors.As(err, &u):
				unfit[u.Key.Name] = true
			case err != nil:
				t.Errorf("view %+v: %v", q, err)
			default:
				seen = seen || row.Key == good
			}
		}
		if !seen {
			t.Errorf("view %+v does not show the good one", q)
		}
		for _, name := range append([]string{"text", "array", "half", "empty"}, unfitNames...) {
			if q.Newest == 0 && !unfit[name] {
				t.Errorf("view %+v does not name %s", q, name)
			}
		}
	}
}

// idOf shows documents that are objects with a string id.
func idOf(data []byte, stored time.Time) (keys []string, order int64, summary []byte, err error) {
	raw, ok := canonjson.Get(data, "id")
	id, str := canonjson.String(raw)
	if !canonjson.Valid(data) || !ok || !str {
		return nil, 0, nil, errors.New("not a document with an id")
	}
	return []string{id}, stored.UnixNano(), []byte(id), nil
}
