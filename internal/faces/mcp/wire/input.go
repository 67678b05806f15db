package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode"
)

// A lineReader cuts input into lines. A line that is too long is never held as a whole.
type lineReader struct {
	r   *bufio.Reader
	max int
	end error // what the input ended with
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 16<<10), max: limit}
}

// next returns the next line that is not empty, without the white space around it. long says that there was more than
// the limit, and that it is lost. What comes after the last line feed is a line as well. The bytes are the caller's.
func (l *lineReader) next() (line []byte, long bool, err error) {
	for l.end == nil {
		line, long = l.read()
		line = trim(line)
		if long || len(line) > 0 {
			return line, long, nil
		}
	}
	return nil, false, l.end
}

func (l *lineReader) read() (line []byte, long bool) {
	for {
		part, err := l.r.ReadSlice('\n')
		switch {
		case long:
		case len(line)+len(part) > l.max:
			line, long = nil, true
		default:
			line = append(line, part...)
		}
		switch {
		case err == nil:
			return line, long
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			l.end = io.EOF
			return line, long
		default: // what stands before a fault may be half a message
			l.end = err
			return nil, false
		}
	}
}

// trim cuts off what ECMAScript calls white space, the byte order mark among it.
func trim(b []byte) []byte {
	if len(b) > 0 && b[0] == '{' {
		switch b[len(b)-1] {
		case '}':
			return b
		case '\n':
			if len(b) > 1 && b[len(b)-2] == '}' {
				return b[:len(b)-1]
			}
		}
	}
	return bytes.TrimFunc(b, func(r rune) bool { return unicode.IsSpace(r) || r == '\uFEFF' })
}
