package driver

import "tutti/internal/core/canonjson"

// A Usage is what a model used for an answer.
type Usage struct {
	Tokens int64  // that it had read; they are read again with the next request
	Model  string // "" when it is not known
}

// maxWord is the longest name of a model or version that is kept, in bytes.
const maxWord = 80

// claudeContext reads a line of a transcript of Claude Code. Lines of subagents and those that the program itself writes for the
// model, about an error say, do not count.
func claudeContext(line []byte) (u Usage, ok bool) {
	if member(line, "type") != "assistant" {
		return u, false
	}
	side, _ := canonjson.Get(line, "isSidechain")
	if yes, _ := canonjson.Bool(side); yes {
		return u, false
	}
	message, _ := canonjson.Get(line, "message")
	usage, _ := canonjson.Get(message, "usage")
	if !canonjson.IsObject(usage) || member(message, "model") == "<synthetic>" {
		return u, false
	}
	if model := member(message, "model"); len(model) <= maxWord {
		u.Model = model
	}
	u.Tokens, ok = sum(usage, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
	return u, ok
}

// codexContext reads a line of a rollout file of Codex.
func codexContext(line []byte) (u Usage, ok bool) {
	payload, _ := canonjson.Get(line, "payload")
	if member(line, "type") != "event_msg" || !canonjson.IsObject(payload) || member(payload, "type") != "token_count" {
		return u, false
	}
	info, _ := canonjson.Get(payload, "info")
	last, _ := canonjson.Get(info, "last_token_usage")
	if !canonjson.IsObject(last) { // nothing was asked of the model yet
		return u, false
	}
	u.Tokens, ok = sum(last, "total_tokens")
	return u, ok
}

// sum adds members of an object. It reports false where they say nothing that can be a size.
func sum(object []byte, names ...string) (n int64, ok bool) {
	const most = 1 << 40
	for _, name := range names {
		raw, there := canonjson.Get(object, name)
		one, isInt := canonjson.Int(raw)
		if !there || !isInt {
			continue
		}
		if one < 0 || one > most {
			return 0, false
		}
		n += one
	}
	return n, n > 0
}
