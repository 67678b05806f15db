package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tutti/internal/comms/protocol"
	"tutti/internal/core/orgfile"
)

// A Comms is the table [comms], about the conversations between projects:
//
//	[comms]
//	sender = "web"                      # who sends where no project is stood in
//	project_roots = ["~/projects"]      # the folders that hold the projects
//	notify_command = ["notify-send", "{title}", "{body}"]   # how the watcher tells you
//	extra_tools = ["mcp:calendar"]      # names that count as tools of this machine beside the programs on PATH
//	timestamp_skew_seconds = 900        # how far the time of a name may be from that of its header
//	local_fallback = false              # an unknown machine counts as this one
//	max_message_bytes = 1048576
type Comms struct {
	Sender        string
	ProjectRoots  []string
	NotifyCommand []string
	ExtraTools    []string
	Skew          time.Duration // 0: as usual
	LocalFallback bool
	MaxMessage    int // 0: as usual
}

// The limits of its numbers. A header alone takes some hundred bytes; a difference between two clocks above a day is not a
// drift.
const (
	minMessage = 1 << 10
	maxSkew    = int64(24 * time.Hour / time.Second)
)

// Comms returns the settings of the conversations between projects.
func (f *File) Comms() (*Comms, error) {
	var t struct {
		Sender        string   `toml:"sender"`
		ProjectRoots  []string `toml:"project_roots"`
		NotifyCommand []string `toml:"notify_command"`
		ExtraTools    []string `toml:"extra_tools"`
		Skew          *int64   `toml:"timestamp_skew_seconds"`
		LocalFallback bool     `toml:"local_fallback"`
		MaxMessage    *int64   `toml:"max_message_bytes"`
	}
	if err := f.Table("comms", &t); err != nil {
		return nil, err
	}
	c := &Comms{
		Sender: t.Sender, ProjectRoots: t.ProjectRoots, NotifyCommand: t.NotifyCommand, ExtraTools: t.ExtraTools, LocalFallback: t.LocalFallback,
	}
	if t.Skew != nil {
		if *t.Skew < 1 || *t.Skew > maxSkew {
			return nil, f.Wrong("comms", "timestamp_skew_seconds", "", fmt.Sprintf("%d is not between 1 and %d", *t.Skew, maxSkew))
		}
		c.Skew = time.Duration(*t.Skew) * time.Second
	}
	if t.MaxMessage != nil {
		if *t.MaxMessage < minMessage || *t.MaxMessage > orgfile.MaxMessage {
			return nil, f.Wrong("comms", "max_message_bytes", "", fmt.Sprintf("%d is not between %d and %d", *t.MaxMessage, minMessage, orgfile.MaxMessage))
		}
		c.MaxMessage = int(*t.MaxMessage)
	}
	if setting, value, why := c.wrong(); why != "" {
		return nil, f.Wrong("comms", setting, value, why)
	}
	return c, nil
}

// wrong returns the first text that cannot be used, and why; "" when all can.
func (c *Comms) wrong() (setting, value, why string) {
	if c.Sender != "" {
		if _, ok := protocol.Slugify(c.Sender); !ok {
			return "sender", c.Sender, fmt.Sprintf("nothing of %.40q can stand in the name of a sender", c.Sender)
		}
	}
	for _, root := range c.ProjectRoots {
		if !filepath.IsAbs(root) && root != "~" && !strings.HasPrefix(root, "~/") {
			return "project_roots", root, fmt.Sprintf("%.80q is not an absolute path; ~/ means the home folder", root)
		}
	}
	if len(c.NotifyCommand) > 0 && c.NotifyCommand[0] == "" {
		return "notify_command", "", "the first word is the program, and it is empty"
	}
	for _, tool := range c.ExtraTools {
		if !protocol.ToolName(tool) {
			return "extra_tools", tool, fmt.Sprintf("%.40q cannot be the name of a tool", tool)
		}
	}
	return "", "", ""
}

// CommsSettings is what counts of the table.
func (f *File) CommsSettings() ([]Setting, error) {
	c, err := f.Comms()
	if err != nil {
		return nil, err
	}
	return f.Settings("comms", [][2]string{
		{"sender", cmp.Or(c.Sender, "the project of the folder, then the name of this machine")},
		{"project_roots", list(c.ProjectRoots, "~/projects")},
		{"notify_command", cmp.Or(strings.Join(c.NotifyCommand, " "), "what this desktop has")},
		{"extra_tools", list(c.ExtraTools, "none")},
		{"timestamp_skew_seconds", strconv.Itoa(int(cmp.Or(c.Skew, protocol.SkewMax) / time.Second))},
		{"local_fallback", fmt.Sprint(c.LocalFallback)},
		{"max_message_bytes", strconv.Itoa(cmp.Or(c.MaxMessage, orgfile.MaxMessage))},
	}), nil
}
