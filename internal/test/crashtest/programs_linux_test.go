package crashtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tutti/internal/test/boundtest"
)

const (
	writers, readers = 50, 5
	killEvery        = 300 * time.Millisecond
	shortKills       = 5 * time.Second
	longKills        = 3 * time.Minute
	longestRun       = 15 * time.Millisecond // within which a program is killed after its start
)

// A field is a bus on which programs write and read while some of them are killed.
type field struct {
	t             *testing.T
	program, home string
	targets       []string // the agents that are written to

	mu      sync.Mutex
	running map[*os.Process]bool
	due     int               // kills that have not hit yet
	sent    map[string]string // text by the id of each message that a writer was told is stored
	shown   map[string]int    // how many reading programs printed a message and ended well
	acked   map[string]int    // how many acknowledged it, and were told so
	faults  []string
	kills   int
	cut     atomic.Int64 // programs that ended by a kill
}

// run runs tutti once; ok is false when it was killed.
func (f *field) run(args ...string) (out []byte, ok bool) {
	c := exec.Command(f.program, args...)
	c.Dir, c.Env = f.home, []string{"HOME=" + f.home, "PATH=" + os.Getenv("PATH")}
	var stdout, stderr strings.Builder
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Start(); err != nil {
		f.fault("start tutti %v: %v", args, err)
		return nil, false
	}
	f.mu.Lock()
	f.running[c.Process] = true
	if f.due > 0 {
		f.due--
		time.AfterFunc(rand.N(longestRun), func() { f.kill(c.Process) })
	}
	f.mu.Unlock()
	err := c.Wait()
	f.mu.Lock()
	delete(f.running, c.Process)
	f.mu.Unlock()
	switch {
	case err == nil:
		return []byte(stdout.String()), true
	case c.ProcessState.ExitCode() < 0:
		f.cut.Add(1)
	default:
		f.fault("tutti %v: %v: %s", args, err, stderr.String())
	}
	return nil, false
}

func (f *field) fault(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.faults) < 20 {
		f.faults = append(f.faults, fmt.Sprintf(format, args...))
	}
}

// kill ends a program, or has another one ended when it is gone already: most run for a few milliseconds.
func (f *field) kill(p *os.Process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running[p] && p.Kill() == nil {
		f.kills++
	} else {
		f.due++
	}
}

func (f *field) write(ctx context.Context, who string) {
	for n := 0; ctx.Err() == nil; n++ {
		text := fmt.Sprintf("%s message %d", who, n)
		out, ok := f.run("send", f.targets[rand.IntN(len(f.targets))], text, "--as", who, "--json")
		if !ok {
			continue
		}
		var receipt struct{ ID, Outcome string }
		if err := json.Unmarshal(out, &receipt); err != nil || receipt.ID == "" {
			f.fault("send prints %.200s: %v", out, err)
			continue
		}
		f.mu.Lock()
		f.sent[receipt.ID] = text
		f.mu.Unlock()
	}
}

func (f *field) read(ctx context.Context, who string) {
	for ctx.Err() == nil {
		out, ok := f.run("receive", "--as", who, "--limit", "20", "--json")
		if !ok {
			continue
		}
		var got struct{ Messages []struct{ ID string } }
		if err := json.Unmarshal(out, &got); err != nil {
			f.fault("receive prints %.200s: %v", out, err)
			continue
		}
		f.mu.Lock()
		for _, m := range got.Messages {
			f.shown[m.ID]++
		}
		f.mu.Unlock()
		for _, m := range got.Messages {
			if ctx.Err() != nil {
				return
			}
			if _, ok := f.run("ack", m.ID, "--as", who); ok {
				f.mu.Lock()
				f.acked[m.ID]++
				f.mu.Unlock()
			}
		}
	}
}

