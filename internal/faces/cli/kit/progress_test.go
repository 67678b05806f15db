package kit

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestProgress: quick work prints nothing. Long work prints its progress, not too often, and clears the line.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		c := &Call{ErrFile: &said, ErrColumns: 80}
		step, done := c.Progress("messages read")
		step(1)
		time.Sleep(quietFor / 2)
		step(20)
		done()
		if said.Len() > 0 {
			t.Errorf("after half a second: %q", said.String())
		}
		step, done = c.Progress("messages read")
		time.Sleep(2*quietFor + time.Millisecond)
		step(300)
		step(301)
		time.Sleep(tellsEvery + time.Millisecond)
		step(400)
		done()
		if want := "\r300 messages read in 2 seconds\r400 messages read in 2 seconds\r\x1b[K"; said.String() != want {
			t.Errorf("said %q, want %q", said.String(), want)
		}
		said.Reset()
		for _, c := range []*Call{{ErrFile: &said}, {ErrFile: &said, ErrColumns: 80, Quiet: true}} {
			step, done := c.Progress("messages read")
			time.Sleep(2 * quietFor)
			step(1)
			done()
		}
		if said.Len() > 0 {
			t.Errorf("without a terminal, or quiet: %q", said.String())
		}
	})
}
