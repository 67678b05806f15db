//go:build e2e

package e2etest

import (
	"encoding/json"
	"fmt"
	"io"
)

// Anthropic's messages, for Claude Code.

func readMessages(raw []byte) (turn, error) {
	var q struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
		Messages []struct {
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(raw, &q); err != nil {
		return turn{}, err
	}
	var t turn
	for _, tool := range q.Tools {
		t.offered = append(t.offered, tool.Name)
	}
	names := map[string]string{}
	for _, m := range q.Messages {
		var blocks []struct {
			Type      string          `json:"type"`
			ID        string          `json:"id"`
			Name      string          `json:"name"`
			ToolUseID string          `json:"tool_use_id"`
			Content   json.RawMessage `json:"content"`
		}
		if json.Unmarshal(m.Content, &blocks) != nil {
			continue // a text
		}
		for _, b := range blocks {
			switch b.Type {
			case "tool_use":
				names[b.ID] = b.Name
			case "tool_result":
				t.done = append(t.done, exchange{names[b.ToolUseID], words(b.Content)})
			}
		}
	}
	return t, nil
}

func writeMessages(w io.Writer, m move, n int) {
	event(w, "message_start", object{"type": "message_start", "message": object{
		"id": fmt.Sprintf("msg_%d", n), "type": "message", "role": "assistant", "model": "scripted", "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": object{"input_tokens": 1, "output_tokens": 1},
	}})
	block, delta, reason := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": m.say}, "end_turn"
	if m.tool != "" {
		block = object{"type": "tool_use", "id": fmt.Sprintf("toolu_%d", n), "name": m.tool, "input": object{}}
		delta, reason = object{"type": "input_json_delta", "partial_json": compact(m.args)}, "tool_use"
	}
	event(w, "content_block_start", object{"type": "content_block_start", "index": 0, "content_block": block})
	event(w, "content_block_delta", object{"type": "content_block_delta", "index": 0, "delta": delta})
	event(w, "content_block_stop", object{"type": "content_block_stop", "index": 0})
	event(w, "message_delta", object{
		"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": object{"output_tokens": 1},
	})
	event(w, "message_stop", object{"type": "message_stop"})
}

// OpenAI's responses, for Codex. The tools of a server are a namespace there; here their names are joined with a dot. A model
// that Codex knows gets its tools in the input, and calls the one for scripts with a text.

func readResponses(raw []byte) (turn, error) {
	type tools []struct {
		Type, Name string
		Tools      []struct{ Name string }
	}
	var q struct {
		Tools tools
		Input []struct {
			Type, Name, Namespace string
			CallID                string `json:"call_id"`
			Output                json.RawMessage
			Tools                 tools
		}
	}
	if err := json.Unmarshal(raw, &q); err != nil {
		return turn{}, err
	}
	var t turn
	for _, i := range q.Input {
		q.Tools = append(q.Tools, i.Tools...)
	}
	for _, tool := range q.Tools {
		if tool.Type != "namespace" {
			t.offered = append(t.offered, tool.Name)
		}
		for _, of := range tool.Tools {
			t.offered = append(t.offered, tool.Name+"."+of.Name)
		}
	}
	names := map[string]string{}
	for _, i := range q.Input {
		switch i.Type {
		case "function_call", "custom_tool_call":
			names[i.CallID] = i.Name
			if i.Namespace != "" {
				names[i.CallID] = i.Namespace + "." + i.Name
			}
		case "function_call_output", "custom_tool_call_output":
			t.done = append(t.done, exchange{names[i.CallID], words(i.Output)})
		}
	}
	return t, nil
}

func writeResponses(w io.Writer, m move, n int) {
	id := fmt.Sprintf("resp_%d", n)
	item := object{"type": "message", "id": fmt.Sprintf("msg_%d", n), "role": "assistant", "content": []any{object{"type": "output_text", "text": m.say}}}
	if m.tool != "" {
		item = object{"type": "function_call", "id": fmt.Sprintf("fc_%d", n), "call_id": fmt.Sprintf("call_%d", n), "name": m.tool, "arguments": compact(m.args)}
		if text, ok := m.args.(string); ok {
			item = object{"type": "custom_tool_call", "id": item["id"], "call_id": item["call_id"], "name": m.tool, "input": text}
		}
		if space, name, ok := cutLast(m.tool); ok {
			item["namespace"], item["name"] = space, name
		}
	}
	event(w, "response.created", object{"type": "response.created", "response": object{"id": id}})
	event(w, "response.output_item.added", object{"type": "response.output_item.added", "output_index": 0, "item": item})
	event(w, "response.output_item.done", object{"type": "response.output_item.done", "output_index": 0, "item": item})
	event(w, "response.completed", object{"type": "response.completed", "response": object{
		"id": id, "usage": object{"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
	}})
}

// Google's contents, for Gemini CLI.

func readGemini(raw []byte) (turn, error) {
	var q struct {
		Tools []struct {
			FunctionDeclarations []struct{ Name string }
		}
		Contents []struct {
			Parts []struct {
				FunctionResponse *struct {
					Name     string
					Response struct{ Output, Error json.RawMessage }
				}
			}
		}
	}
	if err := json.Unmarshal(raw, &q); err != nil {
		return turn{}, err
	}
	var t turn
	for _, tool := range q.Tools {
		for _, f := range tool.FunctionDeclarations {
			t.offered = append(t.offered, f.Name)
		}
	}
	for _, c := range q.Contents {
		for _, p := range c.Parts {
			if r := p.FunctionResponse; r != nil {
				t.done = append(t.done, exchange{r.Name, words(r.Response.Output) + words(r.Response.Error)})
			}
		}
	}
	return t, nil
}

func writeGemini(w io.Writer, m move, n int) {
	part := object{"text": m.say}
	if m.tool != "" {
		part = object{"functionCall": object{"name": m.tool, "args": m.args}, "thoughtSignature": "c2NyaXB0ZWQ="}
	}
	event(w, "", object{
		"candidates":    []any{object{"index": 0, "content": object{"role": "model", "parts": []any{part}}, "finishReason": "STOP"}},
		"usageMetadata": object{"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}, "responseId": fmt.Sprintf("r%d", n),
	})
}

// OpenAI's chat completions, for opencode.

func readChat(raw []byte) (turn, error) {
	var q struct {
		Tools    []struct{ Function struct{ Name string } }
		Messages []struct {
			Role      string
			ToolCalls []struct {
				ID       string
				Function struct{ Name string }
			} `json:"tool_calls"`
			CallID  string `json:"tool_call_id"`
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(raw, &q); err != nil {
		return turn{}, err
	}
	var t turn
	for _, tool := range q.Tools {
		t.offered = append(t.offered, tool.Function.Name)
	}
	names := map[string]string{}
	for _, m := range q.Messages {
		for _, c := range m.ToolCalls {
			names[c.ID] = c.Function.Name
		}
		if m.Role == "tool" {
			t.done = append(t.done, exchange{names[m.CallID], words(m.Content)})
		}
	}
	return t, nil
}

func writeChat(w io.Writer, m move, n int) {
	delta, reason := object{"role": "assistant", "content": m.say}, "stop"
	if m.tool != "" {
		delta, reason = object{"role": "assistant", "tool_calls": []any{object{
			"index": 0, "id": fmt.Sprintf("call_%d", n), "type": "function", "function": object{"name": m.tool, "arguments": compact(m.args)},
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
