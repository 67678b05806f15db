package crashtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"tutti/internal/core/canonjson"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
)

// An op is one durable operation: what lies there before, what is done, and what must hold in every state that a crash
// leaves. Acked tells whether the operation had returned nil before the crash.
type op struct {
	name  string
	setup func(ctx context.Context, s *filestore.Store) error
	do    func(ctx context.Context, s *filestore.Store) error
	check func(ctx context.Context, s *filestore.Store, acked bool) error
	long  bool // a thousand states, of which each check writes durably: all power cuts are tried where TUTTI_SOAK is set
}

var (
	mail    = store.Key{Kind: store.Inbox, Owner: "claude__api__3f2a9c01b7de", Name: "env__1__aa"}
	mail2   = store.Key{Kind: store.Inbox, Owner: mail.Owner, Name: "env__2__bb"}
	sent    = store.Key{Kind: store.Outbox, Owner: "codex__web__3f2a9c01b7de", Name: mail.Name}
	kept    = store.Key{Kind: store.Archive, Owner: mail.Owner, Name: mail.Name}
	reg     = store.Key{Kind: store.Instances}
	journal = store.Key{Kind: store.Journal, Name: "nego__pilot"}
	state   = store.Key{Kind: store.Negotiation, Name: "nego__pilot"}
	taken   = store.Key{Kind: store.RemoteReplay, Name: "00"}
	block   = store.Key{Kind: store.Blockage, Name: "claude__api__3f2a9c01b7de"}

	text1 = []byte(`{"id":"env:1:aa","body":{"text":"` + strings.Repeat("first ", 40) + `"}}`)
	text2 = []byte(`{"id":"env:2:bb","body":{"text":"` + strings.Repeat("second ", 40) + `"}}`)
	lineA = []byte(`{"id":"a","pad":"` + strings.Repeat("a", 100) + `"}`)
	lineB = []byte(`{"id":"b","pad":"` + strings.Repeat("b", 100) + `"}`)
	lineC = []byte(`{"id":"c","pad":"` + strings.Repeat("c", 100) + `"}`)
)

// torn is the part of a line that a foreign writer had written when its machine stopped.
const torn = `{"id":"torn","pad":"ttttttttttttttttt`

var ops = []op{
	{
		name: "first message of a mailbox",
		do:   create(mail, text1),
		check: all(docIs(mail, text1), func(ctx context.Context, s *filestore.Store, _ bool) error {
			return again(ctx, s, mail, text1)
		}),
	},
	{
		name:  "second message of a mailbox",
		setup: create(mail, text1),
		do:    create(mail2, text2),
		check: all(always(docIs(mail, text1)), docIs(mail2, text2), func(ctx context.Context, s *filestore.Store, _ bool) error {
			return again(ctx, s, mail2, text2)
		}),
	},
	{
		name:  "taking a message",
		setup: create(mail, text1),
		do: func(ctx context.Context, s *filestore.Store) error {
			d, err := s.Get(ctx, mail)
			if err != nil {
				return err
			}
			return s.Move(ctx, mail, d.Rev, kept)
		},
		check: inOneOf(text1, mail, kept), // the archive is not synced: after a power cut the message may be back, never gone
	},
	{
		name:  "deleting a message",
		setup: create(mail, text1),
		do: func(ctx context.Context, s *filestore.Store) error {
			d, err := s.Get(ctx, mail)
			if err != nil {
				return err
			}
			return s.Delete(ctx, mail, d.Rev)
		},
		check: allowGone(mail, text1),
	},
	{
		name:  "registering",
		setup: appendLine(reg, lineA),
		do:    appendLine(reg, lineB),
		check: logHolds(reg, lineA, lineB),
	},
	{
		name:  "registering after a torn line",
		setup: all2(appendLine(reg, lineA), tear(reg)),
		do:    appendLine(reg, lineB),
		check: all(logHolds(reg, lineA, lineB), tornIsSomewhere),
	},
	{
		name:  "first entry of a journal",
		do:    appendLine(journal, lineA),
		check: logHolds(journal, nil, lineA),
	},
	{
		name:  "replacing the state of a negotiation",
		setup: create(state, text1),
		do:    replace(state, text2),
		check: oldOrNew(state, text1, text2),
	},
	{
		name:  "replacing a blockage",
		setup: create(block, text1),
		do:    replace(block, text2),
		check: oldOrNew(block, text1, text2),
	},
	{
		name: "a batch",
		do: func(ctx context.Context, s *filestore.Store) error {
			return s.Batch(ctx, func(w store.Writer) error {
				_, err1 := w.Create(ctx, mail, text1)
				_, err2 := w.Create(ctx, mail2, text2)
				return errors.Join(err1, err2)
			})
		},
		check: all(docIs(mail, text1), docIs(mail2, text2)),
	},
	{
		name: "a batch with copies",
		do: func(ctx context.Context, s *filestore.Store) error {
			err := s.Batch(ctx, func(w store.Writer) error {
				_, err1 := w.Create(ctx, mail, text1)
				_, err2 := w.Create(ctx, mail2, text2)
				return errors.Join(err1, err2)
			})
			if err == nil {
				_, err = s.Create(ctx, sent, text1)
			}
			return err
		},
		check: all(docIs(mail, text1), docIs(mail2, text2), noneBefore(sent, mail), noneBefore(sent, mail2)),
	},
	{
		name:  "a batch and what is noted of it",
		setup: create(mail, text1),
		do: func(ctx context.Context, s *filestore.Store) error {
			err := s.Batch(ctx, func(w store.Writer) error {
				_, err := w.Create(ctx, mail2, text2)
				return err
			})
			if err == nil {
				_, err = s.Append(ctx, taken, store.AnyEnd, lineB)
			}
			return err
		},
		check: all(docIs(mail2, text2), noted(taken, lineB, mail2)),
	},
	{
		name:  "taking a line out of a log",
		setup: all2(appendLine(taken, lineA), appendLine(taken, lineB)),
		do: func(ctx context.Context, s *filestore.Store) error {
			_, err := s.Shrink(ctx, taken, func(line []byte) bool { return !bytes.Equal(line, lineA) })
			return err
		},
		check: lostAtMost(taken, lineA, lineB),
	},
	{
		name:  "several lines at once",
		setup: appendLine(journal, lineA),
		do: func(ctx context.Context, s *filestore.Store) error {
			_, err := s.Extend(ctx, journal, store.AnyEnd, [][]byte{lineB, lineC})
			return err
		},
		check: linesFollow(journal, lineA, lineB, lineC),
	},
}

