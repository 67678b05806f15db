package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"tutti/internal/core/canonjson"
	"tutti/internal/platform/proc"
)

// Version is the release. Build names one build of both programs; the Makefile sets it by -ldflags
// "-X tutti/internal/faces/cli.Build=...". Without it the revision of the source tree stands in.
var (
	Version = "0.1.0"
	Build   string
)

// buildVariable carries the build of tutti to the tuttid that replaces it.
const buildVariable = "TUTTI_BUILD"

// installHint is the line to type when the two programs do not fit or one is missing.
const installHint = `"tutti install" puts both programs of one build in place`

// daemonPath returns where tuttid has to lie: in the folder of our own executable, links resolved. It is never looked
// for in PATH, where anybody's may be first.
func daemonPath() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	return filepath.Join(filepath.Dir(self), "tuttid"), nil
}

// handOver replaces the process by tuttid with the same arguments under the same name. It returns only if that failed.
func handOver() error {
	path, err := daemonPath()
	if err != nil {
		return failIO(installHint, err, "find our own program")
	}
	env := append(os.Environ(), buildVariable+"="+BuildID())
	err = syscall.Exec(path, os.Args, env)
	if errors.Is(err, fs.ErrNotExist) {
		return failIO(installHint, nil, "this needs tuttid, which is not at %s", path)
	}
	return failIO(installHint, err, "start %s", path)
}

// misfit gives the error of two programs that do not find or fit each other the exit status that the verb has for it: where one is the
// answer to a question, 3 may be another answer.
func (c *Call) misfit(err error) error {
	if c.Verb == nil || c.Verb.Apart == 0 {
		return err
	}
	return &fault{code: c.Verb.Apart, err: err, hint: hintOf(err)}
}

// sameBuild tells tuttid whether the tutti that handed over is of its own build, and takes the word out of the
// environment so that children do not inherit it.
func sameBuild() error {
	theirs, handed := os.LookupEnv(buildVariable)
	if !handed {
		return nil
	}
	os.Unsetenv(buildVariable)
	if theirs == BuildID() {
		return nil
	}
	return failIO(installHint, nil, "tutti is of build %s and tuttid of build %s", Clean(theirs), BuildID())
}

// runHandover is what tuttid answers to show that it did.
func runHandover(_ context.Context, c *Call) error {
	if c.json {
		var o canonjson.Object
		o.Bool("ok", true)
		o.Str("program", "tuttid")
		o.Str("build", BuildID())
		c.emit(o.Bytes())
		return nil
	}
	c.line("tuttid " + Version + " (build " + BuildID() + ")")
	return nil
}

// runRSS prints the high water mark of resident memory.
func runRSS(_ context.Context, c *Call) error {
	bytes, err := proc.HighWater()
	if err != nil {
		return fmt.Errorf("read memory of this process: %w", err)
	}
	if c.json {
		var o canonjson.Object
		o.Int("vmhwm", bytes)
		c.emit(o.Bytes())
		return nil
	}
	c.printf("%d\n", bytes)
	return nil
}
