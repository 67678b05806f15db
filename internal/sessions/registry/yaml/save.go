package yaml

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"

	"tutti/internal/sessions/registry"
)

// save writes what the visit has changed, the YAML first. After an error nothing is changed.
func (v *visit) save(ctx context.Context) error {
	m := v.merged
	text := m.doc.text
	newText := !v.exists || !bytes.Equal(text, v.text)
	if newText && len(text) == 0 {
		newText = false // nothing to say: an empty file is not made
	}
	put, gone, rest, agreed := m.outcome(sumOf(text))
	if newText || len(put)+len(gone) > 0 || !agreed.same(&m.db.ours) {
		agreed.Revision++
		var old string
		if newText {
			var err error
			if old, err = v.swap(text); err != nil {
				return err
			}
		}
		// From here on the change is made: the YAML has it. A database that misses it is what a later look brings up to date.
		v.r.step("swapped")
		v.backUp(old)
		ctx = context.WithoutCancel(ctx)
		err := v.db.write(ctx, put, gone, rest, agreed)
		v.r.step("written")
		if err == nil {
			err = v.db.commit(ctx)
		}
		if err != nil {
			if !newText {
				return err
			}
			return nil //nolint:nilerr // see above
		}
		v.r.step("committed")
	}
	v.r.last = m.doc
	v.db.close()
	v.r.step("closed")
	v.db = nil
	return nil
}

func (a *agreement) same(b *agreement) bool {
	return a.YAML == b.YAML && a.Rest == b.Rest && maps.Equal(a.Rows, b.Rows)
}

// swap puts a new text in the place of the one that was read. If the file is another one by then, it is left alone. old is where the one
// that was read is, for backUp; "" when that is done, or there was none.
func (v *visit) swap(text []byte) (old string, err error) {
	dir, name := v.place.dir, v.place.name
	tmp, err := dir.Stage(text, 0o600, true)
	if err != nil {
		return "", err
	}
	v.r.step("staged")
	if !v.exists {
		if err := dir.Publish(tmp, dir, name); errors.Is(err, fs.ErrExist) {
			return "", errAgain
		} else if err != nil {
			dir.Remove(tmp)
			return "", err
		}
		v.sync()
		return "", nil
	}
	switch err := dir.Exchange(tmp, dir, name); {
	case errors.Is(err, errors.ErrUnsupported):
		return "", v.rename(tmp)
	case errors.Is(err, fs.ErrNotExist):
		dir.Remove(tmp)
		return "", errAgain
	case err != nil:
		dir.Remove(tmp)
		return "", err
	}
	v.r.step("exchanged")
	was, _, err := dir.Read(tmp, registry.MaxSize)
	if err != nil || !bytes.Equal(was, v.text) {
		return "", v.takeBack(tmp, text)
	}
	v.sync()
	return tmp, nil
}

// backUp keeps the text as it was before. No caller waits for that: to give the one before that back to the file system takes
// as long as to write this one. A failure is not a reason to refuse: it is a convenience for people.
func (v *visit) backUp(old string) {
	if old == "" {
		return
	}
	dir := v.place.dir
	if err := dir.Rename(old, dir, v.place.name+".bak", true); err != nil {
		dir.Remove(old)
	}
	v.r.step("kept")
}

// sync makes the new name survive a power cut. A failure does not undo it: all readers see the change already.
func (v *visit) sync() {
	_ = v.place.dir.Sync()
}

// takeBack restores the file that another program has put there between our reading and our exchange. A program may put yet
// another one there at every step, and may have made it from our text, which was there for a moment, without knowing theirs:
// the newest stays, and what it has displaced is kept aside.
func (v *visit) takeBack(tmp string, ours []byte) error {
	dir, name := v.place.dir, v.place.name
	theirs, _, _ := dir.Read(tmp, registry.MaxSize) // what cannot be read goes back, too
	var err error
	for try := range maxTries {
		if err = dir.Exchange(tmp, dir, name); errors.Is(err, fs.ErrNotExist) {
			if err = dir.Rename(tmp, dir, name, false); err == nil {
				return errAgain
			}
		}
		if err != nil {
			break
		}
		out, _, unread := dir.Read(tmp, registry.MaxSize)
		if unread == nil && bytes.Equal(out, ours) {
			if try == 0 { // the first time it is our own
				dir.Remove(tmp)
			} else {
				v.keepAside(tmp, out)
			}
			return errAgain
		}
		// Another program has written once more. That is newer than what was put back, which is what comes out next.
		ours, theirs = theirs, out
	}
	return errors.Join(fmt.Errorf("%s is changed by another program all the time; a text of it is kept in %s", v.r.path, v.keepAside(tmp, theirs)), err)
}

// aside is what a text of others is called, after the name of the registry, that was displaced by another one of theirs.
const aside = ".aside"

// keepAside keeps a text that was displaced, and returns its name. Where one is kept already the new one gets a name of its own.
func (v *visit) keepAside(tmp string, text []byte) string {
	dir, name := v.place.dir, v.place.name+aside
	err := dir.Rename(tmp, dir, name, false)
	if errors.Is(err, fs.ErrExist) {
		name += "-" + sumOf(text)[:8]
		err = dir.Rename(tmp, dir, name, true)
	}
	if err != nil {
		return tmp
	}
	return name
}

// rename is swap where files cannot be exchanged: a moment is left in which the writing of another program would be lost.
func (v *visit) rename(tmp string) error {
	dir, name := v.place.dir, v.place.name
	now, _, err := dir.Read(name, registry.MaxSize)
	if err == nil && !bytes.Equal(now, v.text) {
		err = errAgain
	}
	if err == nil {
		err = dir.Replace(name+".bak", v.text, 0o600, false)
	}
	if err == nil {
		err = dir.Rename(tmp, dir, name, true)
	}
	if err != nil {
		dir.Remove(tmp)
		return err
	}
	v.sync()
	return nil
}
