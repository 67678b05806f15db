package skill

import (
	"tutti/internal/agents/driver"
	"tutti/internal/platform/smallfile"
)

// Look says how the skill stands: one result for each folder of the programs, of the file that they read first, with what
// Install would do to it or to what it names. Nothing is done. A folder of old without the skill is passed over.
func Look(q *Request) (all []Result) {
	for _, f := range q.folders() {
		if (f.old || f.spare) && !f.has(q) {
			continue
		}
		parts := q.look(&f, Parts(q.Name(), f.form, f.titles), q.wanted)
		r := parts[len(parts)-1].Result
		switch {
		case r.State == Written && q.hasFormer(&f):
			r.State = Updated // it is there under its former name
		case f.old && r.State != Left && r.State != Failed:
			r.State = Updated // Install removes it
		case r.State == Left && f.scope == driver.User && r.Why != notOurs && Ours(through(r.Path)):
			r.State = Updated // behind a link, of another release
		case r.State == Same:
			for _, p := range parts[:len(parts)-1] {
				switch p.State {
				case Left, Failed: // edited, or out of reach
					r.State, r.Why, r.Err = p.State, p.Why, p.Err
				case Same:
				default:
					r.State = Updated
				}
			}
		}
		all = append(all, r)
	}
	return all
}

// through reads the file behind links, nil when that is not a file of a size like ours.
func through(path string) []byte {
	data, _, err := smallfile.Read(path, maxFile, smallfile.Follow)
	if err != nil {
		return nil
	}
	return data
}
