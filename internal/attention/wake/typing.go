package wake

import (
	"context"
	"strconv"
	"time"

	"tutti/internal/platform/tmux"
)

// TypingFor is how long after its last key a person counts as typing. Existing programs take the same 4 s.
const TypingFor = 4 * time.Second

// TypingVariable names, in milliseconds, another time than [TypingFor]; with 0 no one counts as typing.
const TypingVariable = "H2A_WAKE_DEFER_ACTIVITY_MS"

// TypingWindow is the time that counts, by the value of [TypingVariable]. A value that is not a number of milliseconds changes
// nothing.
func TypingWindow(value string) time.Duration {
	ms, err := strconv.Atoi(value)
	const most = int(time.Hour / time.Millisecond)
	if err != nil || ms < 0 || ms > most {
		return TypingFor
	}
	return time.Duration(ms) * time.Millisecond
}

// Typing tells whether a person uses a session now, by when each of the terminals that show it was used last. A terminal whose last use
// lies ahead of the clock says nothing.
func Typing(used []time.Time, now time.Time, window time.Duration) bool {
	var last time.Time
	for _, t := range used {
		if t.After(last) {
			last = t
		}
	}
	since := now.Sub(last)
	return !last.IsZero() && since >= 0 && since < window
}

// typing tells whether a person uses the session of a pane. What cannot be found out holds nothing up: the screen is still looked at
// before and after what is typed.
func (n Nudger) typing(ctx context.Context, pane tmux.Pane) bool {
	if n.Typing <= 0 || pane.Attached == 0 {
		return false
	}
	used, err := n.Server.Clients(ctx, pane)
	return err == nil && Typing(used, time.Now(), n.Typing)
}
