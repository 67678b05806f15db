package tmux

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A Ref names a pane together with what it was when it was listed. It is made by [Pane.Ref]. All but Command must be there.
type Ref struct {
	Server  int    // pid of the server
	Started int64  // of the server, seconds since 1970
	ID      string // "%7"
	PID     int    // first process of the pane
	Command string // the program in front; empty: whichever it is
}

// String returns the id, for messages.
func (r Ref) String() string { return r.ID }

// Limits of what is sent.
const (
	MaxPaste = 8 << 20 // bytes; 2 MiB arrive whole in tens of milliseconds, more than this is a mistake
	MaxType  = 1 << 10 // bytes of a sentence
)

// Pause lies between a paste and the Enter that submits it. Two of three agent programs need none; the third took the Enter for
// a part of the paste at 0 ms and no more at 20 ms.
const Pause = 150 * time.Millisecond

// Paste pastes a text into the pane, in the brackets that mark a paste if the program asked for them. Without them each line
// feed is an Enter to the program: who does not know the program pastes one line. Control characters but tab and line feed
// are removed first, because the end mark of a paste in a text would make keystrokes of the rest. A person who scrolls in the pane
// is led out of it.
//
// A nil error means that the server has handed the text to the pane's terminal. ErrAbsent, ErrDead, ErrChanged, ErrInputOff,
// ErrShared and ErrMissing mean that nothing was pasted; after any other error it may have been.
func (s Server) Paste(ctx context.Context, pane Ref, text string) error {
	if len(text) > MaxPaste {
		return fmt.Errorf("paste into pane %s: %d bytes: at most %d", pane, len(text), MaxPaste)
	}
	text = Clean(text)
	if text == "" {
		return fmt.Errorf("paste into pane %s: no text", pane)
	}
	guard, err := s.guard(pane, true)
	if err != nil {
		return err
	}
	buffer := "tutti-" + rand.Text() // of its own, so that it is not the user's latest copy and concurrent pastes do not mix
	drop := "delete-buffer -b " + buffer
	out, err := s.run(ctx, strings.NewReader(text), "load-buffer", "-b", buffer, "-", ";",
		"if-shell", "-F", "-t", pane.ID, guard,
		"copy-mode -q -t "+pane.ID+" ; paste-buffer -p -d -b "+buffer+" -t "+pane.ID+" ; "+sayOK,
		drop+" ; "+sayWhy(pane))
	if err != nil {
		s.tidy(drop)
		return fmt.Errorf("paste into pane %s: %w", pane, err)
	}
	_, err = s.verdict(pane, out)
	if err != nil {
		return fmt.Errorf("paste into pane %s: %w", pane, err)
	}
	return nil
}

// tidy deletes the buffer of a paste that failed halfway; what was to be pasted shall not stay in the server. Mostly there is none.
func (s Server) tidy(drop string) {
	_, _ = s.run(context.Background(), nil, strings.Fields(drop)...) // the failure that led here is the one to be told
}

// Enter presses Enter in the pane. Errors are those of [Server.Paste].
func (s Server) Enter(ctx context.Context, pane Ref) error {
	guard, err := s.guard(pane, true)
	if err != nil {
		return err
	}
	out, err := s.run(ctx, nil, "if-shell", "-F", "-t", pane.ID, guard,
		"copy-mode -q -t "+pane.ID+" ; send-keys -t "+pane.ID+" Enter ; "+sayOK, sayWhy(pane))
	if err == nil {
		_, err = s.verdict(pane, out)
	}
	if err != nil {
		return fmt.Errorf("press Enter in pane %s: %w", pane, err)
	}
	return nil
}

// Type pastes one line, waits for [Pause], and presses Enter. A sentence that has a control character is refused: it would
// mean a key. After an error the sentence may stand in the pane without having been submitted. Who wants to look at the
// screen before the Enter calls Paste and Enter.
func (s Server) Type(ctx context.Context, pane Ref, sentence string) error {
	if len(sentence) > MaxType || Clean(sentence) != sentence || strings.ContainsAny(sentence, "\n\t") {
		return fmt.Errorf("type into pane %s: want one line without control characters, at most %d bytes: %.80q", pane, MaxType, sentence)
	}
	if err := s.Paste(ctx, pane, sentence); err != nil {
		return err
	}
	select {
	case <-time.After(Pause):
	case <-ctx.Done():
		return fmt.Errorf("type into pane %s: pasted, not submitted: %w", pane, context.Cause(ctx))
	}
	return s.Enter(ctx, pane)
}

