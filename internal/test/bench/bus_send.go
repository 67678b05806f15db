package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tutti/internal/app"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/core/address"
)

const (
	sends    = 100  // timed sends a round, in turns with what they are compared with
	looped   = 1000 // sends of the shell loop
	batched  = 2000 // messages of a batch
	batches  = 8    // how often a batch is sent, each time into a folder of its own
	sessions = 200  // live ones
)

func sendRows() []row {
	return []row{
		{work: "`send`, signed and durable, whole process less a bare durable file, against the empty program", target: timesBase(2.6), round: sendAgainstFloor},
		{work: "1,000 sends in a shell loop, against the empty program in that loop", target: rateOfBase(0.33), once: true, round: sendLoop},
		{work: "sends in one process, signed, each durable, against a bare durable file", round: sendInProcess},
		{work: "`send --batch`, a message, against creating a bare file, one sync at the end of each", once: true, round: sendBatch(true)},
		{work: "the same, against bare files without a sync", once: true, round: sendBatch(false)},
		{work: "`send` with 100,000 registrations, against an empty bus", target: timesBase(1.5), round: sendBesides(crowdRegistry)},
		{work: "`send` with 200 live sessions, against an empty bus", target: timesBase(1.5), round: sendBesides(crowdPresence)},
	}
}

