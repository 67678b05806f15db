package vectortest

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/governance/journal"
	"tutti/internal/governance/negotiation"
	"tutti/internal/store/memstore"
)

// tableTime is after every date of the tables.
var tableTime = time.Date(2026, 6, 12, 18, 0, 0, 0, time.UTC)

// agreements is a bus on which the two keys of the tables are registered, with a journal.
func agreements(t *testing.T, id string, record []byte, entries []json.RawMessage) (*negotiation.Negotiations, *memstore.Store) {
	t.Helper()
	s := memstore.New(memstore.Options{})
	people := registry.New(s)
	for _, k := range vectorKeys(t) {
		raw := registry.Build(registry.Agent{
			Instance: address.Instance(k.Instance), Roles: []string{registry.Conductor}, Root: "/bus", PublicKeys: []string{k.PublicKeyPem},
		}, tableTime)
		if err := people.Register(t.Context(), raw); err != nil && !errors.Is(err, registry.ErrRegistered) {
			t.Fatal(err)
		}
	}
	n := negotiation.New(s, journal.New(s), people)
	if record != nil {
		if _, err := n.Open(t.Context(), record, negotiation.Act{}, tableTime); err != nil {
			t.Fatal(err)
		}
	}
	key, err := journal.KeyOf(id)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := s.PlantLine(key, canonjson.Compact(e)); err != nil {
			t.Fatal(err)
		}
	}
	return n, s
}

// journalOf reads the example whole, then stabilises it anew without its last entry.
func journalOf(t *testing.T, c kase) {
	var v struct {
		Negotiation            json.RawMessage
		StateFile              string
		JournalFile            string
		OfferedHashes          []string
		Entries                []json.RawMessage
		Verification           struct{ OK bool }
		WinnerHash             string
		StabilizedArtifactFile string
		Note                   string
	}
	c.into(t, &v)
	const id = "nego:pilot-1"
	if key, err := journal.KeyOf(id); err != nil || key.Path() != v.JournalFile {
		t.Errorf("the journal lies at %s (%v), want %s", key.Path(), err, v.JournalFile)
	}
	n, _ := agreements(t, id, v.Negotiation, v.Entries)
	got, err := n.Verify(t.Context(), id, tableTime)
	if err != nil || got.Report.OK() != v.Verification.OK || got.Report.Entries != len(v.Entries) {
		t.Fatalf("%+v, %v", got, err)
	}
	if got.Standing.State != negotiation.Stabilized || got.Standing.Final.Hash != v.WinnerHash {
		t.Errorf("it is %s, with %+v", got.Standing.State, got.Standing.Final)
	}
	var hashes []string
	for _, o := range got.Standing.Offers {
		hashes = append(hashes, o.Hash)
	}
	if !slices.Equal(hashes, v.OfferedHashes) {
		t.Errorf("offers %q, want %q", hashes, v.OfferedHashes)
	}

	n, s := agreements(t, id, v.Negotiation, v.Entries[:len(v.Entries)-1])
	res, err := n.Stabilize(t.Context(), id, negotiation.Act{}, tableTime)
	if err != nil || res.ArtifactHash != v.WinnerHash || res.Path != v.StabilizedArtifactFile {
		t.Fatalf("%+v, %v", res, err)
	}
	if doc, err := s.Get(t.Context(), negotiation.ArtifactKey(res.Artifact, res.ArtifactHash)); err != nil || !bytes.HasSuffix(doc.Data, []byte("}\n")) {
		t.Errorf("%s, %v", doc.Data, err)
	}
	if got, err := n.Verify(t.Context(), id, tableTime); err != nil || !got.OK() {
		t.Errorf("%+v, %v", got, err)
	}
}