// Clean returns the text without control characters but tab and line feed, old and new ones alike (U+0080 to U+009F: some
// terminals take U+009B for ESC [). The line ends CR LF and CR become LF. What is not valid UTF-8 becomes U+FFFD.
func Clean(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '\r':
			if i+1 == len(text) || text[i+1] != '\n' {
				b.WriteByte('\n')
			}
		case r == '\n' || r == '\t', r >= 0x20 && r < 0x7f, r >= 0xa0:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// sayOK and sayWhy print the first line of an answer: that the pane was as it has to be, or what it was instead.
const (
	sayOK   = "display-message -p ok"
	refused = "no "
)

func sayWhy(pane Ref) string {
	return "display-message -p -t " + pane.ID + " '" + refused +
		"#{pid} #{start_time} #{pane_id} #{pane_pid} #{pane_dead} #{pane_input_off} #{pane_synchronized} #{pane_current_command}'"
}

// guard returns the condition under which the server may act on the pane: for if-shell -F, whose commands follow in the same
// step, before the server takes notice of anything else. With typing it also asks what matters for keys only.
func (s Server) guard(pane Ref, typing bool) (string, error) {
	if pane.Server <= 0 || pane.Started <= 0 || pane.PID <= 0 || !isID(pane.ID, '%') {
		return "", fmt.Errorf("pane %q of server %d, process %d: not a pane that was listed", pane.ID, pane.Server, pane.PID)
	}
	if s.pid != 0 && s.pid != pane.Server {
		return "", fmt.Errorf("pane %s of server %d: %w: this process lives in server %d", pane, pane.Server, ErrChanged, s.pid)
	}
	conditions := []string{
		equal("pid", strconv.Itoa(pane.Server)),
		equal("start_time", strconv.FormatInt(pane.Started, 10)),
		equal("pane_id", pane.ID),
		equal("pane_pid", strconv.Itoa(pane.PID)),
	}
	if typing {
		conditions = append(conditions, "#{?pane_dead,0,1}", "#{?pane_input_off,0,1}", "#{?pane_synchronized,0,1}")
		if pane.Command != "" {
			conditions = append(conditions, equal("pane_current_command", pane.Command))
		}
	}
	all := conditions[0]
	for _, c := range conditions[1:] {
		all = "#{&&:" + all + "," + c + "}"
	}
	return all, nil
}

// equal is the condition that a variable has a value, whatever characters the value has.
func equal(variable, value string) string {
	return "#{==:#{" + variable + "}," + literal.Replace(unformatted(value)) + "}"
}

// literal keeps tmux from taking a part of a value for the end of it. Its table is built when it is first used.
var literal = strings.NewReplacer(",", "#,", "}", "#}")

// verdict reads the first line of an answer, and returns what follows it.
func (s Server) verdict(pane Ref, out []byte) ([]byte, error) {
	first, rest, _ := strings.Cut(string(out), "\n")
	if first == "ok" {
		return []byte(rest), nil
	}
	why, ok := strings.CutPrefix(first, refused)
	f := strings.SplitN(why, " ", 8)
	if !ok || len(f) < 8 {
		return nil, fmt.Errorf("tmux server %s answers %.200q", s, first)
	}
	switch {
	case f[0] != strconv.Itoa(pane.Server) || f[1] != strconv.FormatInt(pane.Started, 10):
		return nil, fmt.Errorf("%w: server %s is there, the pane was of server %d", ErrChanged, f[0], pane.Server)
	case f[2] == "":
		return nil, ErrAbsent
	case f[3] != strconv.Itoa(pane.PID):
		return nil, fmt.Errorf("%w: started anew, process %s for %d", ErrChanged, f[3], pane.PID)
	case f[4] == "1":
		return nil, ErrDead
	case f[5] == "1":
		return nil, ErrInputOff
	case f[6] == "1":
		return nil, ErrShared
	case pane.Command != "" && f[7] != pane.Command:
		return nil, fmt.Errorf("%w: %q is in front, not %q", ErrChanged, f[7], pane.Command)
	}
	return nil, fmt.Errorf("%w: %.200q", ErrChanged, why) // what it was has changed again before it was said
}
