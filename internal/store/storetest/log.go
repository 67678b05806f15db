package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"

	"tutti/internal/store"
)

// testLog: lines come back in order, from the start and from every position.
func testLog(f *fixture) {
	for _, kind := range logKinds() {
		k := anyKey(kind)
		f.wantLines(k)
		const n = 6
		var want [][]byte
		ends := []store.Pos{""}
		for i := range n {
			line := doc(strings.Repeat("x", i*100))
			after := ends[i]
			if i%2 == 1 {
				after = store.AnyEnd
			}
			end := f.append(k, after, line)
			if end == "" || end == store.AnyEnd {
				f.Errorf("Append to %v: the new end is %q", k, end)
			}
			want, ends = append(want, line), append(ends, end)
		}
		f.wantLines(k, want...)
		all := f.lines(k, "")
		for i, end := range ends {
			f.wantSame(fmt.Sprintf("Read %v from the end of line %d", k, i), f.lines(k, end), want[i:])
		}
		for i, line := range all {
			f.wantSame(fmt.Sprintf("Read %v from where line %d begins", k, i), f.lines(k, line.At), want[i:])
			f.wantSame(fmt.Sprintf("Read %v from after line %d", k, i), f.lines(k, line.Next), want[i+1:])
		}
		// What a reader found to be the end is one, as what Append returned is.
		f.append(k, all[n-1].Next, doc("last"))
		f.wantSame("Read what was added", f.lines(k, ends[n]), [][]byte{doc("last")})
	}
	// A reading may be left early.
	k := anyKey(store.Instances)
	for range f.s.Read(f.ctx, k, "") {
		break
	}
	f.append(k, store.AnyEnd, doc("later"))
}

func (f *fixture) wantSame(what string, got []store.Line, want [][]byte) {
	f.Helper()
	same := len(got) == len(want)
	for i := 0; same && i < len(got); i++ {
		same = bytes.Equal(got[i].Data, want[i])
	}
	if !same {
		f.Errorf("%s: %s, want %q", what, lineData(got), want)
	}
}

// testLogConflict: a line is added only where the caller has read to.
func testLogConflict(f *fixture) {
	for _, kind := range []store.Kind{store.Instances, store.Aliases, store.Trail, store.Journal} {
		k := anyKey(kind)
		_, err := f.s.Append(f.ctx, k, "no such position", doc("x"))
		f.wantErr(fmt.Sprintf("Append to %v, which is empty, after nonsense", k), err, store.ErrConflict)
		first := f.append(k, "", doc(1))
		second := f.append(k, first, doc(2))
		for _, after := range []store.Pos{"", first, "no such position"} {
			_, err := f.s.Append(f.ctx, k, after, doc("x"))
			f.wantErr(fmt.Sprintf("Append to %v after %q, which is not its end", k, after), err, store.ErrConflict)
		}
		f.wantLines(k, doc(1), doc(2))
		f.wantErr(fmt.Sprintf("Read %v from nonsense", k), f.readErr(f.ctx, f.s, k, "no such position"), store.ErrConflict)
		f.append(k, second, doc(3))
		f.wantLines(k, doc(1), doc(2), doc(3))
	}
}

// testLogLines: what would not be one line is refused, before anything is written.
func testLogLines(f *fixture) {
	for _, k := range []store.Key{key(store.Instances), key(store.Aliases)} {
		f.append(k, "", doc(1))
		for _, bad := range []string{"", "\n", "{}\n", "{}\n{}", "\n{}"} {
			_, err := f.s.Append(f.ctx, k, store.AnyEnd, []byte(bad))
			f.wantRefused(fmt.Sprintf("Append %q to %v", bad, k), err)
		}
		f.wantLines(k, doc(1))
		// No JSON: refused, or shown as what it is.
		if _, err := f.s.Append(f.ctx, k, store.AnyEnd, []byte("{torn")); err == nil {
			f.wantUnfit(fmt.Sprintf("Read a bad line of %v", k), f.readErr(f.ctx, f.s, k, ""), k)
		}
	}
	for _, line := range []string{`"text"`, "1", "null", `[1, 2]`, `{"a" : "b\n\u0000", "ü":"日本"}`} {
		k := key(store.Journal, "json")
		before := f.lines(k, "")
		f.append(k, store.AnyEnd, []byte(line))
		if got := f.lines(k, "")[len(before):]; len(got) != 1 || string(got[0].Data) != line {
			f.Errorf("Append %q: read back %s", line, lineData(got))
		}
	}
}

// testLimitsOfLines: the largest line is kept and small ones around it, one byte more is refused.
func testLimitsOfLines(f *fixture) {
	for _, kind := range logKinds() {
		k, n := anyKey(kind), f.limit(kind)
		f.append(k, "", doc(1))
		_, err := f.s.Append(f.ctx, k, store.AnyEnd, docOf(n+1, "x"))
		f.wantRefused(fmt.Sprintf("Append %d bytes to %v", n+1, k), err)
		end := f.append(k, store.AnyEnd, docOf(n, "x"))
		f.append(k, end, docOf(n-1, "y"))
		f.append(k, store.AnyEnd, doc(2))
		f.wantLines(k, doc(1), docOf(n, "x"), docOf(n-1, "y"), doc(2))
		f.wantSame(fmt.Sprintf("Read %v after a large line", k), f.lines(k, end), [][]byte{docOf(n-1, "y"), doc(2)})
	}
}

