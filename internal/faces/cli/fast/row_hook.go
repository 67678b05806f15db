package fast

import (
	"tutti/internal/faces/cli/kit"
)

var HookRow = kit.Verb{
	Name: "hook", Under: kit.Tutti, Group: kit.GroupSetup, Halt: kit.Indifferent, MinArgs: 2, MaxArgs: 2, Bus: true, Mute: true, TextOnly: true, Anyway: true, Opts: kit.WithFlags(runHook),
	Short: "show mail to an agent; agent CLIs call this",
	Args:  "<host> <event>",
	Flags: []kit.Flag{
		{Name: "wait", Kind: kit.Switch, Help: "wait in the background until there is mail for an agent that is idle"},
		{Name: "all-tools", Kind: kit.Switch, Help: "these settings call the hook before every tool"},
		{Name: "name", Kind: kit.Text, Value: "name", Help: "name of the agent, as its mcp-serve has it"},
		{Name: "instance", Alias: "as", Kind: kit.Text, Value: "instance", Help: "who the agent is, as its mcp-serve has it"},
		{Name: "scope", Kind: kit.Text, Value: "scope", Help: "scope of a new agent, as its mcp-serve has it"},
	},
	Does: `Agent programs call it, with a JSON object on standard input, and read its answer; there is nothing in it for people. When
a conversation begins it connects the agent and says what is unread. Before a prompt and after a tool it puts what has come
before the model, in at most 2048 bytes. At the end of a turn it asks for one more when there is mail that the agent has not
seen, once for each message. When there is nothing to say it prints nothing.

<host> is the program (claude, codex, gemini), <event> is an event as the program calls it: SessionStart, UserPromptSubmit,
PreToolUse, PostToolUse, PostToolBatch, PermissionRequest, Stop, SessionEnd; for gemini SessionStart, BeforeAgent, BeforeModel, BeforeTool,
AfterTool, Notification, AfterAgent, SessionEnd.

Before the agent changes a file that another one has reserved ("tutti help reserve take"), it says who holds it and until
when. It only warns: the change is made all the same.

In a session that works on a job ("tutti help job") it reports to that what its agent does: that it has begun, works, asks for a
permission, rests, or has ended.

While the halt switch is on it denies every tool and every prompt, says who halted, since when and why, and ends the turn where
the program allows that. A hook of Claude Code or opencode that runs beside a permission dialog waits as long as the dialog is
open, and denies the tool when a halt or a pause comes; that of Codex ends, and leaves a process behind that does so. After a
halt it stays silent until you let the agent go on; your next prompt lets the agent know.

With --wait it does none of that: it waits until mail comes while the agent is idle, prints one fixed sentence on standard error
and ends with status 2, which starts a turn in a CLI that was set up to watch for that (Claude Code). It ends silently when the
conversation ends, when a newer one waits, while the halt switch is on, where the CLI does a single task (claude -p), and at
once if the conversation has no mcp-serve.`,
	Wont: `It never fails the program that calls it: what goes wrong stands in ~/.local/state/tutti/hook.log, nothing is printed unless
it was typed by hand, and the exit status is 0. It acknowledges no message.`,
	Examples: `$ tutti hook claude Stop`,
	Exit:     "0 always, but for --wait; 2 with --wait: there is mail",
	See:      "receive, mcp-serve",
}
