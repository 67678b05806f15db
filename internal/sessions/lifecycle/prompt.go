package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"tutti/internal/agents/driver"
	"tutti/internal/core/canonjson"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// How a first prompt is given. A screen is looked at every tenth of a second; three looks in a row have to show that a line can be
// typed, because programs draw their place for it before they know whether they have something to ask.
const (
	lookEvery   = 100 * time.Millisecond
	looksFree   = 3
	pastedIn    = 10 * time.Second // within which a paste is seen; pasting once more too early would double it
	takenIn     = 20 * time.Second // within which a program that does something else comes back to it
	onceMore    = 1500 * time.Millisecond
	tellsAfter  = 10 * time.Second
	longWait    = 5 * time.Second        // after which a screen is looked at less often
	manyBytes   = 32 << 10               // of a paste, for which one more second is given
	startsIn    = 3 * time.Second        // within which an agent begins its turn; a command of its program begins none
	enters      = 4                      // while the prompt stands there alone; a program that is still busy with its start loses some
	betweenKeys = 200 * time.Millisecond // two of them at once are another key
	clears      = 3                      // tries to take a prompt away again
	takenBackIn = 10 * time.Second       // and how long that may take
	pastes      = 3                      // more, when nothing of it is seen: some show their place for it before they read what is typed
)

// The words of what became of a first prompt, in the row.
const (
	promptTaken   = "taken"
	promptPasted  = "pasted"  // it is in the input line, and nothing pressed Enter
	promptRemoved = "removed" // it stood there, could not be submitted, and was taken away again
	promptUngiven = "not given"
)

// prompt gives the program its first prompt, when it is ready for one. Nothing is typed unless the screen shows that a line can be,
// and Enter is pressed only where the prompt stands alone.
func (b *begin) prompt(ctx context.Context, text string, limit time.Duration) (bool, error) {
	if clean := tmux.Clean(text); clean != text {
		b.m.o.Tell("control characters were left out of the prompt: to a terminal they are keys")
		text = clean
	}
	if strings.TrimSpace(text) == "" {
		return false, &Error{Kind: Refused, Session: b.row.Name, Text: "the prompt is empty; the session runs"}
	}
	if limit <= 0 {
		limit = DefaultReady
	}
	state, err := b.give(ctx, text, limit)
	if b.ended {
		return false, err
	}
	e := b.change(ctx, func(r *registry.Row) {
		r.Set(promptMember, canonjson.AppendString(nil, state))
		b.noted(r)
		if err != nil {
			r.VisibleNote = "its first prompt: " + state + "; " + r.VisibleNote
		}
	})
	return state == promptTaken, errors.Join(err, e)
}

// give returns how far the prompt got. One that could not be submitted is removed again.
func (b *begin) give(ctx context.Context, text string, limit time.Duration) (string, error) {
	state, err := b.put(ctx, text, limit)
	if state != promptPasted || b.ended {
		return state, err
	}
	what := "; it may still stand there"
	if b.takeBack(ctx, text) {
		state, what = promptRemoved, "; it was removed again"
	}
	if e, ok := errors.AsType[*Error](err); ok {
		e.Text += what
	}
	return state, err
}

// put types the prompt and submits it.
func (b *begin) put(ctx context.Context, text string, limit time.Duration) (string, error) {
	if err := b.ready(ctx, limit); err != nil {
		return promptUngiven, err
	}
	if err := b.m.o.Halted(); err != nil {
		return promptUngiven, err
	}
	is := func() bool { return holds(b.seen, text) }
	limit = pastedIn + time.Duration(len(text)/manyBytes)*time.Second
	for try := 0; ; try++ {
		if err := b.server.Paste(ctx, b.pane.Ref(), text); err != nil {
			return promptUngiven, b.untyped("its prompt could not be typed", err)
		}
		b.m.reached("pasted")
		time.Sleep(tmux.Pause)
		err := b.until(ctx, limit, func() bool { return is() && b.inFront() })
		if err == nil {
			break
		}
		if !errors.Is(err, errSlow) || !b.seen.Free() || !b.inFront() || try == pastes {
			return promptPasted, b.untyped("its prompt was pasted and does not stand alone where its user types, so Enter was not pressed", err)
		}
	}
	was := b.conversation()
	sent := time.Now().Truncate(time.Millisecond) // as programs write times
	state, err := b.submit(ctx, text, is)
	if err == nil {
		err = b.turn(ctx, sent, was)
	}
	return state, err
}