// bareFiles creates files with the bytes of a message of the town, beside its messages.
func (t *town) bareFiles() (durable, plain part, done func(), err error) {
	files, err := filepath.Glob(filepath.Join(t.box, "*.json"))
	if err != nil || len(files) == 0 {
		return nil, nil, nil, fmt.Errorf("no message in %s: %w", t.box, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		return nil, nil, nil, err
	}
	folder, err := unix.Open(t.box, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, nil, err
	}
	durable = func(i int) (time.Duration, error) {
		began := time.Now()
		err := bareCreate(folder, fmt.Sprintf("durable-%d.bare", i), data)
		return time.Since(began), err
	}
	plain = func(i int) (time.Duration, error) {
		began := time.Now()
		fd, err := unix.Openat(folder, fmt.Sprintf("plain-%d.bare", i), unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return 0, err
		}
		_, err = unix.Write(fd, data)
		if e := unix.Close(fd); err == nil {
			err = e
		}
		return time.Since(began), err
	}
	return durable, plain, func() { unix.Close(folder) }, nil
}

func sendAgainstFloor(e *env) (measured, error) {
	t, err := e.settleApart("send")
	if err != nil {
		return measured{}, err
	}
	defer t.leave()
	null, err := devNull()
	if err != nil {
		return measured{}, err
	}
	defer null.Close()
	if _, err := t.send().time(null); err != nil { // makes the mailbox
		return measured{}, err
	}
	durable, _, done, err := t.bareFiles()
	if err != nil {
		return measured{}, err
	}
	defer done()
	floor := command{path: e.floor, env: t.as(t.from), dir: t.dir}
	m, err := e.inTurnsOf(sends, process(t.send(), null), process(floor, null), durable)
	if err != nil {
		return measured{}, err
	}
	return measured{value: m[0] - m[2], base: m[1]}, t.count(sends + 3)
}

// sendLoop is what a script does. The shell takes its part of both.
func sendLoop(e *env) (measured, error) {
	t, err := e.settleApart("send")
	if err != nil {
		return measured{}, err
	}
	defer t.leave()
	null, err := devNull()
	if err != nil {
		return measured{}, err
	}
	defer null.Close()
	loop := func(program string) command {
		script := fmt.Sprintf(`i=0; while [ $i -lt %d ]; do "$0" send "$1" "message $i" || exit 1; i=$((i+1)); done`, looped)
		return command{path: "/bin/sh", args: []string{"-c", script, program, t.to}, env: t.as(t.from), dir: t.dir}
	}
	theirs, err := loop(e.floor).time(null)
	if err != nil {
		return measured{}, err
	}
	ours, err := loop(e.tutti).time(null)
	if err != nil {
		return measured{}, err
	}
	again, err := loop(e.floor).time(null)
	if err != nil {
		return measured{}, err
	}
	return measured{value: ours.Seconds(), base: min(theirs, again).Seconds()}, t.count(looped)
}

// sendInProcess sends through the office, as a program does that stays up.
func sendInProcess(e *env) (measured, error) {
	t, err := e.settleApart("send")
	if err != nil {
		return measured{}, err
	}
	defer t.leave()
	w, err := app.New(app.Settings{Root: t.root, Home: t.dir, Dir: t.dir, Getenv: func(string) string { return "" }}).World(app.Writing)
	if err != nil {
		return measured{}, err
	}
	defer w.Close()
	office := &mail.Service{
		Mail: w.Mail, Book: w.Book, Registry: w.Registry, Ring: w.Ring, Pins: w.Pins,
		Halted: func(string) error { return nil }, Now: time.Now,
	}
	letter := mail.Draft{
		From: &identity.Speaker{Instance: address.Instance(t.from), Role: identity.RoleAgent, Scope: identity.DefaultScope},
		To:   address.Instance(t.to), Text: text,
	}
	send := func(int) (time.Duration, error) {
		began := time.Now()
		_, err := office.Send(e.ctx, letter)
		return time.Since(began), err
	}
	if _, err := send(0); err != nil {
		return measured{}, err
	}
	durable, _, done, err := t.bareFiles()
	if err != nil {
		return measured{}, err
	}
	defer done()
	m, err := inTurns(e.ctx, creates, send, durable)
	if err != nil {
		return measured{}, err
	}
	return m, t.count(creates + 3)
}

// sendBatch compares what a message of a batch takes, the start of the process and the sync at its end included, with making a
// file: with the same single sync at the end, as bare is defined everywhere here, and without one, for the curious. Both sides
// are the least of several folders, each by itself: where files were removed lately (see apart) a file takes up to forty times
// as long, and next to that all else that a message takes would vanish, so that the best ratio would be that of the worst
// folder. The folders stay until all is measured.
func sendBatch(synced bool) func(*env) (measured, error) {
	return func(e *env) (measured, error) {
		best := measured{value: math.Inf(1), base: math.Inf(1)}
		for range batches {
			t, err := e.settleApart("send")
			if err != nil {
				return measured{}, err
			}
			defer t.leave()
			m, err := t.sendBatch(synced)
			if err != nil {
				return measured{}, err
			}
			best.value, best.base = min(best.value, m.value), min(best.base, m.base)
		}
		return best, nil
	}
}

func (t *town) sendBatch(synced bool) (measured, error) {
	path := filepath.Join(t.dir, "messages.jsonl")
	if err := os.WriteFile(path, batch(t.to, batched), 0o600); err != nil {
		return measured{}, err
	}
	null, err := devNull()
	if err != nil {
		return measured{}, err
	}
	defer null.Close()
	took, err := t.timed(t.from, "send", "--batch", path).time(null)
	if err != nil {
		return measured{}, err
	}
	if err := t.count(batched); err != nil {
		return measured{}, err
	}
	_, plain, done, err := t.bareFiles()
	if err != nil {
		return measured{}, err
	}
	defer done()
	unix.Sync() // what the batch left to be written some time is not the bare files' burden
	began := time.Now()
	for i := range batched {
		if _, err := plain(i); err != nil {
			return measured{}, err
		}
	}
	if synced {
		if err := syncAll(t.box); err != nil {
			return measured{}, err
		}
	}
	return measured{value: took.Seconds() / batched, base: time.Since(began).Seconds() / batched}, nil
}

// sendBesides sends on a bus that is crowded and on one that is not, in turns.
func sendBesides(crowd func(*town) error) func(*env) (measured, error) {
	return func(e *env) (measured, error) {
		empty, err := e.settle("send")
		if err != nil {
			return measured{}, err
		}
		defer empty.leave()
		full, err := e.settle("send")
		if err != nil {
			return measured{}, err
		}
		defer full.leave()
		if err := crowd(full); err != nil {
			return measured{}, err
		}
		null, err := devNull()
		if err != nil {
			return measured{}, err
		}
		defer null.Close()
		if _, err := full.send().time(null); err != nil { // builds the index, once
			return measured{}, err
		}
		settleDown()
		return inTurns(e.ctx, sends, process(full.send(), null), process(empty.send(), null))
	}
}

// crowdRegistry adds registrations of others to those of the two agents.
func crowdRegistry(t *town) error {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, `{"id":%[1]q,"instance":%[1]q,"roles":["AGENTS"],"scopes":["scope:default"],"capabilities":[],"endpoints":[],`+
			`"publicKeys":[],"acceptedPolicies":[],"createdAt":"2026-01-01T00:00:00.000Z"}`+"\n", instance(i))
	}
	f, err := os.OpenFile(filepath.Join(t.root, "registry", "instances.jsonl"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(b.String())
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// crowdPresence adds live sessions of others. They stay live longer than a round takes.
func crowdPresence(t *town) error {
	dir := filepath.Join(t.root, "presence")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	for i := range sessions {
		record := fmt.Sprintf(`{"sessionId":"sess:%016[1]x","instance":%[2]q,"startedAt":%[3]q,"heartbeatAt":%[3]q,"state":"live",`+
			`"interests":{"scopes":["scope:default"],"negotiations":[]},"subscribedTopics":[]}`, i, instance(i), now)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("sess__%016x.json", i)), []byte(record), 0o600); err != nil {
			return err
		}
	}
	return nil
}
