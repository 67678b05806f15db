package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// processes is how often each program of a pair is started in one round: with 200 the median of a millisecond's work
// moves by less than 2 % between rounds.
const processes = 200

// buildFlags are those of the shipped programs, so that the floor is theirs.
var buildFlags = []string{"-trimpath", "-buildvcs=false", "-ldflags", "-s -w"}

// buildFloor makes the empty program: what starting anything costs here.
func buildFloor(ctx context.Context, dir string) (string, error) {
	src := filepath.Join(dir, "floor.go")
	if err := os.WriteFile(src, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "floor.built")
	cmd := exec.CommandContext(ctx, "go", append(append([]string{"build"}, buildFlags...), "-o", bin, src)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the empty program: %w\n%s", err, out)
	}
	return bin, nil
}

// A command is a program to be timed, with everything that it sees of the world.
type command struct {
	path string
	args []string
	env  []string
	dir  string
	in   *os.File // standard input; nil: nothing
}

// start begins the process without pipes: its output goes nowhere, and no goroutine of ours copies it.
func (c command) start(null *os.File) (*os.Process, error) {
	in := null
	if c.in != nil {
		in = c.in
	}
	return os.StartProcess(c.path, append([]string{filepath.Base(c.path)}, c.args...), &os.ProcAttr{
		Dir: c.dir, Env: c.env, Files: []*os.File{in, null, null},
	})
}

// time runs the process once, from fork to the end of the wait.
func (c command) time(null *os.File) (time.Duration, error) {
	began := time.Now()
	p, err := c.start(null)
	if err != nil {
		return 0, err
	}
	state, err := p.Wait()
	took := time.Since(began)
	if err == nil && !state.Success() {
		err = fmt.Errorf("%s %v: %s", c.path, c.args, state)
	}
	return took, err
}

// againstFloor times a command and the empty program in turns and returns both medians.
func againstFloor(e *env, c command) (measured, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return measured{}, err
	}
	defer null.Close()
	floor := command{path: e.floor, env: c.env, dir: c.dir}
	return inTurns(e.ctx, processes,
		func(int) (time.Duration, error) { return c.time(null) },
		func(int) (time.Duration, error) { return floor.time(null) })
}

// inTurns does the work and its bare twin n times each, one after the other, and returns both medians. The first two
// turns are not counted: they fill caches.
func inTurns(ctx context.Context, n int, work, bare func(i int) (time.Duration, error)) (measured, error) {
	ours, theirs := make([]time.Duration, 0, n), make([]time.Duration, 0, n)
	for i := -2; i < n; i++ {
		if err := ctx.Err(); err != nil {
			return measured{}, err
		}
		a, err := work(i + 2)
		if err != nil {
			return measured{}, err
		}
		b, err := bare(i + 2)
		if err != nil {
			return measured{}, err
		}
		if i >= 0 {
			ours, theirs = append(ours, a), append(theirs, b)
		}
	}
	return measured{value: median(ours), base: median(theirs)}, nil
}

// median sorts its argument and returns the middle in seconds.
func median(all []time.Duration) float64 {
	slices.Sort(all)
	return all[len(all)/2].Seconds()
}

// home returns an environment with a home folder of its own, so that nothing of the user is read or changed.
func home(dir string) []string {
	return []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "TMPDIR=" + dir, "DBUS_SESSION_BUS_ADDRESS=disabled:"}
}
