package settings

import (
	"bytes"

	"github.com/rogpeppe/go-internal/diff"
)

// Diff returns the difference between two texts for people: in the unified form, without names of files; "" when there is none.
// Control characters in the texts are in it as they are.
func Diff(before, after []byte) string {
	text := diff.Diff("", before, "", after)
	if i := bytes.Index(text, []byte("\n@@ ")); i >= 0 { // behind the names
		text = text[i+1:]
	}
	return string(text)
}
