package hook

import (
	"os"
	"strconv"
	"syscall"
	"time"

	"tutti/internal/comms/exchange"
)

// A place is the project whose folder the agent works in.
type place struct {
	known   bool // it was looked for
	project exchange.Project
	mark    string // of the mailbox and of the record of sends
	mail    bool   // it got some of this kind, or has written
}

// project is the one whose folder the agent works in, if it has mail of this kind: it got some, or has written.
func (e *event) project() (p exchange.Project, mark string, ok bool) {
	if e.o.Projects == nil || e.call.Dir == "" {
		return p, "", false
	}
	if !e.at.known {
		e.at = placeOf(&exchange.Service{Home: e.o.Projects.home}, e.call.Dir, e.now)
	}
	return e.at.project, e.at.mark, e.at.mail
}

func placeOf(o *exchange.Service, dir string, now time.Time) place {
	at := place{known: true}
	p, ok := o.ProjectAt(dir)
	if !ok {
		return at
	}
	box, sent := markOf(p.MailboxPath(), now), markOf(o.Sent(p).Path(), now)
	at.project, at.mark, at.mail = p, box+"/"+sent, box+sent != ""
	return at
}

// markOf tells a state of a file or a folder from another one; "": there is none. One that changed this moment has a mark of that moment, so
// that it is looked at again.
func markOf(path string, now time.Time) string {
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || now.Sub(info.ModTime()) < grain {
		return "young " + strconv.FormatInt(now.UnixNano(), 36)
	}
	return strconv.FormatUint(uint64(st.Ino), 36) + "." + strconv.FormatInt(info.ModTime().UnixNano(), 36) + "." + strconv.FormatInt(st.Size, 36)
}
