package halt

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// passwdFile is the password database. Users that only a directory service knows are not in it; for
// them HOME must be set, which every login does.
var passwdFile = "/etc/passwd"

// maxPasswd bounds what is read of the password database, in bytes. 4 MiB holds about 60,000 users.
const maxPasswd = 4 << 20

// A place holds the paths that follow from one value of HOME.
type place struct {
	env     string // value of HOME that they were made from
	folder  string // of the switch
	halt    string // the switch; "" when no home folder is known
	state   string // folder of the counter
	problem string // why no home folder is known
}

// places remembers the last answer of locate, so that asking costs neither a system call nor memory.
var places atomic.Pointer[place]

// locate returns the paths of the acting user: below HOME if that is an absolute path, else below the
// home that the password database has for the effective user.
func locate() *place {
	env := os.Getenv("HOME")
	if p := places.Load(); p != nil && p.env == env {
		return p
	}
	home := env
	if !strings.HasPrefix(home, "/") {
		uid := uint32(syscall.Geteuid())
		if _, home = account(uid); !strings.HasPrefix(home, "/") {
			// Not remembered: the database may be mended while the process runs.
			return &place{env: env, problem: "no home folder: HOME is not an absolute path, and " + passwdFile +
				" has none for uid " + strconv.FormatUint(uint64(uid), 10)}
		}
	}
	home = strings.TrimRight(home, "/")
	p := &place{
		env:    env,
		folder: home + "/.config/cross-agent-comms",
		halt:   home + "/.config/cross-agent-comms/HALT",
		state:  home + "/.local/state/tutti",
	}
	places.Store(p)
	return p
}

// userName returns the login name of uid, or its number.
func userName(uid uint32) string {
	if name, _ := account(uid); name != "" {
		return name
	}
	return strconv.FormatUint(uint64(uid), 10)
}

// account looks uid up in the password database. It reads the file itself, because the standard
// library's lookup costs start-up time and, without cgo, does the same.
func account(uid uint32) (name, home string) {
	data, err := readSmall(passwdFile, maxPasswd)
	if err == syscall.ELOOP { // some systems keep the database behind a link; it is the administrator's
		data, err = os.ReadFile(passwdFile)
	}
	if err != nil {
		return "", ""
	}
	want := strconv.FormatUint(uint64(uid), 10)
	for line := range strings.Lines(string(data)) {
		// name:password:uid:gid:comment:home:shell
		f := strings.Split(strings.TrimRight(line, "\n"), ":")
		if len(f) >= 6 && f[2] == want && !strings.HasPrefix(f[0], "#") {
			return clean(f[0]), f[5]
		}
	}
	return "", ""
}
