package filestore

import (
	"testing"
	"time"

	"tutti/internal/store"
	"tutti/internal/store/index"
)

// TestSettled: which states may still change without a visible trace.
func TestSettled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	now := time.Unix(1000, 0)
	ago := func(d time.Duration) int64 { return now.Add(-d).UnixNano() }
	for _, local := range []bool{true, false} {
		r.s.isLocal = func() bool { return local }
		grain := map[bool]time.Duration{true: 50 * time.Millisecond, false: 2 * time.Second}[local]
		for _, c := range []struct {
			what string
			id   index.Stat
			want bool
		}{
			{"old", index.Stat{Mtime: ago(time.Hour), Ctime: ago(time.Minute)}, true},
			{"at the limit", index.Stat{Mtime: ago(grain), Ctime: ago(grain)}, true},
			{"written just now", index.Stat{Mtime: ago(grain - 1), Ctime: ago(grain)}, false},
			{"written just now, time set back", index.Stat{Mtime: ago(time.Hour), Ctime: ago(grain - 1)}, false},
			{"clock of the files ahead", index.Stat{Mtime: ago(-time.Hour), Ctime: ago(-time.Hour)}, false},
		} {
			if got := r.s.settled(c.id, now); got != c.want {
				t.Errorf("local %v, %s: %v, want %v", local, c.what, got, c.want)
			}
		}
	}
}

// TestUnsettledTableIsIgnored: a table from within the tick of a change has the identity of the source and not its content.
// Clocks of file systems have become so fine that the test has to make such a table itself.
func TestUnsettledTableIsIgnored(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(20)
	r.settle()
	r.check("before", newest3)
	for what, change := range map[string]func(st *index.State, r *index.Row) (replaced bool){
		"folder": func(st *index.State, _ *index.Row) bool { st.Settled = false; return false },
		"row":    func(_ *index.State, r *index.Row) bool { r.Flags, r.Order = index.Unsettled, 0; return true },
		"unfit":  func(_ *index.State, r *index.Row) bool { r.Flags = index.Unsettled | index.Unfit; return true },
	} {
		c := r.s.cacheFor(store.Key{Kind: store.Inbox, Owner: viewOwner}, listing(nil))
		tab, err := c.dir.OpenTable(c.name, c.of)
		if err != nil {
			t.Fatal(err)
		}
		st := tab.State()
		for row, err := range tab.Rows() {
			if err != nil {
				t.Fatal(err)
			}
			var add []index.Row
			drop := []index.Row{row} // the first one: without it the table lacks a name or a content
			if change(&st, &row) {
				add = append(add, index.NewRow(row, nil, []byte("wrong")))
			}
			if err := c.dir.SaveTable(c.name, c.of, st, tab, drop, add); err != nil {
				t.Fatal(err)
			}
			break
		}
		tab.Close()
		c.close()
		r.check(what, newest3)
		r.check(what+", exact", exact)
	}
}
