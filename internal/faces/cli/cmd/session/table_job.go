package session

import (
	"encoding/json"

	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/sessions/job"
)

// Lines of exit status that verbs about jobs share.
const (
	exitJob    = "0 done; 1 wrong usage, or refused; 2 there is no such job, its record is damaged, or it does not allow that; 3 a file could not be read or written"
	exitStarts = exitJob + "; 5 halted"
)

var (
	workspaceFlag = kit.Flag{Name: "workspace", Kind: kit.Text, Value: "dir", Default: "the nearest folder that has jobs", Offer: kit.Folders, Help: "the folder of the jobs"}
	promptFlag    = kit.Flag{Name: "prompt", Kind: kit.Text, Value: "text|-|@file", Help: "what is to be done, where no argument says it"}
	agentFlag     = kit.Flag{Name: "agent", Kind: kit.Text, Value: "kind", Help: "the agent program that is to do it"}
	totalFlag     = kit.Flag{Name: "total", Kind: kit.Text, Value: "time", Default: "1h", Help: "how long it may take in all; 0: as long as it likes"}
	idleFlag      = kit.Flag{Name: "idle-timeout", Kind: kit.Text, Value: "time", Default: "2m", Help: "how long it may be silent, but while it asks for a permission; 0: as long as it likes"}
	artifactsFlag = kit.Flag{Name: "artifacts", Kind: kit.Text, Value: "names", Help: "what is expected to be there in the end, with commas between them"}
	// jobLines are the lines by which a job is followed, and the job.
	jobLines = render.OneOf{watchStart{}, unreadableLine{}, json.RawMessage{}}

	newJobFlag = kit.Flag{Name: "workspace", Kind: kit.Text, Value: "dir", Default: "where you are", Offer: kit.Folders, Help: "agent that is to do the job"}
	jobTypes   = []string{"single", string(job.Loop), string(job.Discuss)}
	jobRoles   = []string{"worker", job.RoleReviewer}
	jobStates  = []string{"pending", "running", "completed", "error", "cancelled"}
)

