package filestore

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tutti/internal/store"
)

// tidyEnd is the time before which the tests tidy.
var tidyEnd = time.Date(2026, 6, 15, 0, 0, 0, 0, time.UTC)

// age sets the time at which a document seems to have arrived. The change of its inode is noted by the system with the true
// time, which is later.
func age(t *testing.T, s *Store, k store.Key, at time.Time) {
	t.Helper()
	if err := os.Chtimes(filepath.Join(s.path, k.Path()), at, at); err != nil {
		t.Fatal(err)
	}
}

func tidyAll(t *testing.T, s *Store, dry bool) (done []Tidied, unfit []string) {
	t.Helper()
	for d, err := range s.Tidy(t.Context(), tidyEnd, dry) {
		if u, ok := errors.AsType[*store.UnfitError](err); ok {
			unfit = append(unfit, filepath.Base(u.Where)+": "+u.Why)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		done = append(done, d)
	}
	return done, unfit
}

// inTidied is what was tidied away of one owner.
func inTidied(t *testing.T, s *Store, kind store.Kind, owner string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for doc, err := range s.Tidied(t.Context(), kind, owner) {
		if err != nil {
			t.Fatal(err)
		}
		if doc.Rev != revOf(doc.Data) || !doc.Stored.Before(tidyEnd) {
			t.Errorf("%s: revision %s and arrival %s are not those of the document", doc.Key, doc.Rev, doc.Stored)
		}
		all[doc.Key.Name] = string(doc.Data)
	}
	return all
}

// layouts are documents as different programs write them. All come back byte for byte.
var layouts = map[string]string{
	"flat": `{"a":1,"b":[1,2]}`, "flat-lf": "{\"a\":1}\n", "pretty": "{\n  \"a\": 1\n}", "pretty-lf": "{\n  \"a\": 1\n}\n",
	"odd": "{\"a\":   1,\r\n\t\"ü\": \"\\ud800\"}\n\n", "empty": "{}",
}

func TestTidyKeepsEveryByte(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for name, text := range layouts {
		for _, kind := range TidyKinds {
			k := store.Key{Kind: kind, Owner: "o", Name: name}
			create(t, s, k, text)
			age(t, s, k, tidyEnd.Add(-time.Hour))
		}
	}
	young := store.Key{Kind: store.Archive, Owner: "o", Name: "young"}
	create(t, s, young, `{}`)
	age(t, s, young, tidyEnd)
	mail := store.Key{Kind: store.Inbox, Owner: "o", Name: "waiting"}
	create(t, s, mail, `{}`)
	age(t, s, mail, tidyEnd.AddDate(-1, 0, 0))
	before := tree(t, s.path)

	dry, unfit := tidyAll(t, s, true)
	if len(dry) != 2 || dry[0].Docs != len(layouts) || dry[0].Packed != 0 || len(unfit) != 0 {
		t.Errorf("dry run: got %+v, %v, want %d documents of each kind", dry, unfit, len(layouts))
	}
	if after := tree(t, s.path); !slices.Equal(before, after) {
		t.Errorf("a dry run changed the store:\ngot  %v\nwant %v", after, before)
	}
	done, unfit := tidyAll(t, s, false)
	if len(done) != 2 || done[0].Docs != len(layouts) || done[0].Month != "2026-06" || done[0].Packed == 0 || len(unfit) != 0 {
		t.Errorf("got %+v, %v, want %d documents of each kind", done, unfit, len(layouts))
	}
	for _, kind := range TidyKinds {
		if got := inTidied(t, s, kind, "o"); !maps.Equal(got, layouts) {
			t.Errorf("%s: got %q\nwant %q", kind, got, layouts)
		}
	}
	var left []string
	for e, err := range s.List(t.Context(), store.Archive, "o") {
		left = append(left, fmt.Sprint(e.Key.Name, err))
	}
	if !slices.Equal(left, []string{"young<nil>"}) {
		t.Errorf("in the archive are %q, want young alone", left)
	}
	if _, err := s.Get(t.Context(), mail); err != nil {
		t.Errorf("mail that waits: %v, want it untouched", err)
	}
	if again, _ := tidyAll(t, s, false); len(again) != 0 {
		t.Errorf("a second run did %+v, want nothing", again)
	}
}

// TestTidiedFileIsReadableByOthers: zcat prints one line per document, with its name.
func TestTidiedFileIsReadableByOthers(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for i, at := range []time.Time{tidyEnd.Add(-1), tidyEnd.Add(-2), tidyEnd.AddDate(0, -2, 0)} {
		k := store.Key{Kind: store.Archive, Owner: "claude__api", Name: fmt.Sprint("m", i)}
		create(t, s, k, "{\n  \"threadId\": \"thr:1\"\n}\n")
		age(t, s, k, at)
		if i == 0 { // a month that grows: a second member of gzip
			tidyAll(t, s, false)
		}
	}
	done, _ := tidyAll(t, s, false)
	if len(done) != 2 || done[0].File != "tidied/archive/claude__api/2026-04.jsonl.gz" {
		t.Fatalf("got %+v, want April and June", done)
	}
	f, err := os.Open(filepath.Join(s.path, done[1].File))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], `{"name":"m0",`) || !strings.HasSuffix(lines[1], `"document":{"threadId":"thr:1"}}`) {
		t.Errorf("got %q, want a line for m0 and one for m1 that ends with the document", lines)
	}
	if info, err := f.Stat(); err != nil || info.Mode().Perm() != 0o600 || info.Size() != done[1].Packed {
		t.Errorf("file: %v, %v, want mode 0600 and %d bytes", info, err, done[1].Packed)
	}
}

