package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tutti/internal/agents/driver"
)

// Whatever is changed or taken out within an entry: the remarks around it, and what is not changed, are there afterwards.
func TestTurnProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		remarks := 0
		var kept []string
		ws := func() string {
			switch rapid.IntRange(0, 5).Draw(t, "ws") {
			case 0:
				remarks++
				kept = append(kept, fmt.Sprintf("/* r%d */", remarks))
				return kept[len(kept)-1]
			case 1:
				remarks++
				kept = append(kept, fmt.Sprintf("// r%d", remarks))
				return " " + kept[len(kept)-1] + "\n    "
			case 2:
				return "\n  "
			}
			return ""
		}
		comma := func(last bool) string {
			if last && rapid.Bool().Draw(t, "trailing") {
				return ""
			}
			return ","
		}
		var text strings.Builder
		var want []any
		text.WriteString(`{"l": [` + ws())
		n := rapid.IntRange(1, 3).Draw(t, "entries")
		for i := range n {
			// An entry is a table with a list of commands, of which some change and some go.
			var list []any
			text.WriteString(`{` + ws() + `"h":` + " [")
			m := rapid.IntRange(0, 4).Draw(t, "commands")
			for k := range m {
				id := float64(10*i + k)
				switch rapid.IntRange(0, 3).Draw(t, "fate") {
				case 0: // goes
					fmt.Fprintf(&text, `{"c": "old", "n": %v}`, id)
				case 1: // changes; which of two becomes a new one is not told, so it has no remark within
					text.WriteString(ws())
					fmt.Fprintf(&text, `{"c": "old", "n":%v}`, id)
					list = append(list, map[string]any{"c": "new", "n": id})
				default: // stays
					raw := fmt.Sprintf(`{"c":  "theirs",%s"n":%v}`, ws(), id)
					kept = append(kept, raw)
					text.WriteString(ws() + raw)
					list = append(list, map[string]any{"c": "theirs", "n": id})
				}
				text.WriteString(comma(k == m-1) + ws())
			}
			text.WriteString(`], "x": 1` + ws() + `}` + comma(i == n-1) + ws())
			if list == nil {
				list = []any{}
			}
			want = append(want, map[string]any{"h": list, "x": 2.0})
		}
		text.WriteString(`]}`)
		var entries [][]byte
		for _, w := range want {
			raw, err := json.Marshal(w)
			if err != nil {
				t.Fatal(err)
			}
			entries = append(entries, raw)
		}
		got, err := SetListEntries(driver.JSON, []byte(text.String()), []string{"l"}, func([]byte) bool { return true }, entries)
		if err != nil {
			t.Fatalf("%v\n%s", err, text.String())
		}
		compact, _, err := Get(driver.JSON, got, []string{"l"})
		var now []any
		if err2 := json.Unmarshal(compact, &now); err != nil || err2 != nil || !reflect.DeepEqual(now, want) {
			t.Fatalf("%v, %v\n%s\n%s", err, err2, text.String(), got)
		}
		for _, k := range kept {
			if !bytes.Contains(got, []byte(k)) {
				t.Fatalf("%s is gone\n%s\n%s", k, text.String(), got)
			}
		}
	})
}