// stored lists the paths at which each text that a writer sent is stored, below the mailboxes or the archives.
func (f *field) stored(bus, kind string) map[string][]string {
	f.t.Helper()
	at := map[string][]string{}
	err := filepath.WalkDir(filepath.Join(bus, kind), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name()[0] == '.' { // locks, and what a writer that was killed had staged
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var m struct {
			ID   string
			Body struct{ Text string }
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			f.t.Errorf("%s is torn: %v", path, err)
		}
		at[m.Body.Text] = append(at[m.Body.Text], m.ID)
		return nil
	})
	if err != nil && !os.IsNotExist(err) {
		f.t.Fatal(err)
	}
	return at
}

// TestKilledPrograms: lets 50 writers and 5 readers, each message a program of its own, work on one bus while one of the programs is killed
// every 300 ms. No message that was reported as stored is lost, stored twice, or shown to two readers.
func TestKilledPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: killing programs takes five seconds, too long for -short")
	}
	if boundtest.Race {
		t.Skip("the programs are built without the detector, which would see this test alone")
	}
	span := shortKills
	if os.Getenv(longEnv) != "" {
		span = longKills
	}
	bin := t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-o", bin, "tutti/cmd/tutti", "tutti/cmd/tutti-full")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	f := &field{
		t: t, program: filepath.Join(bin, "tutti"), home: t.TempDir(), running: map[*os.Process]bool{},
		sent: map[string]string{}, shown: map[string]int{}, acked: map[string]int{},
	}
	connect := func(host, name string) string {
		out, ok := f.run("connect", "--host", host, "--name", name, "--json")
		var made struct{ Instance string }
		if err := json.Unmarshal(out, &made); err != nil || !ok {
			t.Fatalf("connect %s: %v %s %v", name, err, out, f.faults)
		}
		return made.Instance
	}
	f.run("init")
	for n := range 2 { // so that readers meet at one mailbox, too
		f.targets = append(f.targets, connect("claude", fmt.Sprintf("reader%d", n)))
	}
	var speakers []string
	for n := range writers {
		speakers = append(speakers, connect("codex", fmt.Sprintf("writer%d", n)))
	}
	ctx, stop := context.WithTimeout(t.Context(), span)
	defer stop()
	var all sync.WaitGroup
	for _, who := range speakers {
		all.Go(func() { f.write(ctx, who) })
	}
	for n := range readers {
		all.Go(func() { f.read(ctx, f.targets[n%len(f.targets)]) })
	}
	tick := time.NewTicker(killEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-tick.C:
			f.mu.Lock()
			f.due++
			f.mu.Unlock()
		case <-ctx.Done():
		}
	}
	all.Wait()
	f.check(filepath.Join(f.home, "h2a-workspace", ".h2a"))
}

func (f *field) check(bus string) {
	f.t.Helper()
	unread, kept := f.stored(bus, "inbox"), f.stored(bus, "archive")
	lost, doubled, twice, gone := 0, 0, 0, 0
	for id, text := range f.sent {
		switch n := len(unread[text]) + len(kept[text]); {
		case n == 0:
			lost++
			f.t.Errorf("lost: %s %q", id, text)
		case n > 1:
			doubled++
			f.t.Errorf("stored %d times: %s %q", n, id, text)
		}
		if f.acked[id] > 0 && len(kept[text]) == 0 {
			gone++
			f.t.Errorf("acknowledged, and not in the archive: %s %q", id, text)
		}
	}
	for id, n := range f.shown {
		if n > 1 {
			twice++
			f.t.Errorf("shown to %d readers: %s", n, id)
		}
	}
	for _, fault := range f.faults {
		f.t.Error(fault)
	}
	if f.cut.Load() == 0 || len(f.sent) == 0 || len(f.acked) == 0 {
		f.t.Errorf("nothing was tried: %d kills hit, %d sent, %d acknowledged", f.cut.Load(), len(f.sent), len(f.acked))
	}
	f.t.Logf("%d sends were reported as stored, %d shown, %d acknowledged; %d kills, %d hit; lost %d, stored twice %d, shown twice %d, acknowledged and not kept %d",
		len(f.sent), len(f.shown), len(f.acked), f.kills, f.cut.Load(), lost, doubled, twice, gone)
}