func create(k store.Key, data []byte) func(context.Context, *filestore.Store) error {
	return func(ctx context.Context, s *filestore.Store) error {
		_, err := s.Create(ctx, k, data)
		return err
	}
}

func replace(k store.Key, data []byte) func(context.Context, *filestore.Store) error {
	return func(ctx context.Context, s *filestore.Store) error {
		d, err := s.Get(ctx, k)
		if err != nil {
			return err
		}
		_, err = s.Replace(ctx, k, data, d.Rev)
		return err
	}
}

func appendLine(k store.Key, line []byte) func(context.Context, *filestore.Store) error {
	return func(ctx context.Context, s *filestore.Store) error {
		_, err := s.Append(ctx, k, store.AnyEnd, line)
		return err
	}
}

func all2(fns ...func(context.Context, *filestore.Store) error) func(context.Context, *filestore.Store) error {
	return func(ctx context.Context, s *filestore.Store) error {
		for _, fn := range fns {
			if err := fn(ctx, s); err != nil {
				return err
			}
		}
		return nil
	}
}

type checkFunc func(ctx context.Context, s *filestore.Store, acked bool) error

func all(fns ...checkFunc) checkFunc {
	return func(ctx context.Context, s *filestore.Store, acked bool) error {
		for _, fn := range fns {
			if err := fn(ctx, s, acked); err != nil {
				return err
			}
		}
		return nil
	}
}

// always makes a check hold whether or not the operation was acknowledged: for what lay there before.
func always(fn checkFunc) checkFunc {
	return func(ctx context.Context, s *filestore.Store, _ bool) error { return fn(ctx, s, true) }
}

// docIs: there and whole when acknowledged, whole or absent before.
func docIs(k store.Key, want []byte) checkFunc {
	return func(ctx context.Context, s *filestore.Store, acked bool) error {
		d, err := s.Get(ctx, k)
		if errors.Is(err, store.ErrNotFound) && !acked {
			return nil
		}
		if err != nil {
			return fmt.Errorf("get %s: %w", k, err)
		}
		if !bytes.Equal(d.Data, want) {
			return fmt.Errorf("%s holds %q", k, d.Data)
		}
		for e, err := range s.List(ctx, k.Kind, k.Owner) {
			if err != nil {
				return fmt.Errorf("list beside %s: %v: %w", k, e, err)
			}
		}
		return nil
	}
}

// lostAtMost: of a log that had two lines the first is gone, or still there as long as the operation had not ended; the second stays.
func lostAtMost(k store.Key, gone, stays []byte) checkFunc {
	return func(ctx context.Context, s *filestore.Store, acked bool) error {
		lines, err := readLog(ctx, s, k)
		if err == nil && !acked && len(lines) == 2 && lines[0] == string(gone) {
			lines = lines[1:]
		}
		if err != nil || len(lines) != 1 || lines[0] != string(stays) {
			return fmt.Errorf("%s holds %q, acknowledged: %v: %w", k, lines, acked, err)
		}
		return nil
	}
}

