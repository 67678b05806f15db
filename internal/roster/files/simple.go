package files

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// simpleText reads a text that is written as this package writes one, and returns the same root as the parser of package yaml would. It
// returns nil for every other text, sound or not: comments, blank lines, tags, anchors, words over several lines and in single quotes,
// and whatever else has more than one reading are the parser's business. It takes a fifteenth of the time, and most of what is read here was
// written here.
func simpleText(text []byte) *yaml.Node {
	if len(text) == 0 || text[len(text)-1] != '\n' {
		return nil
	}
	s := &simple{text: text, line: 1, room: make([]yaml.Node, min(bytes.Count(text, []byte("\n"))*2, maxRoom))}
	if !s.isKey() {
		return nil
	}
	root := s.mapping(0, 0)
	if root == nil || s.at != len(text) { // what is left belongs to none of what was open
		return nil
	}
	return root
}

// simple is a text on its way to nodes. Every method that returns nil has met something that is not simple.
type simple struct {
	text  []byte
	at    int // what is read next
	begin int // of the line
	line  int // its number, from 1
	room  []yaml.Node
}

const (
	maxSimpleDepth = 8
	maxSimpleKey   = 128 // bytes; the parser takes 1024

	maxRoom = 512 // nodes that are made at once: a text of nothing but ends of lines would ask for gigabytes
)

// node makes a node that begins here.
func (s *simple) node(kind yaml.Kind, style yaml.Style, value string) *yaml.Node {
	if len(s.room) == 0 {
		s.room = make([]yaml.Node, maxRoom)
	}
	n := &s.room[0]
	s.room = s.room[1:]
	n.Kind, n.Style, n.Value, n.Line, n.Column = kind, style, value, s.line, s.at-s.begin+1
	return n
}

// next goes to the line that follows the one that ends here.
func (s *simple) next() {
	s.at++
	s.begin = s.at
	s.line++
}

// indent counts the spaces at the beginning of the line; -1 at the end of the text.
func (s *simple) indent() int {
	for i := s.begin; i < len(s.text); i++ {
		if s.text[i] != ' ' {
			return i - s.begin
		}
	}
	return -1
}

// dash tells whether an entry of a list stands in the line, behind so many spaces.
func (s *simple) dash(indent int) bool {
	i := s.begin + indent
	return i+2 < len(s.text) && s.text[i] == '-' && s.text[i+1] == ' '
}

// keyEnd returns where the key ends that begins here: before its colon. -1: here is no key.
func (s *simple) keyEnd() int {
	for i := s.at; i < len(s.text) && i-s.at <= maxSimpleKey; i++ {
		switch c := s.text[i]; {
		case 'a' <= c|0x20 && c|0x20 <= 'z', c == '_':
		case i > s.at && ('0' <= c && c <= '9' || c == '-'):
		case c == ':' && i > s.at && i+1 < len(s.text) && (s.text[i+1] == ' ' || s.text[i+1] == '\n'):
			return i
		default:
			return -1
		}
	}
	return -1
}

func (s *simple) isKey() bool { return s.keyEnd() >= 0 }

// mapping reads members from here on, all behind so many spaces.
func (s *simple) mapping(indent, depth int) *yaml.Node {
	if depth > maxSimpleDepth {
		return nil
	}
	n := s.node(yaml.MappingNode, 0, "")
	n.Content = make([]*yaml.Node, 0, 32>>depth)
	for {
		end := s.keyEnd()
		if end < 0 {
			return nil
		}
		key := s.node(yaml.ScalarNode, 0, string(s.text[s.at:end]))
		s.at = end + 1
		v := s.value(indent, depth)
		if v == nil {
			return nil
		}
		n.Content = append(n.Content, key, v)
		if s.indent() != indent || s.dash(indent) {
			return n
		}
		s.at = s.begin + indent
	}
}

// value reads what stands behind the colon of a member: a word, or lines below it.
func (s *simple) value(indent, depth int) *yaml.Node {
	if s.text[s.at] == ' ' {
		s.at++
		return s.word()
	}
	s.next()
	switch deeper := s.indent(); {
	case deeper >= indent && s.dash(deeper):
		return s.sequence(deeper, depth+1)
	case deeper > indent:
		s.at = s.begin + deeper
		return s.mapping(deeper, depth+1)
	}
	return nil
}

