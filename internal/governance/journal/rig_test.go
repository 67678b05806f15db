package journal

import (
	"context"
	"fmt"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
	"tutti/internal/store/memstore"
)

const (
	nego  = "nego:pilot-1"
	alice = address.Instance("claude:ledger:77aa88bb99cc")
	bob   = address.Instance("codex:billing:0a1b2c3d4e5f")
)

var (
	noon  = time.Date(2026, 6, 12, 12, 0, 0, 0, time.UTC)
	keyOf = map[address.Instance]*signature.Private{alice: signature.Generate(), bob: signature.Generate()}
)

// payload is an event with an id.
func payload(id string, by address.Instance, at time.Time) []byte {
	var o canonjson.Object
	o.Str("id", id)
	o.Str("type", "event")
	o.Within("actor", func(o *canonjson.Object) {
		o.Str("instance", string(by))
		o.Str("role", "CONDUCTOR")
		o.Str("scope", "scope:pilot")
	})
	o.Within("body", func(o *canonjson.Object) { o.Str("kind", "note"); o.Str("text", "about "+id) })
	o.Str("createdAt", envelope.Stamp(at))
	return o.End()
}

// add appends an event that its writer seals.
func add(t testing.TB, j *Journal, id string, by address.Instance, at time.Time) *Entry {
	t.Helper()
	e, err := j.Append(t.Context(), nego, nil, Seal{by, keyOf[by]}, func(Tip) ([]byte, error) { return payload(id, by, at), nil })
	if err != nil {
		t.Fatalf("add %s: %v", id, err)
	}
	return e
}

// knownKeys are the keys of the two writers.
func knownKeys(_ context.Context, by address.Instance) (Keys, error) {
	if k := keyOf[by]; k != nil {
		return Keys{Active: []signature.Public{k.Public()}}, nil
	}
	return Keys{}, nil
}

func verify(t testing.TB, j *Journal) *Report {
	t.Helper()
	r, err := j.Verify(t.Context(), nego, Checks{Keys: knownKeys, Now: noon.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// onBoth runs a test on each backend.
func onBoth(t *testing.T, f func(t *testing.T, log store.Log)) {
	t.Run("memory", func(t *testing.T) { t.Parallel(); f(t, memstore.New(memstore.Options{})) })
	t.Run("files", func(t *testing.T) { t.Parallel(); f(t, openFiles(t, t.TempDir())) })
}

func openFiles(t testing.TB, root string) *filestore.Store {
	t.Helper()
	s, err := filestore.Open(root, filestore.Options{Create: true, CreatedBy: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// lines returns the lines of a journal as they lie there.
func lines(t testing.TB, log store.Log) [][]byte {
	t.Helper()
	var all [][]byte
	k, _ := KeyOf(nego)
	for l, err := range log.Read(t.Context(), k, "") {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, append([]byte(nil), l.Data...))
	}
	return all
}

// laid is a journal of these lines.
func laid(t testing.TB, all ...[]byte) *Journal {
	t.Helper()
	s := memstore.New(memstore.Options{})
	k, _ := KeyOf(nego)
	for _, l := range all {
		if err := s.PlantLine(k, l); err != nil {
			t.Fatal(err)
		}
	}
	return New(s)
}

// relink computes the frames of lines anew, as a dishonest writer would.
func relink(t testing.TB, all [][]byte) [][]byte {
	t.Helper()
	prev := ""
	var out [][]byte
	for n, l := range all {
		e, err := parse(l)
		if err != nil {
			t.Fatal(err)
		}
		content, err := e.content()
		if err != nil {
			t.Fatal(err)
		}
		l = canonjson.Set(l, mSequence, fmt.Appendf(nil, "%d", n))
		l = canonjson.Set(l, mContent, canonjson.AppendString(nil, content))
		l = canonjson.Delete(l, mPrev)
		if n > 0 {
			l = canonjson.Set(l, mPrev, canonjson.AppendString(nil, prev))
		}
		prev = content
		out = append(out, l)
	}
	return out
}
