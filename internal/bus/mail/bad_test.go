package mail

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"tutti/internal/bus/mailbox"
	"tutti/internal/core/address"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
)

// turning is a store in which a message turns bad when it is about to be read.
type turning struct {
	*filestore.Store
	name  string
	spoil func()
}

func (s *turning) Get(ctx context.Context, k store.Key) (store.Doc, error) {
	if k.Kind == store.Inbox && k.Name == s.name {
		s.spoil()
	}
	return s.Store.Get(ctx, k)
}

// TestReceiveOverwrittenFile: a file that another program overwrites between the list and the reading is named, is not claimed,
// and hides no other.
func TestReceiveOverwrittenFile(t *testing.T) {
	b := newBus(t)
	ana, bob := b.agent("claude", "ana"), b.agent("codex", "bob")
	b.send(Draft{From: ana, To: bob.Instance, Text: "first"})
	bad := b.send(Draft{From: ana, To: bob.Instance, Text: "second"})
	b.send(Draft{From: ana, To: bob.Instance, Text: "third"})

	name := address.Segment(bad.ID)
	path := filepath.Join(b.keeper.Root, "inbox", bob.Instance.Mailbox(), name+".json")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Error(err)
		}
	}
	s := &turning{b.log.(*filestore.Store), name, func() { write(whole[:len(whole)/2]) }}
	b.Mail = mailbox.New(s)
	r := Reader{Instance: bob.Instance}
	got := b.receive(r, 0)
	if len(got.Items) != 2 || got.Items[0].Envelope.Text() != "first" || got.Items[1].Envelope.Text() != "third" {
		t.Errorf("received %s, want first and third", texts(got))
	}
	if len(got.Strange) != 1 || !store.IsUnfit(got.Strange[0]) {
		t.Errorf("strange: %v, want the second", got.Strange)
	}
	s.spoil = func() { write(whole) }
	write(whole)
	if got := b.receive(r, 0); texts(got) != "second (verified)" || len(got.Strange) != 0 {
		t.Errorf("when it is whole again: received %s, strange %v", texts(got), got.Strange)
	}
}
