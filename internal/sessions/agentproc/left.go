package agentproc

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tutti/internal/platform/proc"
	"tutti/internal/platform/smallfile"
)

// Left returns the agent CLI and MCP server processes of this user whose session has ended: an agent CLI whose terminal was closed,
// and an MCP server of tutti or h2a whose agent CLI has ended. Those of another home folder or pid namespace are not among them.
func Left(home string) ([]Agent, error) {
	agents, err := Find(home)
	if err != nil {
		return nil, err
	}
	var left []Agent
	for _, a := range agents {
		if !a.Elsewhere && !a.Server && closedTerminal(a.Process.PID) {
			left = append(left, a)
		}
	}
	all, err := proc.List()
	if err != nil {
		return nil, err
	}
	f := finder{home: home, space: proc.Space(), uid: os.Getuid()}
	for _, p := range all {
		if uid, err := proc.Owner(p.PID); err != nil || uid != f.uid || p.PID == os.Getpid() || !orphan(all, p) {
			continue
		}
		argv, err := proc.Cmdline(p.PID)
		if err != nil || !servesBus(argv) || f.elsewhere(p.PID) {
			continue
		}
		left = append(left, Agent{Title: "MCP server", Process: p.ID, All: []proc.ID{p.ID}, Argv: argv})
	}
	return left, nil
}

// A Server is an MCP server of tutti that runs.
type Server struct {
	Process proc.ID
	Program string // path of its executable, as it was when it was started
	Gone    bool   // that file was replaced or removed since
	Dir     string // in which it runs, which is where its agent CLI was started; "": not known
	Parent  string // name of the process that started it, mostly of the agent CLI; "": not known
}

// Servers returns the MCP servers of tutti of this user, those of this home folder and pid namespace.
func Servers(home string) ([]Server, error) {
	all, err := proc.List()
	if err != nil {
		return nil, err
	}
	f := finder{home: home, space: proc.Space(), uid: os.Getuid()}
	var servers []Server
	for _, p := range all {
		if uid, err := proc.Owner(p.PID); err != nil || uid != f.uid || p.PID == os.Getpid() {
			continue
		}
		argv, err := proc.Cmdline(p.PID)
		if err != nil || !servesBus(argv) || f.elsewhere(p.PID) {
			continue
		}
		dir := "/proc/" + strconv.Itoa(p.PID)
		program, err := os.Readlink(dir + "/exe")
		if err != nil {
			continue // it has ended, or is a program of h2a that is not ours to judge
		}
		s := Server{Process: p.ID}
		s.Program, s.Gone = strings.CutSuffix(program, " (deleted)")
		s.Dir, _ = os.Readlink(dir + "/cwd")
		if n := slices.IndexFunc(all, func(q proc.Process) bool { return q.PID == p.Parent }); n >= 0 {
			s.Parent = all[n].Comm
		}
		servers = append(servers, s)
	}
	return servers, nil
}

// closedTerminal tells whether the terminal that a process reads from no longer exists.
func closedTerminal(pid int) bool {
	at, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/fd/0")
	return err == nil && strings.HasPrefix(at, "/dev/pts/") && strings.HasSuffix(at, " (deleted)")
}

// orphan tells whether the process that started this one has ended: init has it now, or the service manager of the user.
func orphan(all []proc.Process, p proc.Process) bool {
	if p.Parent == 1 {
		return true
	}
	n := slices.IndexFunc(all, func(q proc.Process) bool { return q.PID == p.Parent })
	return n >= 0 && all[n].Comm == "systemd"
}

// servesBus tells whether the arguments are those of an MCP server of tutti or h2a.
func servesBus(argv []string) bool {
	n := slices.Index(argv, "mcp-serve")
	return n > 0 && slices.Contains([]string{"tutti", "tutti-full", "tuttid", "h2a", "h2a.js"}, filepath.Base(argv[n-1]))
}

// Memory returns how much memory a process has resident, in bytes; 0 where that cannot be told.
func Memory(pid int) int64 {
	text, _, err := smallfile.Read("/proc/"+strconv.Itoa(pid)+"/statm", 4<<10, smallfile.NoLinks)
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}
