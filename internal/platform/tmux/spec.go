package tmux

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Limits of what a session is made with.
const (
	MaxSession   = 200         // bytes of a name
	MaxArgument  = 128<<10 - 1 // bytes of an argument or a variable: what Linux takes
	maxSide      = 10_000      // characters of a screen, in each direction: what tmux takes
	MaxArguments = 768 << 10   // bytes of all of them; Linux takes 2 MiB, macOS 1 MiB, the server's environment counts
)

// CheckName tells whether a session can have this name and be found by it. Tmux writes _ for . and :, and \ before \ and $; and
// names that begin with a mark mean something else where a session is asked for.
func CheckName(name string) error {
	why := ""
	switch {
	case name == "":
		why = "it is empty"
	case len(name) > MaxSession:
		return fmt.Errorf("session name of %d bytes: at most %d", len(name), MaxSession)
	case !utf8.ValidString(name):
		why = "it is not UTF-8"
	case Clean(name) != name || strings.ContainsAny(name, "\n\t"):
		why = "it has a control character"
	case strings.ContainsAny(name, `.:\$`):
		why = `tmux writes . : \ and $ in another way`
	case strings.ContainsRune("=@%-+!~{", rune(name[0])):
		why = "to tmux such a beginning means something else"
	default:
		return nil
	}
	return fmt.Errorf("session name %.80q: %s", name, why)
}

// check returns the arguments with which the program is started: at least two, because one alone would go to a shell.
func (spec Spec) check() (argv []string, err error) {
	if err := CheckName(spec.Name); err != nil {
		return nil, err
	}
	for _, c := range []byte(spec.Owner) {
		if !nameByte(c) {
			return nil, fmt.Errorf("owner %.80q: only letters, digits, _ and -", spec.Owner)
		}
	}
	if spec.Width < 0 || spec.Height < 0 || spec.Width > maxSide || spec.Height > maxSide {
		return nil, fmt.Errorf("screen of %d by %d: want at most %d each", spec.Width, spec.Height, maxSide)
	}
	if err := checkDir(spec.Dir); err != nil {
		return nil, err
	}
	if len(spec.Argv) == 0 || spec.Argv[0] == "" {
		return nil, errors.New("no program")
	}
	if err := checkSizes(spec.Argv, spec.Env); err != nil {
		return nil, err
	}
	for _, v := range spec.Env {
		if name, _, ok := strings.Cut(v, "="); !ok || name == "" {
			return nil, fmt.Errorf("variable %.80q: want NAME=VALUE", v)
		}
	}
	program, err := Program(spec.Argv[0], spec.Env)
	if err != nil {
		return nil, err
	}
	argv = slices.Clone(spec.Argv)
	argv[0] = program
	if len(argv) > 1 {
		return argv, nil
	}
	if strings.Contains(program, "=") {
		return nil, fmt.Errorf("program %q: cannot be started without arguments: it has a = in its path", program)
	}
	return []string{"/usr/bin/env", program}, nil // becomes the program
}

func checkSizes(argv, env []string) error {
	all := 0
	for _, list := range [][]string{argv, env} {
		for _, s := range list {
			if len(s) > MaxArgument {
				return fmt.Errorf("argument or variable %.40q…: %d bytes: at most %d", s, len(s), MaxArgument)
			}
			if strings.Contains(s, "\x00") {
				return fmt.Errorf("argument or variable %.80q: it has a NUL", s)
			}
			all += len(s) + 1
		}
	}
	if all > MaxArguments {
		return fmt.Errorf("arguments and variables of %d bytes: at most %d", all, MaxArguments)
	}
	return nil
}

// checkDir tells whether a program can start in the folder. Tmux would start it in another one, without a word.
func checkDir(dir string) error {
	if !filepath.IsAbs(dir) || strings.Contains(dir, "\x00") {
		return fmt.Errorf("folder %.200q: want an absolute path", dir)
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = unix.ENOTDIR
	}
	if err == nil {
		err = unix.Access(dir, unix.X_OK)
	}
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return fmt.Errorf("folder %.200q: %w", dir, err)
	}
	return nil
}

// Program returns the absolute path of the program that [Server.New] starts with an environment. exec.ErrNotFound: there is none of that
// name; fs.ErrNotExist: there is none at that path.
func Program(name string, env []string) (string, error) {
	search := os.Getenv("PATH")
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			search = value
		}
	}
	return findProgram(name, search)
}

// findProgram returns the absolute path of a program. In a list of folders those that are not absolute are left out: what they mean
// depends on where one stands.
func findProgram(name, search string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			return "", fmt.Errorf("program %.200q: want an absolute path, or a name to be found on PATH", name)
		}
		if err := executable(name); err != nil {
			return "", fmt.Errorf("program %.200q: %w", name, err)
		}
		return name, nil
	}
	for _, dir := range filepath.SplitList(search) {
		if program := filepath.Join(dir, name); filepath.IsAbs(dir) && executable(program) == nil {
			return program, nil
		}
	}
	return "", fmt.Errorf("program %.200q: %w", name, exec.ErrNotFound)
}

func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is not a file")
	}
	return unix.Access(path, unix.X_OK)
}

// serverEnv is the environment with which a server is started, and so that of every program in it: who the user is, where files and
// sockets lie, in which language. No key, no token, no proxy: what one program needs, its session gets by [Spec]. The last line
// is what tmux takes anew from each client that makes a session.
func serverEnv() []string {
	var env []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "HOME", "USER", "LOGNAME", "SHELL", "PATH", "TMPDIR", "TZ", "LANG", "LANGUAGE", "TMUX_TMPDIR",
			"XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_DIRS",
			"DISPLAY", "WAYLAND_DISPLAY", "KRB5CCNAME", "SSH_ASKPASS", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_CONNECTION", "WINDOWID", "XAUTHORITY":
			env = append(env, v)
		default:
			if strings.HasPrefix(name, "LC_") {
				env = append(env, v)
			}
		}
	}
	return env
}
