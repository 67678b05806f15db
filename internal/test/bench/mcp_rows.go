package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// The sizes of the rows about servers.
const (
	crowd   = 50    // idle servers on one root
	calls   = 10000 // of one server, for its memory
	trips   = 300   // timed calls of a round
	greeted = 30    // starts of a round
)

func mcpRows() []row {
	idly := func(look func(*env, int) (float64, error)) func(*env) (measured, error) {
		return func(e *env) (measured, error) { return idleServer(e, look) }
	}
	all := []row{
		{work: "from the start of `mcp-serve` to its first answer, median", target: within(300e-3), round: firstAnswer},
		{work: "`tutti_send` round trip, less a bare durable file, median", target: within(1e-3), round: sendTrip},
		{work: "from the return of `send` to the push of another server, median", target: within(3e-3), round: sendToPush},
		{
			work: fmt.Sprintf("voluntary context switches of an idle server in %.0f s, without heartbeat", idleFor.Seconds()),
			unit: count, target: within(0), once: true, round: idly(idleSwitches),
		},
		{work: "anonymous memory of an idle server", unit: bytes, target: within(12 << 20), once: true, round: idly(anonymous)},
		{work: "all memory of an idle server", unit: bytes, target: within(28 << 20), once: true, round: idly(resident)},
		{
			work: fmt.Sprintf("anonymous memory that %d calls leave behind", calls), unit: bytes, target: within(2 << 20), once: true,
			round: afterCalls,
		},
		{
			work:   fmt.Sprintf("the busiest of %d idle servers on one root, processor time of a second, heartbeats every 20 s", crowd),
			target: within(2e-3), once: true, round: idleCrowd,
		},
	}
	for i := range all {
		all[i].subject = "mcp"
	}
	return all
}

// firstAnswer is what a client waits for before its agent's first turn.
func firstAnswer(e *env) (measured, error) {
	t, err := e.settle("mcp-serve")
	if err != nil {
		return measured{}, err
	}
	defer t.leave()
	took := make([]time.Duration, 0, greeted)
	for range greeted {
		began := time.Now()
		c, err := t.connect("", "--auto-open", "--host", "claude")
		if err != nil {
			return measured{}, err
		}
		err = c.hello()
		took = append(took, time.Since(began))
		if err := errors.Join(err, c.end()); err != nil {
			return measured{}, err
		}
	}
	return measured{value: median(took)}, nil
}

// sendTrip times a call and a bare durable file of the same bytes in turns.
func sendTrip(e *env) (measured, error) {
	t, err := e.settle("send", "mcp-serve")
	if err != nil {
		return measured{}, err
	}
	defer t.leave()
	c, err := t.attend(t.from)
	if err != nil {
		return measured{}, err
	}
	send := func(int) (time.Duration, error) {
		began := time.Now()
		err := c.tool("tutti_send", map[string]any{"to": t.to, "text": text})
		return time.Since(began), err
	}
	if _, err := send(0); err != nil {
		return measured{}, errors.Join(err, c.end())
	}
	durable, _, done, err := t.bareFiles()
	if err != nil {
		return measured{}, errors.Join(err, c.end())
	}
	defer done()
	m, err := e.inTurnsOf(trips, send, durable)
	if err := errors.Join(err, c.end(), t.count(trips+3)); err != nil {
		return measured{}, err
	}
	return measured{value: m[0] - m[1]}, nil
}

// sendToPush takes the time from the end of each send to the push. One that was there before counts as no time.
func sendToPush(e *env) (measured, error) {
	t, err := e.settle("send", "mcp-serve")
	if err != nil {
		return measured{}, err
	}
	defer t.leave()
	null, err := devNull()
	if err != nil {
		return measured{}, err
	}
	defer null.Close()
	c, err := t.attend(t.to)
	if err != nil {
		return measured{}, err
	}
	took := make([]time.Duration, 0, sends)
	for range sends {
		if _, err = t.send().time(null); err != nil {
			break
		}
		sent := time.Now()
		if _, err = c.until(`"inbox.envelope_arrived"`); err != nil {
			break
		}
		took = append(took, time.Since(sent))
	}
	if err := errors.Join(err, c.end()); err != nil {
		return measured{}, err
	}
	return measured{value: median(took)}, nil
}

