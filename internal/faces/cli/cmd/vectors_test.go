package cmd

import (
	"encoding/json"
	"os"
	"testing"

	"tutti/internal/faces/cli/kit"
)

// TestVerbsOfH2A: under the name of the older program each verb accepts that program's flags, with or without a value.
func TestVerbsOfH2A(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../../../testdata/vectors/h2a-cli-verbs.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Verb  string
		Flags struct{ Required, Optional, Switches []string }
	}
	if err := json.Unmarshal(data, &rows); err != nil {
		t.Fatal(err)
	}
	known := 0
	for _, row := range rows {
		var v *kit.Verb
		for one := range verbs.Of(kit.H2A) {
			if one.Name == row.Verb {
				v = one
			}
		}
		if v == nil {
			continue
		}
		known++
		for _, name := range append(row.Flags.Required, row.Flags.Optional...) {
			if place := v.Flag(kit.H2A, name); place < 0 || v.At(place).Kind < kit.Text {
				t.Errorf("%s --%s: should take a value", row.Verb, name)
			}
		}
		for _, name := range row.Flags.Switches {
			if place := v.Flag(kit.H2A, name); place < 0 || v.At(place).Kind >= kit.Text {
				t.Errorf("%s --%s: should be a switch", row.Verb, name)
			}
		}
	}
	if known < 3 {
		t.Errorf("only %d verbs of the vectors are in the table: was a file or a name changed?", known)
	}
}
