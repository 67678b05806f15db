package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"tutti/internal/comms/protocol"
)

// The sizes of the rows about surveys.
const (
	mailboxes = 50
	inATalk   = 10 // messages of a conversation
)

func surveyRows() []row {
	return []row{
		{work: "`cross-agent-status` of 50 projects with 10,000 messages, whole process", target: within(400e-3), round: surveyed(mailboxes)},
		{work: "`cross-agent-status` of one project with 10,000 messages, whole process", target: within(400e-3), round: surveyed(1)},
	}
}

// surveyed times the survey of so many mailboxes.
func surveyed(boxes int) func(*env) (measured, error) {
	return func(e *env) (measured, error) {
		o, err := e.office("comms status")
		if err != nil {
			return measured{}, err
		}
		defer o.leave()
		if err := o.crowd(boxes); err != nil {
			return measured{}, err
		}
		if err := o.survey(messages); err != nil {
			return measured{}, err
		}
		c, err := o.own("cross-agent-status")
		if err != nil {
			return measured{}, err
		}
		m, err := againstFloorOf(e, c, listings)
		return measured{value: m.value}, err
	}
}

// crowd fills mailboxes with open conversations. What their signatures are worth a survey does not ask.
func (o *office) crowd(boxes int) error {
	first := time.Date(2026, 4, 27, 10, 0, 0, 0, time.UTC)
	for b := range boxes {
		name := fmt.Sprintf("project-%d", b)
		if err := os.MkdirAll(filepath.Join(o.project(name), ".ai"), 0o700); err != nil {
			return err
		}
		box, err := o.mailbox(name)
		if err != nil {
			return err
		}
		for i := range messages / boxes {
			at, conv, kind := first.Add(time.Duration(i)*time.Second), fmt.Sprintf("talk-%d", i/inATalk), protocol.Progress
			if i%inATalk == 0 {
				kind = protocol.Request
			}
			file, err := protocol.FormatName(at, sender, conv)
			if err != nil {
				return err
			}
			path := filepath.Join(box, file)
			err = errors.Join(
				os.WriteFile(path+".asc", []byte("a signature"), 0o600),
				os.WriteFile(path, []byte(letter(conv, kind, i%inATalk+1, at)), 0o600),
			)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// survey makes sure that so many messages are seen to wait: a survey that sees nothing is quick. It is asked under the name that is timed,
// which checks no signature.
func (o *office) survey(want int) error {
	c, err := o.own("cross-agent-status", "--json")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(o.e.ctx, c.path, c.args...)
	cmd.Env, cmd.Dir = c.env, c.dir
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("cross-agent-status: %w", err)
	}
	var s struct {
		Projects []struct {
			Pending int `json:"pending_count"`
		}
	}
	if err := json.Unmarshal(out, &s); err != nil {
		return err
	}
	n := 0
	for _, p := range s.Projects {
		n += p.Pending
	}
	if n != want {
		return fmt.Errorf("%d messages wait in %d mailboxes, want %d", n, len(s.Projects), want)
	}
	return nil
}

// renameToLine takes the time from just before each message gets its name to the line.
func renameToLine(e *env) (measured, error) {
	o, err := e.office("comms watch")
	if err != nil {
		return measured{}, err
	}
	defer o.leave()
	box, err := o.mailbox(receiver)
	if err != nil {
		return measured{}, err
	}
	put := func(conv string) (renamed time.Time, err error) {
		name, err := protocol.FormatName(time.Now(), sender, conv)
		if err != nil {
			return renamed, err
		}
		tmp := filepath.Join(box, protocol.TempPrefix+"x")
		err = errors.Join(
			os.WriteFile(filepath.Join(box, name+".asc"), []byte("a signature"), 0o600),
			os.WriteFile(tmp, []byte(letter(conv, protocol.Request, 1, time.Now())), 0o600),
		)
		if err != nil {
			return renamed, err
		}
		renamed = time.Now()
		return renamed, os.Rename(tmp, filepath.Join(box, name))
	}
	if _, err := put("first"); err != nil { // its line says that the watcher watches
		return measured{}, err
	}
	l, err := lookOut(o.command("", "comms", "watch", "--json", "--no-notify"), "-first.org", "-talk-")
	if err != nil {
		return measured{}, err
	}
	defer l.end()
	took := make([]time.Duration, 0, sends)
	for i := range sends {
		renamed, err := put(fmt.Sprintf("talk-%d", i))
		if err != nil {
			return measured{}, err
		}
		seen, err := l.next(e)
		if err != nil {
			return measured{}, err
		}
		took = append(took, seen.Sub(renamed))
	}
	return measured{value: median(took)}, nil
}
