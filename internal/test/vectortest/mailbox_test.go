package vectortest

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"tutti/internal/bus/mailbox"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
	"tutti/internal/store/memstore"
)

// mailboxMerge reads one mailbox that lies in several folders. Where a message came from stands in its text.
func mailboxMerge(t *testing.T, c kase) {
	type entry struct{ ID, From string }
	var v struct {
		Name        string
		Directories [][]entry
		Result      []entry
	}
	c.into(t, &v)
	const reader = address.Instance("Claude:P:AAAAAAAAAAAA")
	s := memstore.New(memstore.Options{})
	m := mailbox.New(s)
	sources, err := m.Sources(t.Context(), reader)
	if err != nil || len(sources) < len(v.Directories) {
		t.Fatalf("Sources: got %v, %v; want one for each of %d directories", sources, err, len(v.Directories))
	}
	for n, dir := range v.Directories {
		for _, e := range dir {
			raw := fmt.Appendf(nil, `{"protocol":"sentropic.h2a","version":"0.1","id":%q,"type":"event","actor":{"instance":"a:b","role":"AGENTS","scope":"s"},"body":{"text":%q},"createdAt":"2026-06-12T10:00:00.000Z"}`, e.ID, e.From)
			if err := s.Plant(store.Key{Kind: store.Inbox, Owner: sources[n].Owner, Name: address.Segment(e.ID)}, raw); err != nil {
				t.Fatal(err)
			}
		}
	}
	all, bad, err := m.Read(t.Context(), reader)
	if err != nil || len(bad) > 0 {
		t.Fatal(err, bad)
	}
	var got []entry
	for _, msg := range all {
		got = append(got, entry{msg.ID, msg.Envelope.Text()})
	}
	if !slices.Equal(got, v.Result) {
		t.Errorf("%s: got %v, want %v", v.Name, got, v.Result)
	}
}

func aliasOwnership(t *testing.T, c kase) {
	var v struct {
		Aliases    []json.RawMessage
		SourceDirs map[address.Instance][]string
	}
	c.into(t, &v)
	s := memstore.New(memstore.Options{})
	for _, line := range v.Aliases {
		if _, err := s.Append(t.Context(), store.Key{Kind: store.Aliases}, store.AnyEnd, canonjson.Compact(line)); err != nil {
			t.Fatal(err)
		}
	}
	for who, want := range v.SourceDirs {
		sources, err := mailbox.New(s).Sources(t.Context(), who)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, from := range sources {
			got = append(got, "inbox/"+from.Owner)
		}
		if !slices.Equal(got, want) {
			t.Errorf("Sources(%s): got %q, want %q", who, got, want)
		}
	}
}