func TestTidySkipsInvalid(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	good := store.Key{Kind: store.Archive, Owner: "o", Name: "good"}
	create(t, s, good, "{}")
	age(t, s, good, tidyEnd.Add(-1))
	bad := store.Key{Kind: store.Archive, Owner: "o", Name: "bad"}
	write(t, filepath.Join(s.path, bad.Path()), []byte("no json"))
	age(t, s, bad, tidyEnd.Add(-1))
	if err := os.Symlink("good.json", filepath.Join(s.path, "archive", "o", "link.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("o", filepath.Join(s.path, "archive", "trap")); err != nil {
		t.Fatal(err)
	}
	done, unfit := tidyAll(t, s, false)
	slices.Sort(unfit)
	if len(done) != 1 || done[0].Docs != 1 || len(unfit) != 3 || unfit[0] != "bad.json: is not valid JSON" {
		t.Errorf("got %+v, %q, want one document, and bad, link and trap named", done, unfit)
	}
	for _, name := range []string{"o/bad.json", "o/link.json", "trap"} {
		if _, err := os.Lstat(filepath.Join(s.path, "archive", name)); err != nil {
			t.Errorf("%v, want it left where it is", err)
		}
	}
}

// A file that was damaged is never added to, and nothing is removed for its sake.
func TestTidyStopsAtDamage(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func([]byte) []byte{
		"cut":     func(b []byte) []byte { return b[:len(b)-5] },
		"flipped": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"empty":   func([]byte) []byte { return nil },
		"other":   func([]byte) []byte { return []byte("hello") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			one, two := store.Key{Kind: store.Outbox, Owner: "o", Name: "1"}, store.Key{Kind: store.Outbox, Owner: "o", Name: "2"}
			create(t, s, one, `{"text":"one"}`)
			age(t, s, one, tidyEnd.Add(-1))
			done, _ := tidyAll(t, s, false)
			path := filepath.Join(s.path, done[0].File)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			broken := damage(bytes.Clone(data))
			write(t, path, broken)
			create(t, s, two, `{"text":"two"}`)
			age(t, s, two, tidyEnd.Add(-1))
			done, unfit := tidyAll(t, s, false)
			if len(done) != 0 || len(unfit) != 1 || !strings.HasPrefix(unfit[0], "2026-06.jsonl.gz: ") {
				t.Errorf("got %+v, %q, want nothing done and the file named", done, unfit)
			}
			if _, err := s.Get(t.Context(), two); err != nil {
				t.Errorf("document: %v, want it where it was", err)
			}
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, broken) {
				t.Errorf("file: %q, %v, want it as it was found", now, err)
			}
		})
	}
}

