package overview

import (
	"slices"
	"strings"
	"time"

	"tutti/internal/comms/protocol"
	"tutti/internal/core/orgfile"
	"tutti/internal/platform/atomicfile"
)

// A head is what is kept of a message.
type head struct {
	name     string
	file     string // as stored; in an archive messages have other names
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
	machine  string // of one that was sent: the machine that it went to
	key      string // of the conversation that it belongs to, see split
	unsigned bool
	refused  bool // its receiver would refuse it, or there was no time to check its signature
}

func (h *head) unreadable() bool { return h.conv == "" || h.at.IsZero() }

func (h *head) event() protocol.Event {
	return protocol.Event{
		Name: h.name, Time: h.at, From: h.sender, Type: h.kind, Sequence: h.sequence, ReleaseStatus: h.release,
		InReplyTo: h.reply, Response: h.response,
	}
}

// item is the head as far as it matters for what waits. A release whose name does not go with its header is refused by its
// receiver, and ends nothing; one without a signature neither.
func (h *head) item() protocol.Item {
	return protocol.Item{
		Name: h.name, Conversation: h.conv, Type: h.kind, Time: h.at, Unreadable: h.unreadable(),
		Unsigned: h.unsigned || h.refused || h.kind == protocol.Release && h.sender == "",
	}
}

// counts reports whether a message moves a conversation: what is refused is never acted on, nor is what has no signature, or a name
// that does not go with its header.
func (h *head) counts() bool {
	return !h.unsigned && !h.refused && h.sender != "" && !h.unreadable() && h.kind != ""
}

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
// name only. ok is false when there is nothing by that name any more, or a folder.
func readHead(d *atomicfile.Dir, name string, archive bool, buf []byte) (h head, ok bool) {
	h.name, h.file = name, name
	f, info, err := d.Open(name, false, 0)
	if err != nil {
		info, err := d.Stat(name)
		return h, err == nil && !info.Folder()
	}
	defer f.Close()
	n, err := f.Pread(buf, 0)
	if err != nil {
		return h, true
	}
	header, err := orgfile.ParseHead(buf[:n], info.Size > int64(n))
	if err != nil {
		return h, true
	}
	m, _, _ := protocol.Read(header)
	h.conv, h.title, h.kind, h.at, h.sequence = m.Conversation, m.Title, m.Type, m.Time, m.Sequence
	h.reply, h.release, h.response = m.InReplyTo, m.ReleaseStatus, m.Response
	if a, ok := protocol.ParseAddress(m.From); ok {
		h.host = a.Machine
	}
	if h.conv == "" {
		return h, true
	}
	if archive {
		h.name, h.sender = unarchived(name, h.conv)
	} else if n, err := protocol.ParseName(name, h.conv, nil); err == nil {
		h.sender = n.Sender
	}
	return h, true
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

// here reports whether a message may have been written on this machine, which has these names: it does not say otherwise.
func (h *head) here(names []string) bool {
	return h.host == "" || slices.Contains(names, strings.ToLower(h.host))
}
