package exchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/filelock"
)

// A journal is a file of JSON objects, one a line, that only grows. A writer holds the kernel lock of the file; readers need
// none. A line that is not an object is skipped, here or by its reader: it is left from a crash, or from an edit by hand.
type journal struct {
	office *Service
	folder string // below the folder of records
	name   string
}

// journalLimit bounds what is read: about 180,000 messages of a project.
const journalLimit = 64 << 20

// A FullError reports a record that has grown larger than is read. Nothing is written to it any more, and nothing in it is lost.
type FullError struct{ Path string }

// Error also says how to go on with the newer half: most readers see it in a warning. The line that is cut is passed over.
func (e *FullError) Error() string {
	path, old, fresh := quoted(e.Path), quoted(e.Path+".old"), quoted(e.Path+".new")
	return fmt.Sprintf("%s has more than %d MiB, which is the most that is read; nothing in it is lost, keep its newer half: tail -c %d %s >%s && mv %s %s && mv %s %s",
		e.Path, journalLimit>>20, journalLimit/2, path, fresh, path, old, fresh, path)
}

// quoted writes a path so that it can be pasted into a shell.
func quoted(path string) string {
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// full makes the error of a record that is too large the one that says what to do.
func (j journal) full(d *atomicfile.Dir, err error) error {
	var unfit *atomicfile.UnfitError
	if errors.As(err, &unfit) {
		if info, e := d.Stat(j.name); e == nil && info.Regular() && info.Size > journalLimit {
			return &FullError{j.path()}
		}
	}
	return err
}

// journalTime is how long an append waits for another one.
const journalTime = 5 * time.Second

func (j journal) path() string { return filepath.Join(j.office.StatePath(j.folder), j.name) }

// read returns the lines, oldest first. A missing file is fs.ErrNotExist, an empty one has no lines.
func (j journal) read() ([][]byte, error) {
	d, err := atomicfile.OpenDir(j.office.StatePath(j.folder))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return j.readFrom(d)
}

func (j journal) readFrom(d *atomicfile.Dir) ([][]byte, error) {
	data, _, err := d.Read(j.name, journalLimit)
	if err != nil {
		return nil, j.full(d, err)
	}
	lines := make([][]byte, 0, 1+bytes.Count(data, []byte{'\n'}))
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) > 1 && line[0] == '{' && line[len(line)-1] == '}' {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// add appends lines in one step that a power cut does not undo once nil comes back.
func (j journal) add(ctx context.Context, lines ...[]byte) error {
	return j.locked(ctx, func(d *atomicfile.Dir) error { return j.write(d, lines, false) })
}

// change passes the content to decide, while no other process can append, and appends the lines that it returns.
func (j journal) change(ctx context.Context, decide func(old [][]byte) (lines [][]byte, fresh bool)) error {
	return j.locked(ctx, func(d *atomicfile.Dir) error {
		old, err := j.readFrom(d)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		lines, fresh := decide(old)
		if len(lines) == 0 && !fresh {
			return nil
		}
		return j.write(d, lines, fresh)
	})
}

// locked runs work in the folder of the journal while no other process can append.
func (j journal) locked(ctx context.Context, work func(d *atomicfile.Dir) error) (err error) {
	path, err := j.office.makeState(j.folder)
	if err != nil {
		return err
	}
	d, err := atomicfile.OpenDir(path)
	if err != nil {
		return err
	}
	defer d.Close()
	lock, err := filelock.Acquire(ctx, d.FD(), path, filelock.Options{Kernel: j.name, Timeout: journalTime})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	return work(d)
}

func (j journal) write(d *atomicfile.Dir, lines [][]byte, fresh bool) error {
	f, info, created, err := d.Append(j.name, journalLimit)
	if err != nil {
		return j.full(d, err)
	}
	defer f.Close()
	size := info.Size
	if fresh {
		if err := f.Truncate(0); err != nil {
			return err
		}
		size = 0
	}
	text, err := j.start(f, size)
	if err != nil {
		return err
	}
	for _, l := range lines {
		text = append(append(text, l...), '\n')
	}
	if n, err := f.Append(text); err != nil {
		if n > 0 {
			_ = f.Truncate(size) // half a line would be passed over as well
		}
		return err
	}
	if err := f.Datasync(); err != nil {
		return err
	}
	if created || size == 0 { // locking it has made the file
		return d.Sync()
	}
	return nil
}

// start ends a line that a crash has left open, so that the next one begins at the beginning.
func (j journal) start(f *atomicfile.File, size int64) ([]byte, error) {
	if size == 0 {
		return nil, nil
	}
	var last [1]byte
	if n, err := f.Pread(last[:], size-1); err != nil || n != 1 {
		return nil, fmt.Errorf("read the end of %s: %w", j.name, errors.Join(err, fs.ErrInvalid))
	}
	if last[0] == '\n' {
		return nil, nil
	}
	return []byte{'\n'}, nil
}
