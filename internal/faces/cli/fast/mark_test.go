package fast

import (
	"testing"
	"time"

	"tutti/internal/bus/mailbox"
	"tutti/internal/faces/cli/kit"
)

func TestMarkOnTerminal(t *testing.T) {
	t.Parallel()
	k := &mailbox.Mark{Step: mailbox.Pushed, Result: "rewake", By: "claude:ana:a61b54f4a48b", Session: "sess:03c137c4a3d32815", At: time.Unix(0, 0)}
	for columns, want := range map[int]string{
		0:  "  1970-01-01T00:00:00.000Z  pushed   rewake  by claude:ana:a61b54f4a48b  in sess:03c137c4a3d32815\n",
		80: "  1970-01-01T00:00:00.000Z  pushed   rewake by claude:ana:a61b54f4a48b in\n                                     sess:03c137c4a3d32815\n",
		44: "  1970-01-01T00:00:00.000Z  pushed\n     rewake by claude:ana:a61b54f4a48b in\n     sess:03c137c4a3d32815\n",
	} {
		c := &kit.Call{Columns: columns}
		showMark(c, k)
		if got := string(c.Out); got != want {
			t.Errorf("%d columns: got %q, want %q", columns, got, want)
		}
	}
}
