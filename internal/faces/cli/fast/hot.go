package fast

import (
	"tutti/internal/faces/cli/kit"
)

// hotVerbs is the table of tutti: what hooks, agents and scripts start all day.
var hotVerbs = kit.Table{
	&HaltRow, &ResumeRow, &PauseRow, &UnpauseRow, &SendRow, &ReceiveRow, &ReplyRow, &AckRow, &InboxRow, &HeldRow, &OutboxRow, &ThreadRow,
	&DiscoverRow, &WhoamiRow, &WatchRow, &CommsSendRow, &CommsRecvRow, &HookRow, &VersionRow, &StatusRow,
}

// Main is the program tutti. It does not return.
func Main() { (&kit.Program{Table: hotVerbs, Passes: passes}).Main() }

// passes tells whether a run is passed to the full program before anything was done. Beside these reasons a hook passes on what it cannot
// judge (hook.go), and halt and resume what comes after the switch (halt.go).
func passes(c *kit.Call, wrong error) bool {
	v := c.Verb
	if v == &StatusRow {
		return c.Help || wrong != nil || c.JSON || c.Text("short") != "true"
	}
	return c.Help || wrong != nil && !v.Lax && !v.Mute || v.Bus && c.App.NeedsDaemon()
}
