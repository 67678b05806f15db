package overview

import (
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"tutti/internal/comms/protocol"
	"tutti/internal/core/orgfile"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/store/index"
)

// A head is what is kept of a message.
type head struct {
	name     string
	conv     string // "": the header cannot be read, or names none
	sender   string // "": the name does not go with the header
	title    string
	kind     protocol.Type
	at       time.Time // zero: unreadable
	sequence int
	reply    int
	release  string // RELEASE_STATUS
	response string
	host     string // the machine part of FROM; "": not said
	unsigned bool
}

func (h *head) unreadable() bool { return h.conv == "" || h.at.IsZero() }

func (h *head) event() protocol.Event {
	return protocol.Event{
		Name: h.name, Time: h.at, From: h.sender, Type: h.kind, Sequence: h.sequence, ReleaseStatus: h.release,
		InReplyTo: h.reply, Response: h.response,
	}
}

// item is the head as far as it matters for what waits. A release whose name does not go with its header is refused by
// whoever receives it, and ends nothing; one without a signature neither.
func (h *head) item() protocol.Item {
	return protocol.Item{
		Name: h.name, Conversation: h.conv, Type: h.kind, Time: h.at, Unreadable: h.unreadable(),
		Unsigned: h.unsigned || h.kind == protocol.Release && h.sender == "",
	}
}

// counts reports whether a message moves a conversation: an unsigned one is never acted on, nor is one whose name does not go
// with its header.
func (h *head) counts() bool { return !h.unsigned && h.sender != "" && !h.unreadable() && h.kind != "" }

// nameTime is the time in the name of a message.
func nameTime(name string) time.Time {
	const layout = "20060102T150405Z"
	if len(name) < len(layout) {
		return time.Time{}
	}
	t, _ := time.Parse(layout, name[:len(layout)])
	return t
}

// readHead reads the header of a message, through a buffer of orgfile.MaxHeader bytes. What cannot be read is a head with a
// name only. The identity is that of the file that was read; ok is false when there is none to be read by that name, or a folder.
func readHead(d *atomicfile.Dir, name string, archive bool, buf []byte) (h head, id index.Stat, ok bool) {
	h.name = name
	f, info, err := d.Open(name, false, 0)
	if err != nil {
		info, err := d.Stat(name)
		if err != nil || info.Folder() {
			return h, id, false
		}
		return h, statOf(info), true
	}
	defer f.Close()
	id = statOf(info)
	n, err := f.Pread(buf, 0)
	if err != nil {
		return h, id, true
	}
	header, err := orgfile.ParseHead(buf[:n], info.Size > int64(n))
	if err != nil {
		return h, id, true
	}
	m, _, _ := protocol.Read(header)
	h.conv, h.title, h.kind, h.at, h.sequence = m.Conversation, m.Title, m.Type, m.Time, m.Sequence
	h.reply, h.release, h.response = m.InReplyTo, m.ReleaseStatus, m.Response
	if a, ok := protocol.ParseAddress(m.From); ok {
		h.host = a.Machine
	}
	if h.conv == "" {
		return h, id, true
	}
	if archive {
		h.name, h.sender = unarchived(name, h.conv)
	} else if n, err := protocol.ParseName(name, h.conv, nil); err == nil {
		h.sender = n.Sender
	}
	return h, id, true
}

// unarchived returns the name that an archived message had, and its sender; the name it has, and none, if it is of another form.
func unarchived(file, conv string) (name, sender string) {
	rest, ok := strings.CutPrefix(file, conv+"-")
	stamp, sender, found := strings.Cut(rest, "-from-")
	sender, org := strings.CutSuffix(sender, ".org")
	if !ok || !found || !org {
		return file, ""
	}
	name = stamp + "-from-" + sender + "-" + conv + ".org"
	if n, err := protocol.ParseName(name, conv, nil); err != nil || n.Sender != sender {
		return file, ""
	}
	return name, sender
}

func statOf(i atomicfile.Info) index.Stat {
	return index.Stat{Dev: i.Dev, Ino: i.Ino, Size: i.Size, Mtime: i.Mtime, Ctime: i.Ctime}
}

// headVersion is the version of what pack writes: another one is read anew.
const headVersion = 2

var kinds = protocol.Types()

// pack writes what is kept of a head besides its name in the folder.
func (h *head) pack(file string) []byte {
	b := make([]byte, 0, 96)
	flags := byte(0)
	if h.unsigned {
		flags |= 1
	}
	if !h.at.IsZero() {
		flags |= 2
	}
	kind := byte(0)
	for i, k := range kinds {
		if k == h.kind {
			kind = byte(i + 1)
		}
	}
	b = append(b, flags, kind)
	if !h.at.IsZero() {
		b = binary.AppendVarint(b, h.at.Unix())
		b = binary.AppendUvarint(b, uint64(h.at.Nanosecond()))
	}
	b = binary.AppendUvarint(b, uint64(h.sequence))
	b = binary.AppendUvarint(b, uint64(h.reply))
	name := h.name
	if name == file {
		name = ""
	}
	for _, s := range [...]string{h.conv, h.sender, h.title, h.release, h.response, h.host, name} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return b
}

// unpack reads what pack has written. Its strings are parts of s.
func (h *head) unpack(file, s string) (ok bool) {
	if len(s) < 2 || int(s[1]) > len(kinds) {
		return false
	}
	u := unpacker{s: s[2:]}
	flags := s[0]
	if s[1] > 0 {
		h.kind = kinds[s[1]-1]
	}
	h.unsigned = flags&1 != 0
	if flags&2 != 0 {
		sec := u.number()
		h.at = time.Unix(int64(sec>>1)^-int64(sec&1), int64(u.number())).UTC()
	}
	h.sequence, h.reply = int(u.number()), int(u.number())
	for _, to := range [...]*string{&h.conv, &h.sender, &h.title, &h.release, &h.response, &h.host, &h.name} {
		*to = u.text()
	}
	if h.name == "" {
		h.name = file
	}
	return !u.bad && u.s == ""
}

type unpacker struct {
	s   string
	bad bool
}

func (u *unpacker) number() uint64 {
	var n uint64
	for i, shift := 0, 0; i < len(u.s) && shift < 64; i, shift = i+1, shift+7 {
		n |= uint64(u.s[i]&0x7f) << shift
		if u.s[i] < 0x80 {
			u.s = u.s[i+1:]
			return n
		}
	}
	u.bad = true
	return 0
}

func (u *unpacker) text() string {
	n := u.number()
	if n > uint64(len(u.s)) {
		u.bad = true
		return ""
	}
	t := u.s[:n]
	u.s = u.s[n:]
	return t
}

// here reports whether a message may have been written on this machine, which has these names: it does not say otherwise.
func (h *head) here(names []string) bool {
	return h.host == "" || slices.Contains(names, strings.ToLower(h.host))
}
