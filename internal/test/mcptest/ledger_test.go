package mcptest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tutti/internal/core/address"
)

// A ledger knows what was sent, and who was offered it.
type ledger struct {
	mu      sync.Mutex // guards what follows
	sent    map[string]string
	order   []string
	offered map[string]int
	taken   map[string]int // out of the mailbox, by a call that answered with it or acknowledged it
	refused map[string]int // errors of tools, by their beginnings
}

func newLedger() *ledger {
	return &ledger{sent: map[string]string{}, offered: map[string]int{}, taken: map[string]int{}, refused: map[string]int{}}
}

func (l *ledger) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprintf("%d messages sent, %d offered, %d taken", len(l.sent), len(l.offered), len(l.taken))
}

func (l *ledger) send(id, to string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent[id] = to
	l.order = append(l.order, id)
}

func (l *ledger) offer(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.offered[id]++
}

func (l *ledger) take(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken[id]++
}

func (l *ledger) refuse(a answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	words := strings.Fields(a.failed())
	l.refused[strings.Join(words[:min(len(words), 2)], " ")]++
}

// some is the id of any message that was sent.
func (l *ledger) some(r *rand.Rand) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.order) == 0 {
		return "env:none"
	}
	return l.order[r.IntN(len(l.order))]
}

// drain receives what is left.
func (l *ledger) drain(s *serverProcess) {
	s.t.Helper()
	for range 1000 {
		a := s.ok("tutti_receive", nil)
		some := a.list("messages")
		for _, m := range some {
			id, _ := m["id"].(string)
			l.offer(id)
		}
		if len(some) == 0 {
			return
		}
	}
	s.t.Errorf("%s: there is no end to the mail", s.name)
}

// check: what was sent lies in the mailbox or in the archive of whom it was sent to, and was offered once, unless it was taken
// out before.
func (l *ledger) check(t *testing.T, root string, owners ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	lost, never, again, twice := 0, 0, 0, 0
	for id, to := range l.sent {
		there := 0
		for _, box := range []string{"inbox", "archive"} {
			path := filepath.Join(root, box, address.Segment(address.Canonical(to)), address.Segment(id)+".json")
			if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), id) {
				there++
			}
		}
		switch {
		case there != 1:
			lost++
			t.Logf("%s for %s is in %d places", id, to, there)
		case l.offered[id] == 0 && l.taken[id] == 0:
			never++
			t.Logf("%s for %s was never offered", id, to)
		case l.offered[id] > 1:
			again++
			t.Logf("%s for %s was offered %d times", id, to, l.offered[id])
		case l.taken[id] > 1:
			twice++
			t.Logf("%s for %s was taken %d times", id, to, l.taken[id])
		}
	}
	foreign := 0
	for id, n := range l.offered {
		if strings.HasSuffix(id, ":foreign") {
			foreign++
			if again += n - 1; n > 1 {
				t.Logf("%s was offered %d times", id, n)
			}
		}
	}
	if lost+never+again+twice > 0 {
		t.Errorf("of %d messages %d are lost, %d were never offered, %d more than once, %d taken twice", len(l.sent), lost, never, again, twice)
	}
	if len(l.sent) < calls()/20 || foreign == 0 || len(l.offered) == foreign || soak && len(l.taken) == 0 {
		t.Errorf("too little happened; refused: %v", l.refused)
	}
	t.Logf("refused: %v", l.refused)
}
