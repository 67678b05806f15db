package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"tutti/internal/store"
)

// A viewed is what the documents and lines of the view tests hold.
type viewed struct {
	Order int64    `json:"order"`
	Keys  []string `json:"keys,omitempty"`
	Text  string   `json:"text,omitempty"`
	Bad   bool     `json:"bad,omitempty"`
}

func (v viewed) bytes() []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // no value of the type can cause one
	}
	return data
}

// testProjection makes rows of viewed documents. Another version has other orders, keys and summaries.
func testProjection(version int) *store.Projection {
	return &store.Projection{Name: "storetest", Version: version, Make: func(data []byte, _ time.Time) ([]string, int64, []byte, error) {
		var v viewed
		if err := json.Unmarshal(data, &v); err != nil {
			return nil, 0, nil, err
		}
		if v.Bad {
			return nil, 0, nil, errors.New("marked as bad")
		}
		if version == 1 {
			return v.Keys, v.Order, []byte(v.Text), nil
		}
		keys := []string{}
		for _, k := range v.Keys {
			keys = append(keys, fmt.Sprint(k, version))
		}
		return keys, -v.Order, fmt.Append(nil, v.Text, version), nil
	}}
}

// views are the two ways to ask: the backend's own index, and the functions that do without one.
func (f *fixture) views(test func(name string, v store.Viewer)) {
	if v, ok := f.s.(store.Viewer); ok {
		test("own", v)
	}
	test("fallback", fallback{struct{ store.Reader }{f.s}, struct{ store.Log }{f.s}})
}

// fallback is the Viewer that a caller without one has.
type fallback struct {
	r store.Reader
	l store.Log
}

func (v fallback) View(ctx context.Context, kind store.Kind, owner string, p *store.Projection, q store.Query) iter.Seq2[store.Row, error] {
	return store.ViewOf(ctx, v.r, kind, owner, p, q)
}

func (v fallback) Find(ctx context.Context, log store.Key, p *store.Projection, key string) iter.Seq2[store.Line, error] {
	return store.FindIn(ctx, v.l, log, p, key)
}

// queries are those that see every change of a name at once.
var queries = []store.Query{{}, {Exact: true}, {Newest: 1}, {Newest: 3}, {Newest: 3, Exact: true}, {Newest: 1000}}

// wantView asks one view in all ways. want are the rows of the first query, as rowText writes them.
func (f *fixture) wantView(what string, kind store.Kind, owner string, version int, want ...string) {
	f.Helper()
	f.views(func(name string, v store.Viewer) {
		f.Helper()
		for _, q := range queries {
			part := want
			if q.Newest > 0 && q.Newest < len(want) {
				part = want[:q.Newest]
			}
			var got []string
			for row, err := range v.View(f.ctx, kind, owner, testProjection(version), q) {
				if err != nil {
					f.Errorf("%s: %s view %+v: %v", what, name, q, err)
					continue
				}
				got = append(got, f.rowText(row, kind, owner))
			}
			if !slices.Equal(got, part) {
				f.Errorf("%s: %s view %+v:\n got %q\nwant %q", what, name, q, got, part)
			}
		}
	})
}

// rowText writes what a test wants of a row, and checks the rest of it against the document.
func (f *fixture) rowText(row store.Row, kind store.Kind, owner string) string {
	d, err := f.s.Get(f.ctx, row.Key)
	if err != nil || row.Key.Kind != kind || row.Key.Owner != owner || row.Size != int64(len(d.Data)) || !row.Stored.Equal(d.Stored) {
		f.Errorf("row %v, %d bytes, arrived %v; its document %v, %d bytes, arrived %v, error %v",
			row.Key, row.Size, row.Stored, d.Key, len(d.Data), d.Stored, err)
	}
	return fmt.Sprintf("%s %d %s %s", row.Key.Name, row.Order, strings.Join(row.Keys, ","), row.Summary)
}

