package overview

import (
	"os"
	"path/filepath"
	"strings"

	"tutti/internal/platform/smallfile"
)

const (
	maxHead  = 4 << 10 // bytes of a file of git that names one thing
	shortest = 12      // digits of a commit
)

// Branch is the branch of git that is checked out in a folder or the nearest one above it that has a working tree, or the beginning
// of the commit where there is none; "" outside of a repository, and where that cannot be read. It starts no git.
func Branch(dir string) string {
	for filepath.IsAbs(dir) {
		if at := filepath.Join(dir, ".git"); exists(at) {
			return headOf(at)
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// headOf reads what is checked out. In a linked working tree ".git" is a file that names the folder.
func headOf(at string) string {
	if to, ok := strings.CutPrefix(line(at), "gitdir: "); ok {
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(at), to)
		}
		at = to
	}
	head := line(filepath.Join(at, "HEAD"))
	if ref, ok := strings.CutPrefix(head, "ref: "); ok {
		return strings.TrimPrefix(ref, "refs/heads/")
	}
	return head[:min(len(head), shortest)]
}

// line is the content of a file of one line, "" for anything else.
func line(path string) string {
	raw, _, err := smallfile.Read(path, maxHead, smallfile.NoLinks)
	if err != nil {
		return ""
	}
	text := strings.TrimSpace(string(raw))
	if strings.ContainsAny(text, "\n\r") {
		return ""
	}
	return text
}
