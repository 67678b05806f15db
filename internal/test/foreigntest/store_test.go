package foreigntest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/faces/cli/cmd"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
)

// The environment of a process that takes part: which side it is, its number, the root and how long it runs.
const (
	sideEnv = "FOREIGNTEST_SIDE"
	numEnv  = "FOREIGNTEST_NUM"
	rootEnv = "FOREIGNTEST_ROOT"
	timeEnv = "FOREIGNTEST_TIME"
)

const actor = "claude:api:3f2a9c01b7de"

func TestMain(m *testing.M) {
	if os.Getenv(programEnv) != "" {
		cmd.Main()
	}
	side := os.Getenv(sideEnv)
	if side == "" {
		os.Exit(m.Run())
	}
	span, _ := time.ParseDuration(os.Getenv(timeEnv))
	num, _ := strconv.Atoi(os.Getenv(numEnv))
	w := &worker{num: num, rnd: rand.New(rand.NewPCG(uint64(num), 1)), out: bufio.NewWriter(os.Stdout)}
	err := w.run(side, os.Getenv(rootEnv), span)
	w.out.Flush()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// A worker does random operations and writes a line for each that was acknowledged.
type worker struct {
	num int
	seq int
	rnd *rand.Rand
	out *bufio.Writer
}

func (w *worker) say(what, id string) { fmt.Fprintln(w.out, what, id) }

func (w *worker) id(kind string) string {
	w.seq++
	return fmt.Sprintf("%s:%d:%d", kind, w.num, w.seq)
}

// A side is one way to do the same things.
type side interface {
	put(id string) error
	pop() (id string, err error) // "" when there is nothing, or somebody else was first
	register(id string) (bool, error)
	beat(session string) error
	look() error // reads everything, and fails on what it cannot read
}

func (w *worker) run(name, root string, span time.Duration) error {
	var s side
	switch name {
	case "pid", "lease":
		s = &foreign{Program{Root: root, Lease: name == "lease"}, w}
	default:
		st, err := filestore.Open(root, filestore.Options{CacheDir: root + "-cache"})
		if err != nil {
			return err
		}
		s = &ours{st, w}
	}
	session := fmt.Sprintf("sess:%016d", w.num)
	for end := time.Now().Add(span); time.Now().Before(end); {
		var err error
		switch n := w.rnd.IntN(10); {
		case n < 3:
			id := w.id("env")
			if err = s.put(id); err == nil {
				w.say("put", id)
			}
		case n < 6:
			var id string
			if id, err = s.pop(); err == nil && id != "" {
				w.say("popped", id)
			}
		case n < 8: // all sides try the same ids, so that they meet
			id := fmt.Sprintf("claude:p%d:%012x", w.rnd.IntN(4000), 7)
			var won bool
			if won, err = s.register(id); err == nil && won {
				w.say("registered", id)
			}
		case n < 9:
			err = s.beat(session)
		default:
			err = s.look()
		}
		if err != nil {
			return fmt.Errorf("%s %d: %w", name, w.num, err)
		}
	}
	w.say("session", session)
	return nil
}

func message(id string) map[string]any {
	return map[string]any{
		"protocol": "sentropic.h2a", "version": "0.1", "id": id, "type": "event",
		"actor": map[string]any{"instance": "codex:x:0123456789ab", "role": "AGENTS", "scope": "scope:default"},
		"body":  map[string]any{"kind": "message", "text": strings.Repeat("x", 300)}, "createdAt": stamp(),
	}
}

// mine tells whether a file of that name is written by one of our processes: those have even numbers.
func mine(name string) bool {
	parts := strings.Split(strings.TrimSuffix(name, ".json"), "__")
	n, err := strconv.Atoi(parts[min(1, len(parts)-1)])
	return err == nil && n%2 == 0
}

type foreign struct {
	Program
	w *worker
}

func (f *foreign) put(id string) error { return f.Put(actor, id, message(id)) }

func (f *foreign) pop() (string, error) {
	all, err := f.read()
	if err != nil || len(all) == 0 {
		return "", err
	}
	e, err := f.Pop(actor, all[f.w.rnd.IntN(len(all))]["id"].(string))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return e["id"].(string), nil
}

// read chokes on a half-written file of its own kind as the originals do, which is no fault of ours.
func (f *foreign) read() ([]map[string]any, error) {
	all, err := f.Read(actor)
	var choke *ChokeError
	if errors.As(err, &choke) && !mine(choke.Path[strings.LastIndexByte(choke.Path, '/')+1:]) {
		return nil, nil
	}
	return all, err
}

func (f *foreign) register(id string) (bool, error) {
	err := f.Register(map[string]any{"id": id, "instance": id, "by": f.w.num})
	if errors.Is(err, ErrRegistered) {
		return false, nil
	}
	return err == nil, err
}

func (f *foreign) beat(session string) error {
	if _, err := os.Stat(f.presence(session)); err != nil {
		return f.Announce(Session(session, actor))
	}
	if all, _, err := f.Sessions(); err == nil && len(all) > 0 { // a prober from outside patches what belongs to others
		f.Heartbeat(all[f.w.rnd.IntN(len(all))]["sessionId"].(string))
	}
	return f.Heartbeat(session)
}

func (f *foreign) look() error {
	if _, err := f.read(); err != nil {
		return err
	}
	if _, err := f.Log("registry/instances.jsonl"); err != nil {
		return err
	}
	_, senseless, err := f.Sessions()
	if len(senseless) > 0 {
		return fmt.Errorf("swept as senseless: %q", senseless)
	}
	return err
}

type ours struct {
	*filestore.Store
	w *worker
}

var box = address.Segment(address.Canonical(actor))

func (o *ours) put(id string) error {
	data, err := json.Marshal(message(id))
	if err == nil {
		_, err = o.Create(context.Background(), store.Key{Kind: store.Inbox, Owner: box, Name: address.Segment(id)}, data)
	}
	return err
}

func (o *ours) pop() (string, error) {
	ctx := context.Background()
	for e, err := range o.List(ctx, store.Inbox, box) {
		if err != nil {
			return "", err
		}
		if o.w.rnd.IntN(3) > 0 {
			continue
		}
		d, err := o.Get(ctx, e.Key)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return "", err
		}
		var m map[string]any
		if json.Unmarshal(d.Data, &m) != nil {
			continue // a foreign writer is in the middle of it
		}
		to := e.Key
		to.Kind = store.Archive
		switch err := o.Move(ctx, e.Key, d.Rev, to); {
		case err == nil:
			return m["id"].(string), nil
		case !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrConflict):
			return "", err
		}
	}
	return "", nil
}

