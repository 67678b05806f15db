package wire

import (
	"bytes"
	"context"
	"strconv"

	"tutti/internal/core/canonjson"
	"tutti/internal/core/termsafe"
)

// A Tool is one row of tools/list, and what a call of it does.
type Tool struct {
	Name        string
	Description string
	Schema      []byte // raw JSON of inputSchema, written as it is; nothing is checked against it

	// Whole answers texts of peers as they are, but escaped: what a tool of an existing program gives is read by programs. What any other
	// tool answers is sanitised, because a model reads it.
	Whole bool

	// Unlisted leaves the tool out of tools/list. It still answers calls.
	Unlisted bool

	// The hints of the protocol. All are written for every tool, and openWorldHint is always false: one client runs
	// without asking only tools that are marked read-only, or as neither destructive nor open.
	ReadOnly    bool
	Destructive bool
	Idempotent  bool

	// Call is run in a goroutine of its own. Its context ends when the client cancels the call, and at the end of the
	// connection. A panic in it is answered as an internal error.
	Call func(ctx context.Context, a *Args) Result
}

// Args is what a client sent with a call. The slices belong to the call.
type Args struct {
	Raw  []byte // the arguments object as it was spelled; "{}" when there was none or something else
	Meta []byte // the object params._meta, nil when there was none

	// Progress tells the client how far the call is; total is left out when it is not positive, message when it is
	// empty. It is nil when the client did not ask, and does nothing once the call is answered.
	Progress func(done, total float64, message string)
}

// A Result is what a tool answers.
type Result struct {
	Object []byte // a JSON object; it is an error exactly when it has a member "error"

	// Sent is called when the object has been written, as part of the call, so that a tool can put on record what its client
	// has got before the next request is begun. It is not called when the client has cancelled the call, when the output failed or when
	// another object had to be written instead. It may be nil.
	Sent func()
}

// Error is the result that says what went wrong. The text has to say it in words: two clients show the model nothing else.
func Error(text string) Result {
	return Result{Object: errorObject(text, "")}
}

func errorObject(text, hint string) []byte {
	var o canonjson.Object
	o.Str("error", text)
	o.Opt("hint", hint)
	return o.Bytes()
}

// The parts of a result object. structuredContent stands last, so that without it the bytes are those of the original.
const (
	resultHead   = `{"content":[{"type":"text","text":`
	resultMiddle = `}],"isError":`
	resultObject = `,"structuredContent":`
	resultTail   = `}`

	// longest is all of it but text and object, with the longer of the two truth values.
	longest = len(resultHead) + len(resultMiddle) + len("false") + len(resultTail)
)

// Fits reports whether object may be answered: whether the result with it as text has at most [MaxResult] bytes. Where
// there is room for it a second time, it is added as structuredContent, unless some client could not read it there.
func Fits(object []byte) bool {
	return longest+textSize(object)+growth(object) <= MaxResult
}

// growth is the most by which an object becomes longer when it is made safe, in either way.
func growth(object []byte) (n int) {
	for _, r := range string(object) {
		switch {
		case r == '<':
			n += len("‹") - 1
		case r < 0x7f:
		case termsafe.Unsafe(r):
			n += len(`\\udbff\\udfff`)
		}
	}
	if n > 0 {
		n += bytes.Count(object, []byte{'{'}) * len(`,\"altered\":true`)
	}
	return n
}

// safe is an object as it may be answered.
func (t *Tool) safe(object []byte) []byte {
	if t != nil && t.Whole {
		return termsafe.EscapeJSON(nil, object)
	}
	return termsafe.SanitiseJSON(object)
}

// textSize is the number of bytes of b as a JSON string. b is compact JSON, in which only quotes and backslashes have to be
// escaped.
func textSize(b []byte) int {
	return len(b) + 2 + bytes.Count(b, []byte{'"'}) + bytes.Count(b, []byte{'\\'})
}

// envelop makes the result object of a call of the tool, nil for one that is not known. why is not empty when the tool's object could not be
// used.
func envelop(name string, t *Tool, r Result) (result []byte, why string) {
	object, failed, why := judge(name, t.safe(r.Object))
	size := longest + textSize(object)
	result = make([]byte, 0, size+len(resultObject)+len(object))
	result = append(result, resultHead...)
	result = appendText(result, object)
	result = append(result, resultMiddle...)
	result = strconv.AppendBool(result, failed)
	if size+len(resultObject)+len(object) <= MaxResult && plain(object) {
		result = append(result, resultObject...)
		result = append(result, object...)
	}
	return append(result, resultTail...), why
}

// judge returns the object that is written for what a tool answered.
func judge(tool string, object []byte) (_ []byte, failed bool, why string) {
	var member [1][]byte
	if !canonjson.Pick(object, []string{"error"}, member[:]) {
		why = "the answer is not a JSON object"
		return errorObject(tool+": internal error: "+why, ""), true, why
	}
	if bytes.ContainsAny(object, "\n\r\t") {
		object = canonjson.Compact(object)
	}
	if n := longest + textSize(object); n > MaxResult {
		why = "the answer has " + strconv.Itoa(n) + " bytes, and a result may have " + strconv.Itoa(MaxResult)
		return errorObject(tool+": "+why, "ask for less at a time"), true, why
	}
	return object, member[0] != nil, ""
}

// appendText appends compact JSON as a JSON string.
func appendText(dst, b []byte) []byte {
	dst = append(dst, '"')
	for {
		n := bytes.IndexAny(b, `"\`)
		if n < 0 {
			return append(append(dst, b...), '"')
		}
		dst = append(dst, b[:n]...)
		dst = append(dst, '\\', b[n])
		b = b[n+1:]
	}
}
