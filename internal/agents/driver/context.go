package driver

import "tutti/internal/core/canonjson"

// claudeContext reads a line of a transcript of Claude Code. Lines of subagents and those that the program itself writes for the
// model, about an error say, do not count.
func claudeContext(line []byte) (tokens int64, ok bool) {
	if member(line, "type") != "assistant" {
		return 0, false
	}
	side, _ := canonjson.Get(line, "isSidechain")
	if yes, _ := canonjson.Bool(side); yes {
		return 0, false
	}
	message, _ := canonjson.Get(line, "message")
	usage, _ := canonjson.Get(message, "usage")
	if !canonjson.IsObject(usage) || member(message, "model") == "<synthetic>" {
		return 0, false
	}
	return sum(usage, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
}

// codexContext reads a line of a rollout file of Codex.
func codexContext(line []byte) (tokens int64, ok bool) {
	payload, _ := canonjson.Get(line, "payload")
	if member(line, "type") != "event_msg" || !canonjson.IsObject(payload) || member(payload, "type") != "token_count" {
		return 0, false
	}
	info, _ := canonjson.Get(payload, "info")
	last, _ := canonjson.Get(info, "last_token_usage")
	if !canonjson.IsObject(last) { // nothing was asked of the model yet
		return 0, false
	}
	return sum(last, "total_tokens")
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
