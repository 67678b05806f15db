package render_test

import (
	"encoding/json"
	"testing"

	"tutti/internal/core/render"
)

// TestJSON: results contain text of others. It must not control a terminal, and is not escaped as for a web page.
func TestJSON(t *testing.T) {
	type result struct {
		Text string          `json:"text"`
		List []string        `json:"list"`
		None *string         `json:"none"`
		Raw  json.RawMessage `json:"raw"`
	}
	got := render.JSON(result{
		"<a href=\"x\">&\u009b31m \u202e \U000e0041 é \U0001F600", render.List[string](nil), render.OrNull(""), json.RawMessage("{ \"b\": \"\u202e<\",\n\"a\": 1.50 }"),
	})
	want := `{"text":"<a href=\"x\">&\u009b31m \u202e \udb40\udc41 é 😀","list":[],"none":null,"raw":{"b":"\u202e<","a":1.50}}`
	if string(got) != want {
		t.Errorf("JSON:\n%s\nwant:\n%s", got, want)
	}
}
