package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"tutti/internal/attention/glance"
)

// programRows are about the program as hooks and scripts meet it: what it costs to start, to store and to hold.
func programRows() []row {
	return []row{
		{
			subject: "program", work: "`tutti version`, whole process", unit: seconds, target: timesBase(1.6),
			round: func(e *env) (measured, error) { return startAgainstFloor(e, e.tutti, "version") },
		},
		{
			subject: "program", work: "`tutti status --short`, whole process", unit: seconds, target: within(0.003),
			round: statusShort,
		},
		{
			subject: "program", work: "size of `tutti`", unit: bytes, once: true,
			round: func(e *env) (measured, error) { return sizeBesideFloor(e, e.tutti) },
		},
		{
			subject: "program", work: "`tutti-full version`, whole process", unit: seconds, target: timesBase(5),
			round: func(e *env) (measured, error) { return startAgainstFloor(e, e.full(), "version") },
		},
		{
			subject: "program", work: "size of `tutti-full`", unit: bytes, once: true,
			round: func(e *env) (measured, error) { return sizeBesideFloor(e, e.full()) },
		},
		{
			subject: "program", work: "most memory a process held (VmHWM)", unit: bytes, target: within(10 << 20),
			round: highWater,
		},
	}
}

// startAgainstFloor times a program with these arguments in an empty home folder.
func startAgainstFloor(e *env, program string, args ...string) (measured, error) {
	dir, err := e.fresh()
	if err != nil {
		return measured{}, err
	}
	return againstFloor(e, command{path: program, args: args, env: home(dir), dir: dir})
}

// statusShort times what a prompt runs, with counts that a look has left.
func statusShort(e *env) (measured, error) {
	dir, err := e.fresh()
	if err != nil {
		return measured{}, err
	}
	state := filepath.Join(dir, ".local/state/tutti")
	if err := glance.Write(state, glance.Glance{At: time.Now(), Mail: 2, Waiting: 1}); err != nil {
		return measured{}, err
	}
	return againstFloor(e, command{path: e.tutti, args: []string{"status", "--short"}, env: home(dir), dir: dir})
}

// sizeBesideFloor is the size of a program and that of the empty one.
func sizeBesideFloor(e *env, program string) (measured, error) {
	info, err := os.Stat(program)
	if err != nil {
		return measured{}, err
	}
	floor, err := os.Stat(e.floor)
	if err != nil {
		return measured{}, err
	}
	return measured{value: float64(info.Size()), base: float64(floor.Size())}, nil
}

var number = regexp.MustCompile(`[0-9]+`)

// highWater lets the program read its own high-water mark: seen from outside, a process also counts the pages that it
// shared with its parent before exec.
func highWater(e *env) (measured, error) {
	dir, err := e.fresh()
	if err != nil {
		return measured{}, err
	}
	cmd := exec.CommandContext(e.ctx, e.tutti, "plumbing", "rss")
	cmd.Env, cmd.Dir = home(dir), dir
	out, err := cmd.Output()
	if err != nil {
		return measured{}, err
	}
	n, err := strconv.ParseInt(number.FindString(string(out)), 10, 64)
	if err != nil || n == 0 {
		return measured{}, fmt.Errorf("%v printed %q, not a number of bytes", cmd.Args, out)
	}
	return measured{value: float64(n)}, nil
}
