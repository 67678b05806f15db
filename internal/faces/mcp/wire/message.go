package wire

import (
	"strconv"

	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
)

// The methods that exist. The SDK knows more, and they are answered as unknown.
const (
	methodInitialize = "initialize"
	methodPing       = "ping"
	methodList       = "tools/list"
	methodCall       = "tools/call"

	noteCancelled   = "notifications/cancelled"
	noteInitialized = "notifications/initialized"
	noteProgress    = "notifications/progress"
)

// Codes of JSON-RPC.
const (
	codeParse    = -32700
	codeInvalid  = -32600
	codeUnknown  = -32601
	codeInternal = -32603
)

// A kind says what becomes of a line.
type kind uint8

const (
	kindSilent  kind = iota // nothing
	kindNote                // a notification
	kindRequest             // a request with a method that exists
	kindParse               // the three errors
	kindInvalid
	kindUnknown
)

// A message is a line that has been understood. All slices lie in the line.
type message struct {
	id     []byte
	method string
	params []byte
}

var envelopeMembers = []string{"jsonrpc", "id", "method", "params", "result", "error"}

// classify reads a line that is not empty.
func classify(line []byte) (m message, k kind) {
	var v [6][]byte
	if !canonjson.Pick(line, envelopeMembers, v[:]) {
		if canonjson.Valid(line) {
			return m, kindSilent
		}
		return m, kindParse
	}
	m.id, m.params = v[1], v[3]
	method, named := canonjson.String(v[2])
	m.method = method
	sound := named && canonjson.Is(v[0], "2.0")
	switch {
	case m.id == nil && sound:
		return m, kindNote
	case m.id == nil:
		return m, kindSilent
	case v[2] == nil && (v[4] != nil || v[5] != nil):
		return m, kindSilent
	case !sound:
		return m, kindInvalid
	}
	switch method {
	case methodInitialize, methodPing, methodList, methodCall:
		return m, kindRequest
	}
	return m, kindUnknown
}

// why says what is wrong with a line of invalid JSON.
func why(line []byte) string {
	if err := canonjson.Check(line); err != nil {
		return err.Error()
	}
	return "no JSON"
}

// failureLine is a whole answer that is an error. id is raw; data is left out when it is empty.
func failureLine(id []byte, code int, text, data string) []byte {
	b := make([]byte, 0, 96+len(id)+len(text)+len(data))
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(b, id...)
	b = append(b, `,"error":{"code":`...)
	b = strconv.AppendInt(b, int64(code), 10)
	b = append(b, `,"message":`...)
	b = canonjson.AppendString(b, text)
	if data != "" {
		b = append(b, `,"data":`...)
		b = canonjson.AppendString(b, data)
	}
	return append(b, "}}\n"...)
}

// resultLine is a whole answer.
func resultLine(id, result []byte) []byte {
	b := make([]byte, 0, 40+len(id)+len(result))
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(b, id...)
	b = append(b, `,"result":`...)
	b = append(b, result...)
	return append(b, "}\n"...)
}

// noteLine is a whole notification. params is raw and one line; nil leaves it out.
func noteLine(method string, params []byte) []byte {
	b := make([]byte, 0, 48+len(method)+len(params))
	b = append(b, `{"jsonrpc":"2.0","method":`...)
	b = canonjson.AppendString(b, method)
	if params != nil {
		b = append(b, `,"params":`...)
		b = append(b, params...)
	}
	return append(b, "}\n"...)
}

func unknownMethod(method string) string { return "Method not found: " + shorten(method, maxMethod) }

// shorten cuts s to at most that many bytes, between characters.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return termsafe.Head(s, most) + "…"
}
