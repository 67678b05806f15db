package setup

import (
	"fmt"
	"strings"
	"unicode"

	"tutti/internal/core/canonjson"
)

// YAML writes JSON as YAML that says the same to every reader: each text stands in double quotes, on one line.
func YAML(raw []byte) string {
	var b strings.Builder
	block(&b, raw, "", "")
	return b.String()
}

// block writes a value whose first line begins with head and whose others begin with indent.
func block(b *strings.Builder, raw []byte, head, indent string) {
	switch canonjson.Kind(raw) {
	case canonjson.TypeObject:
		lead, empty := head, true
		for name, value := range canonjson.Members(raw) {
			b.WriteString(lead + key(name) + ":")
			member(b, value, indent)
			lead, empty = indent, false
		}
		if empty {
			b.WriteString(head + "{}\n")
		}
	case canonjson.TypeArray:
		lead, empty := head, true
		for e := range canonjson.Elements(raw) {
			block(b, e, lead+"- ", indent+"  ")
			lead, empty = indent, false
		}
		if empty {
			b.WriteString(head + "[]\n")
		}
	default:
		b.WriteString(head + scalar(raw) + "\n")
	}
}

// member writes what stands behind a name and its colon.
func member(b *strings.Builder, value []byte, indent string) {
	switch canonjson.Kind(value) {
	case canonjson.TypeObject:
		if len(canonjson.Compact(value)) == 2 {
			b.WriteString(" {}\n")
			return
		}
		b.WriteByte('\n')
		block(b, value, indent+"  ", indent+"  ")
	case canonjson.TypeArray:
		if len(canonjson.Compact(value)) == 2 {
			b.WriteString(" []\n")
			return
		}
		b.WriteByte('\n')
		block(b, value, indent+"  ", indent+"  ")
	default:
		b.WriteString(" " + scalar(value) + "\n")
	}
}

// key is the name of a member: bare where every reader takes it for a text.
func key(name string) string {
	switch strings.ToLower(name) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return quoted(name)
	}
	if only(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ./-") && !strings.HasPrefix(name, "-") {
		return name
	}
	return quoted(name)
}

// scalar writes what is neither an object nor an array.
func scalar(raw []byte) string {
	if text, ok := canonjson.String(raw); ok {
		return quoted(text)
	}
	return string(canonjson.Compact(raw))
}

// quoted writes a text. What cannot be seen is written by its number: in YAML more of it ends a line than in JSON, and a reader may refuse it
// or, as a pair of surrogates, read something else.
func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\U%08X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
