package skill

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/atomicfile"
)

// older are the skills of the older programs that the one skill took the place of.
var older = [...]string{"h2a-connect", "h2a-discover", "h2a-send"}

// prune moves them out of a folder of skills, into a dated one beside it: within it a program would still read them.
func (q *Request) prune(f *folder) (found []Old) {
	d, rest, err := f.open(q.Place)
	if err != nil {
		return nil // installing meets the same, and says so
	}
	defer d.Close()
	if rest != "" {
		return nil
	}
	for _, name := range older {
		entry, inside := name, name+"/SKILL.md"
		if f.form == driver.Command {
			entry = name + ".toml"
			inside = entry
		}
		if _, err := d.Stat(entry); err != nil {
			continue
		}
		o := Old{Name: name, Path: filepath.Join(f.base, entry)}
		text, _, unfit, err := read(d, inside)
		switch {
		case err != nil:
			o.Why, o.Err = err.Error(), err
		case unfit != "":
			o.Why = unfit
		case !isOlder(string(text), name, f.form):
			o.Why = "does not say that it is the skill of that name"
		default:
			if o.Moved, o.Err = q.moveOut(f, d, entry); o.Err != nil {
				o.Moved, o.Why = "", o.Err.Error()
			}
		}
		found = append(found, o)
	}
	return found
}

// isOlder tells whether a file says of itself that it is the skill of that name. A command has no name in it; its prompt
// tells what was typed.
func isOlder(text, name string, form driver.Form) bool {
	if form == driver.Command {
		return strings.Contains(text, "prompt = '''") && strings.Contains(text, "/"+name)
	}
	said, ok := frontMatter(text)["name"]
	return ok && said == name
}

// moveOut moves an entry into the dated folder beside the folder of skills.
func (q *Request) moveOut(f *folder, d *atomicfile.Dir, entry string) (moved string, err error) {
	base := f.base
	if f.scope == driver.User { // where it really lies, for a move goes no further than its file system
		if base, err = filepath.EvalSymlinks(base); err != nil {
			return "", err
		}
	}
	up := folder{base: filepath.Dir(base), scope: f.scope}
	parent, _, err := up.open(q.Place)
	if err != nil {
		return "", err
	}
	defer parent.Close()
	for n := 1; ; n++ {
		kept := q.dated(filepath.Base(base), n)
		to, err := parent.MakeSub(kept, folderPerm)
		if err != nil {
			return "", err
		}
		err = d.Rename(entry, to, entry, false)
		to.Close()
		moved = filepath.Join(filepath.Dir(base), kept, entry)
		switch {
		case err == nil:
			return moved, errors.Join(d.Sync(), parent.Sync())
		case !errors.Is(err, fs.ErrExist):
			return "", fmt.Errorf("move %s to %s: %w", filepath.Join(f.base, entry), moved, err)
		}
	}
}

// frontMatter reads the text between the first two lines of three dashes: a name, a colon and a value a line. A value may be
// quoted and goes on in lines that begin with a blank. It is not a YAML parser, and need not be: it only finds the name of a
// file.
func frontMatter(text string) map[string]string {
	text = strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff")
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return nil
	}
	head, _, ok := strings.Cut(rest, "\n---")
	if !ok {
		return nil
	}
	values := map[string]string{}
	last := ""
	for line := range strings.SplitSeq(head, "\n") {
		if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
			if last != "" {
				values[last] = strings.TrimSpace(values[last] + " " + strings.TrimSpace(line))
			}
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if last = ""; ok {
			last = name
			values[name] = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return values
}
