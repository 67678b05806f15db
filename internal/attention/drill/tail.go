package drill

import "sync"

// A tail keeps the end of what a program prints.
type tail struct {
	mu  sync.Mutex // guards raw
	raw []byte
}

const maxTail = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.raw = append(t.raw, p...)
	t.raw = t.raw[max(0, len(t.raw)-maxTail):]
	return len(p), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.raw)
}
