package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"tutti/internal/app"
	"tutti/internal/comms/exchange"
	"tutti/internal/comms/protocol"
	"tutti/internal/halt"
)

// office opens what the conversations between projects are led from. It says once a run that settings of another program are not read.
func (c *Call) office() (*exchange.Service, *app.CommsConfig, error) {
	o, set, err := c.App.CommsService()
	if err != nil {
		return nil, nil, err
	}
	if old := c.App.OldCommsConfig(); old != "" {
		c.remark("%s is not read; settings belong into the table [comms] of ~/.config/tutti/config.toml", Clean(c.App.Shown(old)))
	}
	o.Tell = func(text string) { c.remark("%s", Clean(text)) }
	o.Abroad()
	return o, set, nil
}

// internalFault makes exit status 70 of what is no answer to the question that was asked: a fault of this machine must not be taken
// for a decision on a message. Wrong usage and the halt switch keep theirs.
func internalFault(err error) error {
	var f *fault
	var halted *halt.Error
	if err == nil || errors.As(err, &halted) || errors.As(err, &f) {
		return err
	}
	return &fault{code: protocol.ExitInternal, err: err, hint: hintOf(err)}
}

// generalFault makes exit status 1 of what has no better one.
func generalFault(err error) error {
	var f *fault
	var halted *halt.Error
	if err == nil || errors.As(err, &halted) || errors.As(err, &f) {
		return err
	}
	return &fault{code: protocol.ExitFailed, err: err, hint: hintOf(err)}
}

// projectHere is the project that --project names, or in which the command was called.
func (c *Call) projectHere(o *exchange.Service) (exchange.Project, error) {
	if name := c.text("project"); name != "" {
		return c.projectNamed(o, name)
	}
	p, ok := o.ProjectAt(c.App.WorkDir())
	if !ok {
		return p, badState("--project NAME names one; tutti comms init makes one of this folder", "this folder is in no project: none above it holds .ai")
	}
	return p, nil
}

// projectNamed finds a project by its name, or by the path of its folder.
func (c *Call) projectNamed(o *exchange.Service, name string) (exchange.Project, error) {
	if strings.ContainsRune(name, os.PathSeparator) || name == "." || name == ".." {
		if p, ok := o.ProjectAt(absolute(c.App.WorkDir(), name)); ok {
			return p, nil
		}
		return exchange.Project{}, badState("tutti comms init "+app.QuoteArg(name)+"   # makes one of it", "%s is in no project", Clean(name))
	}
	p, err := o.Project(name)
	var none *exchange.NoProjectError
	if errors.As(err, &none) {
		return p, badState(didYouMean(none.Near, ""), "%s", Clean(none.Error()))
	}
	return p, err
}

// absolute is a path that was typed in dir.
func absolute(dir, path string) string {
	if filepath.IsAbs(path) || dir == "" {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
