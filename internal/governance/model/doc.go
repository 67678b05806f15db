// Package model holds the grid by which the work of people, organisations and agents is described in the words of the protocol, and
// checks a proposal that was made by it: whether all ten questions are answered, whether what always holds is kept, what of it a
// profile does not allow, and which profile is nearest.
//
// A proposal is one JSON object (see [Form]), alone or in the first fenced block of a Markdown text that holds one, so that the
// page which people read is the one that is checked. A check reads the proposal alone: it knows no bus and changes nothing. That a
// proposal is whole says that its parts agree with each other, not that it is wise.
package model

import (
	"bytes"
	"errors"
	"fmt"

	"tutti/internal/core/canonjson"
)

// MaxProposal is the longest text that is checked, in bytes. A hundred actors with all that concerns them take a fifth of it.
const MaxProposal = 1 << 20

// ErrNoProposal reports a text in which there is no proposal.
var ErrNoProposal = errors.New("no proposal: neither JSON nor a fenced block with a JSON object that has actors")

// Extract returns the proposal that a text is, or that its first fenced block with such an object holds.
func Extract(data []byte) ([]byte, error) {
	if len(data) > MaxProposal {
		return nil, fmt.Errorf("the text has %d bytes, at most %d are read", len(data), MaxProposal)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '{' {
		if err := canonjson.Check(trimmed); err != nil {
			return nil, fmt.Errorf("read the proposal: %w", err)
		}
		return trimmed, nil
	}
	var broken error
	for block := range fenced(data) {
		if !canonjson.IsObject(block) {
			continue
		}
		if err := canonjson.Check(block); err != nil {
			if broken == nil {
				broken = fmt.Errorf("read the proposal in the fenced block: %w", err)
			}
			continue
		}
		if _, ok := canonjson.Get(block, "actors"); ok {
			return block, nil
		}
	}
	if broken != nil {
		return nil, broken
	}
	return nil, ErrNoProposal
}

// fenced yields what stands between lines that begin with three or more back quotes or tildes, and end with as many.
func fenced(text []byte) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		var mark []byte
		begin := 0
		for at := 0; at < len(text); {
			end := len(text)
			if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
				end = at + n + 1
			}
			line := bytes.TrimSpace(text[at:end])
			switch {
			case mark == nil && (bytes.HasPrefix(line, []byte("```")) || bytes.HasPrefix(line, []byte("~~~"))):
				mark, begin = line[:len(line)-len(bytes.TrimLeft(line, string(line[:1])))], end
			case mark != nil && bytes.HasPrefix(line, mark) && len(bytes.Trim(line, string(mark[:1]))) == 0:
				if block := bytes.TrimSpace(text[begin:at]); len(block) > 0 && !yield(block) {
					return
				}
				mark = nil
			}
			at = end
		}
	}
}
