package drill

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// A Move is what a scripted model answers: a call of a tool, or words, with which the turn ends.
type Move struct {
	Tool string // "": none is called
	Args any
	Say  string
}

type object = map[string]any

// A Protocol writes an answer in the form of one API. n counts the calls of a conversation, for their ids.
type Protocol func(w io.Writer, m Move, n int)

// ProtocolOf returns the protocol of a request, false for one that does not ask for a next step.
func ProtocolOf(r *http.Request) (Protocol, bool) {
	switch path := r.URL.Path; {
	case r.Method != http.MethodPost:
		return nil, false
	case path == "/v1/messages":
		return Messages, true
	case path == "/v1/responses":
		return Responses, true
	case path == "/v1/chat/completions":
		return Chat, true
	case strings.HasSuffix(path, ":streamGenerateContent"):
		return Contents, true
	}
	return nil, false
}

// Messages writes an answer of Anthropic's messages, for Claude Code.
func Messages(w io.Writer, m Move, n int) {
	event(w, "message_start", object{"type": "message_start", "message": object{
		"id": fmt.Sprintf("msg_%d", n), "type": "message", "role": "assistant", "model": "scripted", "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": object{"input_tokens": 1, "output_tokens": 1},
	}})
	block, delta, reason := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": m.Say}, "end_turn"
	if m.Tool != "" {
		block = object{"type": "tool_use", "id": fmt.Sprintf("toolu_%d", n), "name": m.Tool, "input": object{}}
		delta, reason = object{"type": "input_json_delta", "partial_json": compact(m.Args)}, "tool_use"
	}
	event(w, "content_block_start", object{"type": "content_block_start", "index": 0, "content_block": block})
	event(w, "content_block_delta", object{"type": "content_block_delta", "index": 0, "delta": delta})
	event(w, "content_block_stop", object{"type": "content_block_stop", "index": 0})
	event(w, "message_delta", object{
		"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": object{"output_tokens": 1},
	})
	event(w, "message_stop", object{"type": "message_stop"})
}

// Responses writes an answer of OpenAI's responses, for Codex. A tool of an MCP server has its namespace before a dot. Arguments that
// are a text are for the tool that runs scripts.
func Responses(w io.Writer, m Move, n int) {
	id := fmt.Sprintf("resp_%d", n)
	item := object{"type": "message", "id": fmt.Sprintf("msg_%d", n), "role": "assistant", "content": []any{object{"type": "output_text", "text": m.Say}}}
	if m.Tool != "" {
		item = object{"type": "function_call", "id": fmt.Sprintf("fc_%d", n), "call_id": fmt.Sprintf("call_%d", n), "name": m.Tool, "arguments": compact(m.Args)}
		if text, ok := m.Args.(string); ok {
			item = object{"type": "custom_tool_call", "id": item["id"], "call_id": item["call_id"], "name": m.Tool, "input": text}
		}
		if i := strings.LastIndexByte(m.Tool, '.'); i >= 0 {
			item["namespace"], item["name"] = m.Tool[:i], m.Tool[i+1:]
		}
	}
	event(w, "response.created", object{"type": "response.created", "response": object{"id": id}})
	event(w, "response.output_item.added", object{"type": "response.output_item.added", "output_index": 0, "item": item})
	event(w, "response.output_item.done", object{"type": "response.output_item.done", "output_index": 0, "item": item})
	event(w, "response.completed", object{"type": "response.completed", "response": object{
		"id": id, "usage": object{"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
	}})
}

// Contents writes an answer of Google's contents, for Gemini CLI.
func Contents(w io.Writer, m Move, n int) {
	part := object{"text": m.Say}
	if m.Tool != "" {
		part = object{"functionCall": object{"name": m.Tool, "args": m.Args}, "thoughtSignature": "c2NyaXB0ZWQ="}
	}
	event(w, "", object{
		"candidates":    []any{object{"index": 0, "content": object{"role": "model", "parts": []any{part}}, "finishReason": "STOP"}},
		"usageMetadata": object{"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}, "responseId": fmt.Sprintf("r%d", n),
	})
}

// Chat writes an answer of OpenAI's chat completions, for opencode.
func Chat(w io.Writer, m Move, n int) {
	delta, reason := object{"role": "assistant", "content": m.Say}, "stop"
	if m.Tool != "" {
		delta, reason = object{"role": "assistant", "tool_calls": []any{object{
			"index": 0, "id": fmt.Sprintf("call_%d", n), "type": "function", "function": object{"name": m.Tool, "arguments": compact(m.Args)},
		}}}, "tool_calls"
	}
	chunk := func(delta object, reason any) {
		event(w, "", object{"id": fmt.Sprintf("chat_%d", n), "object": "chat.completion.chunk", "created": 1, "model": "scripted", "choices": []any{
			object{"index": 0, "delta": delta, "finish_reason": reason},
		}})
	}
	chunk(delta, nil)
	chunk(object{}, reason)
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// event writes one event of a stream. Without a name it has data only.
func event(w io.Writer, name string, data any) {
	if name != "" {
		fmt.Fprintf(w, "event: %s\n", name)
	}
	fmt.Fprintf(w, "data: %s\n\n", compact(data))
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

func compact(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // all values are made here
	}
	return string(raw)
}
