package mail

import (
	"fmt"
	"testing"

	"tutti/internal/core/address"
)

// TestBatchOrder: the receipts, the mailbox and the trail follow the letters, each letter
// has its own word, and each that was stored has its copy.
func TestBatchOrder(t *testing.T) {
	b := newBus(t)
	ana, bob, eve := b.agent("claude", "ana"), b.agent("codex", "bob"), b.agent("codex", "eve")
	letters := make([]Draft, 161)
	for i := range letters {
		letters[i] = Draft{From: ana, To: bob.Instance, Text: fmt.Sprint(i), ID: fmt.Sprintf("env:%04d:aa", i)}
		switch {
		case i%7 == 3:
			letters[i].To = "codex:nobody"
		case i%7 == 5:
			letters[i].To = eve.Instance
		case i%50 == 49:
			letters[i].ID = "" // minted
		case i%40 == 38:
			letters[i].ID = letters[i-2].ID
		}
	}
	receipts, err := b.SendAll(t.Context(), letters)
	if err != nil {
		t.Fatal(err)
	}
	var mails [2][]string
	for i, r := range receipts {
		refused := i%7 == 3 || i%40 == 38 && i%7 != 5
		if (r.Outcome == Refused) != refused || (r.Err != nil) != refused || r.Asked != letters[i].To {
			t.Errorf("letter %d to %s: %+v", i, letters[i].To, r)
		}
		if refused {
			continue
		}
		box := 0
		if r.To == eve.Instance {
			box = 1
		}
		mails[box] = append(mails[box], r.ID)
		m, err := b.Mail.Get(t.Context(), r.To, r.ID)
		if err != nil || m.Envelope.Text() != letters[i].Text || len(m.Envelope.Signatures) != 1 {
			t.Errorf("message %d is stored as %+v, %v", i, m, err)
		}
	}
	for n, who := range []address.Instance{bob.Instance, eve.Instance} {
		states, err := b.Mail.State(t.Context(), who, mails[n])
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range mails[n] {
			if states[id].Stored.IsZero() {
				t.Errorf("the trail of %s does not know %s", who, id)
			}
		}
	}
	copies, _, err := b.Mail.ReadOutbox(t.Context(), ana.Instance)
	if err != nil || len(copies) != len(mails[0])+len(mails[1]) {
		t.Errorf("%d copies, %v; want %d", len(copies), err, len(mails[0])+len(mails[1]))
	}
}
