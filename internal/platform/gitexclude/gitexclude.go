// Package gitexclude knows git work trees, and keeps what tutti puts into one out of git.
//
// It promises that a folder that tutti makes there, with keys and mail in it, is not offered by "git add -A". [Ignore] writes a
// .gitignore into a folder that belongs to tutti alone. [Exclude] lists a folder in .git/info/exclude, which no commit carries.
// Both keep every line that is there already, and do nothing outside a work tree.
//
// [Twins] returns where a file stands in the other work trees of its repository.
//
// It starts no git: it follows the .git entry as git does. Whether git already tracks a file is for package app to ask.
package gitexclude

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxFile is the size from which a .git file or an exclude list is left alone.
const maxFile = 1 << 20

// WorkTree returns the top folder of the work tree that contains dir, and the folder that its repository shares with linked
// work trees. Both are empty outside a work tree.
func WorkTree(dir string) (top, common string) {
	for at := dir; ; at = filepath.Dir(at) {
		entry := filepath.Join(at, ".git")
		if info, err := os.Stat(entry); err == nil {
			if common = commonDir(entry, info); common != "" {
				return at, common
			}
			return "", ""
		}
		if at == filepath.Dir(at) {
			return "", ""
		}
	}
}

// commonDir follows a .git entry: a folder, or in a linked work tree or a submodule a file that names one.
func commonDir(entry string, info fs.FileInfo) string {
	dir := entry
	if !info.IsDir() {
		named, ok := strings.CutPrefix(small(entry), "gitdir: ")
		if !ok {
			return ""
		}
		dir = under(filepath.Dir(entry), named)
	}
	if shared := small(filepath.Join(dir, "commondir")); shared != "" {
		dir = under(dir, shared)
	}
	if info, err := os.Stat(filepath.Join(dir, "objects")); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}

func under(base, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

// small returns the trimmed text of a small regular file, and "" for anything else.
func small(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return ""
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// Ignored tells whether Ignore has nothing to do: dir is outside a work tree, or has a .gitignore.
func Ignored(dir string) bool {
	if top, _ := WorkTree(filepath.Dir(dir)); top == "" {
		return true
	}
	_, err := os.Lstat(filepath.Join(dir, ".gitignore"))
	return err == nil
}

// Ignore makes git pass over dir, a folder of tutti's own: it gets a .gitignore with "*". One that is there stays as it is.
func Ignore(dir string) error {
	if Ignored(dir) {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(dir, ".gitignore"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString("# tutti keeps keys and mail here: git passes over all of it\n*\n")
	return errors.Join(err, f.Close())
}

// Exclude lists dir, which must exist or be about to be made, in the info/exclude of its repository.
func Exclude(dir string) error {
	parent, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		return nil // nothing can be made there, either
	}
	top, common := WorkTree(parent)
	if top == "" {
		return nil
	}
	rel, err := filepath.Rel(top, filepath.Join(parent, filepath.Base(dir)))
	if err != nil || !filepath.IsLocal(rel) || strings.ContainsAny(rel, "\r\n") {
		return err
	}
	line := "/" + pattern(filepath.ToSlash(rel)) + "/"
	path := filepath.Join(common, "info", "exclude")
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
	case err != nil:
		return err
	case !info.Mode().IsRegular() || info.Size() > maxFile:
		return errors.New(path + ": not a file that can be extended")
	}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for have := range strings.Lines(string(text)) {
		if strings.TrimRight(have, "\r\n") == line {
			return nil
		}
	}
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		line = "\n" + line
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n") // one write: two processes at once add two lines, and tear none
	return errors.Join(err, f.Close())
}

// pattern escapes what a line of an exclude list does not take literally.
func pattern(path string) string {
	path = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
	if trimmed := strings.TrimRight(path, " "); trimmed != path {
		path = trimmed + strings.Repeat(`\ `, len(path)-len(trimmed))
	}
	return path
}
