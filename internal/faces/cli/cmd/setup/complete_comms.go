package setup

import (
	"tutti/internal/comms/exchange"
	"tutti/internal/comms/machines"
	"tutti/internal/comms/overview"
	"tutti/internal/faces/cli/kit"
)

// onComms offers what the conversations between projects have names for. What cannot be read is offered by nobody.
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
	case kit.Bundles, kit.Conversations:
		offerComms(k, o, what)
	}
}

// offerComms offers what is read from the records and mailboxes.
func offerComms(k *completer, o *exchange.Service, what kit.Source) {
	switch what {
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
