package hook

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tutti/internal/attention/approval"
	"tutti/internal/core/termsafe"
)

// A change is what a tool writes to a file. Removed lines begin with "-", added lines with "+", unchanged lines with a space.
type change struct {
	path           string
	lines          []string
	added, removed int
	does           string // in words, where the numbers of lines do not say it
}

// changeOf reads the arguments of a tool that writes a file: those of Claude Code, and edit of opencode. nil: the tool is another. A change
// without lines could not be read.
func changeOf(tool string, input []byte, dir string) *change {
	in := membersOf(input)
	c := &change{path: in.text("file_path")}
	switch tool {
	case "Write":
		if in["content"] == nil {
			return c
		}
		c.add("+", linesOf(strings.TrimSuffix(in.text("content"), "\n")))
		file := c.path
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		if _, err := os.Lstat(file); err == nil {
			c.does = "replaces the file with " + termsafe.Plural(c.added, "line")
		}
		if c.added == 0 {
			c.lines = []string{"(no text)"}
		}
	case "Edit":
		c.edit(in)
	case "MultiEdit":
		for _, e := range in.list("edits") {
			c.edit(e)
		}
	case "NotebookEdit":
		c.path = in.text("notebook_path")
		mode := cmp.Or(in.text("edit_mode"), "replace")
		if !slices.Contains([]string{"replace", "insert", "delete"}, mode) {
			mode = strconv.Quote(mode)
		}
		c.does = mode + " cell " + strconv.Quote(in.text("cell_id"))
		c.lines = []string{c.does + ":"}
		c.add("+", linesOf(in.text("new_source")))
	case "edit":
		c.path = in.text("filepath")
		c.diff(in.text("diff"))
	default:
		return nil
	}
	return c
}

// members are those of a JSON object, by exactly their names, as agent CLIs read them: a struct would also take "Content" for content.
type members map[string]json.RawMessage

func membersOf(raw []byte) (m members) {
	_ = json.Unmarshal(raw, &m)
	return m
}

func (m members) text(name string) (s string) {
	_ = json.Unmarshal(m[name], &s)
	return s
}

func (m members) list(name string) (all []members) {
	_ = json.Unmarshal(m[name], &all)
	return all
}

func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// add takes lines with a sign before each.
func (c *change) add(sign string, lines []string) {
	for _, line := range lines {
		c.lines = append(c.lines, sign+line)
	}
	switch sign {
	case "-":
		c.removed += len(lines)
	case "+":
		c.added += len(lines)
	}
}

// edit takes a text that is replaced by another. Lines that both share at the beginning and at the end stay.
func (c *change) edit(e members) {
	if len(c.lines) > 0 {
		c.lines = append(c.lines, "")
	}
	if string(e["replace_all"]) == "true" {
		c.lines = append(c.lines, "everywhere in the file:")
	}
	old, now := linesOf(e.text("old_string")), linesOf(e.text("new_string"))
	head, foot := 0, 0
	for head < min(len(old), len(now)) && old[head] == now[head] {
		head++
	}
	for foot < min(len(old), len(now))-head && old[len(old)-1-foot] == now[len(now)-1-foot] {
		foot++
	}
	c.add(" ", old[:head])
	c.add("-", old[head:len(old)-foot])
	c.add("+", now[head:len(now)-foot])
	c.add(" ", old[len(old)-foot:])
}

// diff takes the lines of a unified diff of one file, without its heading.
func (c *change) diff(text string) {
	body := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "Index: "): // the heading of the next file
			body = false
			c.lines = append(c.lines, line)
		case strings.HasPrefix(line, "@@"):
			body = true
			c.lines = append(c.lines, line)
		case body && line != "" && line[0] != '\\':
			c.add(line[:1], []string{line[1:]})
		}
	}
}

// about is the file and what changes, in one line.
func (c *change) about() string {
	if len(c.lines) == 0 {
		return cmp.Or(c.path, "a file") + " (what it writes is not known)"
	}
	text := cmp.Or(c.does, fmt.Sprintf("+%d -%d", c.added, c.removed))
	if len(c.text()) > approval.MaxChange {
		text += ", too long to show in full"
	}
	return c.path + " (" + text + ")"
}

func (c *change) text() string { return strings.Join(c.lines, "\n") }
