package negotiation

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
)

// odd is an id that a shell would take apart, and for which a careless hint would run something.
const odd = "deal $(touch x); it's"

// pasted are the words that a shell makes of a command, without running it.
func pasted(t *testing.T, command string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `for w in `+command+`; do printf '%s\n' "$w"; done`).Output()
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// TestHintsQuoteIDs: in whatever a hint, a state or a next step names, the id is one word.
func TestHintsQuoteIDs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	raw := canonjson.Set(record(), "id", canonjson.AppendString(nil, odd))
	if _, err := r.n.Open(t.Context(), raw, Act{}, r.tick()); err != nil {
		t.Fatal(err)
	}
	var told []string
	refused := func(what string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s: not refused", what)
			return
		}
		told = append(told, err.Error())
	}
	steps := func() {
		t.Helper()
		s, err := r.n.Status(t.Context(), odd, r.tick())
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, s.Note, s.Why)
		for _, step := range s.Next {
			told = append(told, "`"+step.Command+"`")
		}
	}
	steps()
	_, err := r.n.Sign(t.Context(), odd, r.act(alice), "", r.tick())
	refused("signed before an offer", err)
	_, err = r.n.Diff(t.Context(), odd, "", "")
	refused("diff of nothing", err)
	first, err := r.n.Offer(t.Context(), odd, r.act(alice), Offering{Artifact: charter("first")}, r.tick())
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.n.Counter(t.Context(), odd, r.act(bob), Offering{Artifact: charter("second")}, r.tick())
	refused("a stale counter", err)
	if _, err = r.n.Counter(t.Context(), odd, r.act(bob), Offering{Artifact: charter("second"), Base: LatestBase}, r.tick()); err != nil {
		t.Fatal(err)
	}
	steps()
	_, err = r.n.Sign(t.Context(), odd, r.act(alice), hashOf(t, charter("first")), r.tick())
	refused("signed what was superseded", err)
	_, err = r.n.Withdraw(t.Context(), odd, r.act(alice), "", r.tick())
	refused("withdrew what is another's", err)
	_, err = r.n.Move(t.Context(), odd, r.act(alice), Stabilized, "", r.tick())
	refused("called stabilized", err)
	_, err = r.n.artifactAt(t.Context(), odd, first.At, "sha256:0")
	refused("an offer that is not there", err)
	for _, i := range []address.Instance{alice, bob} {
		if _, err := r.n.Sign(t.Context(), odd, r.act(i), "", r.tick()); err != nil {
			t.Fatal(err)
		}
	}
	steps()
	found := 0
	for _, text := range told {
		for n, part := range strings.Split(text, "`") {
			command, is := strings.CutPrefix(part, "tutti negotiate ")
			if n%2 == 0 || !is {
				continue
			}
			found++
			if words := pasted(t, command); len(words) < 2 || words[1] != odd {
				t.Errorf("the id is not a word of %q: %q", command, words)
			}
		}
	}
	if found < 10 {
		t.Errorf("%d commands were named in %q", found, told)
	}
}

// TestEventIDs: the id that was asked for is that of one entry: of what was done, and with a stabilisation of its last.
func TestEventIDs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.open()
	with := func(i address.Instance, id string) Act {
		a := r.act(i)
		a.EventID = id
		return a
	}
	e, err := r.n.Offer(t.Context(), nego, with(alice, "evt:mine"), Offering{Artifact: charter("first")}, r.tick())
	if err != nil || e.ID != "evt:mine" {
		t.Fatalf("%+v, %v", e, err)
	}
	var refused *RefusedError
	if _, err := r.n.Sign(t.Context(), nego, with(alice, "evt:mine"), "", r.tick()); !errors.As(err, &refused) || !strings.Contains(err.Error(), "entry 0 has the id evt:mine") {
		t.Errorf("an id for the second time: %v", err)
	}
	r.sign(alice, bob)
	if _, err := r.n.Stabilize(t.Context(), nego, Act{EventID: "evt:mine"}, r.tick()); !errors.As(err, &refused) {
		t.Errorf("stabilised under an id that is taken: %v", err)
	}
	r.want(Accepted)
	res, err := r.n.Stabilize(t.Context(), nego, Act{EventID: "evt:end"}, r.tick())
	if err != nil || res.Final.ID != "evt:end" {
		t.Fatalf("%+v, %v", res, err)
	}
	ids := map[string]int{}
	for e, err := range r.n.Journal().Read(t.Context(), nego) {
		if err != nil {
			t.Fatal(err)
		}
		ids[e.ID]++
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("%d entries have the id %s", n, id)
		}
	}
	if ids["evt:end"] != 1 {
		t.Errorf("ids %v", ids)
	}
}
