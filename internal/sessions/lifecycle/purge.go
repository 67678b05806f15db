package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/smallfile"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// forgetLimit is how long a program may take to delete a conversation of its own.
const forgetLimit = 30 * time.Second

// purge deletes the conversation of the row: what belongs to it by name or by what stands in it, and nothing else. The row is read
// again, and it must still be proven that the conversation is the session's own. The error says why nothing was deleted.
func (s *stopping) purge(ctx context.Context) error {
	id, d, err := s.purgeable(ctx)
	if err != nil {
		return err
	}
	s.out.Conversation = id
	marked := s.artefacts(id)
	if s.q.ToTrash {
		if err := s.copyToTrash(ctx, d, id, marked); err != nil {
			return s.undeleted("no copy of its conversation " + id + " could be made: " + err.Error())
		}
	}
	if err := s.change(context.WithoutCancel(ctx), func(r *registry.Row) error {
		s.cut = s.cut || purging(r)
		r.Intent = s.m.intent(VerbStop, stepPurging)
		return nil
	}); err != nil {
		return err
	}
	forgot := s.forget(ctx, d, id)
	for _, a := range marked {
		a.delete(s)
	}
	s.m.reached("purged")
	if len(s.out.Deleted) > 0 || forgot || s.cut && len(s.out.Kept) == 0 {
		return nil
	}
	why := "nothing of its conversation " + id + " was found"
	for _, k := range s.out.Kept {
		why = k.Path + " was left: " + k.Why
	}
	return s.undeleted(why)
}

// stepPurging is the step of an intent whose process has begun to delete the conversation. If it was killed then, the next purge may find
// nothing any more, and that is what was asked for.
const stepPurging = "deleting its conversation"

func purging(r *registry.Row) bool {
	return r.Intent != nil && r.Intent.Verb == VerbStop && r.Intent.Step == stepPurging
}

func (s *stopping) undeleted(why string) error {
	return s.fail(Refused, nil, "nothing was deleted: "+why, "")
}

// purgeable returns the conversation that may be deleted, and its agent CLI.
func (s *stopping) purgeable(ctx context.Context) (id string, d *driver.Driver, err error) {
	if s.bare {
		return "", nil, s.undeleted("without a row no conversation is known of it")
	}
	ctx = context.WithoutCancel(ctx)
	row, err := s.m.row(ctx, s.row.Name)
	if err != nil {
		return "", nil, err
	}
	if id = row.Conversation(); id == "" {
		return "", nil, s.undeleted("no conversation is known of it")
	}
	find := &s.life.Find
	d, ok := driver.Kind(row.Kind())
	if !ok || s.life.IsID == nil || !s.life.IsID(id) || find.Artefacts == nil && find.Forget == nil {
		return "", nil, s.undeleted("the place of its conversation " + id + " is not known")
	}
	if !s.same(&row) {
		return "", nil, s.undeleted(errMoved.Error())
	}
	if s.m.proven(ctx, d, &row, id) == "" {
		return "", nil, s.undeleted("nothing shows that it had conversation " + id + "; delete that in " + d.Title)
	}
	if s.q.Conversation != "" && s.q.Conversation != id {
		return "", nil, s.undeleted("its conversation is " + id)
	}
	if s.q.Conversation == "" && s.m.tookOver(ctx, d, &row, id) {
		return "", nil, s.fail(Refused, nil, "nothing was deleted: it may have taken over conversation "+id+" from you",
			fmt.Sprintf("tutti session stop %s --purge-conversation --conversation %s deletes it all the same", row.Name, id))
	}
	if why := s.shared(ctx, id); why != "" {
		return "", nil, s.undeleted("its conversation " + id + " is also that of " + why)
	}
	return id, d, nil
}

// shared returns what else has the conversation, in words: another row that can go on with it, or a program that is in it; ""
// for none.
func (s *stopping) shared(ctx context.Context, id string) string {
	kind := s.row.Kind()
	rows, _, err := s.m.o.Registry.Rows(context.WithoutCancel(ctx))
	if err != nil {
		return "who knows whom: " + err.Error()
	}
	for i := range rows {
		r := &rows[i]
		deleted := r.Status == registry.Terminated && r.Mode == modePurge
		if r.Name != s.row.Name && r.Kind() == kind && r.Conversation() == id && !deleted {
			return "session " + r.Name
		}
	}
	d, ok := driver.Kind(kind)
	if !ok {
		return ""
	}
	if p, used := s.m.inUse(d, s.place.Dir, id); used {
		return fmt.Sprintf("process %d (%s)", p.PID, p.Comm)
	}
	return ""
}

