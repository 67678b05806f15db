package store

import (
	"fmt"
	"strings"
)

// Subject returns the name of a key in the alphabet of message subjects, which backends without folders use: kind, owner
// and name joined by dots, the parts that the kind does not have left out. A part's bytes other than ASCII letters,
// digits, "-" and "_" become "=" and two hex digits, so a dot only joins.
func (k Key) Subject() string {
	b := append(make([]byte, 0, 64), k.Kind.String()...)
	for _, part := range []string{k.Owner, k.Name} {
		if part != "" {
			b = appendToken(append(b, '.'), part)
		}
	}
	return string(b)
}

const hexDigits = "0123456789ABCDEF"

func appendToken(b []byte, part string) []byte {
	for i := 0; i < len(part); i++ {
		if c := part[i]; plain(c) {
			b = append(b, c)
		} else {
			b = append(b, '=', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return b
}

func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

// ParseSubject returns the key that Key.Subject made a name of, and an error for a name that it cannot have made.
func ParseSubject(subject string) (Key, error) {
	parts := strings.Split(subject, ".")
	k := Key{Kind: KindNamed(parts[0])}
	if k.Kind == 0 {
		return Key{}, fmt.Errorf("subject %q: no such kind", subject)
	}
	var fields []*string
	if s := k.Kind.Spec(); s.HasOwner() {
		fields = []*string{&k.Owner, &k.Name}
	} else if s.HasName() {
		fields = []*string{&k.Name}
	}
	if len(parts)-1 != len(fields) {
		return Key{}, fmt.Errorf("subject %q: %s has %d parts after its kind", subject, k.Kind, len(fields))
	}
	for i, field := range fields {
		part, ok := parseToken(parts[i+1])
		if !ok {
			return Key{}, fmt.Errorf("subject %q: part %q is misspelled", subject, parts[i+1])
		}
		*field = part
	}
	if err := k.Check(); err != nil {
		return Key{}, fmt.Errorf("subject %q: %w", subject, err)
	}
	return k, nil
}

// parseToken undoes appendToken. It accepts only the one spelling that appendToken has for a part: two subjects never
// name one key.
func parseToken(token string) (string, bool) {
	b := make([]byte, 0, len(token))
	for i := 0; i < len(token); i++ {
		c := token[i]
		if c == '=' {
			if i+2 >= len(token) {
				return "", false
			}
			hi, lo := strings.IndexByte(hexDigits, token[i+1]), strings.IndexByte(hexDigits, token[i+2])
			if hi < 0 || lo < 0 || plain(byte(hi<<4|lo)) {
				return "", false
			}
			c = byte(hi<<4 | lo)
			i += 2
		} else if !plain(c) {
			return "", false
		}
		b = append(b, c)
	}
	return string(b), true
}
