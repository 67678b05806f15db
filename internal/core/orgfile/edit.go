package orgfile

import "bytes"

// Insert returns the text with lines added behind the last line of its header h, as [Parse] read it from this text. They
// end as that line does, and no byte of the text changes; only a last line of the file that has no end gets one. A key
// is letters and underscores. The offsets of h do not hold for the result.
func Insert(text []byte, h Header, fields ...Field) []byte {
	if len(fields) == 0 || len(h.Fields) == 0 {
		return bytes.Clone(text)
	}
	at, eol := h.Fields[len(h.Fields)-1].End, "\n"
	if h.CRLF {
		eol = "\r\n"
	}
	size := len(text) + len(eol)
	for _, f := range fields {
		size += len("#+: ") + len(f.Key) + len(f.Value) + len(eol)
	}
	out := append(make([]byte, 0, size), text[:at]...)
	if text[at-1] != '\n' {
		out = append(out, eol...)
	}
	for _, f := range fields {
		out = append(out, "#+"...)
		out = append(out, f.Key...)
		out = append(out, ": "...)
		out = append(out, oneLine(f.Value)...)
		out = append(out, eol...)
	}
	return append(out, text[at:]...)
}

// Replace returns the text with another value in the line f, which [Parse] read from this text. No other byte changes,
// except that a value which had nothing between itself and its colon gets a blank there when the line had no value.
func Replace(text []byte, f Field, value string) []byte {
	value = oneLine(value)
	if f.VStart == f.VEnd && value != "" && text[f.VStart-1] == ':' {
		value = " " + value
	}
	out := append(make([]byte, 0, len(text)+len(value)), text[:f.VStart]...)
	out = append(out, value...)
	return append(out, text[f.VEnd:]...)
}

// oneLine makes a blank of each sign at which some reader ends a line, and of NUL, so that no value can become a line of
// its own.
func oneLine(value string) string {
	clean := true
	for i := 0; i < len(value) && clean; i++ {
		c := value[i]
		clean = c >= 0x20 && c < 0xc2 || c == '\t'
	}
	if clean {
		return value
	}
	out := make([]rune, 0, len(value))
	for _, r := range value {
		switch r {
		case 0, '\n', '\r', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
			r = ' '
		}
		out = append(out, r)
	}
	return string(out)
}
