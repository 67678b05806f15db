package observe

import (
	"bytes"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/atomicfile"
)

// maxTail is how much of the end of the file of a conversation is read, in bytes. One result of a tool is a line of up to some hundred
// thousand bytes.
const maxTail = 2 << 20

// firstTail is how much is read at first.
const firstTail = 64 << 10

// Usage is how many tokens the model of a conversation reads again with its next request, and which model, by the newest line of its
// file that says so. It reports false where the file is not found, says nothing near its end, or is reached through a link.
func Usage(d *driver.Driver, p driver.Site, id string) (u driver.Usage, ok bool) {
	return lastLine(&d.Life.Find, p, id, d.Life.Find.Context)
}

// LastAnswer is what the model of a conversation said last, under the same conditions.
func LastAnswer(d *driver.Driver, p driver.Site, id string) (text string, ok bool) {
	return lastLine(&d.Life.Find, p, id, d.Life.Find.Answer)
}

// lastLine returns what the last line says of which read reports true, near the end of the file of a conversation.
func lastLine[T any](f *driver.Finder, p driver.Site, id string, read func(line []byte) (T, bool)) (v T, ok bool) {
	if f.Artefacts == nil || read == nil {
		return v, false
	}
	for _, a := range f.Artefacts(p, id) {
		if a.Folder || !a.Check {
			continue
		}
		if v, ok = lastIn(a, read); ok {
			return v, true
		}
	}
	return v, false
}

func lastIn[T any](a driver.Artefact, read func(line []byte) (T, bool)) (v T, ok bool) {
	root, err := atomicfile.OpenDir(a.Root)
	if err != nil {
		return v, false
	}
	defer root.Close()
	names := Below(root, a.Path)
	for i := len(names) - 1; i >= 0; i-- { // where there are several, the name begins with the time
		file, info, err := root.Open(names[i], false, 0)
		if err != nil {
			continue
		}
		v, ok = nearEnd(file, info.Size, read)
		_ = file.Close() // only looked at
		if ok {
			return v, true
		}
	}
	return v, false
}

// nearEnd reads more and more of the end of a file: mostly the last lines are enough.
func nearEnd[T any](file *atomicfile.File, size int64, read func(line []byte) (T, bool)) (v T, ok bool) {
	for most := int64(firstTail); ; most = min(most*8, maxTail) {
		from := max(0, size-most)
		tail := make([]byte, size-from)
		n, err := file.Pread(tail, from)
		if err != nil {
			return v, false
		}
		if v, ok = newest(read, tail[:n], from > 0); ok || from == 0 || most == maxTail {
			return v, ok
		}
	}
}

// newest looks for the last line that read understands. What follows the last line feed is still being written. cut: the first line is
// not whole.
func newest[T any](read func(line []byte) (T, bool), tail []byte, cut bool) (v T, ok bool) {
	for {
		end := bytes.LastIndexByte(tail, '\n')
		if end < 0 {
			return v, false
		}
		start := bytes.LastIndexByte(tail[:end], '\n') + 1
		if start == 0 && cut {
			return v, false
		}
		if v, ok = read(tail[start:end]); ok {
			return v, true
		}
		tail = tail[:start]
	}
}
