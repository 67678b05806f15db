package cmd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/faces/mcp/server"
)

// TestJSONPage keeps docs/json.md the page that the result types make.
func TestJSONPage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(top, "docs", "json.md")
	want := jsonPage(t)
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the result types say (%v): go test ./internal/faces/cli/cmd -run TestJSONPage -update", path, err)
	}
}

// top is the root of the repository.
var top = filepath.Join("..", "..", "..", "..")

// TestResults has each verb that prints JSON name its result, and each tool.
func TestResults(t *testing.T) {
	t.Parallel()
	for v := range verbs.Of(kit.Tutti | kit.H2A | kit.Cross) {
		if v.Result != nil && v.TextOnly {
			t.Errorf("%s names a result: it is not TextOnly", v.Name)
		}
		if v.Result == nil && !v.TextOnly && !v.Hidden {
			t.Errorf("%s names no result: its row needs Result, or TextOnly", v.Name)
		}
	}
	for _, tool := range server.Tools() {
		if tool.Result == nil {
			t.Errorf("%s names no result", tool.Name)
		}
	}
}

// jsonPage is the page of all results as Markdown.
func jsonPage(t *testing.T) []byte {
	p := &resultPage{t: t, comments: map[string]map[string]map[string]string{}, first: map[reflect.Type]string{}}
	p.b.WriteString("# JSON results\n\n<!-- written by go test ./internal/faces/cli/cmd -run TestJSONPage -update -->\n\n" +
		"What verbs print with `--json`, and what MCP tools answer. Members come in the order of the tables. `a.b` is member `b` of the object `a`,\n" +
		"`a[].b` that of each object in the list `a`. *Always* members are present in each result; *or null* ones can be null;\nall others are absent where they say nothing (empty, 0 or false).\n\n" +
		"In texts that others wrote, characters that steer a terminal are replaced, and the object gets `\"altered\": true`. Under the names `h2a` and\n`h2a_*` texts stay as they are, and these characters are written as escapes.\n\n" +
		"While the halt is on, each MCP answer also has the object `halt`. A tool that fails answers with `error`, and where there is one, `hint`.\n\n## Verbs\n")
	for v := range verbs.Of(kit.Tutti | kit.H2A | kit.Cross) {
		if v.Result != nil && !v.Hidden {
			p.section(v.Called(cmp.Or(v.Under&kit.Tutti, v.Under)), v.Result)
		}
	}
	p.b.WriteString("\n## MCP tools\n")
	for _, tool := range server.Tools() {
		p.section(tool.Name, tool.Result)
	}
	return p.b.Bytes()
}

type resultPage struct {
	t        *testing.T
	b        bytes.Buffer
	comments map[string]map[string]map[string]string // by package, type and field
	first    map[reflect.Type]string                 // the section that shows a type
}

// section is one verb or tool.
func (p *resultPage) section(name string, result any) {
	fmt.Fprintf(&p.b, "\n### %s\n", name)
	all, several := result.(render.OneOf)
	if !several {
		all = render.OneOf{result}
	}
	for n, one := range all {
		if several {
			fmt.Fprintf(&p.b, "\n%s:\n", [...]string{"One of these", "Or"}[min(n, 1)])
		}
		t, list := reflect.TypeOf(one), false
		if t.Kind() == reflect.Slice && t != raw {
			t, list = t.Elem(), true
		}
		p.shape(name, t, list)
	}
}

var raw = reflect.TypeFor[json.RawMessage]()

// shape is one type of a result.
func (p *resultPage) shape(section string, t reflect.Type, list bool) {
	head := "An object"
	if list {
		head = "A list of objects"
	}
	switch {
	case t == raw && list:
		p.b.WriteString("\nA list of JSON values as they are stored on the bus.\n")
	case t == raw:
		p.b.WriteString("\nA JSON value as it is stored on the bus.\n")
	case t.Kind() != reflect.Struct:
		fmt.Fprintf(&p.b, "\nA list of %ss.\n", typeWord(t))
	case p.first[t] != "":
		fmt.Fprintf(&p.b, "\n%s as of [%s](#%s).\n", head, p.first[t], strings.ReplaceAll(p.first[t], " ", "-"))
	default:
		p.first[t] = section
		fmt.Fprintf(&p.b, "\n%s%s.\n\n| member | type | present | meaning |\n| --- | --- | --- | --- |\n", head, markdown(about(p.comment(t, ""))))
		p.rows(t, "", nil)
	}
}

// about is a doc comment of a type from its verb on: "A Row is one job." says ": one job".
func about(doc string) string {
	for _, verb := range []string{" is ", " are ", " says "} {
		if _, rest, ok := strings.Cut(doc, verb); ok {
			rest, _, _ = strings.Cut(rest, ".")
			return ": " + rest
		}
	}
	return ""
}

