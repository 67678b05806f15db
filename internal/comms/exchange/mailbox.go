package exchange

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tutti/internal/comms/protocol"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/smallfile"
)

// A Mailbox is the open folder of a project that messages are delivered into. Close it.
type Mailbox struct {
	Project Project
	Wide    bool // others than the owner may read it or write into it
	office  *Service
	dir     *atomicfile.Dir
}

// A MailboxError reports a mailbox that nothing is delivered into and nothing is read from.
type MailboxError struct {
	Path string
	Why  string
}

func (e *MailboxError) Error() string { return fmt.Sprintf("mailbox %s %s", e.Path, e.Why) }

// Mailbox opens the mailbox of a project. A missing one is fs.ErrNotExist; one that is a link, not a folder or another user's
// is a *MailboxError.
func (o *Service) Mailbox(p Project) (*Mailbox, error) {
	return o.mailbox(p, func(d *atomicfile.Dir) (*atomicfile.Dir, error) { return d.Sub(protocol.MailboxFolder) })
}

// MakeMailbox opens the mailbox of a project and makes it, for its owner alone, if there is none. A folder without the marker of
// a project gets none: that is a *NoProjectError.
func (o *Service) MakeMailbox(p Project) (*Mailbox, error) {
	if !p.exists() {
		return nil, &NoProjectError{Name: p.Name}
	}
	return o.mailbox(p, func(d *atomicfile.Dir) (*atomicfile.Dir, error) { return d.MakeSub(protocol.MailboxFolder, 0o700) })
}

func (o *Service) mailbox(p Project, open func(*atomicfile.Dir) (*atomicfile.Dir, error)) (*Mailbox, error) {
	top, err := atomicfile.OpenDir(p.Path)
	if err != nil {
		return nil, fmt.Errorf("open project %s: %w", p.Name, err)
	}
	defer top.Close()
	dir, err := open(top)
	var unfit *atomicfile.UnfitError
	if errors.As(err, &unfit) {
		return nil, &MailboxError{p.MailboxPath(), unfit.Why}
	}
	if err != nil {
		return nil, fmt.Errorf("open mailbox of %s: %w", p.Name, err)
	}
	b := &Mailbox{Project: p, office: o, dir: dir}
	if err := b.inspect(); err != nil {
		dir.Close()
		return nil, err
	}
	return b, nil
}

// inspect judges the folder by its handle: it must be ours.
func (b *Mailbox) inspect() error {
	self, err := b.dir.Self()
	if err != nil {
		return err
	}
	if int(self.UID) != os.Geteuid() {
		return &MailboxError{b.dir.Path(), fmt.Sprintf("belongs to another user (uid %d)", self.UID)}
	}
	b.Wide = self.Mode&0o077 != 0
	return nil
}

// Close gives the handle back.
func (b *Mailbox) Close() error { return b.dir.Close() }

// Path returns the path of the folder, for messages.
func (b *Mailbox) Path() string { return b.dir.Path() }

// List looks into the mailbox. Foreign files are reported, never touched; so is a message without a signature.
func (b *Mailbox) List() (protocol.Listing, error) {
	names, err := b.dir.Names()
	if err != nil {
		return protocol.Listing{}, fmt.Errorf("list mailbox of %s: %w", b.Project.Name, err)
	}
	slices.Sort(names)
	names = slices.Compact(names) // a listing of a folder in motion may name a file twice
	entries := make([]protocol.DirEntry, len(names))
	for i, name := range names {
		entries[i].Name = name
		if protocol.Classify(name, false) == protocol.ForeignEntry {
			info, err := b.dir.Stat(name)
			entries[i].Folder = err != nil || info.Folder() // one that is gone is as good as a folder: it is not reported
		}
	}
	l := protocol.ListMailbox(entries)
	// A listing is not of one moment: it may name a message that came while it was made and not the signature, which came before. So
	// a signature that it lacks is looked for by name.
	l.Unsigned = slices.DeleteFunc(l.Unsigned, func(name string) bool {
		_, err := b.dir.Stat(protocol.SignatureName(name))
		return err == nil
	})
	return l, nil
}

// signatureEnd is what the name of a signature has behind that of its message.
const signatureEnd = ".asc"

// A file is what was read, once, of a message or a signature.
type file struct {
	data []byte
	info atomicfile.Info
}

// The ways in which a file is none that we read.
var (
	errTooLarge   = errors.New("is too large")
	errNotRegular = errors.New("is not a plain file of yours")
)

// readOnce reads a plain file of ours without following a link. The error is fs.ErrNotExist, errNotRegular, errTooLarge or one
// of the system.
func readOnce(d *atomicfile.Dir, name string, limit int) (file, error) {
	f, info, err := d.Open(name, false, 0)
	var unfit *atomicfile.UnfitError
	switch {
	case errors.As(err, &unfit):
		return file{}, fmt.Errorf("%s %w: it %s", name, errNotRegular, unfit.Why)
	case err != nil:
		return file{}, err
	}
	defer f.Close()
	if int(info.UID) != os.Geteuid() {
		return file{}, fmt.Errorf("%s %w: it belongs to another user", name, errNotRegular)
	}
	if info.Size > int64(limit) {
		return file{}, fmt.Errorf("%s %w: %d bytes, and %d is the limit", name, errTooLarge, info.Size, limit)
	}
	// One byte more than there may be: a file that grows while it is read is too large as well, or is seen as it is now.
	data := make([]byte, limit+1)
	if info.Size < int64(limit) {
		data = data[:info.Size+1]
	}
	n, err := f.Pread(data, 0)
	if err != nil {
		return file{}, err
	}
	if n > limit {
		return file{}, fmt.Errorf("%s %w: more than %d bytes", name, errTooLarge, limit)
	}
	return file{data[:n:n], info}, nil
}

// Artifact gives the path of a file that the body of a message refers to, as "artifacts/report.pdf". It must lie in the folder of
// that name in the mailbox, also when links are followed; anything else is refused.
func (b *Mailbox) Artifact(ref string) (string, error) {
	rel, ok := protocol.Artifact(ref)
	if !ok {
		return "", fmt.Errorf("artifact %q: is not a path below %s/", ref, protocol.ArtifactFolder)
	}
	if info, err := b.dir.Stat(protocol.ArtifactFolder); err == nil && !info.Folder() {
		return "", fmt.Errorf("artifact %q: %s is not a folder of the mailbox", ref, protocol.ArtifactFolder)
	}
	root, err := smallfile.OpenRoot(filepath.Join(b.Path(), protocol.ArtifactFolder))
	if err != nil {
		return "", fmt.Errorf("artifact %q: %w", ref, err)
	}
	defer root.Close()
	// A root follows links inside it and refuses those that lead out.
	if _, err := root.Stat(strings.TrimPrefix(rel, protocol.ArtifactFolder+"/")); err != nil {
		return "", fmt.Errorf("artifact %q: %w", ref, err)
	}
	return filepath.Join(b.Path(), rel), nil
}