func (o *ours) register(id string) (bool, error) {
	ctx := context.Background()
	k := store.Key{Kind: store.Instances}
	line, _ := json.Marshal(map[string]any{"id": id, "instance": id, "by": o.w.num})
	for after := store.Pos(""); ; {
		for l, err := range o.Read(ctx, k, after) {
			if errors.Is(err, store.ErrConflict) {
				after = ""
				continue
			}
			if err != nil {
				return false, err
			}
			var r struct{ ID string }
			if json.Unmarshal(l.Data, &r); r.ID == id {
				return false, nil
			}
			after = l.Next
		}
		_, err := o.Append(ctx, k, after, line)
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return false, err
		}
	}
}

func (o *ours) beat(session string) error {
	ctx := context.Background()
	k := store.Key{Kind: store.Presence, Name: address.Segment(session)}
	for {
		d, err := o.Get(ctx, k)
		data, _ := json.MarshalIndent(Session(session, actor), "", "  ")
		switch {
		case errors.Is(err, store.ErrNotFound):
			_, err = o.Create(ctx, k, data)
		case err == nil:
			_, err = o.Replace(ctx, k, data, d.Rev)
		}
		if err == nil || !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrExists) && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
}

func (o *ours) look() error {
	ctx := context.Background()
	for l, err := range o.Read(ctx, store.Key{Kind: store.Instances}, "") {
		if err != nil {
			return fmt.Errorf("%v: %w", l, err)
		}
	}
	for e, err := range o.List(ctx, store.Presence, "") {
		if err != nil {
			return fmt.Errorf("%v: %w", e, err)
		}
	}
	return nil
}