// rows are the members of a struct, those of objects in it behind them.
func (p *resultPage) rows(t reflect.Type, prefix string, around []reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, set := f.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		if name == "-" || !set && !f.Anonymous {
			continue
		}
		if f.Anonymous && name == "" {
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			p.rows(inner, prefix, around)
			continue
		}
		inner, pointers, suffix := f.Type, 0, ""
		for inner != raw && (inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice) {
			if inner.Kind() == reflect.Slice {
				suffix += "[]"
			} else {
				pointers++
			}
			inner = inner.Elem()
		}
		present := "always"
		switch optional := strings.Contains(options, "omit"); {
		case optional && pointers > 1:
			present = "if any, or null"
		case optional:
			present = "if any"
		case pointers > 0 && suffix == "":
			present = "always, or null"
		}
		word := typeWord(inner)
		if suffix != "" {
			word = "list of " + word + "s"
		}
		fmt.Fprintf(&p.b, "| `%s` | %s | %s | %s |\n", prefix+name, word, present, markdown(cmp.Or(p.comment(t, f.Name), usual[name])))
		if inner.Kind() == reflect.Struct && inner.PkgPath() != "time" && !slices.Contains(around, inner) {
			p.rows(inner, prefix+name+suffix+".", append(slices.Clone(around), t))
		}
	}
}

// usual are the meanings of members that mean the same everywhere.
var usual = map[string]string{
	"ok": "it was done, or nothing is wrong", "id": "its id", "name": "its name", "instance": "the agent", "reason": "why", "why": "why",
	"at": "when", "by": "the agent that did it", "note": "a remark", "remark": "a remark", "warning": "a warning", "path": "a file or folder",
	"entry": "number of the entry in the journal", "omitted": "rows that are too long for an answer", "scope": "the scope",
	"negotiationId": "the negotiation", "state": "its state", "status": "its state", "from": "who or what it comes from", "to": "who or what it goes to",
	"artifactHash": "hash of the artifact", "dossierHash": "hash of the dossier", "since": "since when", "until": "until when", "pid": "process id",
	"error": "what went wrong", "fingerprint": "short form of the public key", "host": "its agent CLI", "machine": "the machine", "cli": "the agent CLI",
	"agent": "the agent", "role": "its role", "version": "its version", "conversation": "id of the conversation", "conversation_id": "id of the conversation",
	"generatedAt": "when it was made", "createdAt": "when it was made", "cwd": "folder in which it runs", "root": "the bus", "thread": "id of the thread",
	"hint": "what to do", "detail": "what there is to say", "count": "how many", "text": "in words", "workspaceId": "the workspace", "project": "the project",
	"halted": "the halt is on", "code": "a word for programs", "sessionId": "id of the session", "command": "what to type",
	"privateKeyPath": "file of the private key", "publicKeyPath": "file of the public key", "counts": "it counts",
	"signed": "it is signed", "roleNotRegistered": "its sender is not registered with that role", "destination": "where it goes",
	"message_type": "what the message is for", "sha256": "hash of the message file", "delivered": "it arrived", "dry_run": "nothing was sent",
	"advice": "remarks", "reasonCode": "a word for programs", "reason_code": "a word for programs", "messages": "the messages", "sequence": "number of the entry in the journal",
}

// typeWord is what JSON calls a type.
func typeWord(t reflect.Type) string {
	switch {
	case t == raw, t.Kind() == reflect.Interface:
		return "value"
	case t.PkgPath() == "time" && t.Name() == "Time":
		return "string"
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	}
	return "number"
}

// comment is the comment on a field of a type, or on the type where there is no field.
func (p *resultPage) comment(t reflect.Type, field string) string {
	pkg := t.PkgPath()
	if pkg == "" {
		return ""
	}
	if p.comments[pkg] == nil {
		p.comments[pkg] = p.read(pkg)
	}
	return p.comments[pkg][t.Name()][field]
}

// read reads the comments in a package.
func (p *resultPage) read(pkg string) map[string]map[string]string {
	all := map[string]map[string]string{}
	files, err := filepath.Glob(filepath.Join(top, filepath.FromSlash(strings.TrimPrefix(pkg, "tutti/")), "*.go"))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			p.t.Fatal(err)
		}
		for _, d := range f.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.TYPE {
				continue
			}
			for _, s := range decl.Specs {
				spec := s.(*ast.TypeSpec)
				of := map[string]string{"": line(decl.Doc.Text())}
				if s, ok := spec.Type.(*ast.StructType); ok {
					for _, field := range s.Fields.List {
						for _, name := range field.Names {
							of[name.Name] = cmp.Or(line(field.Comment.Text()), line(field.Doc.Text()))
						}
					}
				}
				all[spec.Name.Name] = of
			}
		}
	}
	return all
}

func line(text string) string { return strings.Join(strings.Fields(text), " ") }