// idleServer looks from outside at a server that has an open session and nothing to do.
func idleServer(e *env, look func(*env, int) (float64, error)) (measured, error) {
	t, err := e.settle("mcp-serve")
	if err != nil {
		return measured{}, err
	}
	defer t.leave()
	t.more = []string{"H2A_HEARTBEAT_INTERVAL_MS=3600000"}
	c, err := t.attend(t.from)
	if err != nil {
		return measured{}, err
	}
	v, err := look(e, c.cmd.Process.Pid)
	return measured{value: v}, errors.Join(err, c.end())
}

// resident reads how much memory a process holds in all, once it has come to rest.
func resident(_ *env, pid int) (float64, error) {
	if _, err := settled(pid); err != nil {
		return 0, err
	}
	return memory(pid, "VmRSS")
}

// afterCalls lets a server answer many calls, some of which write, and compares its memory with that after the first
// tenth of them.
func afterCalls(e *env) (measured, error) {
	t, err := e.settle("mcp-serve")
	if err != nil {
		return measured{}, err
	}
	defer t.leave()
	c, err := t.attend(t.from)
	if err != nil {
		return measured{}, err
	}
	var before, after float64
	for i := range calls {
		if i == calls/10 {
			if before, err = anonymous(e, c.cmd.Process.Pid); err != nil {
				break
			}
		}
		switch i % 4 {
		case 0:
			err = c.tool("tutti_send", map[string]any{"to": t.to, "text": text})
		case 1:
			err = c.tool("tutti_receive", map[string]any{})
		case 2:
			err = c.tool("tutti_peers", map[string]any{})
		default:
			err = c.tool("tutti_status", map[string]any{})
		}
		if err != nil {
			break
		}
	}
	if err == nil {
		after, err = anonymous(e, c.cmd.Process.Pid)
	}
	return measured{value: max(after-before, 0)}, errors.Join(err, c.end())
}

// idleCrowd adds up the processor time of each of many servers over three heartbeats and returns that of the busiest, a
// second.
func idleCrowd(e *env) (measured, error) {
	t, err := e.settle("mcp-serve")
	if err != nil {
		return measured{}, err
	}
	defer t.leave()
	all := make([]*connection, 0, crowd)
	defer func() {
		for _, c := range all {
			_ = c.end() // what was measured is known by then
		}
	}()
	for i := range crowd {
		c, err := t.connect("", "--auto-open", "--host", "claude", "--name", fmt.Sprintf("crowd-%d", i))
		if err != nil {
			return measured{}, err
		}
		all = append(all, c)
		if err := c.hello(); err != nil {
			return measured{}, err
		}
	}
	select {
	case <-time.After(5 * time.Second): // they have met each other by then
	case <-e.ctx.Done():
		return measured{}, e.ctx.Err()
	}
	before := make([]float64, crowd)
	began := time.Now()
	for i, c := range all {
		if before[i], err = processor(c.cmd.Process.Pid); err != nil {
			return measured{}, err
		}
	}
	select {
	case <-time.After(time.Minute):
	case <-e.ctx.Done():
		return measured{}, e.ctx.Err()
	}
	most := 0.0
	for i, c := range all {
		now, err := processor(c.cmd.Process.Pid)
		if err != nil {
			return measured{}, err
		}
		most = max(most, now-before[i])
	}
	return measured{value: most / time.Since(began).Seconds()}, nil
}

// processor reads the time that a process has been running on a processor, in seconds: all its threads, to the
// nanosecond, which the ticks of /proc/PID/stat are too coarse for.
func processor(pid int) (float64, error) {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return 0, err
	}
	var sum float64
	for _, thread := range threads {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", pid, thread.Name()))
		if err != nil {
			return 0, err
		}
		running, _, _ := strings.Cut(string(line), " ")
		ns, err := strconv.ParseFloat(running, 64)
		if err != nil {
			return 0, err
		}
		sum += ns / 1e9
	}
	return sum, nil
}
