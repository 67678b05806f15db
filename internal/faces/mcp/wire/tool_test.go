package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tutti/internal/test/boundtest"
)

// written is the result object of an answer.
func written(t *testing.T, line string) []byte {
	t.Helper()
	var a struct {
		Result json.RawMessage
	}
	if err := json.Unmarshal([]byte(line), &a); err != nil {
		t.Fatalf("%v in %.300s", err, line)
	}
	return a.Result
}

// Around both limits: with structuredContent, without, and not at all. What is written never exceeds MaxResult.
func TestResultSizes(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{`x`, `é`, `\"`, `\\`, `"",""`} {
		p := serve(t)
		seen := map[string]int{}
		for n := 1000; n < 14000; n = next(n) {
			text := strings.Repeat(unit, n/len(unit))
			object := `{"a":"` + text + `"}`
			if unit == `"",""` {
				object = `{"a":["",` + strings.Repeat(`"",`, n/3) + `""]}`
			}
			p.send(callLine(1, "echo", object))
			got := written(t, p.next())
			var r struct {
				Content []struct{ Type, Text string }
				Struct  json.RawMessage `json:"structuredContent"`
				IsError *bool           `json:"isError"`
			}
			if err := json.Unmarshal(got, &r); err != nil {
				t.Fatal(err)
			}
			what := "replaced"
			switch {
			case len(r.Content) != 1 || r.Content[0].Type != "text" || r.IsError == nil:
				t.Fatalf("%d of %q: %.300s", n, unit, got)
			case r.Content[0].Text == object && !*r.IsError && r.Struct == nil:
				what = "text"
			case r.Content[0].Text == object && !*r.IsError && string(r.Struct) == object:
				what = "both"
			case !*r.IsError || string(r.Struct) != r.Content[0].Text || !strings.Contains(r.Content[0].Text, "bytes, and a result may have 12000"):
				t.Fatalf("%d of %q: %.300s", n, unit, got)
			}
			seen[what]++
			if len(got) > MaxResult {
				t.Errorf("%d of %q: %d bytes", n, unit, len(got))
			}
			if fits := Fits([]byte(object)); fits != (what != "replaced") {
				t.Errorf("%d of %q: Fits is %v, and the object was: %s", n, unit, fits, what)
			}
			// Nothing is left out that there was room for.
			if what == "text" && len(got)+len(resultObject)+len(object) <= MaxResult {
				t.Errorf("%d of %q: %d bytes, without structuredContent of %d", n, unit, len(got), len(object))
			}
		}
		if len(seen) != 3 {
			t.Errorf("%q: only %v was seen", unit, seen)
		}
		if !strings.Contains(p.logged(), "echo: the answer has") {
			t.Errorf("%q: nothing was logged about what was replaced", unit)
		}
	}
}

// next goes in small steps where the limits lie, and in large ones elsewhere.
func next(n int) int {
	if boundtest.Race {
		return n + 500 // the sizes change nothing about the goroutines
	}
	for _, limit := range []int{5900, 3950, 11850, 5920, 7850} {
		if n > limit-100 && n < limit+120 {
			return n + 1
		}
	}
	return n + 57
}

func TestInvalidToolAnswers(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"nothing": "", "null": "null", "array": "[1]", "broken": `{"a":`, "two": `{} {}`, "text": "no JSON",
	}
	var tools []Tool
	for name, answer := range answers {
		tools = append(tools, Tool{Name: name, Schema: object, Call: func(context.Context, *Args) Result { return Result{Object: []byte(answer)} }})
	}
	p := serve(t, tools...)
	for name := range answers {
		p.send(callLine(name, name, ""))
		p.want(resultOf(name, `{"error":"`+name+`: internal error: the answer is not a JSON object"}`))
	}
	if got := strings.Count(p.logged(), "not a JSON object"); got != len(answers) {
		t.Errorf("%d lines were logged, want %d", got, len(answers))
	}
}

func TestAnswerIsOneLine(t *testing.T) {
	t.Parallel()
	p := serve(t, Tool{Name: "pretty", Schema: object, Call: func(context.Context, *Args) Result {
		return Result{Object: []byte("{\n\t\"a\": [\r\n 1 ]\n}\n")}
	}})
	p.send(callLine(1, "pretty", ""))
	p.want(resultOf(1, `{"a":[1]}`))
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		got  Result
		want string
	}{
		{Error("no such message"), `{"error":"no such message"}`},
		{Error("a \"b\" \n"), `{"error":"a \"b\" \n"}`},
	} {
		if string(c.got.Object) != c.want {
			t.Errorf("got %s, want %s", c.got.Object, c.want)
		}
	}
}

