package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tutti/internal/core/canonjson"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
)

// Sizes of the stores: a year of a busy team in one inbox, and every registration it ever made.
const (
	messages  = 10_000
	lines     = 100_000
	newest    = 20  // what an inbox listing shows
	creates   = 150 // durable creates a round, in turns with the bare loop
	questions = 25  // how often a view is asked in one round
)

// storeRows are about the store in a folder. Every question is asked as a new process asks it: the store is opened, asked
// and closed each time, and nothing but the files of the index is kept in between.
func storeRows() []row {
	one := func(n int, exact bool) func(*box) error {
		return func(b *box) error { return b.view(store.Query{Newest: n, Exact: exact}) }
	}
	views := []row{
		{work: "newest 20 of 10,000 messages", target: within(1.5e-3), round: asked(inbox, questions, false, one(newest, false))},
		{work: "the same, index deleted before", round: asked(inbox, 2, true, one(newest, false))},
		{work: "all of 10,000 messages, each checked", target: within(30e-3), round: asked(inbox, questions, false, one(0, true))},
		{work: "the same, index deleted before", round: asked(inbox, 2, true, one(0, true))},
		{work: "one key in a log of 100,000 lines", target: within(0.2e-3), round: asked(registry, questions, false, (*box).find)},
		{work: "the same, index deleted before", round: asked(registry, 2, true, (*box).find)},
	}
	all := []row{{work: "durable create of a message, against bare system calls", target: rateOfBase(0.9), round: createAgainstBare}}
	all = append(all, views...)
	for i := range all {
		all[i].subject = "store"
	}
	return all
}

// createAgainstBare stores messages through the store and, in turns, with the system calls that a durable file needs at
// the least: create, write, sync, sync the folder. Both write the same bytes into the same folder.
func createAgainstBare(e *env) (measured, error) {
	dir, err := e.fresh()
	if err != nil {
		return measured{}, err
	}
	s, err := filestore.Open(filepath.Join(dir, "root"), filestore.Options{Create: true})
	if err != nil {
		return measured{}, err
	}
	defer s.Close()
	bare := filepath.Join(dir, "root", "inbox", owner)
	if err := os.Mkdir(bare, 0o700); err != nil {
		return measured{}, err
	}
	folder, err := unix.Open(bare, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return measured{}, err
	}
	defer unix.Close(folder)
	return inTurns(e.ctx, creates,
		func(i int) (time.Duration, error) {
			k, data := store.Key{Kind: store.Inbox, Owner: owner, Name: messageName(i)}, message(i)
			began := time.Now()
			_, err := s.Create(e.ctx, k, data)
			return time.Since(began), err
		},
		func(i int) (time.Duration, error) {
			name, data := messageName(i)+".bare", message(i)
			began := time.Now()
			err := bareCreate(folder, name, data)
			return time.Since(began), err
		})
}

