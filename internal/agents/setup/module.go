package setup

import (
	"bytes"
	_ "embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/core/canonjson"
)

// opencode has no settings for hooks. It loads a module from a folder of plugins, and this one calls our hooks.
//
//go:embed opencode.js
var opencodeModule string

// moduleMark begins every module that setup wrote, whatever the release.
const moduleMark = `// tutti for opencode. Written by "tutti host setup`

// Before opencode loads any plugin it waits for npm to install a package of its own, which our module does not need. Without a network npm
// tries for 73 s at each start, and with this file for a second or two. The file is read for that one folder only, and npm still installs the
// package where it can be had. A lock file that claims the package would be quicker, but plugins of the user could then not import it.
const npmQuick = "# Written by \"tutti host setup\": opencode starts a plugin without waiting 73 s for a network.\nfetch-retries=0\n"

const npmFile = ".npmrc"

// module is the text of the module, with the program and its flags in it.
func (q *Request) module(told []string) []byte {
	program, flags := canonjson.AppendString(nil, q.Command), []byte{'['}
	for i, word := range told {
		if i > 0 {
			flags = append(flags, ", "...)
		}
		flags = canonjson.AppendString(flags, word)
	}
	text := strings.Replace(opencodeModule, `"@PROGRAM@"`, string(program), 1)
	return []byte(strings.Replace(text, `["@FLAGS@"]`, string(append(flags, ']')), 1))
}

// moduleFlags are the flags that a module passes to the hooks.
func moduleFlags(text []byte) []string {
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte("const FLAGS = ")); ok {
			all, _ := canonjson.Strings(bytes.TrimSpace(rest))
			return all
		}
	}
	return nil
}

// isModule tells whether setup wrote a file.
func isModule(text []byte) bool { return bytes.HasPrefix(text, []byte(moduleMark)) }

// errNotOurs reports a file of the user's in the place of the module.
var errNotOurs = errors.New("it is a file of yours, not the plugin of tutti; it stays")

// planModule plans the module and the file that lets opencode start quickly with it.
func (q *Request) planModule(p *Plan, f driver.File) error {
	path := f.Path(q.Place)
	c, err := p.change(q, path)
	if err != nil {
		return err
	}
	c.whole = true
	p.adopt(c)
	switch {
	case c.Before != nil && !isModule(c.Before) && q.Remove:
		return nil
	case c.Before != nil && !isModule(c.Before):
		p.Remarks = append(p.Remarks, path+": "+errNotOurs.Error()+". Rename it and run this again to have hooks")
		return nil
	case q.Remove && c.Before != nil:
		c.After, c.Did = nil, append(c.Did, "hooks removed: plugin deleted")
	case !q.Remove:
		want := q.module(q.hookFlags(p, f, c))
		if !bytes.Equal(c.Before, want) {
			c.After, c.Did = want, append(c.Did, "hooks installed: plugin")
		}
	}
	return q.planNpm(p, filepath.Join(filepath.Dir(filepath.Dir(path)), npmFile))
}

// planNpm plans the settings of npm for the folder. A file of the user's stays as it is.
func (q *Request) planNpm(p *Plan, path string) error {
	if q.Remove {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	c, err := p.change(q, path)
	if err != nil {
		return err
	}
	c.whole = true
	switch ours := string(c.Before) == npmQuick; {
	case q.Remove && ours:
		c.After, c.Did = nil, append(c.Did, "quick start without a network removed")
	case !q.Remove && c.Before == nil:
		c.After, c.Did = []byte(npmQuick), append(c.Did, "quick start without a network")
	case !q.Remove && !ours && !bytes.Contains(c.Before, []byte("fetch-retries")):
		p.Remarks = append(p.Remarks, path+" is yours and stays; without a network each start of "+p.Driver.Title+
			" takes 73 s unless it says fetch-retries=0")
		return nil
	}
	p.adopt(c)
	return nil
}

// moduleState looks at the module of a program.
func (h *HookFile) moduleState(q *Request, d *driver.Driver) {
	c, err := readChange(h.Path, "")
	switch {
	case err != nil:
		h.State, h.Err = Unreadable, err
	case c.Before == nil:
		h.State = Missing
	case !isModule(c.Before):
		h.State, h.Err = Unreadable, &StateError{Path: h.Path, Reason: errNotOurs, Advice: "rename it, then: tutti host setup --host " + d.Name}
	default:
		h.State = Outdated
		if p := q.Plan(d); p.Err == nil && !p.Changed() {
			h.State = InPlace
		}
	}
}
