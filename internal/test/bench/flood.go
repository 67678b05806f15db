package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	flood      = 1_000_000 // messages in the mailbox
	floodTurns = 25        // timed calls
)

// floodRows are about a flooded mailbox. To make it takes a minute and 4 GB, and to list it first some minutes, so
// there is one round, and one mailbox for both.
func floodRows() []row {
	f := &flooding{}
	all := []row{
		{work: "a hook at a prompt, 1,000,000 unread messages, whole process", target: within(10e-3), once: true, round: f.hook},
		{work: "`receive --limit 5` of 1,000,000, whole process", target: within(50e-3), once: true, round: f.receive},
	}
	for i := range all {
		all[i].subject = "flood"
	}
	return all
}

// pour copies the one message of the mailbox, and its line in the trail, n times under ids of their own.
func (t *town) pour(n int) error {
	if err := t.fill(1); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(t.box, "*.json"))
	if err != nil {
		return err
	}
	one, err := os.ReadFile(files[0])
	if err != nil {
		return err
	}
	var e struct{ ID, CreatedAt string }
	if err := json.Unmarshal(one, &e); err != nil {
		return err
	}
	trail, err := os.OpenFile(filepath.Join(t.root, "trail", filepath.Base(t.box)+".jsonl"), os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer trail.Close()
	w := bufio.NewWriterSize(trail, 1<<20)
	begin := time.Now().Add(-24 * time.Hour)
	for i := range n {
		id, at := fmt.Sprintf("env:%d:0001", 1780000000000+i), begin.Add(time.Duration(i)*time.Millisecond).UTC().Format("2006-01-02T15:04:05.000Z")
		text := strings.NewReplacer(e.ID, id, e.CreatedAt, at).Replace(string(one))
		if err := os.WriteFile(filepath.Join(t.box, strings.ReplaceAll(id, ":", "__")+".json"), []byte(text), 0o600); err != nil {
			return err
		}
		fmt.Fprintf(w, `{"id":%q,"at":%q,"step":"stored","by":%q}`+"\n", id, at, t.from)
	}
	return w.Flush()
}

// A flooding is a town with the mailbox, once one of the rows has needed it.
type flooding struct{ t *town }

// ready returns the town, whose mailbox was listed once.
func (f *flooding) ready(e *env) (*town, error) {
	if f.t != nil {
		return f.t, nil
	}
	t, err := e.settle("hook", "receive")
	if err != nil {
		return nil, err
	}
	if err := t.pour(flood); err != nil {
		return nil, err
	}
	settleDown()
	if _, err := t.run(t.to, "inbox", "--newest", "5"); err != nil {
		return nil, err
	}
	if _, err := t.run(t.to, "receive", "--limit", "1"); err != nil { // what is found in the trail is kept as well
		return nil, err
	}
	f.t = t
	return t, nil
}

func (f *flooding) hook(e *env) (measured, error) {
	t, err := f.ready(e)
	if err != nil {
		return measured{}, err
	}
	return t.flooded(t.timed(t.to, "hook", "codex", "UserPromptSubmit", "--instance", t.to))
}

func (f *flooding) receive(e *env) (measured, error) {
	t, err := f.ready(e)
	if err != nil {
		return measured{}, err
	}
	return t.flooded(t.timed(t.to, "receive", "--limit", "5"))
}

// flooded times a command that reads a prompt.
func (t *town) flooded(c command) (m measured, err error) {
	null, err := devNull()
	if err != nil {
		return m, err
	}
	defer null.Close()
	input := filepath.Join(t.dir, "prompt.json")
	text := fmt.Sprintf(`{"session_id":"01997","transcript_path":"/t.jsonl","cwd":%q,"hook_event_name":"UserPromptSubmit"}`, t.dir)
	if err := os.WriteFile(input, []byte(text), 0o600); err != nil {
		return m, err
	}
	if c.in, err = os.Open(input); err != nil {
		return m, err
	}
	defer c.in.Close()
	medians, err := t.e.inTurnsOf(floodTurns, func(int) (time.Duration, error) {
		if _, err := c.in.Seek(0, 0); err != nil {
			return 0, err
		}
		return c.time(null)
	})
	if err != nil {
		return m, err
	}
	return measured{value: medians[0]}, nil
}
