package agreement

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/governance/journal"
	"tutti/internal/governance/negotiation"
	"tutti/internal/governance/profile"
	"tutti/internal/store/memstore"
)

// plant adds an entry straight to the log, as anybody can who can write the file.
func (h *hall) plant(by address.Instance, body string, at time.Time) {
	h.Helper()
	k, err := journal.KeyOf("n:1")
	if err != nil {
		h.Fatal(err)
	}
	tip, err := journal.New(h.bus.store).Catch(h.Context(), "n:1", nil)
	if err != nil {
		h.Fatal(err)
	}
	p := fmt.Sprintf(`{"id":"evt-p","type":"event","actor":{"instance":%q,"role":"MANDATAIRE","scope":"scope:x"},"body":%s,"createdAt":%q}`, by, body, envelope.Stamp(at))
	content, err := canonjson.Hash([]byte(p))
	if err != nil {
		h.Fatal(err)
	}
	line := fmt.Sprintf(`{"protocol":"sentropic.h2a","version":"0.1","sequence":%d,"prevHash":%q,"contentHash":%q,%s`, tip.Count, tip.ContentHash, content, p[1:])
	if _, err := h.bus.store.Append(h.Context(), k, tip.Pos, []byte(line)); err != nil {
		h.Fatal(err)
	}
}

// sign signs without asking any profile, as other programs do.
func (h *hall) sign(all ...address.Instance) {
	h.Helper()
	for _, i := range all {
		if _, err := h.bus.Negotiations().Sign(h.Context(), "n:1", h.act(i), "", h.now); err != nil {
			h.Fatal(err)
		}
	}
}

// state is where the negotiation stands to a program that remembers nothing.
func (h *hall) state() *negotiation.Standing {
	h.Helper()
	s, err := New(h.bus.store, registry.New(h.bus.store)).Negotiations().Status(h.Context(), "n:1", h.now)
	if err != nil {
		h.Fatal(err)
	}
	return s
}

func (h *hall) use(id string, at time.Time) {
	h.Helper()
	if _, err := profile.Use(h.Context(), h.bus.store.(*memstore.Store), id, "me", at); err != nil {
		h.Fatal(err)
	}
}

func (h *hall) stabilize() error {
	n, err := h.bus.For(h.Context(), profile.Stabilise, "")
	if err == nil {
		_, err = n.Stabilize(h.Context(), "n:1", negotiation.Act{}, h.now)
	}
	return err
}

func everybody(h *hall) (ana, bob address.Instance) {
	for _, role := range []string{"CONDUCTOR", "EXECUTIF", "AGENTS", "MANDATAIRE"} {
		h.enter(strings.ToLower(role), role)
	}
	return h.enter("ana", "PRINCIPAL"), h.enter("bob", "EXECUTIF")
}

// TestSettledOutsideProfile: an entry settles a negotiation if the profile allows it, by any writer. What was settled stays settled when
// keys change and agents leave.
func TestSettledOutsideProfile(t *testing.T) {
	t.Parallel()
	for _, quorum := range []bool{false, true} {
		t.Run(fmt.Sprint("quorum ", quorum), func(t *testing.T) {
			t.Parallel()
			h := newHall(t)
			ana, bob := everybody(h)
			h.use("D_SAFE", h.now)
			if quorum {
				h.openWith(fmt.Sprintf(`,"authority":{"kind":"AUTHORITY","id":"q","authorityKind":"quorum","members":[%q,%q],"threshold":2}`, ana, bob), ana, bob)
			} else {
				h.open(ana, bob)
			}
			h.sign(ana, bob)
			hash := h.state().Latest().Hash
			settling := `{"kind":"stabilizing","artifactHash":"` + hash + `"}`
			h.plant("h2a-cli", settling, h.now)
			h.plant(ana, `{"kind":"stabilized","artifactHash":"`+hash+`"}`, h.now.Add(-48*time.Hour))
			if s := h.state(); s.Final != nil || s.State != negotiation.Accepted {
				t.Fatalf("settled by a word of anybody: %+v", s.Final)
			}
			v, err := h.bus.Negotiations().Verify(t.Context(), "n:1", h.now)
			if err != nil || v.OK() || len(v.Entries) != 2 || v.Entries[0].Code != negotiation.CodeGated || !strings.Contains(v.Entries[0].Why, "attested") {
				t.Errorf("%+v, %v", v, err)
			}
			if err := h.stabilize(); err == nil {
				t.Fatal("stabilised without attestations")
			}
			for _, i := range []address.Instance{ana, bob} {
				c, err := h.bus.Attest(t.Context(), h.act(i), h.what(h.view().DossierHash))
				if err == nil {
					_, err = c.Journal(t.Context(), "n:1", h.now)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			h.plant("h2a-cli", settling, h.now)
			if err := h.stabilize(); err != nil {
				t.Fatal(err)
			}
			h.now = h.now.Add(time.Hour)
			if err := h.bus.registry.RevokeKey(t.Context(), ana, h.keys[ana].Public().PEM(), h.now); err != nil {
				t.Fatal(err)
			}
			if err := h.bus.registry.Offboard(t.Context(), registry.Tombstone{Instance: bob, At: envelope.Stamp(h.now)}); err != nil {
				t.Fatal(err)
			}
			h.use("A_ENTERPRISE", h.now)
			if s := h.state(); s.State != negotiation.Stabilized || len(s.Final.Signers) != 2 {
				t.Errorf("what was settled is %s: %s", s.State, s.Why)
			}
		})
	}
}

// TestSettledBeforeProfile: a negotiation that was settled before a profile was chosen stays settled. A backdated entry does not count as
// earlier.
func TestSettledBeforeProfile(t *testing.T) {
	t.Parallel()
	settle := func(before bool) *negotiation.Standing {
		h := newHall(t)
		ana, bob := everybody(h)
		h.open(ana, bob)
		h.sign(ana)
		if !before {
			h.use("D_SAFE", h.now)
			h.now = h.now.Add(time.Hour)
		}
		h.sign(bob)
		hash := h.state().Latest().Hash
		h.plant("h2a-cli", `{"kind":"stabilized","artifactHash":"`+hash+`"}`, h.now.Add(-2*time.Hour))
		if before {
			h.use("D_SAFE", h.now.Add(time.Hour))
		}
		return h.state()
	}
	if s := settle(true); s.State != negotiation.Stabilized {
		t.Errorf("settled before the choice, and %s", s.State)
	}
	if s := settle(false); s.Final != nil {
		t.Errorf("settled after the choice, and dated back: %s", s.State)
	}
}
