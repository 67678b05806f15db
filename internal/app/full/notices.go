package full

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"tutti/internal/app"
	"tutti/internal/app/config"
	"tutti/internal/attention/notice"
	"tutti/internal/platform/notify"
)

// A NotifyConfig is the table [notify]:
//
//	[notify]
//	enabled = true             # tutti up tells you when an agent needs you
//	desktop = true             # at your desktop; default: wake.desktop
//	bell = false               # by the bell of the terminal in which tutti up runs
//	command = ["notify-me"]    # by a program of yours, which is started without a shell
//	ntfy = "https://…/TOPIC"   # by a POST to an ntfy server
//	ntfy_token_file = "~/.config/tutti/ntfy-token"
//	quiet = "22:00-07:00"      # when nothing is sent
type NotifyConfig struct {
	Enabled, Desktop, Bell bool
	Command                []string
	Ntfy, NtfyTokenFile    string
	Quiet                  notice.Quiet
}

// NotifySettings reads the table [notify].
func NotifySettings(f *config.File) (*NotifyConfig, error) {
	w, err := f.Wake()
	if err != nil {
		return nil, err
	}
	t := struct {
		Enabled       bool     `toml:"enabled"`
		Desktop       bool     `toml:"desktop"`
		Bell          bool     `toml:"bell"`
		Command       []string `toml:"command"`
		Ntfy          string   `toml:"ntfy"`
		NtfyTokenFile string   `toml:"ntfy_token_file"`
		Quiet         string   `toml:"quiet"`
	}{Enabled: w.Enabled, Desktop: w.Desktop}
	if err := f.Table("notify", &t); err != nil {
		return nil, err
	}
	c := &NotifyConfig{t.Enabled, t.Desktop, t.Bell, t.Command, t.Ntfy, t.NtfyTokenFile, notice.Quiet{}}
	if c.Quiet, err = notice.ParseQuiet(t.Quiet); err != nil {
		return nil, f.Wrong("notify", "quiet", t.Quiet, err.Error())
	}
	if len(c.Command) > 0 && strings.TrimSpace(c.Command[0]) == "" {
		return nil, f.Wrong("notify", "command", "", "names no program")
	}
	if c.Ntfy != "" {
		if err := notice.CheckURL(c.Ntfy); err != nil {
			return nil, f.Wrong("notify", "ntfy", c.Ntfy, err.Error())
		}
	}
	return c, nil
}

// notifyValues is what counts of the table [notify]. The topic of ntfy is like a password, so only its server is shown.
func notifyValues(f *config.File) ([]config.Setting, error) {
	c, err := NotifySettings(f)
	if err != nil {
		return nil, err
	}
	ntfy, command := "off", "none"
	if c.Ntfy != "" {
		ntfy = notice.Ntfy{URL: c.Ntfy}.Host()
	}
	if len(c.Command) > 0 {
		command = fmt.Sprintf("%q", c.Command)
	}
	return f.Settings("notify", [][2]string{
		{"enabled", fmt.Sprint(c.Enabled)},
		{"desktop", fmt.Sprint(c.Desktop)},
		{"bell", fmt.Sprint(c.Bell)},
		{"command", command},
		{"ntfy", ntfy},
		{"quiet", c.Quiet.String()},
	}), nil
}

// Notices returns what tells this user of what their agents need, and the settings. terminal is where a bell rings; nil: nowhere.
// An error beside it says that its state could not be read.
func Notices(a *app.App, env func(string) string, terminal io.Writer) (*notice.Sender, *NotifyConfig, error) {
	f, err := a.Settings()
	if err != nil {
		return nil, nil, err
	}
	c, err := NotifySettings(f)
	if err != nil {
		return nil, nil, err
	}
	state, err := a.StateDir()
	if err != nil {
		return nil, nil, err
	}
	d, err := notice.Open(state)
	d.Quiet = c.Quiet
	if c.Desktop {
		d.Channels = append(d.Channels, notice.Desktop{Desktop: notify.Desktop{Env: env}})
	}
	if c.Bell {
		d.Channels = append(d.Channels, notice.Ringer{Terminal: terminal})
	}
	if len(c.Command) > 0 {
		argv := append([]string{homePath(a, c.Command[0])}, c.Command[1:]...)
		d.Channels = append(d.Channels, notice.Command{Argv: argv})
	}
	if c.Ntfy != "" {
		d.Channels = append(d.Channels, notice.Ntfy{URL: c.Ntfy, TokenFile: homePath(a, c.NtfyTokenFile)})
	}
	return d, c, err
}

// homePath is a path of the settings, where "~/" is the home folder.
func homePath(a *app.App, path string) string {
	rest, ok := strings.CutPrefix(path, "~/")
	home, err := a.Home()
	if !ok || err != nil {
		return path
	}
	return filepath.Join(home, rest)
}

// TerminalOf returns out if it is a terminal, else nil.
func TerminalOf(out io.Writer, columns int) io.Writer {
	if f, ok := out.(*os.File); ok && columns > 0 {
		return f
	}
	return nil
}