// noted: a log has its one line when the operation has ended, and never as long as a document is not there.
func noted(log store.Key, line []byte, k store.Key) checkFunc {
	return func(ctx context.Context, s *filestore.Store, acked bool) error {
		lines, err := readLog(ctx, s, log)
		if err != nil || len(lines) == 0 && !acked {
			return err
		}
		if len(lines) != 1 || lines[0] != string(line) {
			return fmt.Errorf("%s holds %q, acknowledged: %v", log, lines, acked)
		}
		if _, err := s.Get(ctx, k); err != nil {
			return fmt.Errorf("%s says %q without %s: %w", log, lines, k, err)
		}
		return nil
	}
}

// noneBefore: where there is a copy there is the message.
func noneBefore(copied, k store.Key) checkFunc {
	return func(ctx context.Context, s *filestore.Store, _ bool) error {
		for range s.List(ctx, copied.Kind, copied.Owner) {
			_, err := s.Get(ctx, k)
			return err
		}
		return nil
	}
}

// again: the same bytes sent again are done, or done already.
func again(ctx context.Context, s *filestore.Store, k store.Key, data []byte) error {
	_, err := s.Create(ctx, k, data)
	if err != nil && !errors.Is(err, store.ErrExists) {
		return fmt.Errorf("sent again: %w", err)
	}
	return docIs(k, data)(ctx, s, true)
}

func allowGone(k store.Key, want []byte) checkFunc {
	return func(ctx context.Context, s *filestore.Store, acked bool) error {
		if _, err := s.Get(ctx, k); acked && errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return docIs(k, want)(ctx, s, false)
	}
}

func inOneOf(want []byte, keys ...store.Key) checkFunc {
	return func(ctx context.Context, s *filestore.Store, _ bool) error {
		found := 0
		for _, k := range keys {
			d, err := s.Get(ctx, k)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil || !bytes.Equal(d.Data, want) {
				return fmt.Errorf("%s holds %q, %w", k, d.Data, err)
			}
			found++
		}
		if found != 1 {
			return fmt.Errorf("the message is in %d places", found)
		}
		return nil
	}
}

func oldOrNew(k store.Key, old, new []byte) checkFunc {
	return func(ctx context.Context, s *filestore.Store, acked bool) error {
		d, err := s.Get(ctx, k)
		if err != nil {
			return fmt.Errorf("get %s: %w", k, err)
		}
		if bytes.Equal(d.Data, new) || !acked && bytes.Equal(d.Data, old) {
			return nil
		}
		return fmt.Errorf("%s holds %q", k, d.Data)
	}
}

// logHolds: the line that was there is there, the new one is there when acknowledged, nothing bad stands between, and
// after one more line every line of the file parses, as the strictest foreign reader demands.
// linesFollow: the lines that were added are there in their order, all of them once that was acknowledged, behind the first.
func linesFollow(k store.Key, before []byte, added ...[]byte) checkFunc {
	return func(ctx context.Context, s *filestore.Store, acked bool) error {
		lines, err := readLog(ctx, s, k)
		if err != nil {
			return err
		}
		want := append([][]byte{before}, added...)
		if len(lines) == 0 || len(lines) > len(want) || acked && len(lines) < len(want) {
			return fmt.Errorf("%s has %d lines, want 1 to %d, acknowledged: %v", k, len(lines), len(want), acked)
		}
		for n, line := range lines {
			if line != string(want[n]) {
				return fmt.Errorf("line %d of %s is %q, want %q", n, k, line, want[n])
			}
		}
		return nil
	}
}

func logHolds(k store.Key, before, added []byte) checkFunc {
	return func(ctx context.Context, s *filestore.Store, acked bool) error {
		lines, err := readLog(ctx, s, k)
		if err != nil {
			return err
		}
		if before != nil {
			if len(lines) == 0 || lines[0] != string(before) {
				return fmt.Errorf("%s lost its first line: %q", k, lines)
			}
			lines = lines[1:]
		}
		switch {
		case len(lines) == 1 && lines[0] == string(added):
		case len(lines) == 0 && !acked:
		default:
			return fmt.Errorf("%s holds %q", k, lines)
		}
		if _, err := s.Append(ctx, k, store.AnyEnd, lineC); err != nil {
			return fmt.Errorf("append after the crash: %w", err)
		}
		return everyLineParses(s, k)
	}
}

func readLog(ctx context.Context, s *filestore.Store, k store.Key) ([]string, error) {
	var lines []string
	for l, err := range s.Read(ctx, k, "") {
		if err != nil {
			return lines, fmt.Errorf("read %s: %w", k, err)
		}
		lines = append(lines, string(l.Data))
	}
	return lines, nil
}

func everyLineParses(s *filestore.Store, k store.Key) error {
	data, err := readFile(s, k)
	if err != nil {
		return err
	}
	if !bytes.HasSuffix(data, []byte("\n")) {
		return fmt.Errorf("%s does not end in a line feed: %q", k, data)
	}
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) > 0 && !canonjson.Valid(line) {
			return fmt.Errorf("%s has a line that foreign readers choke on: %q", k, line)
		}
	}
	return nil
}
