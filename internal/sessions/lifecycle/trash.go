package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/smallfile"
)

// trashFolder is where copies of deleted conversations are kept, below the home of the user.
const trashFolder = ".local/state/tutti/trash"

// copyToTrash copies a conversation into a new folder of the trash, before anything of it is deleted.
func (s *stopping) copyToTrash(ctx context.Context, d *driver.Driver, id string, found []artefact) (err error) {
	trash := filepath.Join(s.m.o.Home, filepath.FromSlash(trashFolder))
	if err := os.MkdirAll(trash, 0o700); err != nil {
		return err
	}
	to, err := os.MkdirTemp(trash, s.m.o.Now().UTC().Format("20060102-150405-")+s.row.Name+"-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(to))
		}
	}()
	if len(found) == 0 {
		if err := s.export(ctx, d, id, filepath.Join(to, id+".json")); err != nil {
			return err
		}
	}
	for i, a := range found {
		// Numbered, because files of several folders may have the same name.
		if err := a.copyTo(filepath.Join(to, fmt.Sprintf("%d-%s", i+1, filepath.Base(a.path())))); err != nil {
			return fmt.Errorf("copy %s: %w", a.path(), err)
		}
	}
	s.out.Trash = to
	return nil
}

// copyTo copies the file, or the folder with all that is in it. Links are copied as links.
func (a *artefact) copyTo(to string) error {
	root, err := smallfile.OpenRoot(a.root)
	if err != nil {
		return err
	}
	defer root.Close()
	name := filepath.FromSlash(a.name)
	if a.folder {
		folder, err := root.OpenRoot(name)
		if err != nil {
			return err
		}
		defer folder.Close()
		return os.CopyFS(to, folder.FS())
	}
	from, err := root.Open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}

// export lets the agent CLI write a conversation that it keeps in no file of its own.
func (s *stopping) export(ctx context.Context, d *driver.Driver, id, to string) error {
	if d.Life.Find.Export == nil {
		return errors.New("no file of it was found")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), forgetLimit)
	defer cancel()
	c, err := s.ownCommand(ctx, d, d.Life.Find.Export(id))
	if err != nil {
		return err
	}
	out, err := c.Output()
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return fmt.Errorf("%s: %w", d.Program, err)
	}
	if len(out) == 0 {
		return fmt.Errorf("%s printed nothing", d.Program)
	}
	return os.WriteFile(to, out, 0o600)
}

// ownCommand is a command of the agent CLI, in the session's folder and with the places of its files.
func (s *stopping) ownCommand(ctx context.Context, d *driver.Driver, args []string) (*exec.Cmd, error) {
	program, err := exec.LookPath(d.Program)
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, program, args...)
	c.WaitDelay = time.Second
	if c.Dir = s.place.Dir; c.Dir != "" {
		if _, err := os.Stat(c.Dir); err != nil {
			c.Dir = s.place.Home
		}
	}
	c.Env = append(os.Environ(), "HOME="+s.place.Home)
	for _, name := range placeVariables {
		if v := s.place.Env(name); v != "" {
			c.Env = append(c.Env, name+"="+v)
		}
	}
	return c, nil
}
