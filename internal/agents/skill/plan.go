package skill

import (
	"path/filepath"
	"slices"
	"time"

	"tutti/internal/agents/driver"
)

// A Request says where the skill should be.
type Request struct {
	Drivers []*driver.Driver
	Scope   driver.Scope
	Place   driver.Site
	// Sessions: it is about the skills of the sessions, not the skill tutti. Those are in .agents/skills in any case, where
	// people and instructions call their scripts.
	Sessions bool
	// Has tells whether there is a verb, or a family of verbs; a skill about one that is not there is left out. Nil: all are.
	Has    func(verb string) bool
	Force  bool      // replace what was edited, too; it is kept beside
	Strict bool      // where the older programs put it as well, and there as they did: a file that is there is left alone
	Now    time.Time // for the names of what is kept
}

// Name is what the skill is called: the older program has another name for it.
func (q *Request) Name() string {
	if q.Strict {
		return FormerName
	}
	return Name
}

// A State is what became of a file.
type State uint8

// The states.
const (
	Written  State = iota // there was none
	Updated               // one of an older release was replaced
	Replaced              // one that is not ours, or no longer, was kept beside and replaced
	Same                  // it was there already
	Left                  // it is not ours, or no longer, or in the way; nothing was done
	Removed               // it was as we wrote it
	Failed                // Err says why
	absent                // there is none to remove; not reported
)

func (s State) String() string {
	return [...]string{"written", "updated", "replaced", "same", "left", "removed", "failed"}[s]
}

// A Result is what became of one file.
type Result struct {
	Path   string
	State  State
	For    []string // titles of the programs
	Backup string   // where what was replaced is kept
	Why    string   // in words, of what was left
	Err    error
}

// An Old is a skill of the older programs that was found.
type Old struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	Moved string `json:"moved,omitempty"` // where it is kept now; "": it was left, because
	Why   string `json:"why,omitempty"`
	Err   error  `json:"-"` // it could not be moved
}

// A Report is what was done.
type Report struct {
	Base  string // the folder of skills; of several the one that the older programs knew
	Files []Result
	Old   []Old
}

// Complete reports whether the skill is now everywhere it should be, or nowhere when it was to be removed.
func (r *Report) Complete() bool {
	return !slices.ContainsFunc(r.Files, func(f Result) bool { return f.State == Left || f.State == Failed })
}

// Err is the first thing that could not be done, nil when all could.
func (r *Report) Err() error {
	for i := range r.Files {
		if r.Files[i].Err != nil {
			return r.Files[i].Err
		}
	}
	for i := range r.Old {
		if r.Old[i].Err != nil {
			return r.Old[i].Err
		}
	}
	return nil
}

// A folder is where skills lie in one form, for the programs that look there.
type folder struct {
	base   string
	form   driver.Form
	scope  driver.Scope
	old    bool // the programs read a newer folder: a skill of ours in here would be a second one
	spare  bool // the older programs had only the other folder of the program
	strict bool
	titles []string
}

// base is what a report names. Each program of which the older ones knew a folder has one for each scope.
func (q *Request) base() string {
	base := ""
	for _, d := range q.Drivers {
		for _, f := range d.Skills.Folders {
			if f.Scope == q.Scope && (base == "" || f.Old && q.Strict) {
				base = filepath.Clean(f.Path(q.Place))
			}
		}
		if base != "" {
			return base
		}
	}
	return base
}

// folders are those of the programs asked for, each once. The titles are those of all programs that have the folder, so that
// the same file comes out whichever of them is named.
func (q *Request) folders() []folder {
	drivers := q.Drivers
	if codex, ok := driver.Get("codex"); q.Sessions && ok && !slices.Contains(drivers, codex) { // its folder is the one
		drivers = append(slices.Clone(drivers), codex)
	}
	var all []folder
	for _, d := range drivers {
		known := slices.ContainsFunc(d.Skills.Folders, func(f driver.Folder) bool { return f.Scope == q.Scope && f.Old })
		for _, f := range d.Skills.Folders {
			if f.Scope != q.Scope || q.Sessions && (f.Form != driver.Markdown || f.Old) {
				continue
			}
			base := filepath.Clean(f.Path(q.Place))
			old := f.Old && !q.Strict && slices.ContainsFunc(d.Skills.Folders, func(o driver.Folder) bool {
				return o.Scope == q.Scope && !o.Old
			})
			strict := q.Strict && (f.Old || !known)
			spare := q.Strict && !q.Sessions && known && !f.Old
			if n := slices.IndexFunc(all, func(o folder) bool { return o.base == base && o.form == f.Form }); n >= 0 {
				all[n].old = all[n].old && old
				all[n].spare = all[n].spare && spare
				all[n].strict = all[n].strict || strict
				continue
			}
			all = append(all, folder{base: base, form: f.Form, scope: q.Scope, old: old, spare: spare, strict: strict, titles: q.titles(base, f.Form)})
		}
	}
	return all
}

func (q *Request) titles(base string, form driver.Form) (titles []string) {
	for _, d := range driver.All() {
		if slices.ContainsFunc(d.Skills.Folders, func(f driver.Folder) bool {
			return f.Scope == q.Scope && f.Form == form && filepath.Clean(f.Path(q.Place)) == base
		}) {
			titles = append(titles, d.Title)
		}
	}
	return titles
}