// testView: falling order, equal orders by rising name; the newest are the first of all.
func testView(f *fixture) {
	f.wantView("nothing there", store.Inbox, "a", 1)
	for i, order := range []int64{5, -1, 7, 5, 0, 5, 1 << 40} {
		v := viewed{Order: order, Keys: []string{"k", fmt.Sprint("k", i)}, Text: fmt.Sprint("t", i)}
		f.create(key(store.Inbox, "a", fmt.Sprint("m", (i*3)%7)), v.bytes())
	}
	f.create(key(store.Inbox, "b", "other"), viewed{Order: 6}.bytes())
	f.wantView("seven", store.Inbox, "a", 1, "m4 1099511627776 k,k6 t6", "m6 7 k,k2 t2", "m0 5 k,k0 t0", "m1 5 k,k5 t5",
		"m2 5 k,k3 t3", "m5 0 k,k4 t4", "m3 -1 k,k1 t1")
	f.wantView("the same, another version", store.Inbox, "a", 2, "m3 1 k2,k12 t12", "m5 0 k2,k42 t42", "m0 -5 k2,k02 t02", "m1 -5 k2,k52 t52",
		"m2 -5 k2,k32 t32", "m6 -7 k2,k22 t22", "m4 -1099511627776 k2,k62 t62")
	f.wantView("another owner", store.Inbox, "b", 1, "other 6  ")
	f.wantView("an owner with nothing", store.Inbox, "c", 1)
	f.views(func(name string, v store.Viewer) {
		for range v.View(f.ctx, store.Inbox, "a", testProjection(1), store.Query{}) {
			break // a view may be left early
		}
		for _, owner := range []string{"", ".."} {
			var first error
			for _, err := range v.View(f.ctx, store.Inbox, owner, testProjection(1), store.Query{}) {
				first = errors.Join(first, err)
			}
			f.wantRefused(fmt.Sprintf("%s view of owner %q", name, owner), first)
		}
	})
}

// testViewUnfit: documents that Make refuses are reported each time, and the rest is as it was.
func testViewUnfit(f *fixture) {
	bad := key(store.Inbox, "a", "bad")
	f.create(key(store.Inbox, "a", "m1"), viewed{Order: 1}.bytes())
	f.create(bad, viewed{Order: 2, Bad: true}.bytes())
	f.create(key(store.Inbox, "a", "m3"), viewed{Order: 3}.bytes())
	want := []string{"m3 3  ", "m1 1  "}
	f.views(func(name string, v store.Viewer) {
		for _, q := range []store.Query{{}, {Exact: true}, {}} {
			var got []string
			var unfit []error
			for row, err := range v.View(f.ctx, store.Inbox, "a", testProjection(1), q) {
				if err != nil {
					unfit = append(unfit, err)
					continue
				}
				got = append(got, f.rowText(row, store.Inbox, "a"))
			}
			if !slices.Equal(got, want) || len(unfit) != 1 {
				f.Errorf("%s view %+v with a bad document: rows %q, errors %v; want %q and one error", name, q, got, unfit, want)
				continue
			}
			f.wantUnfit(name+" view of a bad document", unfit[0], bad)
		}
	})
}

// testViewChanges: a view is what the documents are now.
func testViewChanges(f *fixture) {
	one, two := key(store.Inbox, "a", "m1"), key(store.Inbox, "a", "m2")
	first := f.create(one, viewed{Order: 1}.bytes())
	f.wantView("one", store.Inbox, "a", 1, "m1 1  ")
	second := f.create(two, viewed{Order: 2}.bytes())
	f.wantView("two", store.Inbox, "a", 1, "m2 2  ", "m1 1  ")
	if err := f.s.Move(f.ctx, two, second, key(store.Archive, "a", "m2")); err != nil {
		f.Fatalf("Move %v: %v", two, err)
	}
	f.wantView("one was moved away", store.Inbox, "a", 1, "m1 1  ")
	f.wantView("it is in the archive", store.Archive, "a", 1, "m2 2  ")
	if err := f.s.Delete(f.ctx, one, first); err != nil {
		f.Fatalf("Delete %v: %v", one, err)
	}
	f.wantView("both are gone", store.Inbox, "a", 1)
	f.create(one, viewed{Order: 9, Text: "new"}.bytes())
	f.wantView("a name came back", store.Inbox, "a", 1, "m1 9  new")

	beat := key(store.Drumbeat, "d")
	rev := f.create(beat, viewed{Order: 1}.bytes())
	for i := range int64(5) { // many changes within one tick of a clock, all of one size
		f.wantView("a document that is rewritten", store.Drumbeat, "", 1, fmt.Sprintf("d %d  ", 1+i))
		var err error
		if rev, err = f.s.Replace(f.ctx, beat, viewed{Order: 2 + i}.bytes(), rev); err != nil {
			f.Fatalf("Replace %v: %v", beat, err)
		}
	}
	if f.b.PlantDoc == nil {
		return
	}
	f.b.PlantDoc(f, f.s, beat, viewed{Order: 7}.bytes()) // in place, at once, with equal size
	f.views(func(name string, v store.Viewer) {
		for row, err := range v.View(f.ctx, store.Drumbeat, "", testProjection(1), store.Query{Exact: true}) {
			if err != nil || row.Order != 7 {
				f.Errorf("%s exact view after a foreign overwrite: order %d, error %v; want 7", name, row.Order, err)
			}
		}
	})
	f.b.PlantDoc(f, f.s, key(store.Inbox, "a", "foreign"), viewed{Order: 8}.bytes())
	f.wantView("a foreign document came", store.Inbox, "a", 1, "m1 9  new", "foreign 8  ")
}

