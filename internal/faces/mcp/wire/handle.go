package wire

import (
	"bytes"
	"context"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tutti/internal/core/canonjson"
)

// answered is what the SDK gets when the call holds the answer.
type answered struct{ mcp.ResultBase }

// middleware stands before the SDK's handlers and answers what is ours. A panic must not pass it: the SDK does not catch any.
func (c *conn) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		k := c.calls.with(req.GetExtra())
		if k == nil { // nothing that we handed on
			return next(ctx, method, req)
		}
		defer func() {
			if p := recover(); p != nil {
				res, err = nil, fmt.Errorf("panic: %v", p)
				c.server.trace(debug.Stack())
			}
		}()
		switch k.method {
		case methodInitialize:
			k.result = c.server.greet(k.params)
		case methodList:
			k.result = c.server.list
		case methodCall:
			k.result = c.call(ctx, k)
		default:
			return next(ctx, method, req)
		}
		return &answered{}, nil
	}
}

var (
	callMembers = []string{"name", "arguments", "_meta"}
	empty       = []byte("{}")
)

// call runs a tool and returns the result object.
func (c *conn) call(ctx context.Context, k *call) []byte {
	var v [3][]byte
	canonjson.Pick(k.params, callMembers, v[:])
	name, _ := canonjson.String(v[0])
	tool := c.server.tools[name]
	if tool == nil {
		result, _ := envelop(name, nil, Error("unknown tool: "+shorten(name, maxMethod)))
		return result
	}
	a := &Args{Raw: empty}
	if canonjson.IsObject(v[1]) {
		a.Raw = v[1]
	}
	if canonjson.IsObject(v[2]) {
		a.Meta = v[2]
		a.Progress = c.progress(k, a.Meta)
	}
	ctx, cancel := c.calls.start(ctx, k)
	defer cancel()
	if ctx.Err() != nil && !c.calls.wanted(k) {
		return nil // cancelled before it began
	}
	r := tool.Call(ctx, a)
	result, why := envelop(name, tool, r)
	if why != "" {
		c.server.log(name + ": " + why)
	} else {
		k.sent = r.Sent
	}
	return result
}

// progress is the function that reports on k, nil when the client sent no token. A token is a string or a number, and
// goes back as it was spelled.
func (c *conn) progress(k *call, meta []byte) func(done, total float64, message string) {
	token, _ := canonjson.Get(meta, "progressToken")
	if t := canonjson.Kind(token); t != canonjson.TypeString && t != canonjson.TypeNumber {
		return nil
	}
	return func(done, total float64, message string) {
		var o canonjson.Object
		o.Raw("progressToken", token)
		o.Float("progress", done)
		if total > 0 {
			o.Float("total", total)
		}
		o.Opt("message", message)
		c.out.progress(k, noteLine(noteProgress, o.Bytes()))
	}
}

// sent lets the tool of k know that its answer has been written.
func (c *conn) sent(k *call) {
	if k.sent == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			c.server.log(fmt.Sprintf("panic behind an answer: %v", p))
			c.server.trace(debug.Stack())
		}
	}()
	k.sent()
}

// trace logs where a panic came from.
func (s *Server) trace(stack []byte) {
	const most = 24 // lines: the panic itself and the functions that led to it
	for i, line := range bytes.Split(bytes.TrimSpace(stack), []byte{'\n'}) {
		if i == most {
			return
		}
		s.log(strings.TrimSpace(string(line)))
	}
}
