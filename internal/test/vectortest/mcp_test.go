package vectortest

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A described is one tool as the server lists it.
type described struct {
	Name, Description string
	InputSchema       struct {
		Type       string
		Properties map[string]json.RawMessage
		Required   []string
	}
	Annotations map[string]bool
}

// serve writes lines to the server and returns its answers.
func (b *bus) serve(t *testing.T, lines string) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	c := exec.Command(b.h2a, "mcp-serve")
	c.Env = []string{asProgram + "=1", "HOME=" + b.home, "H2A_ROOT=" + b.root, "PATH=/usr/bin:/bin"}
	c.Dir, c.Stdin, c.Stdout, c.Stderr = b.home, strings.NewReader(lines), &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("h2a mcp-serve: %v, %s", err, &errs)
	}
	return out.Bytes()
}

// TestVectorsMCP compares what tools/list answers with the table: name, place, arguments with their types, and which of
// them are needed. A tool of later releases is not offered.
func TestVectorsMCP(t *testing.T) {
	var answer struct{ Result struct{ Tools []described } }
	raw := newBus(t).serve(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`+"\n")
	if err := json.Unmarshal(raw, &answer); err != nil {
		t.Fatalf("tools/list: %v: %s", err, raw)
	}
	at, last := map[string]int{}, -1
	for n, tool := range answer.Result.Tools {
		at[tool.Name] = n
	}
	runFile(t, "h2a-mcp-tools", map[string]runner{"h2a-mcp-tools": func(t *testing.T, c kase) {
		var v struct {
			Name       string
			Status     string
			Required   []string
			Properties map[string]string
			ReadOnly   bool `json:"read_only"`

			Order              int             // the place among all tools of the table
			Since, Description string          // for people
			Result             json.RawMessage // for people; the recorded exchanges hold what comes back
			Note               string
		}
		c.into(t, &v)
		n, offered := at[v.Name]
		if v.Status != "0.66" {
			if offered {
				t.Errorf("%s is of a later release and offered", v.Name)
			}
			return
		}
		if !offered || n <= last {
			t.Fatalf("%s: at place %d of what is offered, behind %d", v.Name, n, last)
		}
		last = n
		tool := answer.Result.Tools[n]
		if tool.InputSchema.Type != "object" || !slices.Equal(tool.InputSchema.Required, v.Required) && len(v.Required) > 0 {
			t.Errorf("%s: type %q, required %q; want object, %q", v.Name, tool.InputSchema.Type, tool.InputSchema.Required, v.Required)
		}
		for name, want := range v.Properties {
			if err := typed(tool.InputSchema.Properties[name], want); err != nil {
				t.Errorf("%s, argument %s: %v; want %s", v.Name, name, err, want)
			}
		}
		for name := range tool.InputSchema.Properties {
			if _, known := v.Properties[name]; !known {
				t.Errorf("%s has the argument %s, which is not in the table", v.Name, name)
			}
		}
		if tool.Annotations["readOnlyHint"] != v.ReadOnly || tool.Annotations["destructiveHint"] || tool.Annotations["openWorldHint"] {
			t.Errorf("%s: annotations %v, want readOnlyHint %v and neither of the others", v.Name, tool.Annotations, v.ReadOnly)
		}
	}})
}

// typed compares the schema of an argument with the word of the table: "string", "array<string>", "enum(a,b)",
// "object{scopes:array<string>}", "any".
func typed(raw json.RawMessage, want string) error {
	var s struct {
		Type       string
		Enum       []string
		Items      struct{ Type string }
		Properties map[string]json.RawMessage
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	is := s.Type
	switch {
	case len(s.Enum) > 0:
		is = "enum(" + strings.Join(s.Enum, ",") + ")"
	case s.Type == "array":
		is = "array<" + s.Items.Type + ">"
	case strings.HasPrefix(want, "object{"):
		want = strings.TrimSuffix(strings.TrimPrefix(want, "object{"), "}")
		for part := range strings.SplitSeq(want, ",") {
			name, of, _ := strings.Cut(part, ":")
			if err := typed(s.Properties[name], of); err != nil {
				return err
			}
		}
		return nil
	case is == "":
		is = "any"
	}
	if is != want {
		return errors.New("its schema says " + is)
	}
	return nil
}
