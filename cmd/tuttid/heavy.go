package main

import (
	"context"

	"tutti/internal/agents/codexserver"
	"tutti/internal/agents/settings"
	"tutti/internal/agents/setup"
	"tutti/internal/faces/cli"
	"tutti/internal/faces/cli/remoting"
	"tutti/internal/faces/cli/upgrade"
	"tutti/internal/faces/daemon"
	"tutti/internal/faces/mcp/server"
	"tutti/internal/remote/fetch"
	"tutti/internal/sessions/job"
	"tutti/internal/sessions/job/mqtt"
	"tutti/internal/sessions/registry"
	"tutti/internal/sessions/registry/yaml"
)

// heavy are the verbs that only this program has.
func heavy() cli.Heavy {
	edit := setup.Editor{
		Get: settings.Get, Set: settings.Set, Replace: settings.Replace, Remove: settings.Remove, Entries: settings.SetListEntries, Diff: settings.Diff,
	}
	verbs := append(cli.HostVerbs(edit), cli.SessionVerbs(openRegistry, edit)...)
	verbs = append(append(append(verbs, cli.CommsVerbs()...), cli.RareVerbs()...), cli.AgreementVerbs()...)
	verbs = append(append(verbs, cli.OrgVerbs()...), cli.SysMLVerbs(func(token string) func(context.Context, string) ([]byte, error) {
		return (&fetch.Client{Token: token}).Get
	})...)
	verbs = append(append(verbs, cli.ModelVerbs()...), cli.DeployVerbs(upgrade.Latest)...)
	verbs = append(append(verbs, cli.IdentityVerbs()...), cli.SignalVerbs()...)
	verbs = append(append(verbs, cli.ConductorVerbs()...), cli.LeaseVerbs()...)
	away := cli.RemoteParts{
		Serve: remoting.Serve, ServeMirror: remoting.ServeMirror, ServeDrive: remoting.ServeDrive, Post: remoting.Submit, Seal: remoting.Seal,
		Mirror: remoting.Mirror, Drive: remoting.Drive, Heard: remoting.Heard, Receive: remoting.Receive,
	}
	verbs = append(append(verbs, cli.DrumbeatVerbs(openRegistry, away)...), cli.RemoteVerbs(away)...)
	verbs = append(verbs, cli.HaltVerb(codexserver.StopIn))
	verbs = append(verbs, cli.JobVerbs(cli.JobParts{Dial: dialBroker, Open: openRegistry})...)
	return append(verbs,
		cli.HeavyVerb{Name: "up", Run: cli.Up(daemon.Serve, openRegistry)},
		cli.HeavyVerb{Name: "mcp-serve", Run: cli.Service(server.Serve)},
		cli.HeavyVerb{Name: "demo", Run: cli.Service(play)},
		cli.HeavyVerb{Name: "mcp-tools", Run: cli.Listing(tools)},
	)
}

// openRegistry opens a registry of sessions.
func openRegistry(path, cacheDir string) (registry.Registry, error) {
	reg, err := yaml.Open(path, cacheDir)
	if err != nil {
		return nil, err // not reg: a nil one would be a registry
	}
	return reg, nil
}

// tools are those of the MCP server, as a list shows them.
func tools() []cli.Named {
	var all []cli.Named
	for _, t := range server.Tools() {
		all = append(all, cli.Named{Name: t.Name, Is: t.Does})
	}
	return all
}

// dialBroker connects to the broker that is told of jobs.
func dialBroker(ctx context.Context, b job.Broker) (job.Network, error) {
	c, err := mqtt.Dial(ctx, b)
	if err != nil {
		return nil, err
	}
	return c, nil
}
