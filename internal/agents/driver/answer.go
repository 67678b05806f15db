package driver

import (
	"strings"

	"tutti/internal/core/canonjson"
)

// claudeAnswer reads a line of a transcript of Claude Code: what the model said, if the line has a text of it. Lines of subagents, and of
// what the program itself says, do not count.
func claudeAnswer(line []byte) (text string, ok bool) {
	if member(line, "type") != "assistant" {
		return "", false
	}
	side, _ := canonjson.Get(line, "isSidechain")
	if yes, _ := canonjson.Bool(side); yes {
		return "", false
	}
	message, _ := canonjson.Get(line, "message")
	if member(message, "model") == "<synthetic>" {
		return "", false
	}
	return texts(message)
}

// codexAnswer reads a line of a rollout file of Codex.
func codexAnswer(line []byte) (text string, ok bool) {
	payload, _ := canonjson.Get(line, "payload")
	if member(line, "type") != "response_item" || member(payload, "type") != "message" || member(payload, "role") != "assistant" {
		return "", false
	}
	return texts(payload)
}

// geminiAnswer reads a line of a file of Gemini CLI: one message, or all as they are now.
func geminiAnswer(line []byte) (text string, ok bool) {
	if member(line, "type") == "gemini" {
		return texts(line)
	}
	set, _ := canonjson.Get(line, "$set")
	messages, _ := canonjson.Get(set, "messages")
	for m := range canonjson.Elements(messages) {
		if member(m, "type") != "gemini" {
			continue
		}
		if said, is := texts(m); is {
			text, ok = said, true
		}
	}
	return text, ok
}

// texts returns the text of the member content, which is one, or a list of parts with a text each.
func texts(message []byte) (text string, ok bool) {
	content, _ := canonjson.Get(message, "content")
	if text, ok = canonjson.String(content); !ok {
		var all []string
		for part := range canonjson.Elements(content) {
			if said := member(part, "text"); said != "" {
				all = append(all, said)
			}
		}
		text = strings.Join(all, "\n")
	}
	text = strings.TrimSpace(text)
	return text, text != ""
}
