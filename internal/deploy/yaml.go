package deploy

import (
	"strings"

	"tutti/internal/canonjson"
)

// YAML writes JSON as YAML that says the same to every reader: each text stands in double quotes, as JSON has it.
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
		b.WriteString(head + string(canonjson.Compact(raw)) + "\n")
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
		b.WriteString(" " + string(canonjson.Compact(value)) + "\n")
	}
}

// key is the name of a member: bare where every reader takes it for a text.
func key(name string) string {
	switch strings.ToLower(name) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return string(canonjson.AppendString(nil, name))
	}
	if only(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ./-") && !strings.HasPrefix(name, "-") {
		return name
	}
	return string(canonjson.AppendString(nil, name))
}
