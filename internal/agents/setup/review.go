package setup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/settings"
	"tutti/internal/core/canonjson"
)

// A Review is a hook of ours that Codex does not run, because its user has not trusted it, or not as it is now.
type Review struct {
	Event string
	State string // "new", "changed" or "switched off"
	key   string // under which Codex keeps the trust
	hash  string // of the hook as it is now
}

// Reviews tells whether an agent CLI runs no hook before its user has reviewed it.
func Reviews(d *driver.Driver) bool { return d.Name == "codex" }

// Unreviewed lists the hooks of ours in the user's settings of Codex that wait for its review. Codex keeps the hash of each hook
// that its user trusted in its settings, under the file, the event and the position; it skips all others without a word. Other
// programs have none.
func (q *Request) Unreviewed(d *driver.Driver) (all []Review, err error) {
	if !Reviews(d) {
		return nil, nil
	}
	hooks, config, err := codexFiles(q.Place)
	if err != nil {
		return nil, err
	}
	for _, r := range reviewed(d, hooks) {
		switch trusted, off := trustIn(config.Before, r.key); {
		case off:
			r.State = "switched off"
		case trusted == "":
			r.State = "new"
		case trusted != r.hash:
			r.State = "changed"
		default:
			continue
		}
		all = append(all, r)
	}
	return all, nil
}

// reviewed are the hooks of ours in a file of Codex, as its review knows them.
func reviewed(d *driver.Driver, hooks *Change) (all []Review) {
	table, _ := canonjson.Get(hooks.Before, "hooks")
	if !canonjson.IsObject(table) {
		return nil
	}
	at := filepath.Join(filepath.Dir(hooks.real), filepath.Base(hooks.Path))
	for event, list := range canonjson.Members(table) {
		if !isList(list) {
			continue
		}
		entry := -1
		for e := range canonjson.Elements(list) {
			entry++
			handler := -1
			for command, h := range commandsOf(e) {
				handler++
				if !isHook(d.Name, command) {
					continue
				}
				key := at + ":" + snake(event) + ":" + strconv.Itoa(entry) + ":" + strconv.Itoa(handler)
				all = append(all, Review{Event: event, key: key, hash: codexHash(event, e, h)})
			}
		}
	}
	return all
}

// planReviews takes what Codex keeps of its user's review out of its settings, where the hooks go.
func (q *Request) planReviews(p *Plan) error {
	if !q.Remove || !q.Hooks || q.Scope != driver.User || !Reviews(p.Driver) {
		return nil
	}
	hooks, config, err := codexFiles(q.Place)
	if err != nil {
		return err
	}
	if config, err = p.change(q, config.Path); err != nil {
		return err
	}
	for _, r := range reviewed(p.Driver, hooks) {
		path := []string{"hooks", "state", r.key}
		if _, there, err := settings.Get(driver.TOML, config.After, path); err != nil || !there {
			continue // in a form that cannot be read it is left; it trusts nothing that is there
		}
		text, err := settings.Remove(driver.TOML, config.After, path)
		if err != nil {
			p.Remarks = append(p.Remarks, "the trust of the hook "+r.Event+" stays in "+config.Path+": "+err.Error())
			continue
		}
		p.adopt(config)
		if err := config.edit("trust of hook "+r.Event+" removed", func([]byte) ([]byte, error) { return text, nil }); err != nil {
			return err
		}
	}
	return nil
}

// Trust records in the settings of Codex that its user trusts these hooks. Ask first: it acts for the user. What the user has
// switched off stays so.
func (q *Request) Trust(d *driver.Driver, all []Review) error {
	p := q.Do(func() *Plan {
		p := &Plan{Driver: d}
		_, c, err := codexFiles(q.Place)
		if p.Err = err; err != nil {
			return p
		}
		p.adopt(c)
		for _, r := range all {
			var o canonjson.Object
			o.Str("trusted_hash", r.hash)
			path := []string{"hooks", "state", r.key}
			err := c.edit("hook "+r.Event+" trusted", func(text []byte) ([]byte, error) {
				if _, there, err := settings.Get(driver.TOML, text, path); err != nil || there {
					return settings.Set(driver.TOML, text, path, o.Bytes())
				}
				if len(text) > 0 {
					text = append(bytes.TrimRight(slices.Clone(text), "\n"), "\n\n"...)
				}
				text = append(text, "[hooks.state."+string(canonjson.AppendString(nil, r.key))+"]\ntrusted_hash = \""+r.hash+"\"\n"...)
				_, _, err := settings.Get(driver.TOML, text, path) // such a table does not fit behind every form
				return text, err
			})
			if err != nil {
				p.Err = err
				return p
			}
			if trusted, _ := trustIn(c.After, r.key); trusted != r.hash {
				p.Err = &StateError{Path: c.Path, Reason: errors.New("its table hooks.state is written in a form that cannot be extended"), Advice: "start codex, and trust the hooks there"}
				return p
			}
		}
		return p
	})
	return p.Err
}

