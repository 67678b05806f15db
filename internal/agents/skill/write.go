package skill

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/atomicfile"
)

const (
	// maxFile is the size above which a file is not looked into. Ours have a fortieth of it.
	maxFile = 1 << 20
	// The rights that new folders and files get, less the user's mask: a skill is not a secret.
	folderPerm  = 0o755
	filePerm    = 0o644
	programPerm = 0o755
)

// Install puts the skill into one of the folders that each program reads. It removes an unedited skill of ours from the older
// folder of a program: Codex lists a second one twice, and Gemini CLI renames both commands. What goes wrong in one folder keeps
// no other from its own.
func Install(q *Request) *Report {
	r := &Report{Base: q.base()}
	for _, f := range q.folders() {
		if !q.Sessions {
			old := q.prune(&f)
			r.Old = append(r.Old, old...)
			if f.spare && !f.has(q) {
				continue
			}
			if f.old {
				r.Files = append(r.Files, q.remove(&f, Parts(q.Name(), f.form, f.titles))...)
			}
			r.Files = append(r.Files, q.removeFormer(&f)...)
			if f.old {
				continue
			}
		}
		for _, parts := range q.skills(&f) {
			r.Files = append(r.Files, q.install(&f, parts)...)
		}
	}
	return r
}

// Remove takes the skill out of all folders of the programs. What is not as we wrote it stays.
func Remove(q *Request) *Report {
	r := &Report{Base: q.base()}
	for _, f := range q.folders() {
		for _, parts := range q.skills(&f) {
			r.Files = append(r.Files, q.remove(&f, parts)...)
		}
		r.Files = append(r.Files, q.removeFormer(&f)...)
	}
	return r
}

// removeFormer takes the skill of the former name out of a folder, where it is as we wrote it: one of the older program, or of the user,
// stays.
func (q *Request) removeFormer(f *folder) []Result {
	if !q.hasFormer(f) {
		return nil
	}
	return q.remove(f, Parts(FormerName, f.form, f.titles))
}

// hasFormer tells whether a folder has the skill under its former name as we wrote it.
func (q *Request) hasFormer(f *folder) bool {
	if q.Sessions || q.Name() == FormerName {
		return false
	}
	all := q.look(f, Parts(FormerName, f.form, f.titles), q.wanted)
	return !slices.ContainsFunc(all, func(l look) bool { return l.has == nil || !Ours(l.has) })
}

// skills are the requested ones of a folder, each with its parts.
func (q *Request) skills(f *folder) [][]Part {
	if q.Sessions {
		return Sessions(q.Has)
	}
	return [][]Part{Parts(q.Name(), f.form, f.titles)}
}

// has reports whether the folder has an entry of the skill's name.
func (f *folder) has(q *Request) bool {
	d, rest, err := f.open(q.Place)
	if err != nil || rest != "" {
		return false
	}
	defer d.Close()
	parts := Parts(q.Name(), f.form, nil)
	name, _, _ := strings.Cut(parts[len(parts)-1].Name, "/")
	_, err = d.Stat(name)
	return err == nil
}

// open opens the folder of skills, or the nearest one above it that there is; rest then leads on. In a project no step may be
// a link; the folders of a user may be.
func (f *folder) open(p driver.Site) (d *atomicfile.Dir, rest string, err error) {
	if f.scope == driver.Project {
		rel, err := filepath.Rel(p.Dir, f.base)
		if err != nil {
			return nil, "", err
		}
		top, err := atomicfile.OpenDir(p.Dir)
		if err != nil {
			return nil, "", err
		}
		d, err := top.Sub(filepath.ToSlash(rel))
		if errors.Is(err, fs.ErrNotExist) {
			return top, filepath.ToSlash(rel), nil
		}
		top.Close()
		return d, "", err
	}
	at := f.base
	for {
		if d, err = atomicfile.OpenDir(at); err == nil || !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			break
		}
		if info, e := os.Lstat(at); e == nil {
			if info.Mode().Type() != fs.ModeSymlink { // another process has made it since
				continue
			}
			return nil, "", fmt.Errorf("open folder %s: a link that leads nowhere", at)
		}
		rest, at = path.Join(filepath.Base(at), rest), filepath.Dir(at)
	}
	return d, rest, err
}

// read is the content under a name, nil when there is none. unfit is why it must not be touched, "" when it may be.
func read(d *atomicfile.Dir, name string) (data []byte, perm fs.FileMode, unfit string, err error) {
	data, info, err := d.Read(name, maxFile)
	if bad, ok := errors.AsType[*atomicfile.UnfitError](err); ok {
		return nil, 0, bad.Why, nil
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, "", nil
	case err != nil:
		return nil, 0, "", err
	case data == nil:
		data = []byte{}
	}
	return data, fs.FileMode(info.Mode & 0o777), "", nil
}

// A look is what was found where a part of the skill belongs.
type look struct {
	Result
	part Part
	has  []byte // nil: nothing
	perm fs.FileMode
}

// look looks at each part and decides what to do.
func (q *Request) look(f *folder, parts []Part, judge func(*folder, *look)) []look {
	d, rest, err := f.open(q.Place)
	if err == nil {
		defer d.Close()
	}
	var all []look
	for _, p := range parts {
		l := look{part: p, Result: Result{Path: filepath.Join(f.base, filepath.FromSlash(p.Name)), For: f.titles}}
		unfit := ""
		if l.Err = err; err == nil {
			l.has, l.perm, unfit, l.Err = read(d, path.Join(rest, p.Name))
		}
		switch {
		case l.Err != nil:
			l.State = Failed
		case unfit != "" && f.scope == driver.User && !f.strict && leadsTo(l.Path, p.Text):
			l.State = Same
		case unfit != "":
			l.State, l.Why = Left, unfit
		default:
			judge(f, &l)
		}
		all = append(all, l)
	}
	if last := &all[len(all)-1]; last.State == Left || last.State == Failed {
		return all[len(all)-1:]
	}
	return all
}

