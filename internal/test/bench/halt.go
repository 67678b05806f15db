package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// idleFor is how long a waiting process is watched.
const idleFor = 30 * time.Second

// haltRows are about what the switch costs those who wait for it.
func haltRows() []row {
	return []row{
		{
			subject: "halt", work: fmt.Sprintf("voluntary context switches of a waiting process in %.0f s", idleFor.Seconds()),
			unit: count, target: within(0), once: true, round: idle,
		},
	}
}

// idle starts a process that waits for halt, lets it settle, and counts how often it wakes while nothing happens.
// The counters are read from outside, those of all its threads: reading them wakes nobody.
func idle(e *env) (measured, error) {
	dir, err := e.fresh()
	if err != nil {
		return measured{}, err
	}
	cmd := exec.CommandContext(e.ctx, e.tutti, "plumbing", "wait-halt")
	cmd.Env, cmd.Dir = home(dir), dir
	if err := cmd.Start(); err != nil {
		return measured{}, err
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // it was asked to end: how it did says nothing
	}()
	n, err := idleSwitches(e, cmd.Process.Pid)
	return measured{value: n}, err
}

// idleSwitches counts how often a process that has come to rest wakes in idleFor.
func idleSwitches(e *env, pid int) (float64, error) {
	before, err := settled(pid)
	if err != nil {
		return 0, err
	}
	select {
	case <-time.After(idleFor):
	case <-e.ctx.Done():
		return 0, e.ctx.Err()
	}
	after, err := switches(pid)
	return float64(after - before), err
}

// settled waits until the counters have stood still for a second: the process has started and waits.
func settled(pid int) (int64, error) {
	last, since := int64(-1), time.Now()
	for limit := time.Now().Add(10 * time.Second); time.Now().Before(limit); time.Sleep(50 * time.Millisecond) {
		n, err := switches(pid)
		if err != nil {
			return 0, err
		}
		if n != last {
			last, since = n, time.Now()
		}
		if time.Since(since) > time.Second {
			return n, nil
		}
	}
	return last, nil // it never rests: the count will say so
}

// switches sums the voluntary context switches of all threads of a process.
func switches(pid int) (int64, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil {
		return 0, err
	}
	if len(files) == 0 {
		return 0, errors.New("the waiting process has ended")
	}
	var sum int64
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return 0, err
		}
		n, err := voluntary(bufio.NewScanner(f))
		f.Close()
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		sum += n
	}
	return sum, nil
}

func voluntary(lines *bufio.Scanner) (int64, error) {
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), "voluntary_ctxt_switches:"); ok {
			return strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		}
	}
	return 0, errors.Join(lines.Err(), errors.New("no line voluntary_ctxt_switches"))
}
