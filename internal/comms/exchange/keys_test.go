package exchange

import (
	"errors"
	"os"
	"strings"
	"testing"

	"tutti/internal/test/commstest"
)

// Two machines that do not have each other's keys: the send says so, with the command for each side, until both have been typed.
func TestMissingKeys(t *testing.T) {
	t.Parallel()
	theirs := commstest.NewKeyring(t, []commstest.Who{commstest.Bob})
	m := commstest.NewMachine(t, "beta", commstest.MachineOptions{Env: map[string]string{"GNUPGHOME": theirs.Home}})
	r := newRig(t)
	r.keys([]commstest.Who{commstest.Alice})
	r.peers(m.Host())
	m.Project("notes")

	s := r.sends(r.letter(1))
	want := []string{"there: tutti comms trust alpha", "here: tutti comms trust beta"}
	if len(s.Advice) != 2 || !strings.HasSuffix(s.Advice[0], want[0]) || !strings.HasSuffix(s.Advice[1], want[1]) {
		t.Errorf("advice: %q", s.Advice)
	}

	k, err := r.FetchKey(t.Context(), "beta")
	bob := commstest.Fingerprint(t, commstest.Bob)
	if err != nil || k.Known || len(k.Keys) != 1 || k.Keys[0].Fingerprint != bob || !strings.HasPrefix(k.Keys[0].Users[0], "bob ") {
		t.Fatalf("fetched %+v, %v", k, err)
	}
	if r.GPG.Has(t.Context(), bob) {
		t.Error("a key that was fetched is in the ring before anybody confirmed it")
	}
	if err := r.ImportKey(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	if s := r.sends(r.letter(2)); len(s.Advice) != 1 || !strings.HasSuffix(s.Advice[0], want[0]) {
		t.Errorf("advice: %q", s.Advice)
	}
	theirs.AddPublic(commstest.Alice)
	if s := r.sends(r.letter(3)); len(s.Advice) != 0 {
		t.Errorf("advice: %q", s.Advice)
	}
	if k, err := r.FetchKey(t.Context(), "beta"); err != nil || !k.Known {
		t.Errorf("known is %v, %v", k.Known, err)
	}
}

// A machine without a key has none to fetch, and no folder of gpg afterwards.
func TestFetchKeyMissing(t *testing.T) {
	t.Parallel()
	r, m, _ := remote(t)
	if k, err := r.FetchKey(t.Context(), "beta"); !errors.Is(err, ErrNoSigningKey) {
		t.Errorf("%+v, %v", k, err)
	}
	s := r.sends(r.letter(1))
	if len(s.Advice) != 1 || !strings.HasPrefix(s.Advice[0], "beta does not have your public key") {
		t.Errorf("advice: %q", s.Advice)
	}
	entries, err := os.ReadDir(m.Home)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		if strings.Contains(name, "gnupg") {
			t.Errorf("%s was made there", name)
		}
	}
	if _, err := r.FetchKey(t.Context(), "local"); err == nil {
		t.Error("this machine has a key of its own to fetch")
	}
}