// bareCreate makes a durable file with four system calls and a close.
func bareCreate(folder int, name string, data []byte) error {
	fd, err := unix.Openat(folder, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	if _, err = unix.Write(fd, data); err == nil {
		err = unix.Fsync(fd)
	}
	if e := unix.Close(fd); err == nil {
		err = e
	}
	if err == nil {
		err = unix.Fsync(folder)
	}
	return err
}

// A box is a filled store and its cache folder.
type box struct {
	ctx         context.Context
	root, cache string
}

// asked makes a round that fills a store and asks it n times. The index is built by a question before, or, when cold,
// deleted before each one.
func asked(fill func(root string) error, n int, cold bool, ask func(*box) error) func(*env) (measured, error) {
	return func(e *env) (measured, error) {
		dir, err := e.fresh()
		if err != nil {
			return measured{}, err
		}
		defer os.RemoveAll(dir) // 10,000 files a round add up
		b := &box{ctx: e.ctx, root: filepath.Join(dir, "root"), cache: filepath.Join(dir, "cache")}
		s, err := filestore.Open(b.root, filestore.Options{Create: true})
		if err != nil {
			return measured{}, err
		}
		s.Close()
		if err := fill(b.root); err != nil {
			return measured{}, err
		}
		time.Sleep(2500 * time.Millisecond) // what was written a moment ago is read again on each use, at most 2 s long
		for range 2 {
			if err := ask(b); err != nil {
				return measured{}, err
			}
		}
		return b.repeat(n, cold, ask)
	}
}

func (b *box) repeat(n int, cold bool, ask func(*box) error) (measured, error) {
	took := make([]time.Duration, 0, n)
	for range n {
		if err := b.ctx.Err(); err != nil {
			return measured{}, err
		}
		if cold {
			if err := os.RemoveAll(b.cache); err != nil {
				return measured{}, err
			}
		}
		began := time.Now()
		if err := ask(b); err != nil {
			return measured{}, err
		}
		took = append(took, time.Since(began))
	}
	return measured{value: median(took)}, nil
}

// open opens the store as a process does that was just started.
func (b *box) open() (*filestore.Store, error) {
	return filestore.Open(b.root, filestore.Options{CacheDir: b.cache})
}

func (b *box) view(q store.Query) error {
	s, err := b.open()
	if err != nil {
		return err
	}
	defer s.Close()
	n := 0
	for _, err := range s.View(b.ctx, store.Inbox, owner, &listing, q) {
		if err != nil {
			return err
		}
		n++
	}
	want := messages
	if q.Newest > 0 {
		want = q.Newest
	}
	if n != want {
		return fmt.Errorf("the view has %d rows, want %d", n, want)
	}
	return nil
}

func (b *box) find() error {
	s, err := b.open()
	if err != nil {
		return err
	}
	defer s.Close()
	n := 0
	for _, err := range s.Find(b.ctx, store.Key{Kind: store.Instances}, &registrations, instance(lines/2)) {
		if err != nil {
			return err
		}
		n++
	}
	if n != 1 {
		return fmt.Errorf("the log has %d lines of that key, want 1", n)
	}
	return nil
}

// owner is whose inbox is filled.
const owner = "claude_api"

// listing is what an inbox listing shows of a message.
var listing = store.Projection{Name: "bench-inbox", Version: 1, Make: func(data []byte, stored time.Time) ([]string, int64, []byte, error) {
	var values [3][]byte
	if !canonjson.Pick(data, []string{"id", "createdAt", "from"}, values[:]) {
		return nil, 0, nil, fmt.Errorf("no message: %q", data)
	}
	id, _ := canonjson.String(values[0])
	at, _ := canonjson.String(values[1])
	when, err := time.Parse(time.RFC3339, at)
	return []string{id}, when.UnixNano(), values[2], err
}}

// registrations finds the lines of an instance.
var registrations = store.Projection{Name: "bench-instances", Version: 1, Make: func(data []byte, _ time.Time) ([]string, int64, []byte, error) {
	raw, ok := canonjson.Get(data, "instance")
	id, isString := canonjson.String(raw)
	if !ok || !isString {
		return nil, 0, nil, fmt.Errorf("no registration: %q", data)
	}
	return []string{id}, 0, nil, nil
}}

func messageName(i int) string { return fmt.Sprintf("msg-%08d", i) }

// message is an envelope of the usual size, about 700 bytes, a second after the one before.
func message(i int) []byte {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Second).Format(time.RFC3339)
	return fmt.Appendf(nil, `{"body":%q,"createdAt":%q,"from":"codex:web:%012x","id":%q,"to":"claude:api"}`,
		strings.Repeat("the schema changed, see db/014.sql; ", 16), at, i, messageName(i))
}

func instance(i int) string { return fmt.Sprintf("claude:project-%d:%012x", i%50, i) }

// inbox writes the messages as the originals do, without syncing each.
func inbox(root string) error {
	dir := filepath.Join(root, "inbox", owner)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for i := range messages {
		if err := os.WriteFile(filepath.Join(dir, messageName(i)+".json"), message(i), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// registry writes a log of registrations.
func registry(root string) error {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, `{"createdAt":"2026-01-01T00:00:00Z","host":"claude","instance":%q,"workspace":"/srv/project-%d"}`+"\n", instance(i), i%50)
	}
	if err := os.MkdirAll(filepath.Join(root, "registry"), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "registry", "instances.jsonl"), []byte(b.String()), 0o600)
}