// TestProcessesBesideForeignPrograms lets processes of both kinds work on one mailbox, one registry and one presence folder. Every
// message that was acknowledged is popped once or still there; every registration that was acknowledged is there once; no
// file of ours was swept or choked on.
func TestProcessesBesideForeignPrograms(t *testing.T) {
	span := 6 * time.Second
	if os.Getenv("TUTTI_SOAK") != "" {
		span = time.Minute
	}
	for _, mode := range []string{"pid", "lease"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir() + "/bus"
			s, err := filestore.Open(root, filestore.Options{Create: true, CreatedBy: "foreigntest"})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			said := together(t, root, span, "ours", mode, "ours", mode)
			p := &Program{Root: root, Lease: mode == "lease"}
			checkMail(t, p, said)
			checkRegistry(t, p, said)
			checkPresence(t, p, said)
		})
	}
}

// together runs one process for each side and returns what they said.
func together(t *testing.T, root string, span time.Duration, sides ...string) []string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	outs, errs := make([]bytes.Buffer, len(sides)), make([]bytes.Buffer, len(sides))
	cmds := make([]*exec.Cmd, len(sides))
	for i, side := range sides {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), sideEnv+"="+side, numEnv+"="+strconv.Itoa(i), rootEnv+"="+root, timeEnv+"="+span.String())
		cmd.Stdout, cmd.Stderr = &outs[i], &errs[i]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds[i] = cmd
	}
	var said []string
	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s %d: %v\n%s", sides[i], i, err, errs[i].String())
		}
		said = append(said, strings.Split(strings.TrimSpace(outs[i].String()), "\n")...)
	}
	return said
}

// ids collects what was said of one thing, with how often.
func ids(said []string, what string) map[string]int {
	m := map[string]int{}
	for _, line := range said {
		if id, ok := strings.CutPrefix(line, what+" "); ok {
			m[id]++
		}
	}
	return m
}

func checkMail(t *testing.T, p *Program, said []string) {
	t.Helper()
	rest, err := p.Read(actor)
	if err != nil {
		t.Fatal(err)
	}
	put, seen := ids(said, "put"), ids(said, "popped")
	popped := len(seen)
	for _, e := range rest {
		seen[e["id"].(string)]++
	}
	for id := range put {
		if seen[id] != 1 {
			t.Errorf("message %s was put once and seen %d times", id, seen[id])
		}
	}
	for id := range seen {
		if put[id] == 0 {
			t.Errorf("message %s came from nowhere", id)
		}
	}
	t.Logf("%d messages put, %d popped, %d left", len(put), popped, len(rest))
	if len(put) < 50 || popped < 20 {
		t.Errorf("too little happened")
	}
}

func checkRegistry(t *testing.T, p *Program, said []string) {
	t.Helper()
	all, err := p.Log("registry/instances.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]int{}
	for _, r := range all {
		there[r["id"].(string)]++
	}
	won := ids(said, "registered")
	for id, n := range won {
		if n != 1 || there[id] != 1 {
			t.Errorf("%s was won %d times and stands in the registry %d times", id, n, there[id])
		}
	}
	t.Logf("%d registrations", len(won))
	if len(all) != len(won) || len(won) < 50 {
		t.Errorf("%d lines for %d registrations", len(all), len(won))
	}
}

func checkPresence(t *testing.T, p *Program, said []string) {
	t.Helper()
	live, senseless, err := p.Sessions()
	if err != nil || len(senseless) > 0 {
		t.Fatalf("%v, swept as senseless %q", err, senseless)
	}
	there := map[string]bool{}
	for _, s := range live {
		there[s["sessionId"].(string)] = true
	}
	for id := range ids(said, "session") {
		if !there[id] {
			t.Errorf("session %s is gone", id)
		}
	}
}
