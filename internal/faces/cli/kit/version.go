package kit

import (
	"context"
	"runtime"
	"runtime/debug"

	"tutti/internal/core/render"
	"tutti/internal/platform/proc"
)

// BuildID returns what tells one build from another: what the linker was given, else the revision of the sources with
// "+" for uncommitted changes, else "dev".
func BuildID() string {
	if Build != "" {
		return Build
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	revision, changed := "dev", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				changed = "+"
			}
		}
	}
	if revision == "dev" {
		return revision
	}
	return revision[:min(12, len(revision))] + changed
}

// program is the name of the program that runs, whatever it was called.
func (c *Call) program() string {
	if c.Full {
		return "tutti-full"
	}
	return "tutti"
}

func RunVersion(_ context.Context, c *Call) error {
	c.version()
	return nil
}

// A ProgramVersion is the version of the program that runs.
type ProgramVersion struct {
	Program string `json:"program"`
	Version string `json:"version"`
	Build   string `json:"build"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Peak    *int64 `json:"vmhwm,omitempty"` // the most memory that the process has used, in bytes
}

// version prints who this is, on one line for people.
func (c *Call) version() {
	if !c.JSON || c.Under != Tutti {
		c.Line(c.program() + " " + Version + " (build " + BuildID() + ", " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + ")")
		return
	}
	v := ProgramVersion{c.program(), Version, BuildID(), runtime.Version(), runtime.GOOS, runtime.GOARCH, nil}
	if bytes, err := proc.HighWater(); err == nil {
		v.Peak = &bytes
	}
	c.Emit(render.JSON(v))
}
