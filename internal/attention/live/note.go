package live

import (
	"context"
	"fmt"
	"sync"
	"time"

	"tutti/internal/bus/mailbox"
	"tutti/internal/core/address"
)

const (
	// noteAfter is how long lines for the trail are collected. The sender of a message writes to the same trail when it has
	// put the message; neither is to wait for the other.
	noteAfter = 20 * time.Millisecond
	// maxNotes bounds what waits for a store that does not come back.
	maxNotes = 1 << 14
)

// notes are the lines that are to be added to trails. They serve memory, so one that cannot be written is only logged.
type notes struct {
	wake chan struct{}

	mu   sync.Mutex // guards what follows; a leaf
	wait []noted
	lost int
}

type noted struct {
	of   address.Instance
	mark mailbox.Mark
}

func (n *notes) add(of address.Instance, m mailbox.Mark) {
	n.mu.Lock()
	if len(n.wait) < maxNotes {
		n.wait = append(n.wait, noted{of, m})
	} else {
		n.lost++
	}
	n.mu.Unlock()
	poke(n.wake)
}

func (n *notes) take() (all []noted, lost int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	all, lost = n.wait, n.lost
	n.wait, n.lost = nil, 0
	return all, lost
}

// note is the goroutine that writes them. What waits at the end is written too.
func (a *Attendance) note() {
	for {
		select {
		case <-a.end.Done():
			a.writeNotes()
			return
		case <-a.notes.wake:
		}
		later := time.NewTimer(noteAfter)
		select {
		case <-later.C:
		case <-a.end.Done():
			later.Stop()
		}
		a.writeNotes()
	}
}

// noteWithin bounds the writing of what was collected, so that a store that hangs does not keep the process from ending.
const noteWithin = 5 * time.Second

func (a *Attendance) writeNotes() {
	all, lost := a.notes.take()
	if len(all) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.end), noteWithin)
	defer cancel()
	var last error
	for _, n := range all {
		if err := a.o.Mail.Step(ctx, n.of, n.mark); err != nil {
			last = err
			lost++
		}
	}
	if lost > 0 {
		a.o.Log(fmt.Sprintf("%d lines of the trail are missing: %v", lost, last))
	}
}