// An artefact is one file or folder of the conversation that was found.
type artefact struct {
	root, name string // name is a slash path below root
	folder     bool
	unfit      func(d *atomicfile.Dir) string // why it is not what it is called any more
}

func (a *artefact) path() string { return filepath.Join(a.root, filepath.FromSlash(a.name)) }

// artefacts are those of a conversation that lie where its program keeps them and are what they are called.
func (s *stopping) artefacts(id string) (all []artefact) {
	if s.life.Find.Artefacts == nil {
		return nil
	}
	for _, want := range s.life.Find.Artefacts(s.place, id) {
		d, err := atomicfile.OpenDir(want.Root)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				s.keepFile(want.Root, err.Error())
			}
			continue
		}
		for _, name := range observe.Below(d, want.Path) {
			a := artefact{root: want.Root, name: name, folder: want.Folder, unfit: func(d *atomicfile.Dir) string { return s.unfit(d, &want, name, id) }}
			if why := a.unfit(d); why != "" {
				s.keepFile(a.path(), why)
			} else {
				all = append(all, a)
			}
		}
		_ = d.Close() // only looked at
	}
	return all
}

func (s *stopping) keepFile(path, why string) {
	s.out.Kept = append(s.out.Kept, Remains{Path: path, Why: why})
}

// unfit tells why something of the right name is not deleted, "" when it is what it is called.
func (s *stopping) unfit(d *atomicfile.Dir, want *driver.Artefact, name, id string) string {
	info, err := d.Stat(name)
	if err != nil {
		return err.Error()
	}
	kind := info.Mode & unix.S_IFMT
	switch {
	case kind == unix.S_IFLNK:
		return "it is a link"
	case want.Folder && kind != unix.S_IFDIR:
		return "it is not a folder"
	case !want.Folder && kind != unix.S_IFREG:
		return "it is not a file"
	case info.UID != uint32(os.Getuid()):
		return "it belongs to another user"
	case !want.Check:
		return ""
	}
	c, ok := observe.ReadTranscript(&s.life.Find, s.place, d, name)
	switch {
	case !ok:
		return "it does not say to which conversation it belongs"
	case c.ID != id:
		return "it belongs to conversation " + c.ID
	case c.Dir != s.place.Dir:
		return "it belongs to the folder " + c.Dir
	}
	return ""
}

// delete deletes what was found, unless it is gone by now. Nothing below a folder leads out of it.
func (a *artefact) delete(s *stopping) {
	d, err := atomicfile.OpenDir(a.root)
	if err == nil {
		defer d.Close()
		if _, err = d.Stat(a.name); errors.Is(err, fs.ErrNotExist) {
			s.out.Deleted = append(s.out.Deleted, a.path()) // its own program did
			return
		}
		if why := a.unfit(d); why != "" {
			s.keepFile(a.path(), why)
			return
		}
	}
	if err == nil && !a.folder {
		err = d.Remove(a.name)
	}
	if err == nil && a.folder {
		err = removeFolder(a.root, a.name)
	}
	if err != nil {
		s.keepFile(a.path(), err.Error())
		return
	}
	s.out.Deleted = append(s.out.Deleted, a.path())
}

func removeFolder(root, name string) error {
	r, err := smallfile.OpenRoot(root)
	if err != nil {
		return err
	}
	defer r.Close()
	return r.RemoveAll(filepath.FromSlash(name))
}

// forget lets the program itself delete the conversation, where it can, and tells whether it did.
func (s *stopping) forget(ctx context.Context, d *driver.Driver, id string) bool {
	if s.life.Find.Forget == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), forgetLimit)
	defer cancel()
	args := s.life.Find.Forget(id)
	c, err := s.ownCommand(ctx, d, args)
	if args == nil || err != nil {
		if s.life.Find.Artefacts == nil {
			s.note("%s deletes its conversations itself, and was not found in PATH: %s is still there", d.Title, id)
		}
		return false
	}
	out, err := c.CombinedOutput()
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) { // else it has done it, and left a process behind
		s.note("%s could not delete its conversation %s: %v: %.300s", d.Title, id, fmt.Errorf("%s: %w", d.Program, err), out)
		return false
	}
	s.out.Forgot = d.Title
	return true
}
