package setup

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/settings"
	"tutti/internal/core/canonjson"
	"tutti/internal/platform/smallfile"
)

// Copied is what [Request.CopyHooks] found of our hooks in the user's settings.
type Copied struct {
	Hooks    int    // commands of ours
	AllTools bool   // one of them is called before every tool
	Missing  string // a program that they call and that is not there
	Off      bool   // the settings turn all hooks off
	Waiting  bool   // the CLI skips the hook before tools until its user has reviewed it
}

// CopyHooks writes our hooks from the user's settings into the settings of another home folder, with what turns hooks off there and
// with the trust that the user gave them. The hooks of others are not copied. What the other home has in its files stays.
func (q *Request) CopyHooks(d *driver.Driver, to driver.Site) (c Copied, err error) {
	f, ok := d.Hooks.File(driver.User)
	if !ok {
		return c, nil
	}
	from, err := readChange(f.Path(q.Place), "")
	if err != nil || from.Before == nil {
		return c, err
	}
	if d.Hooks.Module {
		return copyModule(from.Before, f.Path(to))
	}
	table, there, err := settings.Get(f.Format, from.Before, d.Hooks.Table)
	if err != nil {
		return c, err
	}
	into := f.Path(to)
	text, err := textOf(into)
	if err != nil {
		return c, err
	}
	if there && canonjson.IsObject(table) {
		if text, err = c.add(d, f.Format, text, table); err != nil {
			return c, err
		}
	}
	if text, err = c.switches(d, q.Place, to, text, from.Before); err != nil {
		return c, err
	}
	if err := writeText(into, text); err != nil || d.Name != "codex" {
		return c, err
	}
	return c, q.copyTrust(d, to, &c)
}

// add puts the commands of ours in a table of hooks into a text.
func (c *Copied) add(d *driver.Driver, format driver.Format, text, table []byte) ([]byte, error) {
	for event, list := range canonjson.Members(table) {
		if !isList(list) {
			continue
		}
		e, _ := d.Hooks.Event(event)
		var entries [][]byte
		for entry := range canonjson.Elements(list) {
			var ours [][]byte
			for command, h := range commandsOf(entry) {
				if !isHook(d.Name, command) {
					continue
				}
				ours = append(ours, h)
				c.Hooks++
				all := slices.Contains(words(command), "--all-tools") || e.Kept
				c.AllTools = c.AllTools || e.Moment == driver.Use && all && driver.AllTools(matcherOf(entry))
				if program := programOf(command); program != "" {
					if _, err := os.Stat(program); err != nil {
						c.Missing = program
					}
				}
			}
			if len(ours) > 0 {
				entries = append(entries, canonjson.Set(entry, "hooks", asList(ours)))
			}
		}
		if len(entries) == 0 {
			continue
		}
		var err error
		if text, err = settings.Set(format, text, append(slices.Clone(d.Hooks.Table), event), asList(entries)); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// switches copies what turns hooks off. Codex has it in its other file.
func (c *Copied) switches(d *driver.Driver, from, to driver.Site, text, theirs []byte) ([]byte, error) {
	for _, path := range d.Hooks.Off {
		format, into, source := driver.JSON, text, theirs
		if d.Name == "codex" {
			s, _ := d.Servers.File(driver.User)
			config, err := readChange(s.Path(from), "")
			if err != nil {
				return nil, err
			}
			if into, err = textOf(s.Path(to)); err != nil {
				return nil, err
			}
			format, source = driver.TOML, config.Before
		}
		value, there, err := settings.Get(format, source, path)
		if err != nil {
			return nil, err
		}
		if !there {
			continue
		}
		if into, err = settings.Set(format, into, path, value); err != nil {
			return nil, err
		}
		on, isBool := canonjson.Bool(value)
		c.Off = c.Off || isBool && on == strings.HasPrefix(path[len(path)-1], "disable")
		if format == driver.JSON {
			text = into
			continue
		}
		s, _ := d.Servers.File(driver.User)
		if err := writeText(s.Path(to), into); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// copyTrust gives the copied hooks the trust that Codex has for the user's own ones.
func (q *Request) copyTrust(d *driver.Driver, to driver.Site, c *Copied) error {
	waiting, err := q.Unreviewed(d)
	if err != nil {
		return err
	}
	there := &Request{Place: to, Now: q.Now}
	all, err := there.Unreviewed(d)
	if err != nil {
		return err
	}
	c.Waiting = slices.ContainsFunc(waiting, func(r Review) bool {
		e, _ := d.Hooks.Event(r.Event)
		return e.Moment == driver.Use
	})
	return there.Trust(d, slices.DeleteFunc(all, func(r Review) bool {
		return slices.ContainsFunc(waiting, func(w Review) bool { return w.Event == r.Event && w.hash == r.hash })
	}))
}

// copyModule copies the plugin of opencode.
func copyModule(text []byte, into string) (c Copied, err error) {
	if !isModule(text) {
		return c, nil
	}
	c.Hooks, c.AllTools = 1, true
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte("const PROGRAM = ")); ok {
			program, _ := canonjson.String(bytes.TrimSpace(rest))
			if _, err := os.Stat(program); err != nil {
				c.Missing = program
			}
		}
	}
	if err := writeText(into, text); err != nil {
		return c, err
	}
	return c, writeText(filepath.Join(filepath.Dir(filepath.Dir(into)), npmFile), []byte(npmQuick))
}

// programOf is the program that a command of ours calls, where it is written as a path.
func programOf(command string) string {
	for _, word := range words(unguarded(command)) {
		if filepath.IsAbs(word) && strings.HasPrefix(base(word), "tutti") {
			return word
		}
	}
	return ""
}

func matcherOf(entry []byte) string { return text(entry, "matcher") }

func asList(all [][]byte) []byte {
	return slices.Concat([]byte{'['}, bytes.Join(all, []byte{','}), []byte{']'})
}

// textOf reads a settings file; one that is not there is empty.
func textOf(path string) ([]byte, error) {
	text, _, err := smallfile.Read(path, maxFile, smallfile.Follow)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

func writeText(path string, text []byte) error {
	if len(text) == 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}
