package proc

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// A User is a process that uses a folder.
type User struct {
	PID  int
	Name string
}

// Users returns the processes whose working directory, root, program, open files or mapped files are in a folder: absolute, without
// links. It does not see processes that the kernel does not let this user look into.
func Users(dir string) (all []User, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || !uses(pid, dir) {
			continue
		}
		name, _ := Comm(pid)
		all = append(all, User{pid, name})
	}
	return all, nil
}

func uses(pid int, dir string) bool {
	inside := func(link string) bool {
		name, err := os.Readlink(link)
		return err == nil && (name == dir || strings.HasPrefix(name, dir+"/"))
	}
	for _, what := range [...]string{"cwd", "root", "exe"} {
		if inside(path(pid, what)) {
			return true
		}
	}
	entries, _ := os.ReadDir(path(pid, "fd")) // a process of others, or gone
	for _, e := range entries {
		if inside(path(pid, "fd/"+e.Name())) {
			return true
		}
	}
	maps, err := os.Open(path(pid, "maps"))
	if err != nil {
		return false
	}
	defer maps.Close()
	quoted := strings.ReplaceAll(dir, "\n", `\012`)
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		if strings.Contains(lines.Text(), " "+quoted+"/") {
			return true
		}
	}
	return false
}
