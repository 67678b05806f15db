package stop

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/agents/setup"
	"tutti/internal/attention/drill"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/sessions/agentproc"
)

// versionTime is how long a CLI may take to say its version, where the place of its program does not tell.
const versionTime = 10 * time.Second

// A drillView is what "tutti halt --drill --json" prints.
type drillView struct {
	OK     bool           `json:"ok"` // every CLI that was tried stopped, and one was
	Drills []drill.Result `json:"drills"`
}

// runDrill drills each agent CLI that is installed, one after the other. It halts nothing.
func runDrill(ctx context.Context, c *kit.Call) error {
	home, err := c.App.Home()
	if err != nil {
		return err
	}
	state, err := c.App.StateDir()
	if err != nil {
		return err
	}
	v := drillView{OK: true, Drills: []drill.Result{}}
	tried := false
	for _, d := range driver.All() {
		path, err := exec.LookPath(d.Program)
		if err != nil {
			continue
		}
		if path, err = filepath.Abs(path); err != nil {
			return err
		}
		r := drill.Run(ctx, d, drill.Options{
			Place: driver.Site{Home: home, Env: os.Getenv}, Program: path, Version: CLIVersion(d, path), Now: time.Now(),
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := drill.Record(state, r); err != nil {
			c.Warn("the drill is not recorded: %s", kit.Clean(err.Error()))
		}
		v.Drills = append(v.Drills, r)
		tried = tried || r.State != drill.NotTried
		v.OK = v.OK && r.State != drill.NotStopped
		if !c.JSON {
			c.Prose("", 2, kit.Clean(r.Line()))
			_ = c.Flush()
		}
	}
	v.OK = v.OK && tried
	switch {
	case c.JSON:
		c.Emit(render.JSON(v)) // another result than that of a halt
	case len(v.Drills) == 0:
		c.Line("No agent CLI is installed.")
	}
	if !v.OK && len(v.Drills) > 0 {
		return &kit.Fault{Code: kit.ExitState} // the lines have said it
	}
	return nil
}

// CLIVersion is the version of the agent CLI at a path. A program is started only where its place does not tell.
func CLIVersion(d *driver.Driver, path string) string {
	if version := agentproc.VersionAt(path); version != "" {
		return version
	}
	if !drill.Has(d.Name) {
		return "" // the name of another one may be that of any program
	}
	return setup.Version(versionTime, d)
}