// testFind: all lines that have a key, oldest first, however many keys a line has and however often the log changes.
func testFind(f *fixture) {
	for _, log := range []store.Key{key(store.Instances), key(store.Trail, "box"), key(store.Journal, "n")} {
		f.wantFind("an empty log", log, 1, "a")
		for i, keys := range [][]string{{"a"}, {"b", "a"}, {}, {"b"}, {"a", "c", "a"}} {
			f.append(log, store.AnyEnd, viewed{Order: int64(i), Keys: keys}.bytes())
		}
		f.wantFind("five lines", log, 1, "a", 0, 1, 4)
		f.wantFind("five lines", log, 1, "b", 1, 3)
		f.wantFind("five lines", log, 1, "c", 4)
		f.wantFind("five lines", log, 1, "none")
		f.wantFind("five lines", log, 1, "")
		f.wantFind("another version", log, 2, "b2", 1, 3)
		f.wantFind("another version", log, 2, "b")
		f.append(log, store.AnyEnd, viewed{Order: 5, Bad: true, Keys: []string{"b"}}.bytes())
		f.append(log, store.AnyEnd, viewed{Order: 6, Keys: []string{"b"}}.bytes())
		f.wantFind("two lines more", log, 1, "b", 1, 3, 6)
		if f.b.PlantLine != nil {
			f.b.PlantLine(f, f.s, log, []byte(`{"keys":["b"],`))
			f.append(log, store.AnyEnd, viewed{Order: 8, Keys: []string{"b"}}.bytes())
			f.wantFind("a bad line and a good one more", log, 1, "b", 1, 3, 6, 8)
		}
		if f.b.Recreate != nil {
			f.b.Recreate(f, f.s, log, viewed{Order: 20}.bytes(), viewed{Order: 21, Keys: []string{"b"}}.bytes())
			f.wantFind("another log", log, 1, "b", 21)
		}
	}
}

// wantFind checks which lines have a key, and that their positions are those of the log.
func (f *fixture) wantFind(what string, log store.Key, version int, search string, want ...int64) {
	f.Helper()
	f.views(func(name string, v store.Viewer) {
		f.Helper()
		var got []int64
		for line, err := range v.Find(f.ctx, log, testProjection(version), search) {
			if err != nil {
				f.Errorf("%s: %s Find %q in %v: %v", what, name, search, log, err)
				return
			}
			var row viewed
			if err := json.Unmarshal(line.Data, &row); err != nil {
				f.Errorf("%s: %s Find %q in %v: %v", what, name, search, log, err)
			}
			got = append(got, row.Order)
			for again, err := range f.s.Read(f.ctx, log, line.At) {
				if err != nil || string(again.Data) != string(line.Data) || again.Next != line.Next {
					f.Errorf("%s: %s Find yields %q to %q; Read from %q: %q to %q, error %v", what, name, line.Data, line.Next, line.At, again.Data, again.Next, err)
				}
				break
			}
		}
		if !slices.Equal(got, want) {
			f.Errorf("%s: %s Find %q in %v: lines %d, want %d", what, name, search, log, got, want)
		}
	})
}
