package storetest

import (
	"fmt"
	"slices"

	"tutti/internal/store"
)

// testViewFrozen: the unchanging parts of a document are yielded as long as its name is there, and no longer. Only keys, order
// and summary are compared: the rest of a row may be old.
func testViewFrozen(f *fixture) {
	p := testProjection(1)
	p.Frozen = true
	beat := func(i, n int) []byte { // the member that the projection does not know changes
		return fmt.Appendf(nil, `{"order":%d,"keys":["k%d"],"beat":%d}`, i, i, n)
	}
	want := func(what string, rows ...string) {
		f.Helper()
		f.views(func(name string, v store.Viewer) {
			f.Helper()
			for _, q := range []store.Query{{}, {}, {Exact: true}, {Newest: 10}} {
				var got []string
				for row, err := range v.View(f.ctx, store.Presence, "", p, q) {
					if err != nil {
						got = append(got, "unfit "+row.Key.Name)
						continue
					}
					got = append(got, fmt.Sprintf("%s%d%s", row.Key.Name, row.Order, row.Keys))
				}
				slices.Sort(got)
				if !slices.Equal(got, rows) {
					f.Errorf("%s: %s view %+v: %q, want %q", what, name, q, got, rows)
				}
			}
		})
	}
	revs := map[int]store.Rev{}
	for i := range 3 {
		revs[i] = f.create(key(store.Presence, fmt.Sprint("s", i)), beat(i, 0))
	}
	want("three", "s00[k0]", "s11[k1]", "s22[k2]")
	for n := range 3 {
		rev, err := f.s.Replace(f.ctx, key(store.Presence, "s1"), beat(1, n+1), revs[1])
		if err != nil {
			f.Fatalf("Replace: %v", err)
		}
		revs[1] = rev
		want("after a change", "s00[k0]", "s11[k1]", "s22[k2]")
	}
	if err := f.s.Delete(f.ctx, key(store.Presence, "s0"), revs[0]); err != nil {
		f.Fatalf("Delete: %v", err)
	}
	want("one went", "s11[k1]", "s22[k2]")
	bad := f.create(key(store.Presence, "s3"), viewed{Bad: true}.bytes())
	want("an unfit one came", "s11[k1]", "s22[k2]", "unfit s3")
	if _, err := f.s.Replace(f.ctx, key(store.Presence, "s3"), beat(3, 0), bad); err != nil {
		f.Fatalf("Replace: %v", err)
	}
	want("it became fit", "s11[k1]", "s22[k2]", "s33[k3]")
	f.create(key(store.Presence, "s0"), beat(0, 9))
	want("one came back", "s00[k0]", "s11[k1]", "s22[k2]", "s33[k3]")
}

// testEnd: a line can be added after the end of a log, and no longer once another one was.
func testEnd(f *fixture) {
	end := func(log store.Key) store.Pos {
		f.Helper()
		pos, err := store.EndOf(f.ctx, f.s, log)
		slow, slowErr := store.EndOf(f.ctx, struct{ store.Log }{f.s}, log)
		if err != nil || slowErr != nil {
			f.Fatalf("end of %v: %v; by reading: %v", log, err, slowErr)
		}
		for what, p := range map[string]store.Pos{"the end": pos, "the end by reading": slow} {
			for line, err := range f.s.Read(f.ctx, log, p) {
				f.Errorf("behind %s of %v, %q, lies %q, error %v", what, log, p, line.Data, err)
				break
			}
		}
		return pos
	}
	for _, log := range []store.Key{key(store.Instances), key(store.Trail, "box"), key(store.Journal, "n")} {
		old := end(log)
		if old != "" {
			f.Errorf("end of %v, which does not exist: %q", log, old)
		}
		for i := range 3 {
			now := end(log)
			if got := f.append(log, now, doc(i)); got != end(log) {
				f.Errorf("Append to %v returns the end %q, End says %q", log, got, end(log))
			}
			_, err := f.s.Append(f.ctx, log, now, doc("late"))
			f.wantErr("Append after an end from before another line", err, store.ErrConflict)
		}
		if f.b.PlantLine != nil {
			now := end(log)
			f.b.PlantLine(f, f.s, log, []byte(`{"a":`))
			_, err := f.s.Append(f.ctx, log, now, doc("late"))
			f.wantErr("Append after an end from before a bad line", err, store.ErrConflict)
			f.append(log, end(log), doc("behind the bad line"))
		}
		if f.b.Recreate != nil {
			now := end(log)
			f.b.Recreate(f, f.s, log, doc("anew"))
			_, err := f.s.Append(f.ctx, log, now, doc("late"))
			f.wantErr("Append after the end of another log", err, store.ErrConflict)
			f.append(log, end(log), doc("next"))
		}
	}
	if _, err := store.EndOf(f.ctx, f.s, key(store.Presence, "p")); err == nil {
		f.Error("a document has an end")
	}
}
