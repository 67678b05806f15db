package app

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"tutti/internal/comms/exchange"
	talk "tutti/internal/comms/protocol"
	"tutti/internal/core/orgfile"
	"tutti/internal/platform/proc"
)

// A CommsConfig is the table [comms] of the settings file, about the conversations between projects:
//
//	[comms]
//	sender = "web"                      # who sends where no project is stood in
//	project_roots = ["~/projects"]      # the folders that hold the projects
//	notify_command = ["notify-send", "{title}", "{body}"]   # how the watcher tells you
//	extra_tools = ["mcp:calendar"]      # names that count as tools of this machine beside the programs on PATH
//	timestamp_skew_seconds = 900        # how far the time of a name may be from that of its header
//	local_fallback = false              # a machine that nobody knows is this one
//	max_message_bytes = 1048576
type CommsConfig struct {
	Sender        string
	ProjectRoots  []string
	NotifyCommand []string
	ExtraTools    []string
	Skew          time.Duration // 0: as usual
	LocalFallback bool
	MaxMessage    int // 0: as usual
}

// commsSettings are the members of the table.
var commsSettings = [...]string{
	"sender", "project_roots", "notify_command", "extra_tools", "timestamp_skew_seconds", "local_fallback", "max_message_bytes",
}

// The limits of its numbers. A header alone takes some hundred bytes; a difference between two clocks above a day is no drift.
const (
	minMessage = 1 << 10
	maxSkew    = 24 * time.Hour
)

// Comms returns the settings of the conversations between projects. Without a file, or a table in it, everything is as usual.
// What cannot be understood is a *ConfigError.
func (a *App) Comms() (*CommsConfig, error) {
	data, shown, err := a.settingsText()
	switch {
	case err != nil:
		return nil, err
	case data == nil:
		return &CommsConfig{}, nil
	}
	return parseComms(data, shown)
}

func parseComms(data []byte, shown string) (*CommsConfig, error) {
	var file struct {
		Comms struct {
			Sender        string   `toml:"sender"`
			ProjectRoots  []string `toml:"project_roots"`
			NotifyCommand []string `toml:"notify_command"`
			ExtraTools    []string `toml:"extra_tools"`
			Skew          *int64   `toml:"timestamp_skew_seconds"`
			LocalFallback bool     `toml:"local_fallback"`
			MaxMessage    *int64   `toml:"max_message_bytes"`
		} `toml:"comms"`
	}
	err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&file)
	var missing *toml.StrictMissingError
	if errors.As(err, &missing) {
		err = nil
		for i := range missing.Errors {
			if key := missing.Errors[i].Key(); len(key) > 1 && key[0] == "comms" {
				line, _ := missing.Errors[i].Position()
				return nil, &ConfigError{Path: shown, Line: line, Why: "there is no setting " + strings.Join(key, ".") +
					"; the table has " + strings.Join(commsSettings[:], ", ")}
			}
		}
	}
	if err != nil {
		return nil, configError(err, shown)
	}
	f := &file.Comms
	c := &CommsConfig{
		Sender: f.Sender, ProjectRoots: f.ProjectRoots, NotifyCommand: f.NotifyCommand, ExtraTools: f.ExtraTools, LocalFallback: f.LocalFallback,
	}
	if f.Skew != nil {
		c.Skew = time.Duration(*f.Skew) * time.Second
		if *f.Skew < 1 || *f.Skew > int64(maxSkew/time.Second) {
			return nil, &ConfigError{Path: shown, Why: fmt.Sprintf("comms.timestamp_skew_seconds: %d is not between 1 and %d", *f.Skew, maxSkew/time.Second)}
		}
	}
	if f.MaxMessage != nil {
		c.MaxMessage = int(*f.MaxMessage)
		if *f.MaxMessage < minMessage || *f.MaxMessage > orgfile.MaxMessage {
			return nil, &ConfigError{Path: shown, Why: fmt.Sprintf("comms.max_message_bytes: %d is not between %d and %d", *f.MaxMessage, minMessage, orgfile.MaxMessage)}
		}
	}
	word, why := c.wrong()
	if why != "" {
		return nil, &ConfigError{Path: shown, Line: lineOf(data, word), Why: fmt.Sprintf("comms.%s", why)}
	}
	return c, nil
}

