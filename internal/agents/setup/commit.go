package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"tutti/internal/platform/atomicfile"
)

// ErrChanged reports settings that another program wrote between our look and our write.
var ErrChanged = errors.New("another process has just changed it; nothing was written")

// tries bounds how often a change is planned anew when another process was quicker. Programs that run write their settings from
// time to time, and two setups at once get in each other's way once.
const tries = 5

// Do plans, and writes it; if another process was quicker it begins again. The plan that comes back has the error.
func (q *Request) Do(plan func() *Plan) (p *Plan) {
	for range tries {
		p = plan()
		if p.Err == nil {
			p.Err = p.Apply(q)
		}
		if !errors.Is(p.Err, ErrChanged) {
			return p
		}
	}
	return p
}

func (c *Change) changed() error {
	return &StateError{Path: c.Path, Reason: ErrChanged, Advice: "try again"}
}

// unchanged is an error when the file is no longer what was read.
func (c *Change) unchanged() error {
	now, err := c.now()
	if err != nil {
		return err
	}
	if (now == nil) != (c.Before == nil) || !bytes.Equal(now, c.Before) {
		return c.changed()
	}
	return nil
}

// commit lets the new text take the place of the old one.
func (c *Change) commit() error {
	if err := c.unchanged(); err != nil {
		return err
	}
	var err error
	switch name := filepath.Base(c.real); {
	case c.After == nil:
		err = c.dir.Remove(name)
	case c.Before == nil:
		if err = c.dir.Publish(c.tmp, c.dir, name); errors.Is(err, fs.ErrExist) {
			c.tmp = ""
			return c.changed()
		}
	default:
		return c.replace(name)
	}
	if err != nil {
		return err
	}
	c.tmp, c.written = "", true
	return c.dir.Sync()
}

// replace swaps the two texts, and looks at the one that it got: a text written since the last look goes back.
func (c *Change) replace(name string) error {
	switch err := c.dir.Exchange(c.tmp, c.dir, name); {
	case errors.Is(err, errors.ErrUnsupported):
		if err := c.dir.Supplant(c.tmp, c.dir, name); err != nil {
			return err
		}
		c.tmp, c.written = "", true
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return c.changed()
	case err != nil:
		return err
	}
	old, _, err := c.dir.Read(c.tmp, maxFile)
	if _, unfit := errors.AsType[*atomicfile.UnfitError](err); unfit || err == nil && !bytes.Equal(old, c.Before) {
		err = c.changed()
	}
	if err != nil {
		return errors.Join(err, c.dir.Exchange(c.tmp, c.dir, name))
	}
	c.written = true
	err = c.dir.Sync()
	_ = c.dir.Remove(c.tmp) // the text before: it is beside it under its dated name, too
	c.tmp = ""
	return err
}

// undo puts the former text back, unless another one was written since.
func (c *Change) undo() error {
	back := &Change{Path: c.Path, real: c.real, Before: c.After, After: c.Before, perm: c.perm, uid: c.uid, gid: c.gid, folders: c.folders}
	defer back.unstage()
	err := back.stage()
	if err == nil {
		err = back.commit()
	}
	c.written = c.written && !back.written
	return err
}

// Written tells whether the new text is what the file says now.
func (c *Change) Written() bool { return c.written }

// takeBack undoes what was written of a plan that failed, and takes away what was kept of files that are not written.
func takeBack(all []*Change) (err error) {
	for _, c := range all {
		if c.written {
			if e := c.undo(); e != nil {
				err = errors.Join(err, fmt.Errorf("%s stays changed, and what it said before is kept: %w", c.Path, e))
			}
		}
		if c.Backup != "" && !c.written {
			_ = c.dir.Remove(filepath.Base(c.Backup))
			c.Backup = ""
		}
	}
	return err
}
