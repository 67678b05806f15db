package index

import "fmt"

// A section is a stretch of a file that is read through a window: reading it in order causes few and large reads, reading only
// its beginning one small read.
type section struct {
	fd    int
	start int64 // in the file
	size  int64
	at    int64 // where the window begins, within the section
	buf   []byte
	step  int    // size of the window before
	most  int    // size of the largest window; 0: lastWindow
	text  string // the window once more, if text was asked for last
}

// The first window takes some dozen rows; each later one is twice as large, up to a size where the call costs little
// against the copying.
const (
	firstWindow = 4 << 10
	lastWindow  = 256 << 10
)

// fresh is the section without a window yet; the first one will have that size.
func (s *section) fresh(first int) section {
	return section{fd: s.fd, start: s.start, size: s.size, step: min(first, lastWindow) / 2}
}

// bytes returns n bytes at an offset within the section. They are valid until the next call.
func (s *section) bytes(off int64, n int) ([]byte, error) {
	if off < 0 || n < 0 || off > s.size || int64(n) > s.size-off {
		return nil, fmt.Errorf("%w: a piece lies outside of its section", ErrBad)
	}
	if off < s.at || off+int64(n) > s.at+int64(len(s.buf)) {
		if err := s.load(off, n); err != nil {
			return nil, err
		}
	}
	return s.buf[off-s.at:][:n:n], nil
}

// textAt is bytes as a string that stays valid. Those of one window share its memory.
func (s *section) textAt(off int64, n int) (string, error) {
	if off >= s.at && off+int64(n) <= s.at+int64(len(s.text)) && n >= 0 {
		return s.text[off-s.at:][:n], nil
	}
	if _, err := s.bytes(off, n); err != nil {
		return "", err
	}
	s.text = string(s.buf)
	return s.text[off-s.at:][:n], nil
}

func (s *section) load(off int64, n int) error {
	most := s.most
	if most == 0 {
		most = lastWindow
	}
	s.step = min(max(2*s.step, firstWindow), most)
	want := int(min(int64(max(n, s.step)), s.size-off))
	if cap(s.buf) < want {
		s.buf = make([]byte, want)
	}
	s.buf, s.at, s.text = s.buf[:want], off, ""
	if err := readInto(s.fd, s.start+off, s.buf); err != nil {
		s.buf = s.buf[:0]
		return err
	}
	return nil
}
