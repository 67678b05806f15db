package atomicfile

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// A Nameless is a whole file that has no name yet. Nobody can find it, and when it is not given one nothing is left of it. It
// holds a handle, of which a process has some hundreds at the least.
type Nameless struct {
	d  *Dir
	fd int
}

// Nameless writes data to a new file without a name in d; perm is reduced by the umask. Where the system has no such files the
// error is errors.ErrUnsupported. The content is not synced. What comes back has to be given a name or to be closed.
func (d *Dir) Nameless(data []byte, perm fs.FileMode) (*Nameless, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	fd, err := openNameless(d.fd, uint32(perm.Perm()))
	if err == nil {
		if err = fill(fd, data, false); err != nil {
			unix.Close(fd)
		}
	}
	if err != nil {
		d.leave()
		return nil, &fs.PathError{Op: "write file without a name in", Path: d.path, Err: err}
	}
	return &Nameless{d, fd}, nil
}

// Name gives the file its name in the folder that it was made in and closes it, also on an error. A taken name is fs.ErrExist.
// Neither name nor content survives a power cut yet.
func (n *Nameless) Name(name string) error {
	defer n.Close()
	if err := check(name); err != nil {
		return n.d.fail("create", name, err)
	}
	if err := linkNameless(n.fd, n.d.fd, name); err != nil {
		return &fs.PathError{Op: "create", Path: n.d.join(name), Err: err}
	}
	return nil
}

// Close gives the handle back, and with it a file that has no name.
func (n *Nameless) Close() {
	unix.Close(n.fd)
	n.d.leave()
}
