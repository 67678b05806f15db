package app

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"tutti/internal/core/address"
	"tutti/internal/platform/smallfile"
)

// A BusConfig is the table [bus] of the settings file ~/.config/tutti/config.toml:
//
//	[bus]
//	require_signed = true                 # messages without a good signature go to quarantine
//	allow = ["claude:api", "codex:*"]     # when not empty: only these senders
//	block = ["gemini:docs:0a1b2c3d4e5f"]  # never these; outranks allow
//	scope = "scope:default"               # of the agents that connect makes
//	name  = "api"                         # their name, when --name is not given
//
// Other tables belong to other parts of the program and are left alone.
type BusConfig struct {
	RequireSigned bool     `toml:"require_signed"`
	Allow         []string `toml:"allow"`
	Block         []string `toml:"block"`
	Scope         string   `toml:"scope"`
	Name          string   `toml:"name"`

	given []string // the members that the file sets
}

// busSettings are the members of the table.
var busSettings = [...]string{"require_signed", "allow", "block", "scope", "name"}

// DefaultScope is the scope of an agent of which nothing else is said.
const DefaultScope = "scope:default"

// maxConfig bounds the settings file; written by hand, it is never near that.
const maxConfig = 1 << 20

// A ConfigError says what is wrong with the settings file, and where.
type ConfigError struct {
	Path string // as shown to people
	Line int    // 0: the whole file
	Why  string
}

func (e *ConfigError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("settings %s: %s", e.Path, e.Why)
	}
	return fmt.Sprintf("settings %s, line %d: %s", e.Path, e.Line, e.Why)
}

// Hint says what to type.
func (e *ConfigError) Hint() string {
	return "mend the file, or move it away: everything works without it"
}

// ConfigPath returns the path of the settings file. It may not exist.
func (a *App) ConfigPath() (string, error) { return a.below(".config/tutti/config.toml") }

// Config returns the settings of the bus. Without a file they are empty, and the reader of TOML is not even touched. A
// file that cannot be understood is a *ConfigError: half of the rules of who may write is worse than none.
func (a *App) Config() (*BusConfig, error) {
	if a.config != nil {
		return a.config, nil
	}
	data, shown, err := a.settingsText()
	if err != nil {
		return nil, err
	}
	if data == nil {
		a.config = &BusConfig{}
		return a.config, nil
	}
	c, err := parseConfig(data, shown)
	if err != nil {
		return nil, err
	}
	a.config = c
	return c, nil
}

// settingsText returns the text of the settings file, nil where there is none, and its path as shown to people. What cannot be read is
// a *ConfigError.
func (a *App) settingsText() (data []byte, shown string, err error) {
	path, err := a.ConfigPath()
	if err != nil {
		return nil, "", err
	}
	shown = a.Shown(path)
	switch data, err = readConfig(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, shown, nil
	case err != nil:
		return nil, shown, &ConfigError{Path: shown, Why: err.Error()}
	}
	return data, shown, nil
}

// readConfig reads the file, which may be a link of the user's.
func readConfig(path string) ([]byte, error) {
	data, info, err := smallfile.Read(path, maxConfig, smallfile.Follow)
	switch {
	case errors.Is(err, smallfile.ErrNotRegular):
		return nil, errors.New("it is no file")
	case err != nil:
		return nil, smallfile.Cause(err)
	case info.Mode().Perm()&0o002 != 0:
		return nil, errors.New("everybody can write it, so its rules are nobody's: chmod 600 " + QuoteArg(filepath.Clean(path)))
	}
	return data, nil
}

