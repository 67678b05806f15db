package worktree

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"tutti/internal/platform/smallfile"
)

// maxFiltered is how many files may differ from their bytes in git because of line ends or filters: each costs a process.
const maxFiltered = 2000

// maxLog is how much of a log of git is read; a longer one is unknown.
const maxLog = 64 << 20

// An entry is a file or a folder that was checked.
type entry struct {
	path string
	info fs.FileInfo
}

// A blob is a file of the last commit.
type blob struct{ mode, id string }

// in runs git for the worktree, wherever its files are.
func (m *removal) in(ctx context.Context, input string, args ...string) (string, error) {
	out, err := m.raw(ctx, input, args...)
	return strings.TrimSuffix(out, "\n"), err
}

// raw is in without changes to what git prints.
func (m *removal) raw(ctx context.Context, input string, args ...string) (string, error) {
	return gitInput(ctx, m.at, input, append([]string{"--no-optional-locks", "--git-dir=" + m.git, "--work-tree=" + m.at}, args...)...)
}

// check proves that nothing is lost with the worktree, and returns all that is in its folder.
func (m *removal) check(ctx context.Context) ([]entry, error) {
	if err := m.checkGit(ctx); err != nil {
		if _, ok := errors.AsType[*Refusal](err); ok {
			return nil, err
		}
		return nil, unknown(m.t.Path, err)
	}
	all, err := m.checkFiles(ctx)
	if _, ok := errors.AsType[*Refusal](err); err != nil && !ok {
		return nil, unknown(m.t.Path, err)
	}
	return all, err
}

func (m *removal) refuse(reason, text string, files ...string) error {
	return &Refusal{Path: m.t.Path, Reason: reason, Text: text, Files: first(files)}
}

// checkGit looks at what git keeps for this worktree alone: its commit, its index, its log, operations that have not ended.
func (m *removal) checkGit(ctx context.Context) error {
	at, err := busy(m.git)
	if err != nil {
		return err
	}
	if at != "" {
		return m.refuse(Uncommitted, "an operation of git has not ended ("+at+")")
	}
	for _, name := range [...]string{"modules", "config.worktree"} { // submodules, settings
		if _, err := os.Lstat(filepath.Join(m.git, name)); err == nil {
			return m.refuse(Unknown, "git keeps something for this worktree alone: "+filepath.Join(m.git, name))
		}
	}
	own, err := m.in(ctx, "", "for-each-ref", "--format=%(refname)", "refs/worktree", "refs/bisect", "refs/rewritten")
	if err != nil {
		return err
	}
	if own != "" {
		return m.refuse(Unmerged, "it has references of its own", strings.Split(own, "\n")...)
	}
	head, err := m.in(ctx, "", "rev-parse", "--verify", "HEAD^{commit}")
	if err != nil {
		return err
	}
	if _, err := m.in(ctx, "", "diff-index", "--cached", "--quiet", "--no-ext-diff", "--ignore-submodules=none", "HEAD", "--"); err != nil {
		return m.refuse(Uncommitted, "staged changes are not committed, or git cannot tell")
	}
	refs, err := m.in(ctx, "", "for-each-ref", "--contains="+head, "--format=%(refname) %(symref)", "refs/heads", "refs/remotes", "refs/tags")
	if err != nil {
		return err
	}
	branch, _ := m.in(ctx, "", "symbolic-ref", "--quiet", "HEAD")
	kept := false
	for line := range strings.Lines(refs) {
		name, link, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		kept = kept || name != branch && link != branch
	}
	if !kept {
		if branch == "" {
			return m.refuse(Unmerged, "no branch, remote or tag contains its commit (detached HEAD)")
		}
		return m.refuse(Unmerged, "no other branch, remote or tag contains its last commit: merge or push "+strings.TrimPrefix(branch, "refs/heads/"))
	}
	return m.checkLog(ctx)
}