func TestTidyOneAtATime(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for i := range 2 { // the first month is done when the second run begins
		k := store.Key{Kind: store.Archive, Owner: "o", Name: fmt.Sprint(i)}
		create(t, s, k, "{}")
		age(t, s, k, tidyEnd.AddDate(0, -i, -1))
	}
	for range s.Tidy(t.Context(), tidyEnd, false) {
		var held *store.HeldError
		for _, err := range s.Tidy(t.Context(), tidyEnd, false) {
			if !errors.As(err, &held) {
				t.Errorf("a second run: got %v, want a HeldError", err)
			}
		}
		if held == nil {
			t.Error("a second run said nothing, want a HeldError")
		}
		break
	}
	reading, err := Open(s.path, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reading.Close()
	for _, err := range reading.Tidy(t.Context(), tidyEnd, false) {
		if !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("read-only: got %v, want %v", err, store.ErrReadOnly)
		}
	}
}

const tidyChild = "TUTTI_TEST_TIDY"

// TestTidyChild is the process that TestTidyGoesOnAfterKill kills.
func TestTidyChild(t *testing.T) {
	path := os.Getenv(tidyChild)
	if path == "" {
		t.Skip("runs only as a child of another test")
	}
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tidyAll(t, s, false)
}

// A run that is killed at any point leaves each document in the folder, in the file, or in both, and the next run goes on.
func TestTidyGoesOnAfterKill(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	want := map[string]string{}
	for i := range 300 {
		k := store.Key{Kind: store.Archive, Owner: "o", Name: fmt.Sprintf("m%04d", i)}
		text := fmt.Sprintf(`{"n":%d,"text":%q}`, i, strings.Repeat("x", i))
		write(t, filepath.Join(s.path, k.Path()), []byte(text))
		age(t, s, k, tidyEnd.AddDate(0, -i%3, -1))
		want[k.Name] = text
	}
	wait := 4 * time.Millisecond // grows by half, so that a slow machine comes to an end as well
	for round := 0; ; round++ {
		wait += wait / 2
		child := exec.Command(os.Args[0], "-test.run=^TestTidyChild$")
		child.Env = append(os.Environ(), tidyChild+"="+s.path)
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(wait, func() { _ = child.Process.Kill() })
		err := child.Wait()
		timer.Stop()
		got := inTidied(t, s, store.Archive, "o")
		for e, err := range s.List(t.Context(), store.Archive, "o") {
			if err != nil {
				t.Fatal(err)
			}
			doc, err := s.Get(t.Context(), e.Key)
			if err != nil {
				t.Fatal(err)
			}
			got[e.Key.Name] = string(doc.Data)
		}
		if !maps.Equal(got, want) {
			t.Fatalf("after %d kills there are %d documents, want all %d as they were", round+1, len(got), len(want))
		}
		if err == nil {
			t.Logf("done after %d kills", round)
			break
		}
	}
	tidyAll(t, s, false)
	if got := inTidied(t, s, store.Archive, "o"); !maps.Equal(got, want) {
		t.Errorf("%d documents were tidied away, want %d", len(got), len(want))
	}
	files, err := filepath.Glob(filepath.Join(s.path, "tidied", "archive", "o", ".*"))
	if err != nil || len(files) > 1 { // the last run came too soon after the kill to know a file as left behind
		t.Errorf("temporary files %q, %v are left", files, err)
	}
}
