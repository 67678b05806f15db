package yaml

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tutti/internal/sessions/registry"
	"tutti/internal/test/boundtest"
)

// The test binary is also the program of the children: what one does stands in its environment.
const childEnv = "FILES_TEST_CHILD"

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		if err := child(strings.Split(what, "\n")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child runs what a test wants of another process: args are what, path and more.
func child(args []string) error {
	r, err := Open(args[1])
	if err != nil {
		return err
	}
	ctx := context.Background()
	switch args[0] {
	case "crash": // the n-th step is the last
		left, err := strconv.Atoi(args[3])
		if err != nil {
			return err
		}
		r.step = func(string) {
			if left--; left == 0 {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
		if args[2] == "" {
			_, _, err = r.Rows(ctx)
			return err
		}
		_, err = r.Change(ctx, args[2], func(row *registry.Row, _ bool) error {
			row.Status, row.StopReason = registry.Stopped, "crash"
			return nil
		})
		return err
	case "count": // a hundred changes of one row, and a row each of its own
		r.wait = time.Minute // the other one takes the lock again before this one is awake, where the machine is busy
		for n := range 100 {
			if err := count(ctx, r, "shared", args[2]); err != nil {
				return err
			}
			if n%10 == 0 {
				if err := count(ctx, r, fmt.Sprintf("own-%s-%d", args[2], n), args[2]); err != nil {
					return err
				}
			}
		}
		return nil
	case "full": // no file can grow beyond a size
		limit, err := strconv.ParseUint(args[2], 10, 64)
		if err != nil {
			return err
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			return err
		}
		_, err = r.Change(ctx, "a", func(row *registry.Row, _ bool) error {
			row.VisibleScreen = strings.Repeat("full disk\n", 600)
			return nil
		})
		return err
	case "tight": // prints the rows where no file can grow
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1, Max: 1}); err != nil {
			return err
		}
		rows, problems, err := r.Rows(ctx)
		fmt.Println(len(rows), problems, err)
		return nil
	case "look": // prints the rows, and what becomes of a change
		rows, _, err := r.Rows(ctx)
		fmt.Println(len(rows), err)
		_, err = r.Change(ctx, "a", func(row *registry.Row, _ bool) error { row.Status = registry.Archived; return nil })
		fmt.Println(err)
		return nil
	}
	return errors.New("what? " + args[0])
}

func count(ctx context.Context, r *Registry, name, who string) error {
	_, err := r.Change(ctx, name, func(row *registry.Row, _ bool) error {
		row.Status = registry.Running
		n, _ := strconv.Atoi(string(row.Get("count_" + who)))
		row.Set("count_"+who, []byte(strconv.Itoa(n+1)))
		return nil
	})
	return err
}

func (b *bench) command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join(append([]string{args[0], b.path}, args[1:]...), "\n"))
	return cmd
}

// TestKilledBetweenAnyTwoSteps kills a process at each of its steps. Whatever step it was: both files then agree, nothing is lost, and the
// change was made or was not.
func TestKilledBetweenAnyTwoSteps(t *testing.T) {
	boundtest.OneGoroutine(t)
	t.Parallel()
	for what, c := range map[string]struct {
		prepare       func(b *bench)
		name          string // of the row that is changed, "": only looked at
		before, after string
		found         bool // the registry is there before
	}{
		"the first row":    {func(*bench) {}, "x", "", "x=stopped", false},
		"a first look":     {func(b *bench) { b.prepare(two) }, "", "a=running b=stopped", "a=running b=stopped", true},
		"a row is changed": {func(b *bench) { b.prepare(two); b.names() }, "a", "a=running b=stopped", "a=stopped b=stopped", true},
		"a row is added":   {func(b *bench) { b.prepare(two); b.names() }, "x", "a=running b=stopped", "a=running b=stopped x=stopped", true},
		"after an edit": {
			func(b *bench) { b.prepare(two); b.names(); b.edit("status: stopped", "status: archived") }, "a",
			"a=running b=archived", "a=stopped b=archived", true,
		},
		"the YAML is gone": {func(b *bench) { b.prepare(two); b.names(); os.Remove(b.path) }, "a", "a=running b=stopped", "a=stopped b=stopped", true},
		"the database is damaged": {func(b *bench) {
			b.prepare(two)
			b.names()
			os.WriteFile(registry.Database(b.path), []byte(strings.Repeat("no database ", 1000)), 0o600)
		}, "a", "a=running b=stopped", "a=stopped b=stopped", true},
		"another program was in the database": {func(b *bench) {
			b.prepare(two)
			b.names()
			b.exec(`UPDATE sessions SET status = 'archived', data = json_set(data, '$.status', 'archived') WHERE name = 'b'`)
		}, "a", "a=running b=archived", "a=stopped b=archived", true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			for n := 1; ; n++ {
				b := newBench(t, "")
				b.old()
				c.prepare(b)
				out, err := b.command("crash", c.name, strconv.Itoa(n)).CombinedOutput()
				if err == nil {
					if n < 5 {
						t.Fatalf("only %d steps", n)
					}
					b.agree(c.after)
					return
				}
				if !strings.Contains(err.Error(), "killed") {
					t.Fatalf("step %d: %v\n%s", n, err, out)
				}
				rows, _, err := b.Rows(t.Context())
				if err != nil && c.found {
					t.Fatalf("killed at step %d: %v", n, err)
				}
				var names []string
				for _, r := range rows {
					names = append(names, r.Name+"="+string(r.Status))
				}
				if got := strings.Join(names, " "); got != c.before && got != c.after {
					t.Fatalf("killed at step %d: %q, want %q or %q", n, got, c.before, c.after)
				} else if err == nil {
					b.agree(got)
				}
				// And it goes on from there.
				b.set("z", registry.Running)
				if c.name != "" {
					b.set(c.name, registry.Stopped)
					b.agree(c.after + " z=running")
				}
			}
		})
	}
}

func (b *bench) prepare(text string) {
	b.t.Helper()
	if err := os.MkdirAll(strings.TrimSuffix(b.path, "/agent-sessions.yaml"), 0o700); err != nil {
		b.t.Fatal(err)
	}
	b.write(text)
}

func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	one, two := b.command("count", "one"), b.command("count", "two")
	for _, c := range []*exec.Cmd{one, two} {
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []*exec.Cmd{one, two} {
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
	rows, problems, err := b.Rows(t.Context())
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	if len(rows) != 21 {
		t.Errorf("%d rows, want 21", len(rows))
	}
	for _, r := range rows {
		one, two := string(r.Get("count_one")), string(r.Get("count_two"))
		if r.Name == "shared" && (one != "100" || two != "100" || r.Revision != 200) || r.Name != "shared" && one+two != "1" {
			t.Errorf("%s: %s and %s changes, revision %d", r.Name, one, two, r.Revision)
		}
	}
	b.stored()
}
