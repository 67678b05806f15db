package fast

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/mailbox"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/store"
)

// TestIndexProgress: the first list of a large mailbox says on a terminal how far it is, and the rows are those of the mailbox.
func TestIndexProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		c := &kit.Call{ErrFile: &said, ErrColumns: 80}
		slow := &store.Projection{Name: "slow", Version: 3, Make: func(data []byte, _ time.Time) ([]string, int64, []byte, error) {
			time.Sleep(500 * time.Millisecond)
			return nil, int64(len(data)), data, nil
		}}
		d := &kit.Account{World: &app.World{Mail: &mailbox.Mailbox{Projection: slow}}}
		done := sayIndexed(c, d)
		rows := d.Mail.Projection
		for _, text := range []string{"a", "bb", "ccc"} {
			if _, order, row, err := rows.Make([]byte(text), time.Time{}); order != int64(len(text)) || string(row) != text || err != nil {
				t.Errorf("%q became %d, %q, %v", text, order, row, err)
			}
		}
		done()
		if want := "\r3 messages read for the first list of this mailbox in 1 second\r\x1b[K"; said.String() != want {
			t.Errorf("said %q, want %q", said.String(), want)
		}
		if rows.Name != slow.Name || rows.Version != slow.Version {
			t.Errorf("the index is another one: %s %d", rows.Name, rows.Version)
		}
	})
}
