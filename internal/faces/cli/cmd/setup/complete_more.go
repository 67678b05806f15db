package setup

import (
	"errors"
	"io/fs"
	"os"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/machines"
	"tutti/internal/comms/overview"
	"tutti/internal/faces/cli/cmd/session"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/sessions/registry"
)

// onComms offers what the conversations between projects have names for. What cannot be read is not offered.
func (k *completer) onComms(what kit.Source) {
	o, _, err := k.c.App.CommsService()
	if err != nil {
		return
	}
	switch what {
	case kit.Destinations:
		k.projects(o, "local.")
		peers, _ := machines.ReadPeers(o.PeersPath())
		for _, p := range peers.List {
			k.say(p.Name+".", "projects of "+kit.Clean(p.Host))
		}
	case kit.Projects:
		k.projects(o, "")
	case kit.Bundles:
		bundles, _ := o.Bundles()
		for i := range bundles[:min(len(bundles), maxOffered)] {
			k.say(bundles[i].ID, "to "+kit.Clean(bundles[i].Destination))
		}
	case kit.Conversations:
		k.conversations(o)
	}
}

func (k *completer) projects(o *exchange.Service, prefix string) {
	all, _ := o.Projects()
	for _, p := range all[:min(len(all), maxOffered)] {
		if kit.Clean(p.Name) == p.Name && (prefix == "" || machines.ValidProject(p.Name)) {
			k.say(prefix+p.Name, kit.Clean(k.c.App.Shown(p.Path)))
		}
	}
}

// conversations offers those of the project that the shell is in, the open ones first.
func (k *completer) conversations(o *exchange.Service) {
	here, ok := o.ProjectAt(k.c.App.WorkDir())
	if !ok {
		return
	}
	s, err := overview.Look(k.ctx, overview.Options{Office: o, Only: here.Name})
	if err != nil {
		return
	}
	n := 0
	for _, p := range s.Projects {
		for i := range p.Conversations {
			if n++; n > maxOffered {
				return
			}
			k.say(p.Conversations[i].ID, kit.Clean(p.Conversations[i].Line()))
		}
	}
}

// sessions offers the names of the sessions in the registry of the command line. It makes nothing.
func (k *completer) sessions() {
	dir, err := os.Getwd()
	if err != nil {
		return
	}
	path, _ := registry.PathOf(dir, k.registry, os.Getenv)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return
	}
	reg, err := session.OpenRegistry(path)
	if err != nil {
		return
	}
	rows, _, err := reg.Rows(k.ctx)
	if err != nil {
		return
	}
	for i := range rows {
		if i == maxOffered {
			return
		}
		if r := &rows[i]; harmless(r.Name) {
			k.say(r.Name, kit.Truncate(kit.Clean(string(r.Status)+" "+r.Kind()), maxRemark))
		}
	}
}

// jobs offers the jobs of the workspace, the newest first. A fault offers nothing.
func (k *completer) jobs() {
	b, _, err := session.FindJobs(k.c, k.c.Text("workspace"))
	if err != nil {
		return
	}
	all, _, err := b.List()
	if err != nil {
		return
	}
	for n := len(all) - 1; n >= 0 && n >= len(all)-maxOffered; n-- {
		j := all[n]
		if k.fits(j.ID) {
			k.say(j.ID, kit.Truncate(kit.Clean(string(j.Status)+" "+fast.FirstLine(j.Prompt, "")), maxRemark))
		}
	}
}