// conversation returns the one that the program itself names, "" where it names none.
func (b *begin) conversation() string {
	report, _ := observe.ReportBelow(&b.kind.Life, b.m.place(b.row.Pane.Cwd), b.first)
	return report.Conversation
}

// turn waits for a moment until the agent has begun a turn since its prompt was sent, so that a wait for its end does not see the rest before
// it. A command like /clear begins none: it is over when the conversation is another one than before. The error is that a new program has
// ended; a turn that was not seen is not an error, and Tell says so.
func (b *begin) turn(ctx context.Context, sent time.Time, was string) error {
	b.m.reached("submitted")
	err := b.until(ctx, b.m.starts, func() bool {
		if report, ok := observe.ReportBelow(&b.kind.Life, b.m.place(b.row.Pane.Cwd), b.first); ok && report.Doing != driver.Unknown {
			return report.Doing != driver.Idle || !report.Since.Before(sent) || was != "" && report.Conversation != was
		}
		return b.seen.Doing == driver.Busy || b.seen.Dialog != "" && !b.seen.Guess
	})
	switch {
	case b.ended && !b.visit:
		return err
	case errors.Is(err, errSlow):
		b.m.o.Tell(fmt.Sprintf("session %s: the text was submitted, but within %s the agent has not begun a turn", b.row.Name, b.m.starts))
	}
	return nil
}

// submit presses Enter, as long as the prompt stands there alone and is not taken.
func (b *begin) submit(ctx context.Context, text string, is func() bool) (string, error) {
	done := func() bool { return taken(b.seen, text) }
	for range enters {
		if err := b.m.o.Halted(); err != nil {
			return promptPasted, err
		}
		if err := b.server.Enter(ctx, b.pane.Ref()); err != nil {
			return promptPasted, b.untyped("its prompt was typed, and Enter could not be pressed", err)
		}
		err := b.until(ctx, onceMore, done)
		if errors.Is(err, errSlow) && !(is() && b.inFront()) { // it does something else first; what is there then takes no Enter of ours
			err = b.until(ctx, takenIn, func() bool { return done() || is() && b.inFront() })
			if err == nil && !done() {
				continue
			}
		}
		switch {
		case err == nil:
			return promptTaken, nil
		case !errors.Is(err, errSlow):
			return promptPasted, err
		case !is() || !b.inFront():
			return promptPasted, b.untyped("its prompt was typed, and does not stand alone any more", nil)
		}
	}
	return promptPasted, b.untyped("its prompt was typed, and its program does not take it", nil)
}

// takeBack empties the place where its user types, if nothing but the text stands there, and tells whether it is empty. No key is pressed
// while the program works or asks something, and none during a halt. Of a screen that is not recognised, the text is what was put there
// last.
func (b *begin) takeBack(ctx context.Context, text string) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takenBackIn)
	defer cancel()
	for n := 0; b.m.o.Halted() == nil; n++ {
		if b.looked(ctx, true) {
			return false
		}
		switch s := b.seen; {
		case s.Free() && b.inFront():
			return true
		case !b.inFront(), s.Dialog != "", s.Doing != driver.Idle && s.Doing != driver.Unknown, b.kind.Life.Clear == nil, n == clears,
			n > 0 && s.Typed == "", s.Typed != "" && !strings.Contains(squeezed(text), squeezed(s.Typed)) && !stands(s.Typed, text):
			return false
		}
		for _, key := range b.kind.Life.Clear {
			if b.server.Key(ctx, b.pane.Ref(), key) != nil || !pause(ctx, betweenKeys) {
				return false
			}
		}
		_ = b.until(ctx, onceMore, b.seenFree) // else the next look decides
	}
	return false
}

