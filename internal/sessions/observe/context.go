package observe

import (
	"bytes"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/atomicfile"
)

// maxTail is how much of the end of the file of a conversation is read, in bytes. One result of a tool is a line of up to some hundred
// thousand bytes.
const maxTail = 2 << 20

// ContextSize is how many tokens the model of a conversation reads again with its next request, by the newest line of its file that
// says so. It reports false where the file is not found, says nothing near its end, or is reached through a link.
func ContextSize(d *driver.Driver, p driver.Site, id string) (tokens int64, ok bool) {
	f := &d.Life.Find
	if f.Artefacts == nil || f.Context == nil {
		return 0, false
	}
	for _, a := range f.Artefacts(p, id) {
		if a.Folder || !a.Check {
			continue
		}
		if tokens, ok = contextIn(f, a); ok {
			return tokens, true
		}
	}
	return 0, false
}

func contextIn(f *driver.Finder, a driver.Artefact) (tokens int64, ok bool) {
	root, err := atomicfile.OpenDir(a.Root)
	if err != nil {
		return 0, false
	}
	defer root.Close()
	for _, name := range Below(root, a.Path) {
		file, info, err := root.Open(name, false, 0)
		if err != nil {
			continue
		}
		from := max(0, info.Size-maxTail)
		tail := make([]byte, info.Size-from)
		n, err := file.Pread(tail, from)
		_ = file.Close() // only looked at
		if err != nil {
			continue
		}
		if tokens, ok = newest(f, tail[:n], from > 0); ok {
			return tokens, true
		}
	}
	return 0, false
}

// newest looks for the last line that says the size. What follows the last line feed is still being written. cut: the first line is
// not whole.
func newest(f *driver.Finder, tail []byte, cut bool) (tokens int64, ok bool) {
	for {
		end := bytes.LastIndexByte(tail, '\n')
		if end < 0 {
			return 0, false
		}
		start := bytes.LastIndexByte(tail[:end], '\n') + 1
		if start == 0 && cut {
			return 0, false
		}
		if tokens, ok = f.Context(tail[start:end]); ok {
			return tokens, true
		}
		tail = tail[:start]
	}
}