// checkLog refuses when a commit is kept by the log of this worktree's HEAD only: the log goes with it.
func (m *removal) checkLog(ctx context.Context) error {
	ids := map[string]bool{}
	for _, name := range [...]string{"logs/HEAD", "ORIG_HEAD"} {
		text, _, err := smallfile.Read(filepath.Join(m.git, name), maxLog, smallfile.NoLinks)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for line := range strings.Lines(string(text)) {
			head, _, _ := strings.Cut(line, "\t")
			for _, word := range strings.Fields(head)[:min(2, len(strings.Fields(head)))] {
				if _, err := hex.DecodeString(word); err == nil && strings.Trim(word, "0") != "" && len(word) >= 40 {
					ids[word] = true
				}
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var input strings.Builder
	for id := range ids {
		input.WriteString(id + "\n")
	}
	// What is gone already is not lost by the removal.
	there, err := m.in(ctx, input.String(), "cat-file", "--batch-check=%(objecttype) %(objectname)")
	if err != nil {
		return err
	}
	input.Reset()
	for line := range strings.Lines(there) {
		if id, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "commit "); ok {
			input.WriteString(id + "\n")
		}
	}
	known, err := branchLogs(m.r.Common)
	if err != nil {
		return err
	}
	there, err = m.in(ctx, known, "cat-file", "--batch-check=%(objecttype) %(objectname)")
	if err != nil {
		return err
	}
	for line := range strings.Lines(there) {
		if id, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "commit "); ok {
			input.WriteString("^" + id + "\n")
		}
	}
	only, err := m.in(ctx, input.String(), "rev-list", "--max-count=1", "--stdin", "--not", "--branches", "--remotes", "--tags")
	if err != nil {
		return err
	}
	if only != "" {
		return m.refuse(Unmerged, "commit "+only+" is only in the log of this worktree (git reflog): put a branch or a tag on it")
	}
	return nil
}

// branchLogs are the commits in the logs of branches, one a line. These stay.
func branchLogs(common string) (string, error) {
	var all strings.Builder
	err := filepath.WalkDir(filepath.Join(common, "logs", "refs", "heads"), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, _, err := smallfile.Read(path, maxLog, smallfile.NoLinks)
		for line := range strings.Lines(string(text)) {
			for _, word := range strings.SplitN(line, " ", 3)[:min(2, strings.Count(line, " "))] {
				if strings.Trim(word, "0") != "" {
					all.WriteString(word + "\n")
				}
			}
		}
		return err
	})
	return all.String(), err
}

// committed are the files of the last commit, whose bytes must be in the repository.
func (m *removal) committed(ctx context.Context) (map[string]blob, error) {
	text, err := m.in(ctx, "", "ls-tree", "-r", "-z", "--full-tree", "HEAD")
	if err != nil {
		return nil, err
	}
	files := map[string]blob{}
	var ids strings.Builder
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\x00"), "\x00") {
		if line == "" {
			continue
		}
		about, name, ok := strings.Cut(line, "\t")
		word := strings.Fields(about)
		if !ok || len(word) != 3 {
			return nil, errors.New("git ls-tree says something unknown")
		}
		files[name] = blob{word[0], word[2]}
		if word[1] == "blob" {
			ids.WriteString(word[2] + "\n")
		}
	}
	there, err := m.in(ctx, ids.String(), "cat-file", "--batch-check=%(objecttype)")
	if err != nil {
		return nil, err
	}
	if n := strings.Count(there+"\n", "blob\n"); ids.Len() > 0 && n != strings.Count(ids.String(), "\n") {
		return nil, errors.New("the repository lacks files of the last commit")
	}
	return files, nil
}

