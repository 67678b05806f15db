package hostile_test

import (
	"encoding/json"
	"strings"
	"testing"

	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
	"tutti/internal/test/hostile"
)

// TestTexts: there are enough of them, each once, and cleaning leaves nothing in any that does harm.
func TestTexts(t *testing.T) {
	t.Parallel()
	all := hostile.Texts(t)
	seen := map[string]bool{}
	harmful := 0
	for _, h := range all {
		if seen[h.Text] {
			t.Errorf("%s: twice: %.80q", h.Class, h.Text)
		}
		seen[h.Text] = true
		if hostile.Harm(h.Text) != "" {
			harmful++
		}
		clean, _ := termsafe.Sanitise(h.Text)
		if harm := hostile.Harm(strings.ReplaceAll(clean, "\t", " ")); harm != "" {
			t.Errorf("%s: %.80q becomes %.80q: %s", h.Class, h.Text, clean, harm)
		}
		if twice, altered := termsafe.Sanitise(clean); altered {
			t.Errorf("%s: %.80q is cleaned twice: %.80q, %.80q", h.Class, h.Text, clean, twice)
		}
		if h.Class == "vendortag" && !strings.Contains(clean, "‹") {
			t.Errorf("a tag that is alive: %q", h.Text)
		}
		raw := termsafe.SanitiseJSON([]byte(`{"x":` + string(canonjson.AppendString(nil, h.Text)) + `}`))
		var got struct {
			X       string
			Altered bool
		}
		if err := json.Unmarshal(raw, &got); err != nil || hostile.Harm(strings.ReplaceAll(got.X, "\t", " ")) != "" {
			t.Errorf("%s: %.80q in JSON: %v, %.80q", h.Class, h.Text, err, got.X)
		}
	}
	if len(all) < 267 || harmful < 150 {
		t.Errorf("%d texts, of which %d do harm as they are", len(all), harmful)
	}
}