// The failures of tools are results; a panic is an error of the protocol, and nothing else is lost by it.
func TestPanic(t *testing.T) {
	t.Parallel()
	p := serve(t,
		Tool{Name: "panic", Schema: object, Call: func(context.Context, *Args) Result { panic("on \"purpose\"") }},
		Tool{Name: "nil", Schema: object, Call: func(_ context.Context, a *Args) Result { a.Progress(1, 2, ""); return Result{} }},
		Tool{Name: "missing", Schema: object})
	p.send(callLine(1, "panic", ""))
	p.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error: panic: on \"purpose\""}}`)
	for _, name := range []string{"nil", "missing"} {
		p.send(callLine(2, name, ""))
		p.want(`{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"Internal error: panic: runtime error: invalid memory address or nil pointer dereference"}}`)
	}
	p.send(callLine(3, "echo", `{"still":"here"}`))
	p.want(resultOf(3, `{"still":"here"}`))
	if err := p.end(); err != nil {
		t.Errorf("Run: %v", err)
	}
	if log := p.logged(); strings.Count(log, "internal error in tools/call") != 3 || !strings.Contains(log, "tool_test.go") {
		t.Errorf("the log does not say what happened and where:\n%s", log)
	}
	for _, line := range strings.Split(p.logged(), "\n") {
		if len(line) > 500 {
			t.Errorf("a line of the log has %d bytes", len(line))
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	schema := `{"type":"object","properties":{"z":{"type":"string"},"a":{"enum":[1.50,2]}},"required":["z"]}`
	var tools []Tool
	for _, name := range []string{"zebra", "ant", "mid"} {
		tools = append(tools, Tool{Name: name, Description: "about " + name, Schema: []byte(schema), Destructive: name == "ant", Idempotent: name == "mid", Call: echo})
	}
	tools = append(tools, Tool{Name: "ant", Description: "another one", Schema: object},
		Tool{Name: "spaced", Schema: []byte("{\n  \"type\": \"object\"\n}\n"), Call: echo},
		Tool{Name: "wrong", Schema: []byte("{"), Call: echo})
	p := serve(t, tools...)
	row := func(name, schema string, read, destroy, again bool) string {
		about := ""
		switch name {
		case "echo":
			about = "gives back"
		case "zebra", "ant", "mid":
			about = "about " + name
		}
		return fmt.Sprintf(`{"name":"%s","description":"%s","inputSchema":%s,"annotations":{"readOnlyHint":%t,"destructiveHint":%t,"idempotentHint":%t,"openWorldHint":false}}`,
			name, about, schema, read, destroy, again)
	}
	p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	p.want(`{"jsonrpc":"2.0","id":1,"result":{"tools":[` + strings.Join([]string{
		row("echo", `{"type":"object"}`, true, false, false),
		row("zebra", schema, false, false, false),
		row("ant", schema, false, true, false),
		row("mid", schema, false, false, true),
		row("spaced", `{"type":"object"}`, false, false, false),
		row("wrong", `{"type":"object"}`, false, false, false),
	}, ",") + `]}}`)
	if log := p.logged(); !strings.Contains(log, `two tools are called "ant"`) || !strings.Contains(log, `schema of tool "wrong"`) {
		t.Errorf("log: %s", log)
	}
}

func TestHello(t *testing.T) {
	t.Parallel()
	p := serveWith(t, Options{Instructions: "Ask \"peers\" first.\n", Experimental: map[string]any{"claude/channel": map[string]any{}}})
	p.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
	p.want(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"test","version":"1.2.3"},` +
		`"capabilities":{"tools":{},"experimental":{"claude/channel":{}}},"instructions":"Ask \"peers\" first.\n"}}`)
}

// TestMetaAndProgress: a call's other members are passed on byte for byte.
func TestMetaAndProgress(t *testing.T) {
	t.Parallel()
	var late func(float64, float64, string)
	p := serve(t, Tool{Name: "steps", Schema: object, Call: func(_ context.Context, a *Args) Result {
		if a.Progress != nil {
			a.Progress(1, 3, "first")
			a.Progress(2.5, 0, "")
			late = a.Progress
		}
		if a.Meta == nil {
			return Result{Object: []byte(`{"meta":null}`)}
		}
		return Result{Object: fmt.Appendf(nil, `{"meta":%s}`, a.Meta)}
	}})
	for _, c := range []struct{ meta, token string }{
		{`{"progressToken":"a\u0062","sessionId":12345678901234567890}`, `"a\u0062"`},
		{`{"progressToken":12345678901234567890}`, `12345678901234567890`},
		{`{"progressToken":0}`, `0`},
		{`{"progressToken":null}`, ``},
		{`{"progressToken":{}}`, ``},
		{`{"a":1}`, ``},
		{`[]`, ``},
		{``, ``},
	} {
		with := ""
		if c.meta != "" {
			with = `,"_meta":` + c.meta
		}
		p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"steps"` + with + `}}`)
		if c.token != "" {
			p.want(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`+c.token+`,"progress":1,"total":3,"message":"first"}}`,
				`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`+c.token+`,"progress":2.5}}`)
		}
		meta := c.meta
		if meta == "" || meta == "[]" {
			meta = "null"
		}
		p.want(resultOf(1, `{"meta":`+meta+`}`))
	}
	late(9, 9, "too late")
	p.quiet()
}
