package cli

// hotVerbs is the table of tutti: what hooks, agents and scripts start all day.
var hotVerbs = Table{
	&haltRow, &resumeRow, &pauseRow, &unpauseRow, &sendRow, &receiveRow, &replyRow, &ackRow, &inboxRow, &heldRow, &outboxRow, &threadRow,
	&discoverRow, &whoamiRow, &watchRow, &commsSendRow, &commsRecvRow, &hookRow, &versionRow,
}

// HotMain is the program tutti. It does not return.
func HotMain() { (&Program{Table: hotVerbs, Passes: passes}).Main() }

// passes tells whether a run is passed to the full program before anything was done. Beside these reasons a hook passes on what it cannot
// judge (hook.go), and halt and resume what comes after the switch (halt.go).
func passes(c *Call, wrong error) bool {
	v := c.Verb
	return c.help || wrong != nil && !v.Lax && !v.Mute || v.Bus && c.App.NeedsDaemon()
}
