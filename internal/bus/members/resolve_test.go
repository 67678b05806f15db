package members

import (
	"slices"
	"strings"
	"testing"

	"tutti/internal/core/address"
)

const (
	apiA = address.Instance("claude:api:aaaaaaaaaaaa")
	apiB = address.Instance("claude:api:bbbbbbbbbbbb")
	webC = address.Instance("claude:web:cccccccccccc")
)

func TestResolve(t *testing.T) {
	t.Parallel()
	of := func(all ...address.Instance) []address.Instance { return all }
	tests := []struct {
		name, target     string
		live, registered []address.Instance
		kind             Kind
		why              Why
		candidate        address.Instance
		candidates       []address.Instance
	}{
		{name: "unknown full id", target: string(apiA), kind: Deliver},
		{name: "full id, digits in upper case", target: "claude:api:AAAAAAAAAAAA", kind: Deliver},
		{name: "subagent", target: "claude:api~scout", kind: Deliver},
		{name: "subagent whose name has colons", target: "claude:api~a:b:c", kind: Deliver},
		{name: "no host", target: "api", kind: Refuse, why: NotHostQualified},
		{name: "no host, colon", target: ":api", kind: Refuse, why: NotHostQualified},
		{name: "no label", target: "claude:", kind: Refuse, why: NotHostQualified},
		{name: "no host, subagent", target: "api~scout", kind: Refuse, why: NotHostQualified},
		{name: "empty", target: "", kind: Refuse, why: NotHostQualified},
		{name: "third part a word", target: "claude:api:main", kind: Refuse, why: Malformed},
		{name: "third part eleven digits", target: "claude:api:aaaaaaaaaaa", kind: Refuse, why: Malformed},
		{name: "third part empty", target: "claude:api:", kind: Refuse, why: Malformed},
		{name: "four parts", target: string(apiA) + ":x", kind: Refuse, why: Malformed},
		{name: "one live", target: "claude:api", live: of(apiA, webC), kind: DeliverHint, candidate: apiA},
		{name: "one live, other case", target: "Claude:API", live: of(apiA), kind: DeliverHint, candidate: apiA},
		{name: "one live, two sessions", target: "claude:api", live: of(apiA, "Claude:api:AAAAAAAAAAAA"), kind: DeliverHint, candidate: apiA},
		{name: "two live", target: "claude:api", live: of(apiB, apiA, apiB), registered: of(apiA), kind: Refuse, why: Ambiguous, candidates: of(apiB, apiA)},
		{name: "registered, not live", target: "claude:api", live: of(webC), registered: of(apiA, apiB), kind: DeliverDormant},
		{name: "registered as a channel in other case", target: "claude:bar", registered: of("claude:Bar"), kind: DeliverDormant},
		{name: "bridge", target: "remote:s1", live: of("remote:s1"), kind: DeliverHint, candidate: "remote:s1"},
		{name: "unknown", target: "claude:api", live: of(webC), registered: of(webC), kind: Refuse, why: Phantom},
		{name: "other host", target: "claude:api", live: of("codex:api:aaaaaaaaaaaa"), kind: Refuse, why: Phantom},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Resolve(tt.target, tt.live, tt.registered)
			if got.Kind != tt.kind || got.Why != tt.why || got.LiveCandidate != tt.candidate || !slices.Equal(got.Candidates, tt.candidates) {
				t.Errorf("Resolve(%q, %v, %v)\n got %+v\nwant %s %s %s %v", tt.target, tt.live, tt.registered, got, tt.kind, tt.why, tt.candidate, tt.candidates)
			}
			if (got.Kind == Deliver) != (got.Reason == "") || (got.Kind == Refuse) != (got.Hint != "") {
				t.Errorf("Resolve(%q): a reason for all but deliver and a hint for each refusal, got %+v", tt.target, got)
			}
			if strings.Contains(got.Reason+got.Hint, "idle") {
				t.Errorf("Resolve(%q) tells not live as idle: %+v", tt.target, got)
			}
		})
	}
}

func TestListIsShort(t *testing.T) {
	t.Parallel()
	got := list(slices.Repeat([]address.Instance{apiA}, 300))
	if len(got) > 300 || !strings.HasSuffix(got, "and 292 more") {
		t.Errorf("list of 300: got %q", got)
	}
}
