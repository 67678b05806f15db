//go:build e2e

package e2etest

import (
	"encoding/json"
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
