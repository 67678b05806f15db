// Package settings changes one place in a settings file that belongs to another program.
//
// The files are those in which agent programs keep their servers and hooks: JSON (with comments and trailing commas, where people
// wrote them), TOML and YAML. They are edited as text, by byte ranges. What is not ours stays byte for byte: comments, order, blank
// lines, line ends, a byte order mark, a missing end of the last line. What is written takes on the manner of the file: its
// indentation, its line ends, its way to write a table. A file of standard JSON stays one.
//
// Nothing is guessed. A text that is damaged, or that says one thing twice, is an error with its line, and so is a change
// for which there is no safe place. And nothing is trusted, this package least: before a text is returned it is read again, and
// what it says has to be exactly what the old one said with the one change made.
//
// Files are read and written by others. A path is the list of names that leads to a place; values are handed over as JSON.
package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tutti/internal/agents/driver"
)

// Limits of what is read. The largest settings file that an agent program was seen to write has less than 2 MiB; it holds
// the history of every project.
const (
	MaxSize  = 8 << 20 // bytes of a text
	MaxDepth = 100     // tables and lists in each other
)

// ErrUnsafe is part of errors about a change for which the text has no safe place. The text is sound; a person can make the change.
var ErrUnsafe = errors.New("this cannot be changed safely; edit the file by hand")

// A SyntaxError is a fault in a text.
type SyntaxError struct {
	Line, Column int // from one; the column counts bytes, in YAML characters, and is 0 where the reader of YAML does not tell it
	Reason       string
}

func (e *SyntaxError) Error() string {
	if e.Column == 0 {
		return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Reason)
}

// A document is a text that was understood. The changing functions return the text after the change.
type document interface {
	// value returns all that the text says, as an object.
	value() *value
	// insert puts a value where there is none. Tables that are missing on the way are made.
	insert(path []string, v *value) ([]byte, error)
	// replace puts a value in the place of the one that is there.
	replace(path []string, v *value) ([]byte, error)
	// remove takes a value away. Tables that have become empty may go with it, where Set would have made them.
	remove(path []string) ([]byte, error)
	// rename gives a member another name.
	rename(path []string, to string) ([]byte, error)
	// list replaces the entries of a list: olds and news have one length; where an old index is -1 the entry is appended, where a
	// new value is nil the old one is removed.
	list(path []string, olds []int, news []*value) ([]byte, error)
}

// Get returns the value at a path as compact JSON. What JSON does not know (dates, infinity) comes as a string.
func Get(format driver.Format, text []byte, path []string) (compact []byte, ok bool, err error) {
	doc, _, err := open(format, text)
	if err != nil {
		return nil, false, err
	}
	v, err := doc.value().at(path)
	if err != nil || v == nil {
		return nil, false, err
	}
	return v.json(nil), true, nil
}

// Set puts a value, in JSON, at a path. An object is merged into the one that is there: members that it names are set, in every
// depth, and others stay. A value that is there already changes not one byte.
func Set(format driver.Format, text []byte, path []string, raw []byte) ([]byte, error) {
	v, err := given(path, raw)
	if err != nil {
		return nil, err
	}
	return change(format, text, func(e *edit) error { return e.merge(path, v) },
		func(root *value) (*value, error) { return root.merged(path, v), nil }, path)
}

// Replace puts a value, in JSON, at a path. What is there of an object and not in the new one is removed.
func Replace(format driver.Format, text []byte, path []string, raw []byte) ([]byte, error) {
	v, err := given(path, raw)
	if err != nil {
		return nil, err
	}
	return change(format, text, func(e *edit) error { return e.put(path, v) },
		func(root *value) (*value, error) { return root.with(path, v), nil }, path)
}

// Remove takes away what is at a path. Where there is nothing, the text is returned as it is. Tables that have become empty go
// too, where they stand as Set makes them.
func Remove(format driver.Format, text []byte, path []string) ([]byte, error) {
	if len(path) == 0 {
		return nil, errors.New("no path")
	}
	return change(format, text, func(e *edit) error { return e.remove(path) },
		func(root *value) (*value, error) { return root.with(path, nil), nil }, path)
}

