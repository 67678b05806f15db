package setup

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"tutti/internal/core/canonjson"
)

// YAML writes JSON as YAML that says the same to every reader: each text stands in double quotes, on one line.
func YAML(raw []byte) string {
	var b strings.Builder
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(yamlNode(raw)); err != nil {
		panic(err) // a node of JSON can always be written
	}
	return b.String()
}

// yamlWords are what some readers take for something else than a text.
var yamlWords = []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}

func yamlNode(raw []byte) *yaml.Node {
	switch canonjson.Kind(raw) {
	case canonjson.TypeObject:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for name, value := range canonjson.Members(raw) {
			key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}
			if slices.Contains(yamlWords, strings.ToLower(name)) || !only(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ./-") {
				key.Style = yaml.DoubleQuotedStyle
			}
			n.Content = append(n.Content, key, yamlNode(value))
		}
		return n
	case canonjson.TypeArray:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for e := range canonjson.Elements(raw) {
			n.Content = append(n.Content, yamlNode(e))
		}
		return n
	}
	if text, ok := canonjson.String(raw); ok {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Style: yaml.DoubleQuotedStyle}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: string(canonjson.Compact(raw))}
}
