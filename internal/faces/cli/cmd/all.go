package cmd

import (
	"tutti/internal/faces/cli/cmd/agree"
	"tutti/internal/faces/cli/cmd/bus"
	"tutti/internal/faces/cli/cmd/comms"
	"tutti/internal/faces/cli/cmd/govern"
	"tutti/internal/faces/cli/cmd/remote"
	"tutti/internal/faces/cli/cmd/session"
	"tutti/internal/faces/cli/cmd/setup"
	"tutti/internal/faces/cli/cmd/status"
	"tutti/internal/faces/cli/cmd/stop"
	"tutti/internal/faces/cli/docs"
	"tutti/internal/faces/cli/kit"
)

// verbs is the whole table. The order is that of help.
var verbs = kit.Join(
	stop.Verbs, status.Verbs, bus.AgentVerbs, bus.MailVerbs, comms.SearchVerbs, bus.KeyVerbs, bus.WatchVerbs, setup.UpVerbs, setup.NoticeVerbs, status.WebVerbs,
	comms.Verbs, comms.MoreVerbs, comms.LookVerbs, comms.NetVerbs, session.Verbs, session.StopVerbs, session.ScreenVerbs,
	session.ChangeVerbs, session.WorktreeVerbs,
	session.ApproveVerbs, session.MonitorVerbs, bus.KeepaliveVerbs, session.JobVerbs, setup.MCPVerbs, setup.HookVerbs, bus.RootVerbs,
	setup.DoctorVerbs, comms.ServiceVerbs, bus.StoreVerbs, bus.TidyVerbs, setup.HostVerbs, setup.SkillVerbs,
	govern.IdentityVerbs, agree.NegotiateVerbs, agree.DeclareVerbs, agree.SignalVerbs, setup.DeployVerbs,
	agree.ConductorVerbs, agree.LeaseVerbs, govern.OrgVerbs, govern.ModelVerbs, govern.ProfileVerbs, govern.SysMLVerbs,
	session.DrumbeatVerbs, remote.Verbs, remote.DriveVerbs, setup.DemoVerbs, setup.ProgramVerbs, bus.PlumbingVerbs,
)

var fullProgram = &kit.Program{Table: verbs, Full: true, Help: docs.ShowHelp}

// Main is the program tutti-full. It does not return.
func Main() { fullProgram.Main() }