// codexFiles reads the two files: the hooks, and the settings in which the trust is kept.
func codexFiles(p driver.Site) (hooks, config *Change, err error) {
	d, _ := driver.Get("codex")
	h, _ := d.Hooks.File(driver.User)
	s, _ := d.Servers.File(driver.User)
	if hooks, err = readChange(h.Path(p), ""); err == nil {
		config, err = readChange(s.Path(p), "")
	}
	return hooks, config, err
}

// trustIn finds the hash that settings have for a key, and whether the hook is switched off. Codex writes one table for each.
func trustIn(text []byte, key string) (hash string, off bool) {
	inside := false
	for line := range bytes.Lines(text) {
		s := strings.TrimSpace(string(line))
		if strings.HasPrefix(s, "[") {
			inside = s == "[hooks.state."+string(canonjson.AppendString(nil, key))+"]" || s == "[hooks.state.'"+key+"']"
			continue
		}
		name, value, ok := strings.Cut(s, "=")
		if !inside || !ok {
			continue
		}
		switch value = strings.TrimSpace(value); strings.TrimSpace(name) {
		case "trusted_hash":
			hash = strings.Trim(value, `"'`)
		case "enabled":
			off = strings.HasPrefix(value, "false")
		}
	}
	return hash, off
}

// codexHash is the hash by which Codex knows a hook: of its event, its matcher and how its command is run, not of its place.
func codexHash(event string, entry, command []byte) string {
	timeout := int64(600)
	if event == "SessionEnd" || event == "Interrupt" {
		timeout = 1
	}
	if n, ok := canonjson.Int(member(command, "timeout")); ok {
		timeout = max(n, 1)
		if event == "SessionEnd" || event == "Interrupt" {
			timeout = min(timeout, 3)
		}
	}
	background, _ := canonjson.Bool(member(command, "async"))
	var h canonjson.Object // the members of both in the order of their names
	h.Bool("async", background)
	h.Str("command", text(command, "command"))
	if message, ok := canonjson.String(member(command, "statusMessage")); ok {
		h.Str("statusMessage", message)
	}
	h.Int("timeout", timeout)
	h.Str("type", "command")
	var o canonjson.Object
	o.Str("event_name", snake(event))
	o.Raw("hooks", slices.Concat([]byte{'['}, h.Bytes(), []byte{']'}))
	if matcher, ok := canonjson.String(member(entry, "matcher")); ok && strings.HasSuffix(event, "ToolUse") || ok && event == "PermissionRequest" {
		o.Str("matcher", matcher)
	}
	sum := sha256.Sum256(o.Bytes())
	return "sha256:" + hex.EncodeToString(sum[:])
}

// snake writes PreToolUse as pre_tool_use.
func snake(event string) string {
	var b strings.Builder
	for i, r := range event {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				b.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// AwaitingReview names the hooks of a review, as people read them.
func AwaitingReview(all []Review) string {
	var words []string
	for _, r := range all {
		words = append(words, fmt.Sprintf("%s (%s)", r.Event, r.State))
	}
	return strings.Join(words, ", ")
}

// copyName is how the name of a copy ends, see keep.
var copyName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\.tutti-\d{8}-\d{6}(-\d+)?$`) })

// Leaves names what removal leaves of ours beside the settings: the copies of former texts.
func (q *Request) Leaves(p *Plan) (all []string) {
	for _, c := range p.Changes {
		found, err := filepath.Glob(escapeGlob(c.real) + ".tutti-*")
		if err != nil {
			continue
		}
		for _, path := range found {
			if !copyName().MatchString(path) {
				continue // the user's own
			}
			if info, err := os.Lstat(path); err == nil && info.Mode().Type() != fs.ModeSymlink && !slices.Contains(all, path) {
				all = append(all, path)
			}
		}
	}
	return all
}

// hadTable tells whether the user had an empty table before ours came into it: the newest text without us that was kept says so.
func (q *Request) hadTable(c *Change, f driver.Format, table []string) bool {
	found, err := filepath.Glob(escapeGlob(c.real) + ".tutti-*")
	if err != nil {
		return false
	}
	slices.Sort(found)
	for _, path := range slices.Backward(found) {
		before := Change{Path: path, real: path}
		text, err := before.now()
		if err != nil || bytes.Contains(text, []byte("tutti")) {
			continue
		}
		value, ok, err := settings.Get(f, text, table)
		return err == nil && ok && string(value) == "{}"
	}
	return false
}

// emptied runs a removal. A table that goes with its last entry stays, empty, where the user had it so.
func (q *Request) emptied(c *Change, f driver.Format, table []string, remove func() error) error {
	before := c.After
	if err := remove(); err != nil || c.After == nil || !q.hadTable(c, f, table) {
		return err
	}
	if _, ok, err := settings.Get(f, c.After, table); err != nil || ok {
		return err
	}
	return c.edit("", func([]byte) ([]byte, error) { return settings.Replace(f, before, table, []byte("{}")) })
}
