package declaration

import (
	"strings"
	"testing"
)

// TestExamples: each printed example is accepted unchanged, as the kind that was asked for.
func TestExamples(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{Contract, Policy, Engagement, Amendment, Mandate, Authority, EnforcementPlan} {
		text := Example(kind)
		if got := KindOf([]byte(text)); got != kind {
			t.Errorf("%s: the example is a %q", kind, got)
		}
		if faults := Guard([]byte(text)); len(faults) > 0 {
			t.Errorf("%s: %q", kind, faults)
		}
		if issues := Separate([]byte(text)).Issues; (kind == Contract || kind == Policy || kind == Engagement) && len(issues) > 0 {
			t.Errorf("%s: %q", kind, issues)
		}
		if !strings.HasSuffix(text, "}\n") {
			t.Errorf("%s: ends as %q", kind, text[len(text)-3:])
		}
	}
	if got := Example("SIGNATURE") + Example("contract"); got != "" {
		t.Errorf("no kind with an example: %q", got)
	}
}
