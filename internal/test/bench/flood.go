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

// floodRows are about a mailbox that somebody has filled. To make it takes a minute and 4 GB, and to list it first some minutes, so
// there is one round.
func floodRows() []row {
	all := []row{
		{work: "a hook at a prompt, 1,000,000 unread messages, whole process", target: within(10e-3), once: true, round: flooded(false)},
		{work: "`receive --limit 5` of 1,000,000, whole process", target: within(50e-3), once: true, round: flooded(true)},
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

// flooded times a hook or a receive of a mailbox that was listed before.
func flooded(receive bool) func(e *env) (measured, error) {
	return func(e *env) (m measured, err error) {
		t, err := e.settle("hook", "receive")
		if err != nil {
			return m, err
		}
		defer t.leave()
		if err := t.pour(flood); err != nil {
			return m, err
		}
		settleDown()
		if _, err := t.run(t.to, "inbox", "--newest", "5"); err != nil {
			return m, err
		}
		if _, err := t.run(t.to, "receive", "--limit", "1"); err != nil { // what is found in the trail is kept as well
			return m, err
		}
		c := t.timed(t.to, "receive", "--limit", "5")
		if !receive {
			c = t.timed(t.to, "hook", "codex", "UserPromptSubmit", "--instance", t.to)
		}
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
		medians, err := e.inTurnsOf(floodTurns, func(int) (time.Duration, error) {
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
}