func journalFault(t *testing.T, c kase) {
	var v struct {
		Name    string
		Entries []json.RawMessage
		Index   *int
		Fault   *string
	}
	c.into(t, &v)
	_, s := agreements(t, "nego:pilot-1", nil, v.Entries)
	r, err := journal.New(s).Verify(t.Context(), "nego:pilot-1", journal.Checks{})
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case v.Index == nil:
		if !r.OK() {
			t.Errorf("%v, want none", r.Bad)
		}
	case r.Bad == nil || r.Bad.Index != *v.Index || r.Bad.Rule != *v.Fault:
		t.Errorf("%v, want entry %d: %s", r.Bad, *v.Index, *v.Fault)
	}
}

// artifactSignature has the two sign an artifact in a negotiation, and looks at what stands in its journal.
func artifactSignature(t *testing.T, c kase) {
	var v struct {
		Artifact                 json.RawMessage
		ArtifactHash, SignedText string
		Signatures               []vectorSignature
	}
	c.into(t, &v)
	hash, err := negotiation.HashOf(v.Artifact)
	if err != nil || hash != v.ArtifactHash {
		t.Errorf("HashOf: %s, %v, want %s", hash, err, v.ArtifactHash)
	}
	var record canonjson.Object
	var all []string
	for _, s := range v.Signatures {
		all = append(all, s.By)
	}
	record.Str("id", "nego:x")
	record.Str("scope", "scope:pilot")
	record.Str("subject", "engagement")
	record.Strs("parties", all)
	record.Strs("requiredSigners", all)
	n, _ := agreements(t, "nego:x", record.End(), nil)
	keys := map[string]*signature.Private{}
	for name, k := range vectorKeys(t) {
		keys[k.Instance], _ = pair(t, name)
	}
	act := func(by string) negotiation.Act { return negotiation.Act{By: address.Instance(by), Key: keys[by]} }
	if _, err := n.Offer(t.Context(), "nego:x", act(all[0]), negotiation.Offering{Artifact: v.Artifact}, tableTime); err != nil {
		t.Fatal(err)
	}
	for _, want := range v.Signatures {
		if !signature.Object(want).Verify([]byte(v.SignedText), keys[want.By].Public()) {
			t.Errorf("the signature of %s does not cover %s", want.By, v.SignedText)
		}
		e, err := n.Sign(t.Context(), "nego:x", act(want.By), hash, tableTime)
		if err != nil {
			t.Fatal(err)
		}
		made, _ := canonjson.Get(e.Body, "signature")
		if got, _ := journal.ReadSignature(made); got != signature.Object(want) {
			t.Errorf("signed %+v, want %+v", got, want)
		}
	}
	if s, err := n.Status(t.Context(), "nego:x", tableTime); err != nil || s.State != negotiation.Accepted {
		t.Errorf("%+v, %v", s, err)
	}
}

func stateMachine(t *testing.T, c kase) {
	var v struct {
		States, Terminal []negotiation.State
		Events           []negotiation.Event
		Original         json.RawMessage
		Ours             []struct {
			From    negotiation.State
			Event   negotiation.Event
			To      *negotiation.State
			Allowed bool
		}
	}
	c.into(t, &v)
	if !slices.Equal(v.States, negotiation.States) || !slices.Equal(v.Events, negotiation.Events) {
		t.Errorf("states %v, events %v, want %v, %v", negotiation.States, negotiation.Events, v.States, v.Events)
	}
	for _, s := range v.States {
		if s.Terminal() != slices.Contains(v.Terminal, s) {
			t.Errorf("%s is terminal: %v", s, s.Terminal())
		}
	}
	if len(v.Ours) != len(v.States)*len(v.Events) {
		t.Errorf("%d rows", len(v.Ours))
	}
	for _, row := range v.Ours {
		want := negotiation.State("")
		if row.To != nil {
			want = *row.To
		}
		if got, ok := negotiation.Next(row.From, row.Event); got != want || ok != row.Allowed {
			t.Errorf("%s in %s: %q, %v, want %q, %v", row.Event, row.From, got, ok, want, row.Allowed)
		}
	}
}