// checkFiles compares each file with the last commit.
func (m *removal) checkFiles(ctx context.Context) (all []entry, err error) {
	files, err := m.committed(ctx)
	if err != nil {
		return nil, err
	}
	root, err := smallfile.OpenRoot(m.at)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	top, err := root.Lstat(".")
	if err != nil {
		return nil, err
	}
	var changed, extra []string
	filtered := 0
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		info, err := root.Lstat(path)
		if err != nil {
			return err
		}
		all = append(all, entry{path, info})
		if device(info) != device(top) {
			return m.refuse(InUse, "another file system is mounted in it", path)
		}
		b, tracked := files[path]
		switch {
		case path == ".git":
			return nil
		case filepath.Base(path) == ".git" || b.mode == "160000":
			return m.refuse(Unknown, "another repository is in it", path)
		case info.IsDir() && !tracked:
			return nil
		case !tracked:
			extra = append(extra, path)
			return nil
		}
		delete(files, path)
		same, err := m.same(ctx, root, path, info, b, &filtered)
		if !same && err == nil {
			changed = append(changed, path)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(changed) > 0 {
		return nil, m.refuse(Uncommitted, fmt.Sprintf("%d files differ from the last commit", len(changed)), changed...)
	}
	for path := range files {
		return nil, m.refuse(Uncommitted, "files of the last commit are deleted", path)
	}
	return all, m.checkExtra(ctx, root, extra)
}

// same tells whether a file is what git would write for it.
func (m *removal) same(ctx context.Context, root *os.Root, path string, info fs.FileInfo, b blob, filtered *int) (bool, error) {
	sum := sha1.New()
	if len(b.id) > 40 {
		sum = sha256.New()
	}
	if info.Mode().Type() == fs.ModeSymlink {
		to, err := root.Readlink(path)
		return b.mode == "120000" && blobID(sum, []byte(to)) == b.id, err
	}
	if !info.Mode().IsRegular() || b.mode == "120000" || (b.mode == "100755") != (info.Mode()&0o100 != 0) {
		return false, nil
	}
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return false, err
	}
	defer f.Close()
	fmt.Fprintf(sum, "blob %d\x00", info.Size())
	if _, err := io.Copy(sum, f); err != nil {
		return false, err
	}
	if hex.EncodeToString(sum.Sum(nil)) == b.id {
		return true, nil
	}
	if *filtered++; *filtered > maxFiltered {
		return false, nil
	}
	written, err := m.raw(ctx, "", "cat-file", "--filters", "HEAD:"+path)
	if err != nil {
		return false, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return false, err
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(len(written))+1))
	return string(data) == written, err
}

func blobID(sum hash.Hash, data []byte) string {
	fmt.Fprintf(sum, "blob %d\x00", len(data))
	sum.Write(data)
	return hex.EncodeToString(sum.Sum(nil))
}

// checkExtra allows files that git does not have only if they are ignored and the same bytes are at the same path of the main worktree.
func (m *removal) checkExtra(ctx context.Context, root *os.Root, extra []string) error {
	if len(extra) == 0 {
		return nil
	}
	text, err := m.in(ctx, strings.Join(extra, "\x00")+"\x00", "check-ignore", "--no-index", "-z", "--stdin")
	if err != nil && text != "" {
		return err
	}
	ignored := map[string]bool{}
	for path := range strings.SplitSeq(text, "\x00") {
		ignored[path] = true
	}
	if i := slices.IndexFunc(extra, func(path string) bool { return !ignored[path] }); i >= 0 {
		return m.refuse(Untracked, "it has untracked files", slices.DeleteFunc(extra, func(path string) bool { return ignored[path] })...)
	}
	var alone []string
	for _, path := range extra {
		if same, err := m.inMain(root, path); err != nil {
			return err
		} else if !same {
			alone = append(alone, path)
		}
	}
	if len(alone) > 0 {
		return m.refuse(Ignored, fmt.Sprintf("%d ignored files are not the same in the main worktree", len(alone)), alone...)
	}
	return nil
}

// inMain tells whether the main worktree has the same file.
func (m *removal) inMain(root *os.Root, path string) (bool, error) {
	if m.main == nil {
		return false, nil
	}
	var sums [2][]byte
	for i, r := range [...]*os.Root{root, m.main} {
		info, err := r.Lstat(path)
		if err != nil || !info.Mode().IsRegular() {
			return false, nil
		}
		f, err := r.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
		if err != nil {
			return false, nil
		}
		sum := sha256.New()
		_, err = io.Copy(sum, f)
		if err = errors.Join(err, f.Close()); err != nil {
			return false, err
		}
		sums[i] = sum.Sum(nil)
	}
	return bytes.Equal(sums[0], sums[1]), nil
}

// device is the number of the file system of a file.
func device(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Dev) //nolint:unconvert // it is an int32 on darwin
	}
	return 0
}
