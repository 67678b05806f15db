package hook

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tutti/internal/attention/approval"
	"tutti/internal/core/termsafe"
)

// A change is what a tool writes to a file: the lines that go begin with "-", those that come with "+", and those that stay with a blank.
type change struct {
	path       string
	lines      []string
	gone, come int
	over       bool // all of a file that is there is replaced
}

// changeOf reads the arguments of a tool that writes a file: those of Claude Code, and edit of opencode. nil: the tool writes none, or
// what it writes is not among its arguments.
func changeOf(tool string, input []byte, dir string) *change {
	in := membersOf(input)
	c := &change{path: in.text("file_path")}
	switch tool {
	case "Write":
		c.add("+", linesOf(in.text("content")))
		file := c.path
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		_, err := os.Lstat(file)
		c.over = err == nil && in["content"] != nil
	case "Edit":
		c.edit(in)
	case "MultiEdit":
		for _, e := range in.list("edits") {
			c.edit(e)
		}
	case "NotebookEdit":
		c.path = in.text("notebook_path")
		if mode, cell := in.text("edit_mode"), in.text("cell_id"); mode != "" || cell != "" {
			c.lines = append(c.lines, strings.TrimSpace(mode+" cell "+cell)+":")
		}
		c.add("+", linesOf(in.text("new_source")))
	case "edit":
		c.path = in.text("filepath")
		c.diff(in.text("diff"))
	}
	if c.path == "" || len(c.lines) == 0 && !c.over {
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
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// add takes lines with a sign before each.
func (c *change) add(sign string, lines []string) {
	for _, line := range lines {
		c.lines = append(c.lines, sign+line)
	}
	switch sign {
	case "-":
		c.gone += len(lines)
	case "+":
		c.come += len(lines)
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
	old, now := strings.Split(e.text("old_string"), "\n"), strings.Split(e.text("new_string"), "\n")
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
		case strings.HasPrefix(line, "@@"):
			body = true
			c.lines = append(c.lines, line)
		case body && line != "" && line[0] != '\\':
			c.add(line[:1], []string{line[1:]})
		}
	}
}

// about is the file and how much changes, in one line.
func (c *change) about() string {
	text := fmt.Sprintf("+%d -%d", c.come, c.gone)
	if c.over {
		text = "replaces the file by " + termsafe.Plural(c.come, "line")
	}
	if len(c.text()) > approval.MaxChange {
		text += ", too long to be shown whole"
	}
	return c.path + " (" + text + ")"
}

func (c *change) text() string { return strings.Join(c.lines, "\n") }