// Rename gives the member at a path another name, which nothing beside it may have. Not one other byte changes.
func Rename(format driver.Format, text []byte, path []string, to string) ([]byte, error) {
	if len(path) == 0 {
		return nil, errors.New("no path")
	}
	return change(format, text, func(e *edit) error { return e.step(e.doc.rename(path, to)) },
		func(root *value) (*value, error) {
			old, err := root.at(path)
			if err != nil || old == nil {
				return nil, fmt.Errorf("%s is not there: %w", name(path), ErrUnsafe)
			}
			return root.with(path, nil).with(join(path[:len(path)-1], to), old), nil
		}, path)
}

// SetListEntries makes the given entries, in JSON, those of ours in the list at a path; ours judges an entry in compact JSON.
// Entries of others stay where they are; our own ones keep their places too, as far as there are as many, and what of one does
// not change is left as it is written, where the format has room for remarks within. A nil one takes the one at its place
// away. A list, and tables around it, that are missing are made; a list from which the last entry was taken is removed.
func SetListEntries(format driver.Format, text []byte, path []string, ours func(entry []byte) bool, entries [][]byte) ([]byte, error) {
	if len(path) == 0 {
		return nil, errors.New("no path")
	}
	news := make([]*value, len(entries))
	for i, raw := range entries {
		if raw == nil {
			continue
		}
		v, err := readValue(raw)
		if err != nil {
			return nil, fmt.Errorf("entry %d for %s: %w", i, name(path), err)
		}
		news[i] = v
	}
	var want *value
	return change(format, text, func(e *edit) (err error) { want, err = e.entries(path, ours, news); return err },
		func(root *value) (*value, error) { return root.with(path, want), nil }, path)
}

// given reads a value that is to be written.
func given(path []string, raw []byte) (*value, error) {
	if len(path) == 0 {
		return nil, errors.New("no path")
	}
	v, err := readValue(raw)
	if err != nil {
		return nil, fmt.Errorf("value for %s: %w", name(path), err)
	}
	return v, nil
}

// open understands a text. The mark before it, if any, is returned with the document and not part of it.
func open(format driver.Format, text []byte) (doc document, mark string, err error) {
	if err := checkText(text); err != nil {
		return nil, "", err
	}
	if strings.HasPrefix(string(text[:min(3, len(text))]), byteOrderMark) {
		mark, text = byteOrderMark, text[3:]
	}
	doc, err = parse(format, text)
	return doc, mark, err
}

const byteOrderMark = "\ufeff"

func parse(format driver.Format, text []byte) (document, error) {
	var doc document
	var err error
	switch format {
	case driver.JSON:
		doc, err = parseJSON(text)
	case driver.TOML:
		doc, err = parseTOML(text)
	case driver.YAML:
		doc, err = parseYAML(text)
	default:
		return nil, fmt.Errorf("format %d of settings is not known", format)
	}
	if err != nil {
		return nil, err
	}
	if doc.value().deeper(MaxDepth) {
		return nil, fmt.Errorf("tables stand in each other more than %d levels deep", MaxDepth)
	}
	return doc, nil
}

// change runs an edit, and compares what came out with what should have.
func change(format driver.Format, text []byte, run func(*edit) error, model func(*value) (*value, error), path []string) ([]byte, error) {
	doc, mark, err := open(format, text)
	if err != nil {
		return nil, err
	}
	if _, err := doc.value().at(path); err != nil {
		return nil, err
	}
	e := &edit{format: format, doc: doc, text: text[len(mark):]}
	if err := run(e); err != nil {
		return nil, err
	}
	want, err := model(doc.value())
	if err != nil {
		return nil, err
	}
	if err := verify(format, text[len(mark):], e, want, path); err != nil {
		return nil, err
	}
	return append([]byte(mark), e.text...), nil
}