// testLogUnique: many register one id by reading, judging and adding after what they read: it is there once.
func testLogUnique(f *fixture) {
	for _, k := range []store.Key{key(store.Instances), key(store.Aliases)} {
		const n = 8
		var added [n]bool
		wait := meeting(n)
		together(n, func(i int) { added[i] = f.register(k, []byte(`{"id":"the one"}`), sync.OnceFunc(wait)) })
		winners := 0
		for _, a := range added {
			if a {
				winners++
			}
		}
		if got := f.lines(k, ""); winners != 1 || len(got) != 1 {
			f.Errorf("%d registered one id in %v: %d say that they did, lines %s", n, k, winners, lineData(got))
		}
	}
}

// register adds a line that is not there yet and tells whether it did. It calls judged each time after it has read.
func (f *fixture) register(k store.Key, line []byte, judged func()) bool {
	defer judged() // or the others would wait for ever
	end := store.Pos("")
	for {
		for l, err := range f.s.Read(f.ctx, k, end) {
			if err != nil {
				f.Errorf("Read %v from %q: %v", k, end, err)
				return false
			}
			if bytes.Equal(l.Data, line) {
				return false
			}
			end = l.Next
		}
		judged()
		_, err := f.s.Append(f.ctx, k, end, line)
		if err == nil {
			return true
		}
		if !errors.Is(err, store.ErrConflict) {
			f.Errorf("Append to %v after %q: %v", k, end, err)
			return false
		}
	}
}

// testLogAppenders: many add lines at once, beside a reader that follows; each line is there once, whole, and each
// writer's in the order of its writing.
func testLogAppenders(f *fixture) {
	const writers, each = 4, 15
	for _, k := range []store.Key{key(store.Instances), key(store.Bindings), key(store.Trail, "box")} {
		done := make(chan struct{})
		f.Cleanup(func() { <-done })
		go func() {
			defer close(done)
			together(writers, func(w int) {
				for i := range each {
					if _, err := f.s.Append(f.ctx, k, store.AnyEnd, fmt.Appendf(nil, "[%d,%d]", w, i)); err != nil {
						f.Errorf("Append to %v: %v", k, err)
						return
					}
				}
			})
		}()
		var next [writers]int
		end := store.Pos("")
		for open := true; open; {
			select {
			case <-done:
				open = false
			default:
			}
			for _, l := range f.lines(k, end) {
				var w, i int
				if _, err := fmt.Sscanf(string(l.Data), "[%d,%d]", &w, &i); err != nil || w >= writers || i != next[w] {
					f.Fatalf("Read %v: line %q, want number %d of its writer", k, l.Data, next[w])
				}
				next[w]++
				end = l.Next
			}
		}
		if next != [writers]int{each, each, each, each} {
			f.Errorf("%d lines of each writer in %v: read %v", each, k, next)
		}
	}
}

// testLogForeign: a bad line is reported together with its positions, and the lines after it are read.
func testLogForeign(f *fixture) {
	if f.b.PlantLine == nil {
		f.Skip("the backend has no foreign programs")
	}
	for _, k := range []store.Key{key(store.Aliases), key(store.Trail, "box"), key(store.Instances)} {
		f.append(k, "", doc(1))
		f.b.PlantLine(f, f.s, k, []byte("{bad"))
		f.b.PlantLine(f, f.s, k, doc(2))
		f.append(k, store.AnyEnd, doc(3))
		var got []string
		bad := -1
		var lines []store.Line
		for l, err := range f.s.Read(f.ctx, k, "") {
			if err != nil {
				f.wantUnfit(fmt.Sprintf("Read a bad line of %v", k), err, k)
				bad = len(lines)
			} else {
				got = append(got, string(l.Data))
			}
			lines = append(lines, store.Line{At: l.At, Next: l.Next})
		}
		want := fmt.Sprint([]string{string(doc(1)), string(doc(2)), string(doc(3))})
		if fmt.Sprint(got) != want || bad != 1 || len(lines) != 4 {
			f.Fatalf("Read %v: lines %s, bad one %d; want %s and 1", k, got, bad, want)
		}
		f.wantSame("Read from after the bad line", f.lines(k, lines[bad].Next), [][]byte{doc(2), doc(3)})
		f.wantUnfit("Read from where the bad line begins", f.readErr(f.ctx, f.s, k, lines[bad].At), k)
		f.append(k, lines[3].Next, doc(4))
	}
}

// testLogReplaced: a position of a log that no longer exists is reported, and never taken for one of its successor.
func testLogReplaced(f *fixture) {
	if f.b.Recreate == nil {
		f.Skip("the backend has no foreign programs")
	}
	for _, k := range []store.Key{key(store.Aliases), key(store.Instances), key(store.Journal, "n")} {
		var ends []store.Pos
		for i := range 4 {
			ends = append(ends, f.append(k, store.AnyEnd, doc(i)))
		}
		f.b.Recreate(f, f.s, k, doc("a"), doc("b"), doc("longer than all the old ones together, so that every offset is there"))
		for i, end := range ends {
			f.wantErr(fmt.Sprintf("Read %v from the end of line %d of the old log", k, i), f.readErr(f.ctx, f.s, k, end), store.ErrConflict)
			_, err := f.s.Append(f.ctx, k, end, doc("x"))
			f.wantErr(fmt.Sprintf("Append to %v after line %d of the old log", k, i), err, store.ErrConflict)
		}
		all := f.lines(k, "")
		if len(all) != 3 {
			f.Fatalf("Read %v, which was replaced: %s", k, lineData(all))
		}
		f.append(k, all[2].Next, doc("c"))
	}
}