// wrong returns the first value that cannot be, and why; two empty words when all can.
func (c *CommsConfig) wrong() (word, why string) {
	if c.Sender != "" {
		if _, ok := talk.Slugify(c.Sender); !ok {
			return c.Sender, fmt.Sprintf("sender: nothing of %.40q can stand in the name of a sender", c.Sender)
		}
	}
	for _, root := range c.ProjectRoots {
		if !filepath.IsAbs(root) && root != "~" && !strings.HasPrefix(root, "~/") {
			return root, fmt.Sprintf("project_roots: %.80q is no absolute path; ~/ stands for the home folder", root)
		}
	}
	if len(c.NotifyCommand) > 0 && c.NotifyCommand[0] == "" {
		return "", "notify_command: the first word is the program, and it is empty"
	}
	for _, tool := range c.ExtraTools {
		if !talk.ToolName(tool) {
			return tool, fmt.Sprintf("extra_tools: %.40q cannot be the name of a tool", tool)
		}
	}
	return "", ""
}

// commsEffective is what counts of the table [comms].
func (a *App) commsEffective(shown string) ([]Setting, error) {
	c, err := a.Comms()
	if err != nil {
		return nil, err
	}
	setting := func(name string, set bool, value, usual string) Setting {
		if !set {
			return Setting{"comms." + name, usual, UsualValue}
		}
		return Setting{"comms." + name, value, shown}
	}
	return []Setting{
		setting("sender", c.Sender != "", c.Sender, "the project of the folder, then the name of this machine"),
		setting("project_roots", len(c.ProjectRoots) > 0, strings.Join(c.ProjectRoots, ", "), "~/projects"),
		setting("notify_command", len(c.NotifyCommand) > 0, strings.Join(c.NotifyCommand, " "), "what this desktop has"),
		setting("extra_tools", len(c.ExtraTools) > 0, strings.Join(c.ExtraTools, ", "), "none"),
		setting("timestamp_skew_seconds", c.Skew > 0, strconv.Itoa(int(c.Skew/time.Second)), strconv.Itoa(int(talk.SkewMax/time.Second))),
		setting("local_fallback", c.LocalFallback, "true", "false"),
		setting("max_message_bytes", c.MaxMessage > 0, strconv.Itoa(c.MaxMessage), strconv.Itoa(orgfile.MaxMessage)),
	}, nil
}

// CommsService makes where the conversations of this user are led from, by the settings.
func (a *App) CommsService() (*exchange.Service, *CommsConfig, error) {
	home, err := a.Home()
	if err != nil {
		return nil, nil, err
	}
	c, err := a.Comms()
	if err != nil {
		return nil, nil, err
	}
	return &exchange.Service{
		Home: home, Host: cmp.Or(proc.Hostname(), "localhost"),
		Roots: c.ProjectRoots, MaxMessage: c.MaxMessage, Tools: c.ExtraTools, Fallback: c.LocalFallback,
	}, c, nil
}

// OldCommsConfig returns the path of a settings file of other programs that lead such conversations, "" when there is none. It is
// not read: two files would be two truths.
func (a *App) OldCommsConfig() string {
	path, err := a.below(".config/cross-agent-comms/config.toml")
	if err != nil {
		return ""
	}
	if _, err := os.Lstat(path); err != nil {
		return ""
	}
	return path
}

// WorkDir returns the folder in which the program was called, "" when it is gone.
func (a *App) WorkDir() string {
	if a.set.Dir != "" {
		return a.set.Dir
	}
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return dir
}