// verify compares what the changed text says, as it was read anew, with what it should say. It is the net below everything
// else in this package.
func verify(format driver.Format, before []byte, e *edit, want *value, path []string) error {
	after, got := e.text, e.doc.value()
	if err := checkText(after); err != nil {
		return fmt.Errorf("changing %s: %w (%w)", name(path), err, ErrUnsafe)
	}
	// Only tables on our own path may have vanished, and only empty ones.
	for i := len(path) - 1; i > 0; i-- {
		w, _ := want.at(path[:i])
		g, err := got.at(path[:i])
		if err == nil && g == nil && w != nil && w.kind == object && len(w.kids) == 0 {
			want = want.with(path[:i], nil)
		}
	}
	if !want.equal(got) {
		return fmt.Errorf("changing %s would change something else: %w", name(path), ErrUnsafe)
	}
	if format == driver.JSON && isStandard(before) && !isStandard(after) {
		return fmt.Errorf("changing %s would make the text something else than JSON: %w", name(path), ErrUnsafe)
	}
	return nil
}

// An edit is a chain of changes to one text.
type edit struct {
	format driver.Format
	doc    document
	text   []byte
}

// step takes the text after a change, and understands it.
func (e *edit) step(text []byte, err error) error {
	if err != nil {
		return err
	}
	doc, err := parse(e.format, text)
	if err != nil {
		return fmt.Errorf("the result cannot be read: %w (%w)", err, ErrUnsafe)
	}
	e.doc, e.text = doc, text
	return nil
}

func (e *edit) merge(path []string, v *value) error {
	old, err := e.doc.value().at(path)
	switch {
	case err != nil:
		return err
	case old == nil:
		return e.step(e.doc.insert(path, v))
	case old.equal(v):
		return nil
	case old.kind != object || v.kind != object:
		return e.step(e.doc.replace(path, v))
	}
	for i, n := range v.names {
		if err := e.merge(join(path, n), v.kids[i]); err != nil {
			return err
		}
	}
	return nil
}

func (e *edit) put(path []string, v *value) error {
	old, err := e.doc.value().at(path)
	if err != nil {
		return err
	}
	if old != nil && old.kind == object && v.kind == object && len(v.kids) > 0 {
		// New members come first, so that the table is empty at no time.
		if err := e.merge(path, v); err != nil {
			return err
		}
		for _, n := range old.names {
			now, err := e.doc.value().at(join(path, n))
			switch want := v.member(n); {
			case err != nil:
				return err
			case want == nil:
				err = e.step(e.doc.remove(join(path, n)))
			case !now.equal(want):
				err = e.put(join(path, n), want)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	switch {
	case old == nil:
		return e.step(e.doc.insert(path, v))
	case old.equal(v):
		return nil
	}
	return e.step(e.doc.replace(path, v))
}

func (e *edit) remove(path []string) error {
	old, err := e.doc.value().at(path)
	if err != nil || old == nil {
		return err
	}
	return e.step(e.doc.remove(path))
}

// entries changes a list, and returns what it should be then; nil: no list.
func (e *edit) entries(path []string, ours func([]byte) bool, news []*value) (*value, error) {
	old, err := e.doc.value().at(path)
	if err != nil {
		return nil, err
	}
	want := &value{kind: list}
	if old == nil {
		if want.kids = there(news); len(want.kids) == 0 {
			return nil, nil
		}
		return want, e.step(e.doc.insert(path, want))
	}
	if old.kind != list {
		return nil, fmt.Errorf("%s is %s, and no list: %w", name(path), old.what(), ErrUnsafe)
	}
	var from []int
	var to []*value
	touched := false
	for i, k := range old.kids {
		if !ours(k.json(nil)) {
			want.kids = append(want.kids, k)
			continue
		}
		var n *value
		if len(news) > 0 {
			n, news = news[0], news[1:]
		}
		if n != nil {
			want.kids = append(want.kids, n)
		}
		if n == nil || !n.equal(k) {
			from, to, touched = append(from, i), append(to, n), true
		}
	}
	for _, n := range there(news) {
		from, to, touched = append(from, -1), append(to, n), true
		want.kids = append(want.kids, n)
	}
	switch {
	case !touched:
		return old, nil
	case len(want.kids) == 0:
		return nil, e.step(e.doc.remove(path))
	}
	return want, e.step(e.doc.list(path, from, to))
}

// there are the values that are some.
func there(all []*value) []*value {
	return slices.DeleteFunc(slices.Clone(all), func(v *value) bool { return v == nil })
}

func join(path []string, name string) []string { return append(slices.Clone(path), name) }

// name is a path for people.
func name(path []string) string { return strings.Join(path, ".") }
