package wire

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"tutti/internal/core/canonjson"
)

const (
	parseError   = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error","data":"*"}}`
	emptyCall    = `{"content":[{"type":"text","text":"{}"}],"isError":false,"structuredContent":{}}`
	unnamedCall  = `{"content":[{"type":"text","text":"{\"error\":\"unknown tool: \"}"}],"isError":true,"structuredContent":{"error":"unknown tool: "}}`
	helloBehind  = `","serverInfo":{"name":"test","version":"1.2.3"},"capabilities":{"tools":{}}}}`
	listOfEcho   = `{"tools":[{"name":"echo","description":"gives back","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":false,"openWorldHint":false}}]}`
	askForAnswer = `{"jsonrpc":"2.0","id":%s,"method":"ping"}`
)

func invalid(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32600,"message":"Invalid Request"}}`
}

func unknown(id, method string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32601,"message":"Method not found: ` + method + `"}}`
}

func result(id, object string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":` + object + `}`
}

func hello(id, version string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":{"protocolVersion":"` + version + helloBehind
}

// Each line has its answer, or none. All of them go through one server, in one piece: whatever came before, the next line
// is answered. "*" in an answer stands for any text.
var lineTable = []struct{ what, line, answer string }{
	// What is not valid JSON.
	{"words", `hello`, parseError},
	{"half an object", `{"jsonrpc":"2.0","id":1,"method":"ping"`, parseError},
	{"two values", `{"jsonrpc":"2.0","id":1,"method":"ping"} {}`, parseError},
	{"single quotes", `{'jsonrpc':'2.0','id':1,'method':'ping'}`, parseError},
	{"trailing comma", `{"jsonrpc":"2.0","id":1,"method":"ping",}`, parseError},
	{"no UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}", parseError},
	{"a control character in a string", "{\"jsonrpc\":\"2.0\",\"id\":\"\x01\",\"method\":\"ping\"}", parseError},
	{"a header of the other framing", `Content-Length: 52`, parseError},
	{"deeper than is read", strings.Repeat("[", 5000) + strings.Repeat("]", 5000), parseError},
	{"open brackets only", strings.Repeat("[", 100000), parseError},
	{"deep params", `{"jsonrpc":"2.0","id":1,"method":"ping","params":` + strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000) + `}`, parseError},

	// White space.
	{"an empty line", ``, ``},
	{"blanks", "  \t ", ``},
	{"CRLF", `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\r", result("1", "{}")},
	{"blanks around", "  {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"} \t", result("2", "{}")},
	{"blanks within", `{ "jsonrpc" : "2.0" , "id" : 3 , "method" : "ping" }`, result("3", "{}")},
	{"a byte order mark", "\uFEFF" + `{"jsonrpc":"2.0","id":4,"method":"ping"}`, result("4", "{}")},

	// What has no id is never answered.
	{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, ``},
	{"an empty batch", `[]`, ``},
	{"null", `null`, ``},
	{"a number", `17`, ``},
	{"a string", `"ping"`, ``},
	{"an empty object", `{}`, ``},
	{"initialized", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, ``},
	{"cancelled, nothing in hand", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`, ``},
	{"cancelled without params", `{"jsonrpc":"2.0","method":"notifications/cancelled"}`, ``},
	{"cancelled with a wrong id", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{"a":[]}}}`, ``},
	{"roots", `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, ``},
	{"progress without params", `{"jsonrpc":"2.0","method":"notifications/progress"}`, ``},
	{"an unknown notification", `{"jsonrpc":"2.0","method":"no/such"}`, ``},
	{"a call without id", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}`, ``},
	{"initialize without id", `{"jsonrpc":"2.0","method":"initialize"}`, ``},
	{"a wrong version without id", `{"jsonrpc":"1.0","method":"ping"}`, ``},
	{"a wrong method without id", `{"jsonrpc":"2.0","method":7}`, ``},
	{"no version without id", `{"method":"ping"}`, ``},

	// Answers to what we did not ask.
	{"a result", `{"jsonrpc":"2.0","id":1,"result":{}}`, ``},
	{"an error", `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`, ``},
	{"an error without id", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`, ``},
	{"a result of no version", `{"id":"x","result":null}`, ``},

	// Ids come back as they were spelled.
	{"id null", fmt.Sprintf(askForAnswer, "null"), result("null", "{}")},
	{"id 0", fmt.Sprintf(askForAnswer, "0"), result("0", "{}")},
	{"id -0", fmt.Sprintf(askForAnswer, "-0"), result("-0", "{}")},
	{"id 1.50", fmt.Sprintf(askForAnswer, "1.50"), result("1.50", "{}")},
	{"id 1e400", fmt.Sprintf(askForAnswer, "1e400"), result("1e400", "{}")},
	{"a large id", fmt.Sprintf(askForAnswer, "9007199254740993"), result("9007199254740993", "{}")},
	{"a very large id", fmt.Sprintf(askForAnswer, "123456789012345678901234567890"), result("123456789012345678901234567890", "{}")},
	{"an empty id", fmt.Sprintf(askForAnswer, `""`), result(`""`, "{}")},
	{"an escaped id", fmt.Sprintf(askForAnswer, `"\u0061\/\ud800"`), result(`"\u0061\/\ud800"`, "{}")},
	{"an id beyond ASCII", fmt.Sprintf(askForAnswer, `"é🎈"`), result(`"é🎈"`, "{}")},
	{"an object as id", fmt.Sprintf(askForAnswer, `{"a":[1]}`), result(`{"a":[1]}`, "{}")},
	{"true as id", fmt.Sprintf(askForAnswer, `true`), result(`true`, "{}")},
	{"two ids", `{"id":1,"jsonrpc":"2.0","id":2,"method":"ping"}`, result("2", "{}")},

	// What is no request.
	{"no version", `{"id":1,"method":"ping"}`, invalid("1")},
	{"version 1.0", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, invalid("1")},
	{"version as a number", `{"jsonrpc":2.0,"id":1,"method":"ping"}`, invalid("1")},
	{"no method", `{"jsonrpc":"2.0","id":1}`, invalid("1")},
	{"a number as method", `{"jsonrpc":"2.0","id":"a","method":7}`, invalid(`"a"`)},
	{"null as method", `{"jsonrpc":"2.0","id":null,"method":null}`, invalid("null")},
	{"a method and a result", `{"jsonrpc":"2.0","id":5,"method":"ping","result":{}}`, result("5", "{}")},

	// Methods that are not there.
	{
		"server/discover", `{"jsonrpc":"2.0","id":"server-discover-probe-1","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
		unknown(`"server-discover-probe-1"`, "server/discover"),
	},
	{"resources", `{"jsonrpc":"2.0","id":1,"method":"resources/list"}`, unknown("1", "resources/list")},
	{"resource templates", `{"jsonrpc":"2.0","id":1,"method":"resources/templates/list"}`, unknown("1", "resources/templates/list")},
	{"subscriptions", `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{}}`, unknown("1", "subscriptions/listen")},
	{"prompts", `{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`, unknown("1", "prompts/list")},
	{"logging", `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}`, unknown("1", "logging/setLevel")},
	{"completion", `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{}}`, unknown("1", "completion/complete")},
	{"initialized as a request", `{"jsonrpc":"2.0","id":1,"method":"notifications/initialized"}`, unknown("1", "notifications/initialized")},
	{"cancelled as a request", `{"jsonrpc":"2.0","id":1,"method":"notifications/cancelled","params":{"requestId":1}}`, unknown("1", "notifications/cancelled")},
	{"the empty method", `{"jsonrpc":"2.0","id":1,"method":""}`, unknown("1", "")},
	{"another case", `{"jsonrpc":"2.0","id":1,"method":"Ping"}`, unknown("1", "Ping")},
	{"a method with marks", `{"jsonrpc":"2.0","id":1,"method":"a\"\\\u0007\ud800"}`, unknown("1", `a\"\\\u0007\ud800`)},
	{"a long method", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("é", 500) + `"}`, unknown("1", strings.Repeat("é", 100)+"…")},

	// The methods that are there, in any order.
	{"call before initialize", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`, result("1", emptyCall)},
	{"list before initialize", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, result("1", listOfEcho)},
	{"list with a cursor", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`, result("1", listOfEcho)},
	{"list with wrong params", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}`, result("1", listOfEcho)},
	{"initialize", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, hello("1", "2024-11-05")},
	{"initialize again", `{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`, hello("2", "2025-11-25")},
	{"initialize 2025-03-26", `{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}`, hello("2", "2025-03-26")},
	{"initialize 2025-06-18", `{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`, hello("2", "2025-06-18")},
	{"initialize 2026-07-28", `{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2026-07-28"}}`, hello("2", "2025-06-18")},
	{"initialize with the version of later ones in _meta", `{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, hello("2", "2025-11-25")},
	{"initialize with nothing", `{"jsonrpc":"2.0","id":2,"method":"initialize"}`, hello("2", "2025-06-18")},
	{"initialize with null", `{"jsonrpc":"2.0","id":2,"method":"initialize","params":null}`, hello("2", "2025-06-18")},
	{"initialize with a number", `{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":7}}`, hello("2", "2025-06-18")},
	{"ping with params", `{"jsonrpc":"2.0","id":2,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, result("2", "{}")},

	// What a call may bring.
	{"arguments", callLine(1, "echo", `{"b":1.0,"a":[ ]}`), result("1", `{"content":[{"type":"text","text":"{\"b\":1.0,\"a\":[ ]}"}],"isError":false,"structuredContent":{"b":1.0,"a":[ ]}}`)},
	{"no arguments", callLine(1, "echo", ``), result("1", emptyCall)},
	{"null", callLine(1, "echo", `null`), result("1", emptyCall)},
	{"an array", callLine(1, "echo", `[1]`), result("1", emptyCall)},
	{"text", callLine(1, "echo", `"{}"`), result("1", emptyCall)},
	{"a number as name", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}`, result("1", unnamedCall)},
	{"no name", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`, result("1", unnamedCall)},
	{"no params", `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, result("1", unnamedCall)},
	{"params are not an object", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"echo"}`, result("1", unnamedCall)},
	{"an unknown tool", callLine(1, "nope", `{}`), resultOf(1, `{"error":"unknown tool: nope"}`)},
	{"a tool with marks", callLine(1, "a\"b", `{}`), result("1", `{"content":[{"type":"text","text":"{\"error\":\"unknown tool: a\\\"b\"}"}],"isError":true,"structuredContent":{"error":"unknown tool: a\"b"}}`)},
	{"the version of later ones in _meta", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, result("1", emptyCall)},
	{"an error object", callLine(1, "echo", `{"error":"no"}`), resultOf(1, `{"error":"no"}`)},
	{"an error that is null", callLine(1, "echo", `{"error":null}`), resultOf(1, `{"error":null}`)},
	{"an error further down", callLine(1, "echo", `{"a":{"errors":1}}`), resultOf(1, `{"a":{"errors":1}}`)},
	{"lone surrogates", callLine(1, "echo", `{"\ud800":"\udfff"}`), result("1", `{"content":[{"type":"text","text":"{\"\\ud800\":\"\\udfff\"}"}],"isError":false}`)},
	{"a member twice", callLine(1, "echo", `{"a":1,"a":2}`), resultOf(1, `{"a":1,"a":2}`)},
}

func TestLines(t *testing.T) {
	t.Parallel()
	p := serve(t)
	for _, c := range lineTable {
		p.send(c.line)
		if c.answer == "" {
			p.quiet()
			continue
		}
		if got := p.next(); !like(got, c.answer) {
			t.Errorf("%s:\nline %.300s\ngot  %.600s\nwant %.600s", c.what, c.line, got, c.answer)
		}
	}
	p.quiet()
	if err := p.end(); err != nil {
		t.Errorf("Run: %v", err)
	}
}

// The same lines at once, in one write and without a last line feed, are answered in their order.
func TestLinesAtOnce(t *testing.T) {
	t.Parallel()
	p := serve(t)
	var all, want []string
	for _, c := range lineTable {
		all = append(all, c.line)
		if c.answer != "" {
			want = append(want, c.answer)
		}
	}
	go func() {
		_, _ = p.in.Write([]byte(strings.Join(all, "\n")))
		_ = p.in.Close()
	}()
	for _, w := range want {
		if got := p.next(); !like(got, w) {
			t.Fatalf("got  %.600s\nwant %.600s", got, w)
		}
	}
	if err := p.wait(); err != nil {
		t.Errorf("Run: %v", err)
	}
}

// like reports whether got is want, in which one "*" stands for any text that does not end the string.
func like(got, want string) bool {
	before, after, open := strings.Cut(want, "*")
	if !open {
		return got == want
	}
	return strings.HasPrefix(got, before) && strings.HasSuffix(got, after) && len(got) > len(want) && canonjson.Valid([]byte(got))
}

func TestActivityPerLine(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.send(`bad`, ``, `  `, `[]`, `{"jsonrpc":"2.0","method":"x"}`)
	p.want(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error","data":"JSON at byte 0: here should be a value"}}`)
	p.quiet()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen != 4 {
		t.Errorf("the hook saw %d lines, want 4", p.seen)
	}
}

func TestLongLine(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.send(strings.Repeat("x", MaxLine+1) + `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	p.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error","data":"the line has more than %d bytes"}}`, MaxLine))
	p.quiet()

	// One that just fits is read.
	line := callLine(7, "length", `{"a":""}`)
	line = strings.Replace(line, `""`, `"`+strings.Repeat("y", MaxLine-len(line)-1)+`"`, 1)
	p.send(line)
	p.want(resultOf(7, `{"error":"unknown tool: length"}`))
	if err := p.end(); err != nil {
		t.Errorf("Run: %v", err)
	}
}

func TestLineReaderLimit(t *testing.T) {
	t.Parallel()
	r := newLineReader(&endless{n: 1 << 26}, 1<<20)
	line, long, err := r.next()
	if len(line) != 0 || !long || err != nil {
		t.Fatalf("64 MiB without a line feed: %d bytes, long %v, %v", len(line), long, err)
	}
}

// endless is a reader of n bytes that are no line feed.
type endless struct{ n int }

func (e *endless) Read(b []byte) (int, error) {
	if e.n <= 0 {
		return 0, io.EOF
	}
	n := min(len(b), e.n)
	e.n -= n
	for i := range b[:n] {
		b[i] = 'x'
	}
	return n, nil
}