func (b *begin) seenFree() bool { return b.seen.Free() }

// untyped is a prompt that was not given. The session runs on.
func (b *begin) untyped(text string, err error) error {
	if b.ended {
		return err
	}
	return &Error{Kind: Refused, Session: b.row.Name, Text: text, Err: err, Next: b.attach()}
}

// errSlow reports that what was waited for did not come.
var errSlow = errors.New("it took too long")

// until polls the screen until the condition is met.
func (b *begin) until(ctx context.Context, limit time.Duration, is func() bool) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	end := time.Now().Add(limit)
	for {
		if b.looked(ctx, true) {
			if b.visit {
				return b.left()
			}
			return b.over(ctx, roundedSince(b.at))
		}
		if is() {
			return nil
		}
		if time.Now().After(end) {
			return errSlow
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func roundedSince(t time.Time) string { return time.Since(t).Round(100 * time.Millisecond).String() }

// ready waits until a line can be typed.
func (b *begin) ready(ctx context.Context, limit time.Duration) error {
	free, told, next := 0, "", time.Now().Add(b.m.tells)
	slow := time.Now().Add(longWait)
	var halted error
	err := b.until(ctx, limit, func() bool {
		if halted = b.m.o.Halted(); halted != nil {
			return true
		}
		if free++; !b.seen.Free() || !b.inFront() {
			free = 0
			if time.Now().After(slow) {
				pause(ctx, 3*lookEvery) // what is under way there takes as long as it takes
			}
		}
		// A question that is certain is reported at once, everything else when it stays so; each once, until it changes.
		if state := b.state(); state != told && (Dialog(b.seen) != "" && !b.seen.Guess || time.Now().After(next)) {
			b.m.o.Tell(fmt.Sprintf("session %s: the prompt waits: %s (%s)", b.row.Name, state, b.attach()))
			told, next = state, time.Now().Add(b.m.tells)
		}
		return free >= looksFree
	})
	if halted != nil {
		return halted
	}
	if errors.Is(err, errSlow) {
		return &Error{
			Kind: Refused, Session: b.row.Name,
			Text: fmt.Sprintf("it runs, but its prompt was not given within %s: %s", limit, b.state()), Next: b.attach(),
		}
	}
	return err
}

// state is what the program does, for people.
func (b *begin) state() string {
	switch d := Dialog(b.seen); {
	case !b.inFront():
		return b.pane.Command + " is in front"
	case d != "":
		return d
	case b.seen.Note != "":
		return b.seen.Note
	case b.seen.Typed != "":
		return "a person has begun to type"
	case b.seen.Doing == driver.Unknown:
		return "its screen does not show what it does"
	}
	return "it is " + b.seen.Doing.String()
}

// holds tells whether what stands in the place where its user types is this text and nothing else. Long texts are broken into lines
// there, show a part of themselves, or are shown as a word about a paste.
func holds(s driver.Seen, text string) bool {
	if s.Doing != driver.Idle || !s.Prompt || s.Dialog != "" || s.Guess {
		return false
	}
	return s.Holds(text) || stands(s.Typed, text)
}

// stands tells whether what is shown there is this text.
func stands(typed, text string) bool {
	shown, whole := squeezed(typed), squeezed(text)
	const part = 40 // characters, of a text that does not fit
	return shown != "" && (shown == whole || len(shown) >= part && strings.Contains(whole, shown) ||
		(len(text) > part || strings.Contains(text, "\n")) && isPaste(typed))
}

// taken tells whether a text that stood in the place where its user types was submitted: the place is there without it, or its program
// works, or asks something.
func taken(s driver.Seen, text string) bool {
	if s.Prompt {
		return !s.Guess && !stands(s.Typed, text)
	}
	return s.Doing == driver.Busy || s.Dialog != "" && !s.Guess
}

// squeezed is a text without spaces and ends of lines: where a program breaks it is its own matter.
func squeezed(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// isPaste tells whether a line is the word of a program about one paste.
func isPaste(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "[Pasted ") && strings.IndexByte(line, ']') == len(line)-1
}