func (q *Request) install(f *folder, parts []Part) (done []Result) {
	for _, l := range q.look(f, parts, q.wanted) {
		if l.State != Same && l.State != Left && l.State != Failed && string(l.has) != l.part.Text {
			q.put(f, &l)
		}
		if done = append(done, l.Result); l.State == Failed {
			break // the skill is not put where a part that it names is missing
		}
	}
	return done
}

// wanted says what is to be done so that the skill is there.
func (q *Request) wanted(f *folder, l *look) {
	switch {
	case l.has == nil:
		l.State = Written
	case f.strict && !q.Force:
		l.State, l.Why = Left, "is there already"
	case string(l.has) == l.part.Text && !f.strict:
		l.State = Same
	case Ours(l.has):
		l.State = Updated
	case q.Force:
		l.State = Replaced
	default:
		l.State, l.Why = Left, notOurs
	}
}

const notOurs = "is not ours, or was edited"

// put writes a file. What had been there and is not ours is kept beside before.
func (q *Request) put(f *folder, l *look) {
	top, rest, err := f.open(q.Place)
	if err != nil {
		l.fail("write", err)
		return
	}
	defer top.Close()
	d, err := top.MakeSub(path.Dir(path.Join(rest, l.part.Name)), folderPerm)
	if err != nil {
		l.fail("write", err)
		return
	}
	defer d.Close()
	name, text := path.Base(l.part.Name), []byte(l.part.Text)
	if l.State == Written {
		perm := fs.FileMode(filePerm)
		if l.part.Program {
			perm = programPerm
		}
		err = d.Create(name, text, perm, true)
		if errors.Is(err, fs.ErrExist) { // another process was quicker; its file is looked at the next time
			data, _, unfit, err := read(d, name)
			l.overtaken(data, unfit == "" && err == nil, "appeared just now")
			return
		}
		l.fail("write", err)
		return
	}
	if !l.still(d, name) {
		return
	}
	if l.State == Replaced {
		kept, err := q.keep(d, name, l.has, l.perm)
		if err != nil {
			l.fail("keep", err)
			return
		}
		l.Backup = filepath.Join(filepath.Dir(l.Path), kept)
	}
	l.fail("write", d.Replace(name, text, l.perm, true))
}

// still reports whether a file has the content that it had when it was looked at. A text written since stays.
func (l *look) still(d *atomicfile.Dir, name string) bool {
	data, _, unfit, err := read(d, name)
	if err == nil && unfit == "" && data != nil && bytes.Equal(data, l.has) {
		return true
	}
	l.overtaken(data, unfit == "" && err == nil, "was changed just now")
	return false
}

// overtaken returns the state of a file that another process wrote meanwhile: another one of ours has written the same.
func (l *look) overtaken(data []byte, read bool, why string) {
	switch {
	case read && data != nil && string(data) == l.part.Text:
		l.State = Same
	case read && data == nil && l.State == Removed:
	default:
		l.State, l.Why = Left, why
	}
}

// fail notes an error, if it is one.
func (l *look) fail(operation string, err error) {
	if err != nil {
		l.State, l.Err = Failed, fmt.Errorf("%s %s: %w", operation, l.Path, err)
	}
}

// keep writes a copy under a dated name that is free, and returns that.
func (q *Request) keep(d *atomicfile.Dir, name string, data []byte, perm fs.FileMode) (kept string, err error) {
	for n := 1; ; n++ {
		kept = q.dated(name, n)
		if err = d.Create(kept, data, perm, true); !errors.Is(err, fs.ErrExist) {
			return kept, err
		}
	}
}

// dated is a name for what is kept; n tells several of one second apart.
func (q *Request) dated(name string, n int) string {
	name += ".tutti-" + q.Now.Format("20060102-150405")
	if n > 1 {
		name += "-" + strconv.Itoa(n)
	}
	return name
}

func (q *Request) remove(f *folder, parts []Part) (done []Result) {
	all := q.look(f, parts, func(_ *folder, l *look) {
		switch {
		case l.has == nil:
			l.State = absent
		case Ours(l.has):
			l.State = Removed
		default:
			l.State, l.Why = Left, notOurs
		}
	})
	slices.Reverse(all) // the skill first, and then what it names
	for _, l := range all {
		switch {
		case l.State == absent:
			continue
		case l.State == Same:
			l.State, l.Why = Left, "is a link"
		case l.State == Removed:
			q.take(f, &l)
		}
		done = append(done, l.Result)
	}
	return done
}

// take removes a file, and the folders that were made for it.
func (q *Request) take(f *folder, l *look) {
	d, rest, err := f.open(q.Place)
	if err != nil || rest != "" {
		l.fail("remove", err)
		return
	}
	defer d.Close()
	if !l.still(d, l.part.Name) {
		return
	}
	if err := d.Remove(l.part.Name); err != nil {
		l.fail("remove", err)
		return
	}
	for dir := path.Dir(l.part.Name); dir != "."; dir = path.Dir(dir) {
		if os.Remove(filepath.Join(f.base, filepath.FromSlash(dir))) != nil {
			break // it is not empty
		}
	}
}

// leadsTo tells whether a path leads, over links, to a file with that text: people let several programs share one skill.
func leadsTo(path, text string) bool { return string(through(path)) == text }
