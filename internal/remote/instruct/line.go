// Package instruct carries signed instructions from one agent to another: one line that says who tells whom to do what, and proves it.
//
// It promises that an instruction reaches an agent only when the signer may give it one (itself, the conductor or principal that the
// agent's registration names, or a principal or executive of a scope that both have), only while it is fresh, and once, also when
// programs are started again in between. Nothing of it ever becomes part of a command line: programs get it on their standard input,
// and a terminal gets it as text where the agent is seen to live and to rest.
//
// That a pane is the agent's, and free, is the question of package observe. Who the keys belong to is the registry's.
package instruct

import (
	"strings"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/remote"
)

// A Line is one instruction as it travels: [h2a from=… to=… nonce=… at=… sig=…] instruction.
type Line struct {
	From, To, Nonce, At, Sig string
	Instruction              string
}

// Mark is what a line begins with.
const Mark = "[h2a "

// Parse reads a line; false: it is none. Its head has the five members in any order, each once and not empty, and nothing else:
// a word outside the signature could say anything to a reader of the line.
func Parse(text string) (l Line, ok bool) {
	rest, ok := strings.CutPrefix(text, Mark)
	if !ok {
		return l, false
	}
	head, instruction, ok := strings.Cut(rest, "]")
	if !ok {
		return l, false
	}
	if l.Instruction, ok = strings.CutPrefix(instruction, " "); !ok {
		return l, false
	}
	words := strings.Split(head, " ")
	if len(words) != members {
		return Line{}, false
	}
	for _, word := range words {
		key, value, ok := strings.Cut(word, "=")
		at := l.member(key)
		if !ok || value == "" || at == nil || *at != "" {
			return Line{}, false
		}
		*at = value
	}
	return l, true
}

// members is how many a head has: each of them, once.
const members = 5

func (l *Line) member(key string) *string {
	switch key {
	case "from":
		return &l.From
	case "to":
		return &l.To
	case "nonce":
		return &l.Nonce
	case "at":
		return &l.At
	case "sig":
		return &l.Sig
	}
	return nil
}

// String is the line in the one form in which it is handed on: what is signed, and the signature.
func (l *Line) String() string {
	return Mark + "from=" + l.From + " to=" + l.To + " nonce=" + l.Nonce + " at=" + l.At + " sig=" + l.Sig + "] " + l.Instruction
}

// message is what the signature covers.
func (l *Line) message() ([]byte, error) {
	var o canonjson.Object
	o.Str("from", l.From)
	o.Str("to", l.To)
	o.Str("instruction", l.Instruction)
	o.Str("nonce", l.Nonce)
	o.Str("at", l.At)
	return canonjson.Canonical(o.Bytes())
}

// Sign signs the line in the name of its sender.
func (l *Line) Sign(key *signature.Private) error {
	m, err := l.message()
	if err == nil {
		l.Sig = key.Object(l.From, m).Value
	}
	return err
}

// VerifiedBy tells which of the keys has signed the line; of many keys, those that count for an envelope.
func (l *Line) VerifiedBy(keys []signature.Public) (key signature.Public, ok bool) {
	m, err := l.message()
	if err != nil {
		return key, false
	}
	o := signature.Object{By: l.From, Alg: signature.Alg, Value: l.Sig}
	for _, k := range remote.Newest(keys) {
		if o.Verify(m, k) {
			return k, true
		}
	}
	return key, false
}

// id is under what the line is remembered as taken.
func (l *Line) id() string { return "drive:" + l.From + ":" + l.To + ":" + l.Nonce }

func (l *Line) thing() remote.Thing {
	return remote.Thing{Name: address.Segment(l.id()), ID: l.id(), CreatedAt: l.At}
}

// Find returns the line in a text that may have more: the first of its lines that begins as one, else all of it. The instruction is
// then that one line.
func Find(text string) string {
	for one := range strings.SplitSeq(text, "\n") {
		if one = strings.TrimRight(one, "\r"); strings.HasPrefix(one, Mark) {
			return one
		}
	}
	return text
}

// maxNested is how deep a text is looked for in the input of a hook.
const maxNested = 8

// Prompt returns the text from standard input: raw text, or the JSON object of a hook. hook: it was such an object.
func Prompt(in []byte) (text string, hook bool) {
	if canonjson.Valid(in) && canonjson.IsObject(in) {
		_, hook = canonjson.Get(in, "hook_event_name")
		text, _ = within(in, 0)
		return text, hook
	}
	return string(in), false
}

func within(raw []byte, depth int) (string, bool) {
	if depth > maxNested {
		return "", false
	}
	switch canonjson.Kind(raw) {
	case canonjson.TypeString:
		return canonjson.String(raw)
	case canonjson.TypeArray:
		for one := range canonjson.Elements(raw) {
			if s, ok := within(one, depth+1); ok {
				return s, true
			}
		}
	case canonjson.TypeObject:
		for _, name := range []string{"prompt", "line", "message", "text", "input", "params"} {
			if v, ok := canonjson.Get(raw, name); ok {
				if s, ok := within(v, depth+1); ok {
					return s, true
				}
			}
		}
	}
	return "", false
}