// sequence reads entries behind so many spaces: words, or mappings.
func (s *simple) sequence(indent, depth int) *yaml.Node {
	if depth > maxSimpleDepth {
		return nil
	}
	s.at = s.begin + indent
	n := s.node(yaml.SequenceNode, 0, "")
	for {
		s.at = s.begin + indent + len("- ")
		var entry *yaml.Node
		if s.isKey() {
			entry = s.mapping(indent+len("- "), depth+1)
		} else {
			entry = s.word()
		}
		if entry == nil {
			return nil
		}
		n.Content = append(n.Content, entry)
		if s.indent() != indent || !s.dash(indent) {
			return n
		}
	}
}

// word reads a word that ends with the line.
func (s *simple) word() (n *yaml.Node) {
	rest := s.text[s.at:]
	end := bytes.IndexByte(rest, '\n')
	switch {
	case end <= 0:
		return nil
	case rest[0] == '"':
		text, ok := unquoted(rest[:end])
		if !ok {
			return nil
		}
		n = s.node(yaml.ScalarNode, yaml.DoubleQuotedStyle, text)
	case string(rest[:end]) == "[]":
		n = s.node(yaml.SequenceNode, yaml.FlowStyle, "")
	case string(rest[:end]) == "{}":
		n = s.node(yaml.MappingNode, yaml.FlowStyle, "")
	case isPlain(rest[:end]):
		n = s.node(yaml.ScalarNode, 0, string(rest[:end]))
	default:
		return nil
	}
	s.at += end
	s.next()
	return n
}

// isPlain tells whether a word without quotes means itself wherever it stands: letters, digits and some marks, with single blanks
// between them, begun by what begins nothing else.
func isPlain(word []byte) bool {
	first := word[0] | 0x20
	switch {
	case 'a' <= first && first <= 'z', word[0] == '_', word[0] == '/', '0' <= word[0] && word[0] <= '9':
	case word[0] == '-' && len(word) > 1 && word[1] != ' ' && word[1] != ':': // a number, or an option
	default:
		return false
	}
	for i, c := range word {
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z', '0' <= c && c <= '9', c == '_', c == '.', c == '/', c == '-', c == '+', c == '=', c == '@', c == ',':
		case c == ':' && i+1 < len(word) && word[i+1] != ' ' && word[i-1] != ' ':
		case c == ' ' && i+1 < len(word) && word[i+1] != ' ':
		default:
			return false
		}
	}
	return true
}

// unquoted is what a text in double quotes says, with those escapes that are written here.
func unquoted(quoted []byte) (string, bool) {
	last := len(quoted) - 1
	if last < 1 || quoted[last] != '"' {
		return "", false
	}
	body := quoted[1:last]
	var b strings.Builder
	b.Grow(len(body))
	for i := 0; i < len(body); {
		switch c := body[i]; {
		case c == '"' || c < ' ' || c == 0x7f:
			return "", false
		case c == '\\':
			r, n := escaped(body[i:])
			if n == 0 {
				return "", false
			}
			b.WriteRune(r)
			i += n
		case c < 0x80:
			b.WriteByte(c)
			i++
		default:
			r, n := utf8.DecodeRune(body[i:])
			if r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff {
				return "", false // ends of lines, and what the parser refuses
			}
			b.Write(body[i : i+n])
			i += n
		}
	}
	return b.String(), true
}

// escaped reads one escape; n is 0 for one that is not written here.
func escaped(text []byte) (r rune, n int) {
	if len(text) < 2 {
		return 0, 0
	}
	digits := 0
	switch text[1] {
	case '"', '\\':
		return rune(text[1]), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	}
	if digits == 0 || len(text) < 2+digits {
		return 0, 0
	}
	for _, c := range text[2 : 2+digits] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, 0
		}
	}
	if 0xd800 <= r && r < 0xe000 {
		return 0, 0 // half a character
	}
	return r, 2 + digits
}
