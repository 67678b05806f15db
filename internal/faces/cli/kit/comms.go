package kit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"tutti/internal/app"
	"tutti/internal/app/config"
	"tutti/internal/comms/exchange"
	"tutti/internal/comms/protocol"
	"tutti/internal/halt"
)

// CommsService opens what the conversations between projects are led from. It says once a run that settings of another program are not read.
func (c *Call) CommsService() (*exchange.Service, *config.Comms, error) {
	o, set, err := c.App.CommsService()
	if err != nil {
		return nil, nil, err
	}
	if old := c.App.OldCommsConfig(); old != "" {
		c.Remark("%s is not read; settings belong into the table [comms] of ~/.config/tutti/config.toml", Clean(c.App.Shown(old)))
	}
	o.Tell = func(text string) { c.Remark("%s", Clean(text)) }
	return o, set, nil
}

// InternalFault turns a fault of this machine into exit status 70: it must not be taken
// for a decision on a message. Wrong usage and the halt switch keep theirs.
func InternalFault(err error) error {
	var f *Fault
	var halted *halt.Error
	if err == nil || errors.As(err, &halted) || errors.As(err, &f) {
		return err
	}
	return &Fault{Code: protocol.ExitInternal, Err: err, Next: HintOf(err)}
}

// GeneralFault makes exit status 1 of what has no better one.
func GeneralFault(err error) error {
	var f *Fault
	var halted *halt.Error
	if err == nil || errors.As(err, &halted) || errors.As(err, &f) {
		return err
	}
	return &Fault{Code: protocol.ExitFailed, Err: err, Next: HintOf(err)}
}

// ProjectHere is the project that --project names, or in which the command was called.
func (c *Call) ProjectHere(o *exchange.Service, name string) (exchange.Project, error) {
	if name != "" {
		return c.ProjectNamed(o, name)
	}
	p, ok := o.ProjectAt(c.App.WorkDir())
	if !ok {
		return p, BadState("--project NAME names one; tutti comms init makes one of this folder", "this folder is in no project: none above it holds .ai")
	}
	return p, nil
}

// ProjectNamed finds a project by its name, or by the path of its folder.
func (c *Call) ProjectNamed(o *exchange.Service, name string) (exchange.Project, error) {
	if strings.ContainsRune(name, os.PathSeparator) || name == "." || name == ".." {
		if p, ok := o.ProjectAt(Absolute(c.App.WorkDir(), name)); ok {
			return p, nil
		}
		return exchange.Project{}, BadState("tutti comms init "+app.QuoteArg(name)+"   # makes one of it", "%s is in no project", Clean(name))
	}
	p, err := o.Project(name)
	var none *exchange.NoProjectError
	if errors.As(err, &none) {
		return p, BadState(DidYouMean(none.Near, ""), "%s", Clean(none.Error()))
	}
	return p, err
}

// Absolute is a path that was typed in dir.
func Absolute(dir, path string) string {
	if filepath.IsAbs(path) || dir == "" {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
