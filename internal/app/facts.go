package app

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"tutti/internal/agents/driver"
	"tutti/internal/bus/identity"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/smallfile"
)

// maxArgs is how many words of the command line of an ancestor is looked at: program and script stand at its beginning.
const maxArgs = 8

// Facts collects what is known of the command that is run. Everything but the environment is looked at when the answer
// counts, and once.
func (a *App) Facts() *identity.Facts {
	return &identity.Facts{
		Env:       a.set.Getenv,
		Place:     sync.OnceValue(a.Workplace),
		Login:     sync.OnceValue(func() string { return login(a.set.Getenv) }),
		Terminal:  sync.OnceValue(hasTerminal),
		Ancestors: sync.OnceValue(ancestors),
		Reclaims:  a.set.Original,
		Leader:    sync.OnceValue(leader),
	}
}

// Workplace returns where the command runs: the real path of the working directory, and the machine.
func (a *App) Workplace() identity.Workplace {
	dir := a.set.Dir
	if dir == "" {
		dir, _ = os.Getwd() // a folder that is gone has no path, and no agent is at home there
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	p := identity.Workplace{Path: dir, Machine: machineID()}
	var st syscall.Stat_t
	if syscall.Stat(dir, &st) == nil {
		p.Folder = strconv.FormatUint(uint64(st.Dev), 36) + "." + strconv.FormatUint(st.Ino, 36)
	}
	return p
}

// windows counts the windows of an agent CLI that are open in a folder, beside what serves them; 0 where that is not known.
func windows(d *driver.Driver, dir string) (n int) {
	all, err := proc.List()
	if err != nil {
		return 0
	}
	for _, p := range all {
		if p.TTY <= 0 || p.Comm != d.Program {
			continue
		}
		cwd, err := os.Readlink("/proc/" + strconv.Itoa(p.PID) + "/cwd")
		if args, _ := proc.Cmdline(p.PID); err == nil && cwd == dir && !d.Life.Serves(args) {
			n++
		}
	}
	return n
}

// machineID returns the id of the machine that all programs of the protocol use, so that they come to the same workspaces.
func machineID() string {
	for _, path := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if data, _, err := smallfile.Read(path, 4<<10, smallfile.Follow); err == nil {
			if id := strings.TrimSpace(string(data)); id != "" {
				return id
			}
		}
	}
	if name := proc.Hostname(); name != "" {
		return name
	}
	return "unknown-machine"
}

// login returns the name of the user that the process runs as: as the system has it, for the environment is inherited
// through su and sudo. A user without a name is called by number.
func login(getenv func(string) string) string {
	uid := strconv.Itoa(os.Geteuid())
	if u, err := user.LookupId(uid); err == nil && u.Username != "" {
		return u.Username
	}
	if name := getenv("LOGNAME"); name != "" {
		return name
	}
	return uid
}

// hasTerminal tells whether the process has a controlling terminal, wherever its standard files lead.
func hasTerminal() bool {
	fd, err := syscall.Open("/dev/tty", syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	syscall.Close(fd)
	return true
}

// ancestors returns the processes above this one, the parent first. What cannot be read of one, because it belongs to
// another user, is empty.
func ancestors() []identity.Process {
	var all []identity.Process
	for id, comm := range proc.Ancestors(os.Getpid()) {
		p := identity.Process{ID: id, Comm: comm}
		p.Exe, _ = proc.Exe(id.PID)
		p.Args, _ = proc.Cmdline(id.PID)
		if len(p.Args) > maxArgs {
			p.Args = p.Args[:maxArgs]
		}
		all = append(all, p)
	}
	return all
}

// leader returns the process that leads the session of this one.
func leader() proc.ID {
	sid, err := unix.Getsid(0)
	if err != nil {
		return proc.ID{}
	}
	id, err := proc.Of(sid)
	if err != nil {
		return proc.ID{}
	}
	return id
}