// parseConfig understands the table [bus]. A member of it that does not exist is an error, because a rule that is
// misspelt would otherwise be no rule.
func parseConfig(data []byte, shown string) (*BusConfig, error) {
	var file struct {
		Bus BusConfig `toml:"bus"`
	}
	d := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	err := d.Decode(&file)
	var missing *toml.StrictMissingError
	if errors.As(err, &missing) {
		err = nil
		for i := range missing.Errors {
			key := missing.Errors[i].Key()
			line, _ := missing.Errors[i].Position()
			switch {
			case len(key) > 1 && key[0] == "bus":
				return nil, &ConfigError{Path: shown, Line: line, Why: "there is no setting " + strings.Join(key, ".") +
					"; the table has " + strings.Join(busSettings[:], ", ")}
			case len(key) == 1 && slices.Contains(busSettings[:], key[0]):
				return nil, &ConfigError{Path: shown, Line: line, Why: key[0] + " belongs below a line [bus]"}
			}
		}
	}
	if err != nil {
		return nil, configError(err, shown)
	}
	c := &file.Bus
	c.given = givenIn(data)
	if n := len(c.Name); n > MaxName {
		return nil, &ConfigError{
			Path: shown, Line: lineOf(data, c.Name),
			Why: fmt.Sprintf("the name has %d bytes; a name has at most %d", n, MaxName),
		}
	}
	for _, list := range [][]string{c.Allow, c.Block} {
		for _, who := range list {
			if !pattern(who) {
				return nil, &ConfigError{
					Path: shown, Line: lineOf(data, who),
					Why: fmt.Sprintf("%q names no sender: write HOST:LABEL:ID, HOST:LABEL or HOST:*", who),
				}
			}
		}
	}
	return c, nil
}

func configError(err error, shown string) error {
	e := &ConfigError{Path: shown, Why: strings.TrimPrefix(err.Error(), "toml: ")}
	var at *toml.DecodeError
	if errors.As(err, &at) {
		e.Line, _ = at.Position()
		if key := at.Key(); len(key) > 0 {
			e.Why = strings.Join(key, ".") + ": " + e.Why
		}
	}
	return e
}

// pattern tells whether a word can mean a sender.
func pattern(who string) bool {
	host, star := strings.CutSuffix(who, ":*")
	if star {
		return host != "" && !strings.Contains(host, ":")
	}
	return address.Check(who) == nil && address.HostQualified(who)
}

// givenIn returns which members the file sets; the values themselves cannot tell an empty list from none.
func givenIn(data []byte) (given []string) {
	var file struct {
		Bus map[string]any `toml:"bus"`
	}
	if toml.Unmarshal(data, &file) != nil {
		return nil
	}
	for name := range file.Bus {
		given = append(given, name)
	}
	return given
}

// lineOf finds the line that a string stands in, 0 when it is spelled otherwise there.
func lineOf(data []byte, word string) int {
	for _, quote := range []string{`"`, `'`} {
		if at := bytes.Index(data, []byte(quote+word+quote)); at >= 0 {
			return bytes.Count(data[:at], []byte("\n")) + 1
		}
	}
	return 0
}

// A Setting is one effective value and where it came from.
type Setting struct{ Name, Value, From string }

// UsualValue is the origin of a value that no file sets.
const UsualValue = "default"

// Effective returns what counts, and why: each value of the file, or its default.
func (a *App) Effective() ([]Setting, error) {
	c, err := a.Config()
	if err != nil {
		return nil, err
	}
	path, err := a.ConfigPath()
	if err != nil {
		return nil, err
	}
	from := func(name string) string {
		if slices.Contains(c.given, name) {
			return a.Shown(path)
		}
		return UsualValue
	}
	list := func(words []string, none string) string {
		if len(words) == 0 {
			return none
		}
		return strings.Join(words, ", ")
	}
	scope := c.Scope
	if scope == "" {
		scope = DefaultScope
	}
	name := c.Name
	if name == "" {
		name = "that of the session or the folder"
	}
	all := []Setting{
		{"require_signed", fmt.Sprint(c.RequireSigned), from("require_signed")},
		{"allow", list(c.Allow, "everybody"), from("allow")},
		{"block", list(c.Block, "nobody"), from("block")},
		{"scope", scope, from("scope")},
		{"name", name, from("name")},
	}
	wakes, err := a.wakeEffective(a.Shown(path))
	if err != nil {
		return all, err
	}
	drums, err := a.drumbeatEffective(a.Shown(path))
	if err != nil {
		return all, err
	}
	talks, err := a.commsEffective(a.Shown(path))
	return append(append(append(all, wakes...), drums...), talks...), err
}
