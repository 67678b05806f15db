package settings

import (
	"bytes"
	"strings"
	"testing"

	"tutti/internal/agents/driver"
)

// TestLarge: the largest accepted texts are processed quickly, whatever they contain.
func TestLarge(t *testing.T) {
	t.Parallel()
	big := MaxSize - 1<<20
	text := "{\"display\": \"" + strings.Repeat("x{[", 60) + "\"}"
	for name, c := range map[string]struct {
		format driver.Format
		text   string
	}{
		"JSON":           {driver.JSON, "{\"a\": [" + strings.Repeat(text+",\n", big/len(text)) + "1]}"},
		"TOML, keys":     {driver.TOML, strings.Repeat("[[a]]\n", 100_000) + strings.Repeat("# c\n", big/8)},
		"YAML, comments": {driver.YAML, "a: 1\n" + strings.Repeat("# c\n", big/8)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Set(c.format, []byte(c.text), []string{"mcp", "h2a"}, []byte(ours))
			if err != nil || !bytes.Contains(got, []byte("/opt/a b/tutti")) {
				t.Errorf("%v", err)
			}
		})
	}
}
