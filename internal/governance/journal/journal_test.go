package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/store"
	"tutti/internal/store/memstore"
)

func TestAppend(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, log store.Log) {
		for range 2 {
			j := New(log)
			for n := range 4 {
				by := alice
				if n%2 == 1 {
					by = bob
				}
				add(t, j, fmt.Sprintf("evt-%d", n), by, noon.Add(time.Duration(n)*time.Minute))
			}
		}
		r := verify(t, New(log))
		if !r.OK() || r.Entries != 8 || r.Linked != 8 || r.Sealed != 8 {
			t.Errorf("got %+v (%v), want 8 linked and sealed entries", r, r.Bad)
		}
		want := 0
		for e, err := range New(log).Read(t.Context(), nego) {
			if err != nil || e.Sequence != want || e.ID != fmt.Sprintf("evt-%d", want%4) {
				t.Errorf("entry %d: %+v, %v", want, e, err)
			}
			if !strings.HasPrefix(string(e.Raw), `{"protocol":"sentropic.h2a","version":"0.1","sequence":`) {
				t.Errorf("entry %d does not begin with its frame: %s", want, e.Raw)
			}
			want++
		}
	})
}

func TestCheck(t *testing.T) {
	t.Parallel()
	good := string(payload("evt-1", alice, noon))
	with := func(member string) string { return strings.TrimSuffix(good, "}") + "," + member + "}" }
	tests := []struct{ name, in, want string }{
		{"as it is", good, ""},
		{"unknown member", with(`"x":1`), ""},
		{"sequence", with(`"sequence":7`), "sequence: a member of the frame"},
		{"sequence, spelled", with(`"seq\u0075ence":7`), "sequence: a member of the frame"},
		{"protocol", with(`"protocol":"sentropic.h2a"`), "protocol: a member of the frame"},
		{"version", with(`"version":"0.1"`), "version"},
		{"prevHash", with(`"prevHash":null`), "prevHash"},
		{"contentHash", with(`"contentHash":"x"`), "contentHash"},
		{"link", with(`"link":{"seq":0}`), "link: the place"},
		{"proto", with(`"__proto__":1`), "__proto__"},
		{"twice", with(`"id":"b"`), "twice"},
		{"no object", `[1]`, "not a JSON object"},
		{"no JSON", `{"id":`, ""},
		{"no id", strings.Replace(good, `"evt-1"`, `""`, 1), "id:"},
		{"id a number", strings.Replace(good, `"evt-1"`, `1`, 1), "id:"},
		{"type", strings.Replace(good, `"event"`, `"nothing"`, 1), "type:"},
		{"role", strings.Replace(good, `"CONDUCTOR"`, `"BOSS"`, 1), "actor.role:"},
		{"actor", strings.Replace(good, `"actor"`, `"actors"`, 1), "actor:"},
		{"body", strings.Replace(good, `"body"`, `"text"`, 1), "body:"},
		{"time", strings.Replace(good, `2026-`, `never-`, 1), "createdAt:"},
		{"too large", with(`"x":"` + strings.Repeat("x", MaxEntry) + `"`), "at most"},
	}
	for _, c := range tests {
		err := Check([]byte(c.in))
		_, isPayload := errors.AsType[*PayloadError](err)
		bad := c.want != "" || c.name == "no JSON"
		if (err != nil) != bad || bad && (!isPayload || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// An entry that is laid out over several lines becomes one line with the same hash.
func TestAppendLaidOut(t *testing.T) {
	t.Parallel()
	j := New(memstore.New(memstore.Options{}))
	e, err := j.Append(t.Context(), nego, nil, Seal{}, func(Tip) ([]byte, error) { return canonjson.Indent(payload("a", alice, noon)), nil })
	if err != nil || bytes.ContainsRune(e.Raw, '\n') {
		t.Errorf("%s, %v", e.Raw, err)
	}
	if r := verify(t, j); !r.OK() || r.Sealed != 0 {
		t.Errorf("%+v", r)
	}
}

// A sum is the smallest fold.
type sum struct {
	ids   []string
	added int // since Reset
}

func (s *sum) Reset() { s.ids, s.added = nil, 0 }

func (s *sum) Add(e *Entry) { s.ids = append(s.ids, e.ID); s.added++ }

// Each addition and each look brings the fold to the end of the journal.
func TestFold(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, log store.Log) {
		j, s := New(log), &sum{}
		for n := range 20 {
			id := fmt.Sprint(n)
			if _, err := j.Append(t.Context(), nego, s, Seal{}, func(Tip) ([]byte, error) { return payload(id, bob, noon), nil }); err != nil {
				t.Fatal(err)
			}
			if len(s.ids) != n+1 || s.added != n+1 {
				t.Fatalf("after %d: %d ids, %d read", n, len(s.ids), s.added)
			}
		}
		add(t, New(log), "by another program", alice, noon)
		if _, err := j.Catch(t.Context(), nego, s); err != nil || s.added != 21 || len(s.ids) != 21 {
			t.Errorf("%v: %d read, %d known", err, s.added, len(s.ids))
		}
	})
}

// A journal that became another one is read anew.
func TestReplacedJournal(t *testing.T) {
	t.Parallel()
	s := memstore.New(memstore.Options{})
	j := New(s)
	for n := range 3 {
		add(t, j, fmt.Sprint(n), alice, noon)
	}
	k, _ := KeyOf(nego)
	if err := s.Recreate(k); err != nil {
		t.Fatal(err)
	}
	if e := add(t, j, "new", bob, noon); e.Sequence != 0 {
		t.Errorf("sequence %d, want 0", e.Sequence)
	}
}

func TestTornTail(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := openFiles(t, root)
	j := New(s)
	add(t, j, "a", alice, noon)
	add(t, j, "b", bob, noon)
	path := filepath.Join(root, "negotiations", "nego__pilot-1", "journal.jsonl")
	for _, torn := range []string{`{"protocol":"sentropic.h2a","ver`, `{`, "\x00\x00\x00"} {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString(torn)
			f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		if r := verify(t, j); !r.OK() {
			t.Errorf("torn %q: %v", torn, r.Bad)
		}
		add(t, j, "c", alice, noon)
		if r := verify(t, New(s)); !r.OK() {
			t.Errorf("after torn %q: %v", torn, r.Bad)
		}
	}
	// A last line without its line feed was whole.
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, bytes.TrimSuffix(text, []byte("\n")), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	add(t, j, "d", bob, noon)
	if r := verify(t, New(s)); !r.OK() || r.Entries != 6 {
		t.Errorf("%+v", r)
	}
}

// TestWriters lets twenty programs add to one journal.
func TestWriters(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, log store.Log) {
		const writers, each = 20, 5
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				j, s := New(log), &sum{}
				for n := range each {
					id := fmt.Sprintf("%d-%d", w, n)
					if _, err := j.Append(t.Context(), nego, s, Seal{alice, keyOf[alice]}, func(tip Tip) ([]byte, error) {
						if len(s.ids) != tip.Count || slices.Contains(s.ids, id) {
							t.Errorf("%s is judged after %d entries with %d known", id, tip.Count, len(s.ids))
						}
						return payload(id, alice, noon), nil
					}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		r := verify(t, New(log))
		if !r.OK() || r.Sealed != writers*each {
			t.Errorf("%+v (%v)", r, r.Bad)
		}
	})
}

func TestRefusedByJudge(t *testing.T) {
	t.Parallel()
	j := New(memstore.New(memstore.Options{}))
	no := errors.New("no")
	if _, err := j.Append(t.Context(), nego, nil, Seal{}, func(Tip) ([]byte, error) { return nil, no }); !errors.Is(err, no) {
		t.Error(err)
	}
	for _, id := range []string{"", "a\x00b", strings.Repeat("x", 300)} {
		if _, err := j.Append(t.Context(), id, nil, Seal{}, func(Tip) ([]byte, error) { return payload("a", alice, noon), nil }); err == nil {
			t.Errorf("a journal %q was made", id)
		}
	}
	if r := verify(t, j); r.Entries != 0 {
		t.Errorf("%+v", r)
	}
}
