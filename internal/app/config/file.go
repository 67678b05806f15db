package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"tutti/internal/core/termsafe"
	"tutti/internal/platform/smallfile"

	"github.com/pelletier/go-toml/v2"
)

// maxSize bounds the settings file; written by hand, it is never near that.
const maxSize = 1 << 20

// An Error says what is wrong with the settings file, and where.
type Error struct {
	Path string // as shown to people
	Line int    // 0: the whole file
	Why  string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("settings %s: %s", e.Path, e.Why)
	}
	return fmt.Sprintf("settings %s, line %d: %s", e.Path, e.Line, e.Why)
}

// Hint says what to type.
func (e *Error) Hint() string {
	return "mend the file, or move it away: everything works without it"
}

// A File is the settings file as it was read. The zero File is an empty one.
type File struct {
	Shown string // its path as shown to people
	data  []byte
}

// Read reads the file at path, which may be a link of the user's; shown is that path as people see it. Without a file it returns an
// empty one. A file that cannot be read, or that others can write, is an *Error.
func Read(path, shown string) (*File, error) {
	data, info, err := smallfile.Read(path, maxSize, smallfile.Follow)
	f := &File{Shown: shown}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case errors.Is(err, smallfile.ErrNotRegular):
		return f, &Error{Path: shown, Why: "it is not a file"}
	case err != nil:
		return f, &Error{Path: shown, Why: smallfile.Cause(err).Error()}
	case info.Mode().Perm()&0o002 != 0:
		return f, &Error{Path: shown, Why: "any user can write it, so its rules do not count: chmod 600 " + termsafe.Word(filepath.Clean(path))}
	}
	f.data = data
	return f, nil
}

// Table reads one table into a pointer to a struct whose fields have tags of their settings. A setting that the struct does not have is
// an *Error. Without the table the struct stays as it is.
func (f *File) Table(name string, into any) error {
	if len(f.data) == 0 {
		return nil
	}
	table := reflect.ValueOf(into).Elem()
	file := reflect.New(reflect.StructOf([]reflect.StructField{{
		Name: "Table", Type: table.Type(), Tag: reflect.StructTag(fmt.Sprintf("toml:%q", name)),
	}}))
	file.Elem().Field(0).Set(table)
	err := toml.NewDecoder(bytes.NewReader(f.data)).DisallowUnknownFields().Decode(file.Interface())
	var missing *toml.StrictMissingError
	if errors.As(err, &missing) {
		err = f.unknown(name, settingsOf(table.Type()), missing)
	}
	if err == nil {
		table.Set(file.Elem().Field(0))
	}
	return f.fault(err)
}

// settingsOf lists the settings of a table, in the order of the struct.
func settingsOf(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		names = append(names, t.Field(i).Tag.Get("toml"))
	}
	return names
}

// unknown returns the *Error of the first unknown setting in a table; nil when all belong to others.
func (f *File) unknown(table string, settings []string, missing *toml.StrictMissingError) error {
	for i := range missing.Errors {
		key := missing.Errors[i].Key()
		line, _ := missing.Errors[i].Position()
		switch {
		case len(key) > 1 && key[0] == table:
			return &Error{Path: f.Shown, Line: line, Why: "there is no setting " + strings.Join(key, ".") + "; the table has " + strings.Join(settings, ", ")}
		case table == "bus" && len(key) == 1 && slices.Contains(settings, key[0]):
			return &Error{Path: f.Shown, Line: line, Why: key[0] + " belongs below a line [bus]"}
		}
	}
	return nil
}

// fault makes an *Error of what the reader of TOML says.
func (f *File) fault(err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	e := &Error{Path: f.Shown, Why: strings.TrimPrefix(err.Error(), "toml: ")}
	var at *toml.DecodeError
	if errors.As(err, &at) {
		e.Line, _ = at.Position()
		if key := at.Key(); len(key) > 0 {
			e.Why = strings.Join(key, ".") + ": " + e.Why
		}
	}
	return e
}

// Wrong returns the *Error of a setting whose value cannot be used, at the line of the value, or of the setting where the value is "" or
// not found.
func (f *File) Wrong(table, setting, value, why string) error {
	line := 0
	for _, quote := range []string{`"`, `'`} {
		if at := bytes.Index(f.data, []byte(quote+value+quote)); value != "" && at >= 0 {
			line = bytes.Count(f.data[:at], []byte("\n")) + 1
			break
		}
	}
	if line == 0 {
		line = f.lineOf(table, setting)
	}
	return &Error{Path: f.Shown, Line: line, Why: table + "." + setting + ": " + why}
}

// lineOf is the line at which a table has a setting, 0 where that is not found.
func (f *File) lineOf(table, setting string) int {
	within, n := "", 0
	for line := range strings.Lines(string(f.data)) {
		n++
		line = strings.TrimSpace(line)
		if header, ok := strings.CutPrefix(line, "["); ok {
			header, _, _ = strings.Cut(header, "]")
			within = strings.TrimSpace(header)
			continue
		}
		key, _, set := strings.Cut(line, "=")
		if key = strings.TrimSpace(key); set && (within == table && key == setting || within == "" && key == table+"."+setting) {
			return n
		}
	}
	return 0
}

// The limits of times in the settings: below a second hooks are still under way, above a day no one waits.
const (
	minTime = time.Second
	maxTime = 24 * time.Hour
)

// Time reads a time such as 90s or 5m into to; "" leaves it as it is.
func (f *File) Time(table, setting, text string, to *time.Duration) error {
	if text == "" {
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < minTime || d > maxTime {
		return f.Wrong(table, setting, "", fmt.Sprintf("%.40q is not a time between %s and %s: write 90s or 5m", text, minTime, maxTime))
	}
	*to = d
	return nil
}

// A Setting is one effective value and where it came from: the path of the file, or [UsualValue].
type Setting struct{ Name, Value, From string }

// UsualValue is the origin of a value that no file sets.
const UsualValue = "default"

// Settings returns the values of a table with where they came from. Their names get the name of the table before them unless it is the
// bus.
func (f *File) Settings(table string, values [][2]string) []Setting {
	var tables map[string]any
	_ = toml.Unmarshal(f.data, &tables) // it was read before
	given, _ := tables[table].(map[string]any)
	set := slices.Collect(maps.Keys(given))
	all := make([]Setting, len(values))
	for i, v := range values {
		all[i] = Setting{Name: v[0], Value: v[1], From: UsualValue}
		if slices.Contains(set, v[0]) {
			all[i].From = f.Shown
		}
		if table != "bus" {
			all[i].Name = table + "." + v[0]
		}
	}
	return all
}

// list joins words for people; none stands for no words.
func list(words []string, none string) string {
	if len(words) == 0 {
		return none
	}
	return strings.Join(words, ", ")
}
