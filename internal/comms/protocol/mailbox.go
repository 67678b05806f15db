package protocol

import (
	"slices"
	"strings"
)

// The folders and suffixes of a mailbox, below the folder of its project.
const (
	MailboxFolder  = "inbox/from-agents"
	ArtifactFolder = "artifacts" // in the mailbox
	ArchiveFolder  = ".ai/sessions/cross-agent"
	ProjectMark    = ".ai"   // a folder is a project if it has this
	TempPrefix     = ".tmp." // of files that are being written
)

// An EntryKind is what an entry of a mailbox is by its name.
type EntryKind uint8

// The kinds.
const (
	HiddenEntry    EntryKind = iota // being written, by us or by rsync; never looked at
	FolderEntry                     // artifacts and others; never looked at
	MessageEntry                    // a message
	SignatureEntry                  // the signature of a message, be it there or not
	ForeignEntry                    // anything else: told as a warning, never acted on, never deleted
)

// Classify tells what an entry is. It allocates nothing: mailboxes have ten thousand of them.
func Classify(name string, folder bool) EntryKind {
	switch {
	case strings.HasPrefix(name, "."):
		return HiddenEntry
	case folder:
		return FolderEntry
	}
	n, _, ok := splitName(name)
	switch {
	case !ok:
		return ForeignEntry
	case n.Signature:
		return SignatureEntry
	}
	return MessageEntry
}

// A DirEntry is an entry of a folder.
type DirEntry struct {
	Name   string
	Folder bool
}

// A Listing is what a mailbox holds.
type Listing struct {
	Messages []string // sorted, which is the order in which they came
	Unsigned []string // those of them without a file of a signature beside them, sorted
	Foreign  []string // in the order in which they were given
}

// ListMailbox sorts the entries of a mailbox, given in any order. A signature without its message is a delivery that was cut
// off between its two steps: readers do not see it.
func ListMailbox(entries []DirEntry) Listing {
	var l Listing
	signed := map[string]bool{}
	for _, e := range entries {
		switch Classify(e.Name, e.Folder) {
		case MessageEntry:
			l.Messages = append(l.Messages, e.Name)
		case SignatureEntry:
			signed[strings.TrimSuffix(e.Name, ascSuffix)] = true
		case ForeignEntry:
			l.Foreign = append(l.Foreign, e.Name)
		}
	}
	slices.Sort(l.Messages)
	for _, name := range l.Messages {
		if !signed[name] {
			l.Unsigned = append(l.Unsigned, name)
		}
	}
	return l
}

// An Action is what a watcher does at an event.
type Action uint8

// The actions.
const (
	Ignore  Action = iota
	Notify         // and log
	LogOnly        // a foreign name
	Rescan         // events were lost
)

func (a Action) String() string { return [...]string{"ignore", "notify", "log_only", "rescan"}[a] }

// OnEvent returns what a watcher does when an entry was created in a mailbox or moved into it; lost: the system had more
// events than it kept, and the name says nothing.
func OnEvent(name string, folder, lost bool) Action {
	if lost {
		return Rescan
	}
	switch Classify(name, folder) {
	case MessageEntry:
		return Notify
	case ForeignEntry:
		return LogOnly
	}
	return Ignore
}

// Artifact returns the steps of a reference to a file beside the messages, as bodies have them: artifacts/report.pdf. The
// result is the path below the mailbox. False: it leads elsewhere, or may be read in two ways. Callers that open it check
// whether a link on the way leads out: below a handle of the mailbox, following none.
func Artifact(ref string) (path string, ok bool) {
	steps := strings.Split(ref, "/")
	if len(steps) < 2 || steps[0] != ArtifactFolder || len(ref) > 4096 { // the longest path that Linux takes
		return "", false
	}
	for _, s := range steps {
		if s == "" || s == "." || s == ".." || strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f || r == '\\' }) {
			return "", false
		}
	}
	return ref, true
}
