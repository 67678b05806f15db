package worktree

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tutti/internal/platform/smallfile"
)

// The files at the top of a repository that prepare a new worktree.
const (
	IncludeFile = ".worktreeinclude" // names the files to copy, as .gitignore does
	SetupFile   = ".worktreesetup"   // a program to run in the new folder
)

// Limits of what is copied and run.
const (
	maxCopied = 1000     // files
	maxBytes  = 64 << 20 // in all of them
	maxSetup  = 1 << 20
	setupTime = 10 * time.Minute
)

// Include copies into a new worktree the untracked and ignored files of the repository's folder that .worktreeinclude names. It follows no
// link, replaces no file, and returns what it copied and how many of the named files it left out.
func Include(ctx context.Context, repo, dir string) (copied []string, left int, err error) {
	if _, _, err := smallfile.Read(filepath.Join(repo, IncludeFile), maxSetup, smallfile.NoLinks); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, 0, nil
		}
		return nil, 0, err
	}
	names, err := Git(ctx, repo, "ls-files", "--others", "--ignored", "--exclude-from="+IncludeFile, "-z")
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", IncludeFile, err)
	}
	from, err := smallfile.OpenRoot(repo)
	if err != nil {
		return nil, 0, err
	}
	defer from.Close()
	to, err := smallfile.OpenRoot(dir)
	if err != nil {
		return nil, 0, err
	}
	defer to.Close()
	room := int64(maxBytes)
	for name := range strings.SplitSeq(strings.TrimSuffix(names, "\x00"), "\x00") {
		if name == "" {
			continue
		}
		if len(copied) >= maxCopied || !plain(from, name) {
			left++
			continue
		}
		n, err := copyFile(from, to, name, room)
		if err != nil {
			left++
			continue
		}
		room -= n
		copied = append(copied, name)
	}
	return copied, left, nil
}

// plain tells whether a name is that of a regular file below folders that are not links.
func plain(root *os.Root, name string) bool {
	if !filepath.IsLocal(name) {
		return false
	}
	for at := filepath.Dir(name); at != "."; at = filepath.Dir(at) {
		if info, err := root.Lstat(at); err != nil || !info.IsDir() {
			return false
		}
	}
	info, err := root.Lstat(name)
	return err == nil && info.Mode().IsRegular()
}

// copyFile copies a file of at most room bytes.
func copyFile(from, to *os.Root, name string, room int64) (n int64, err error) {
	in, err := from.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > room {
		return 0, errors.Join(err, errors.New(name+": too large, or not a file"))
	}
	if err := to.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return 0, err
	}
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(out, io.LimitReader(in, room))
	return n, errors.Join(err, out.Close())
}

// A Setup is the set-up program of a repository.
type Setup struct {
	Path string
	Text string
}

// SetupOf reads the set-up program in a folder; nil: there is none.
func SetupOf(dir string) (*Setup, error) {
	path := filepath.Join(dir, SetupFile)
	text, _, err := smallfile.Read(path, maxSetup, smallfile.NoLinks)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &Setup{path, string(text)}, nil
}

// Mark is the text by which an acceptance of exactly this content is remembered.
func (s *Setup) Mark() string {
	return fmt.Sprintf("worktree set-up %x", sha256.Sum256([]byte(s.Text)))
}

// Run runs it in its folder. repo is the folder from which files may be copied.
func (s *Setup) Run(ctx context.Context, repo string, env []string) error {
	ctx, cancel := context.WithTimeout(ctx, setupTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.Path)
	cmd.Dir, cmd.Env = filepath.Dir(s.Path), append(env[:len(env):len(env)], "TUTTI_REPOSITORY="+repo)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return fmt.Errorf("%s: %w: %s", SetupFile, err, lines[len(lines)-1])
}
