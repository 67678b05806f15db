package overview

import (
	"fmt"
	"slices"
	"strings"

	"tutti/internal/comms/protocol"
	"tutti/internal/core/orgfile"
	"tutti/internal/platform/atomicfile"
)

// scan reads the heads of all messages of a mailbox or an archive, sorted by the names of the files. foreign are the names of
// plain files that are not messages.
func scan(d *atomicfile.Dir, archive bool) (heads []head, foreign []string, err error) {
	names, err := d.Names()
	if err != nil {
		return nil, nil, err
	}
	slices.Sort(names)
	names = slices.Compact(names) // a listing of a folder in motion may name a file twice
	buf := make([]byte, orgfile.MaxHeader)
	for _, name := range names {
		switch classify(name, archive) {
		case protocol.MessageEntry:
			if h, ok := readHead(d, name, archive, buf); ok {
				h.unsigned = !signed(d, names, name)
				heads = append(heads, h)
			}
		case protocol.ForeignEntry:
			if info, err := d.Stat(name); err == nil && !info.Folder() {
				foreign = append(foreign, name)
			}
		}
	}
	return heads, foreign, nil
}

// classify is protocol.Classify for a mailbox; in an archive all Org files are messages, and nothing is foreign.
func classify(name string, archive bool) protocol.EntryKind {
	switch {
	case !archive:
		return protocol.Classify(name, false)
	case !strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".org"):
		return protocol.MessageEntry
	}
	return protocol.HiddenEntry
}

// signed reports whether a message has a signature file.
func signed(d *atomicfile.Dir, names []string, message string) bool {
	name := protocol.SignatureName(message)
	if _, listed := slices.BinarySearch(names, name); listed {
		return true
	}
	_, err := d.Stat(name)
	return err == nil
}

// openFolder opens a folder below that of a project, following no link.
func openFolder(top, rel string) (*atomicfile.Dir, error) {
	d, err := atomicfile.OpenDir(top)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	sub, err := d.Sub(rel)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", rel, err)
	}
	return sub, nil
}
