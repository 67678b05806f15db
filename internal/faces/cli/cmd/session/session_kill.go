package session

import (
	"context"
	"errors"
	"path/filepath"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/sessions/agentproc"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/sessions/registry"
)

// A Kill is the sessions of all registries of this user that run.
type Kill struct {
	parts []Part
	Names []string
	// Problems are why sessions of a registry cannot be ended.
	Problems []error
}

// ToKill finds the sessions that "halt --kill" ends.
func ToKill(ctx context.Context, c *kit.Call) (k Kill) {
	s, err := SessionsHere(c, Location{})
	if err != nil {
		return Kill{Problems: []error{err}}
	}
	if k.parts, err = s.Parts(ctx, false); err != nil { // of this folder: those of others are ended all the same
		k.Problems = append(k.Problems, err)
		k.parts = s.FarParts(ctx, false)
	}
	for i := range k.parts {
		for n := range k.parts[i].Rows {
			if k.parts[i].Rows[n].Status == registry.Running {
				k.Names = append(k.Names, k.parts[i].Rows[n].Name)
			}
		}
	}
	return k
}

// Owns tells whether a session has this owner.
func (k *Kill) Owns(owner string) bool {
	for i := range k.parts {
		for n := range k.parts[i].Rows {
			if owner != "" && k.parts[i].Rows[n].OwnerID == owner {
				return true
			}
		}
	}
	return false
}

// End ends them without typing anything.
func (k *Kill) End(ctx context.Context) (all []fast.SessionView) {
	for i := range k.parts {
		p := &k.parts[i]
		stopped, err := p.stopRunning(ctx, lifecycle.StopRequest{Reason: "halt --kill", NoKeys: true, Grace: agentproc.Grace})
		if len(stopped) == 0 && err != nil {
			k.Problems = append(k.Problems, err)
		}
		for _, out := range stopped {
			v := fast.SessionView{Name: out.Session, Registry: p.Path, OK: out.Err == nil}
			if out.Err != nil {
				v.Problem = kit.Clean(out.Err.Error())
			}
			all = append(all, v)
		}
	}
	return all
}

// Restart starts a session again that was ended, with its own conversation.
func Restart(ctx context.Context, c *kit.Call, at agentproc.KilledSession) (fast.SessionView, error) {
	v := fast.SessionView{Name: at.Name, Registry: at.Registry}
	s := &sessions{c: c, Path: at.Registry, dir: registry.Workspace(at.Registry, filepath.Dir(at.Registry))}
	m, err := s.manager("resume --restart")
	if err != nil {
		return v, err
	}
	done, err := m.Resume(ctx, lifecycle.ResumeRequest{Name: at.Name})
	if err == nil {
		v.OK = true
		full.NoteRegistry(s.c.App, s.Path)
	}
	if done != nil && !c.JSON {
		s.sayResumed(done, err)
	}
	if e, ok := errors.AsType[*lifecycle.Error](err); ok {
		in := " --registry " + app.QuoteArg(at.Registry) // it may be of another folder
		switch e.Kind {
		case lifecycle.Nothing:
			e.Next = "to start it anew: tutti session restart " + app.QuoteArg(at.Name) + in
		case lifecycle.Several:
			e.Next += in
		}
	}
	return v, err
}