var JobVerbs = []kit.Verb{
	{
		Name: "job submit", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Acts, Waits: true, MaxArgs: 1, Opts: onJobs(runJobSubmit),
		Result: jobLines,
		Short:  "give work to an agent and follow what it reports",
		Args:   "[<prompt>|-|@<file>]",
		Flags: []kit.Flag{
			promptFlag, agentFlag,
			{Name: "agent-session", Kind: kit.Text, Value: "tmux:name", Help: "the session whose agent is to do it, into which it is typed"},
			{Name: "type", Kind: kit.Text, Value: "type", Default: "single", Choices: jobTypes, Help: "loop: a second agent reviews, until it is content; discuss: you want an answer, and no file is changed"},
			{Name: "reviewer", Kind: kit.Text, Value: "kind", Help: "of a loop: the agent program that reviews"},
			{Name: "reviewer-session", Kind: kit.Text, Value: "tmux:name", Help: "of a loop: the session of the reviewer"},
			{Name: "rounds", Kind: kit.Count, Value: "n", Default: "5", Help: "of a loop: how often the work is done at the most"},
			{Name: "wait", Kind: kit.Switch, Help: "follow it until it is over"},
			totalFlag, idleFlag, artifactsFlag, newJobFlag,
		},
		Does: `Makes a job: a record in .hermes/jobs of the current folder, and a log beside it that holds everything reported about the job.
It waits until an agent takes it with tutti job claim, which prints it with a few lines that explain how the agent reports. With
--agent-session the same text is typed into that session; if its CLI cannot be typed into, the command says so and makes no job.
A session that is not running is started first: one of the registry resumes its own transcript, and a new one starts the agent
CLI of --agent.

With --wait it prints events as they come, as tutti job watch does, and the exit status shows how the job ended. Times count
from the moment at which an agent works on it, by the clock of this machine; a job that runs out of time while it is followed
ends with the error "timeout".

In a loop the agent does the work, the reviewer looks at it, and the agent goes on with what the reviewer has said, until that is
PASS. What the two say is not typed: each reads it in the log.

When MQTT_BROKER names a broker (the file .env of the workspace may), events are published there as well, and heard from there.`,
		Wont: `It ends no session, whatever is heard. It uses no broker in public networks, unless TUTTI_PUBLIC_BROKER in the environment names
it. That a job is completed is what its agent says: tutti job accept makes it true.`,
		Examples: `$ tutti job submit 'find out why the tests are slow' --agent claude
$ tutti job submit @task.md --total 2h --artifacts report.md`,
		Exit: "0 done, or with --wait: completed; 1 wrong usage, or refused; 2 with --wait: it ended otherwise; 3 a file could not be read or written, or --timeout passed; 5 halted; 130 interrupted",
	},
	{
		Name: "job register", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Makes, MaxArgs: 1, Opts: onJobs(runJobRegister),
		Result:   json.RawMessage{},
		Short:    "make a job without starting anything",
		Args:     "[<prompt>|-|@<file>]",
		Flags:    []kit.Flag{promptFlag, agentFlag, totalFlag, idleFlag, artifactsFlag, newJobFlag},
		Does:     "Makes a job that waits until an agent takes it with tutti job claim.",
		Examples: "$ tutti job register 'write the release notes' --agent codex",
		Exit:     exitJob,
	},
	{
		Name: "job list", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Reads, Opts: onJobs(runJobList),
		Result:   []json.RawMessage{},
		Short:    "list the jobs of a workspace",
		Flags:    []kit.Flag{{Name: "status", Kind: kit.Text, Value: "word", Choices: jobStates, Help: "only those that are recorded there"}, workspaceFlag},
		Does:     "Lists the jobs, oldest first: id, state, session or agent, age, and the first line of what is to be done. A job that you have not submitted on this machine is marked.",
		Examples: "$ tutti job list\n$ tutti job list --status running --json",
		Exit:     "0 done; 1 wrong usage; 2 a record is damaged, and was named; 3 a file could not be read",
	},
	{
		Name: "job show", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Reads, MinArgs: 1, MaxArgs: 1, Offer: kit.Jobs, Opts: onJobs(runJobShow),
		Result:   json.RawMessage{},
		Short:    "show one job",
		Args:     "<job>",
		Flags:    []kit.Flag{workspaceFlag},
		Does:     "Shows the state of a job, its agent, the last report, its deadline, and its task.",
		Wont:     "It shows neither the key that checks its events nor the password of a broker.",
		Examples: "$ tutti job show 7gq2mzab",
		Exit:     exitJob,
	},
	{
		Name: "job status", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Reads, MaxArgs: 1, Offer: kit.Jobs, Opts: onJobs(runJobStatus),
		Result:   json.RawMessage{},
		Short:    "same as job show, for older scripts",
		Args:     "[<job>]",
		Flags:    []kit.Flag{{Name: "job", Kind: kit.Text, Value: "id", Offer: kit.Jobs, Help: "which one"}, workspaceFlag},
		Does:     "Does what tutti job show does.",
		Examples: "$ tutti job status --job 7gq2mzab",
		Exit:     exitJob,
	},
	{
		Name: "job watch", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Stays, Waits: true, MaxArgs: 1, Offer: kit.Jobs, Opts: onJobs(runJobWatch),
		Result: jobLines,
		Short:  "follow one job, or all jobs",
		Args:   "[<job>]",
		Flags: []kit.Flag{
			{Name: "drive", Kind: kit.Switch, Help: "of a loop: also hand the work to and fro, as tutti job submit --wait does"},
			workspaceFlag,
		},
		Does: `Prints what comes into the log of a job as it comes, after what is there already, until the job is over. Without a job it
follows all of the workspace, from now on, until it is interrupted. With --json each line is one of the log; "watching" says that
from then on nothing is missed.

The watching process also ends a job that has run out of time, sends the broker the events that it has not received, as soon as
it is there, and takes the broker's events. What is not taken (wrong key, old number, another job, too large) is a line with the
reason.

While the halt switch is on it stays and prints nothing.`,
		Wont:     "It ends no session.",
		Examples: "$ tutti job watch 7gq2mzab\n$ tutti job watch --json",
		Exit:     "0 completed; 1 wrong usage, or refused; 2 there is no such job, or it ended otherwise; 3 a file could not be read, or --timeout passed; 5 --drive while halted; 130 interrupted",
		See:      "watch",
	},
	{
		Name: "job logs", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Reads, MaxArgs: 1, Offer: kit.Jobs, Opts: onJobs(runJobLogs),
		Result:   render.OneOf{unreadableLine{}, []string{}, json.RawMessage{}},
		Short:    "print the log of a job",
		Args:     "[<job>]",
		Flags:    []kit.Flag{{Name: "list", Kind: kit.Switch, Help: "list the jobs that have a log, as without a job"}, workspaceFlag},
		Does:     "Prints everything reported about a job. With --json the lines are printed as stored.",
		Examples: "$ tutti job logs 7gq2mzab\n$ tutti job logs --list",
		Exit:     exitJob,
	},
	{
		Name: "job publish", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Asks, MinArgs: 2, MaxArgs: -1, Offer: kit.Jobs, Opts: onJobs(runJobPublish),
		Result: json.RawMessage{},
		Short:  "report on a job; agents call this",
		Args:   "<job> <event> [<detail>|-|@<file>]",
		Flags: []kit.Flag{
			{Name: "detail", Kind: kit.Text, Value: "text|-|@file", Help: "what there is to say, where no argument says it"},
			{Name: "data", Kind: kit.Text, Value: "json|@file|-", Help: "a JSON object for programs"},
			{Name: "role", Kind: kit.Text, Value: "role", Default: "worker", Choices: jobRoles, Help: "of a loop: who reports"},
			workspaceFlag,
		},
		Does: `Adds an event to the log of a job, numbered and signed with the key in its record; then tells the broker, if one is configured.
Events are started, permission_required, progress, completed and error. A reviewer says completed with PASS, or with what has to be
done. Keys and absolute paths are taken out of the detail.`,
		Wont: `It publishes nothing that is not in the log: if the broker is away or the halt switch is on, the broker gets it later. While the
switch is on nothing starts, so started is refused.`,
		Examples: `$ tutti job publish 7gq2mzab started
$ tutti job publish 7gq2mzab progress 'two of five packages'
$ tutti job publish 7gq2mzab completed 'report.md is written'`,
		Exit: exitStarts,
	},
	{
		Name: "job claim", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Acts, MaxArgs: 1, Offer: kit.Jobs, Opts: onJobs(runJobClaim),
		Result: json.RawMessage{},
		Short:  "claim a waiting job and print its task",
		Args:   "[<job>]",
		Flags: []kit.Flag{
			{Name: "agent", Kind: kit.Text, Value: "kind", Help: "only one for this agent program, or for any"},
			{Name: "trust-job", Kind: kit.Switch, Help: "take the named job although you have not submitted it here"},
			workspaceFlag,
		},
		Does: `Takes the oldest job that waits, or the one that is named. Of several that want the same job one gets it. A session that works on a
job takes no other one.

A record that you have not submitted on this machine may have come with a copied folder. It is taken only when it is named
and --trust-job is given. Each line of what is to be done stands behind a bar.`,
		Examples: "$ tutti job claim --agent codex",
		Exit:     exitStarts,
	},
	{
		Name: "job accept", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Ends, MinArgs: 1, MaxArgs: 1, Offer: kit.Jobs, Opts: onJobs(runJobAccept),
		Result:   json.RawMessage{},
		Short:    "accept a finished job",
		Args:     "<job>",
		Flags:    []kit.Flag{{Name: "note", Kind: kit.Text, Value: "text", Help: "what else there is to say"}, workspaceFlag},
		Does:     "Confirms completed, which the agent reported, as the submitter. Only the submitter may do this, or a person.",
		Examples: "$ tutti job accept 7gq2mzab",
		Exit:     exitJob,
	},
	{
		Name: "job reject", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Ends, MinArgs: 1, MaxArgs: 1, Offer: kit.Jobs, Opts: onJobs(runJobReject),
		Result:   json.RawMessage{},
		Short:    "reject a finished job",
		Args:     "<job>",
		Flags:    []kit.Flag{{Name: "reason", Kind: kit.Text, Value: "text", Help: "what is missing"}, workspaceFlag},
		Does:     "Says that a job which is called completed is not, and ends it with an error. Only its submitter may, or a person.",
		Examples: "$ tutti job reject 7gq2mzab --reason 'the tests fail'",
		Exit:     exitJob,
	},
	{
		Name: "job cancel", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Ends, MinArgs: 1, MaxArgs: 1, Offer: kit.Jobs, Opts: onJobs(runJobCancel),
		Result:   json.RawMessage{},
		Short:    "cancel a job",
		Args:     "<job>",
		Flags:    []kit.Flag{{Name: "reason", Kind: kit.Text, Value: "text", Help: "why"}, workspaceFlag},
		Does:     "Ends a job; what is reported on it from then on is refused. It works while the halt switch is on, too.",
		Wont:     "It does not stop the agent, which may not look before it has something to report.",
		Examples: "$ tutti job cancel 7gq2mzab",
		Exit:     exitJob,
	},
}
