package kit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Version is the release. Build names one build of both programs; the Makefile sets it by -ldflags
// "-X tutti/internal/faces/cli/kit.Build=...". Without it the revision of the source tree stands in.
var (
	Version = "0.1.0"
	Build   string
)

// BuildVariable carries the build of tutti to the tutti-full that replaces it.
const BuildVariable = "TUTTI_BUILD"

// InstallHint is the line to type when the two programs do not fit or one is missing.
const InstallHint = `"tutti install" puts both programs of one build in place`

// missingHint is the same where the other program, which has "tutti install", is missing.
const missingHint = "install tutti again, which puts both programs into one folder"

// FullPath returns where tutti-full has to lie: in the folder of our own executable, links resolved. It is never looked
// for in PATH, where anybody's may be first.
func FullPath() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	return filepath.Join(filepath.Dir(self), "tutti-full"), nil
}

// HandOver replaces the process by tutti-full with the same arguments under the same name. It returns only if that failed.
func HandOver() error {
	path, err := FullPath()
	if err != nil {
		return FailIO(InstallHint, err, "find our own program")
	}
	env := append(os.Environ(), BuildVariable+"="+BuildID())
	err = syscall.Exec(path, os.Args, env)
	if errors.Is(err, fs.ErrNotExist) {
		return FailIO(missingHint, nil, "this needs tutti-full, which is not at %s", path)
	}
	return FailIO(InstallHint, err, "start %s", path)
}

// misfit gives the error of two programs that do not find or fit each other the exit status that the verb has for it: where one is the
// answer to a question, 3 may be another answer.
func (c *Call) misfit(err error) error {
	code := 0
	switch {
	case c.Verb != nil:
		code = c.Verb.Apart
	case c.Under == Cross:
		code = ExitPanic
	}
	if code == 0 {
		return err
	}
	return &Fault{Code: code, Err: err, Next: HintOf(err)}
}

// sameBuild tells tutti-full whether the tutti that handed over is of its own build, and takes the word out of the
// environment so that children do not inherit it.
func sameBuild() error {
	theirs, handed := os.LookupEnv(BuildVariable)
	if !handed {
		return nil
	}
	os.Unsetenv(BuildVariable)
	if theirs == BuildID() {
		return nil
	}
	return FailIO(InstallHint, nil, "tutti is of build %s and tutti-full of build %s", Clean(theirs), BuildID())
}
