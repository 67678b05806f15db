package fswatch

import (
	"fmt"
	"os"
	"testing"
	"time"
)

func TestPollingReports(t *testing.T) {
	h := t.TempDir()
	dir := h + "/d"
	must(t, os.Mkdir(dir, 0o700))
	write(t, dir+"/old")
	write(t, dir+"/away")
	s := Polling(dir, 5*time.Millisecond, Options{Names: Visible})
	defer s.Close()
	if !s.Polled() || s.Reason() != nil {
		t.Errorf("polled %v, reason %v; want polled because it was asked for", s.Polled(), s.Reason())
	}
	write(t, dir+"/.hidden")
	write(t, dir+"/new")
	must(t, os.Mkdir(dir+"/folder", 0o700))
	must(t, os.WriteFile(dir+"/old", []byte("longer"), 0o600))
	must(t, os.Remove(dir+"/away"))
	got := collect(t, s)
	delete(got, "last")
	for _, c := range []struct {
		name string
		bits Op
	}{{"new", Created}, {"old", Written}, {"away", Gone}, {"folder", Created}} {
		limit := time.After(patience)
		for got[c.name]&c.bits == 0 {
			select {
			case ev := <-s.C:
				got[ev.Name] |= ev.Op
			case <-limit:
				t.Fatalf("%s: no %v; so far %v", c.name, c.bits, got)
			}
		}
	}
	if got[".hidden"] != 0 || got["old"]&(Created|Gone) != 0 {
		t.Errorf("reported %v", got)
	}
	must(t, os.Rename(dir, h+"/away"))
	wait(t, s, Self)
	must(t, os.Mkdir(dir, 0o700))
	wait(t, s, Self)
}

// A folder whose time has stood still for long is not listed again, unless writes are asked for.
func TestListingIsReused(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/f")
	past := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(dir, past, past))
	o := &Options{Ops: Created | Gone}
	first := listing{}.next(dir, o)
	write(t, dir+"/g")
	must(t, os.Chtimes(dir, past, past)) // so that only a new listing could tell
	for _, c := range []struct {
		name string
		o    *Options
		last listing
		want string
	}{
		{"only names", o, first, "[]"},
		{"writes too", &Options{}, listing{}.next(dir, &Options{}), "[g]"},
	} {
		if c.o.Ops == 0 {
			must(t, os.Remove(dir+"/g"))
			c.last = listing{}.next(dir, c.o)
			write(t, dir+"/g")
			must(t, os.Chtimes(dir, past, past))
		}
		var names []string
		c.last.compare(c.last.next(dir, c.o), func(_ Op, name string, _ bool) { names = append(names, name) })
		if got := fmt.Sprint(names); got != c.want {
			t.Errorf("%s: reported %s, want %s", c.name, got, c.want)
		}
	}
	// A young time proves nothing: the same tick of the clock may have seen another change.
	now := time.Now()
	must(t, os.Chtimes(dir, now, now))
	young := listing{}.next(dir, o)
	must(t, os.Remove(dir+"/g"))
	must(t, os.Chtimes(dir, now, now))
	var names []string
	young.compare(young.next(dir, o), func(_ Op, name string, _ bool) { names = append(names, name) })
	if fmt.Sprint(names) != "[g]" {
		t.Errorf("young folder: reported %v, want [g]", names)
	}
}
