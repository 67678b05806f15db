package cli

import "tutti/internal/canonjson"

// A list builds one JSON array of values that are JSON already.
type list struct{ buf []byte }

func (l *list) raw(val []byte) {
	if len(l.buf) == 0 {
		l.buf = append(l.buf, '[')
	} else {
		l.buf = append(l.buf, ',')
	}
	l.buf = append(l.buf, val...)
}

func (l *list) str(val string)            { l.raw(canonjson.AppendString(nil, val)) }
func (l *list) obj(val *canonjson.Object) { l.raw(val.Bytes()) }

// bytes returns the array. The list must not be added to afterwards.
func (l *list) bytes() []byte {
	if len(l.buf) == 0 {
		return []byte("[]")
	}
	return append(l.buf, ']')
}
