package setup

import (
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
)

// SkillHosts are what --host of install-skills takes: the programs that package driver knows, and all.
var SkillHosts = []string{"claude", "codex", "gemini", "opencode", "agy", "hermes", EveryHost}

const EveryHost = "all"

var SkillVerbs = []kit.Verb{{
	Name: "install-skills", Under: kit.Tutti | kit.H2A, Group: kit.GroupSetup, Halt: kit.Makes, Opts: kit.WithFlags(runInstallSkills),
	Result: render.OneOf{skillsView{}, printedSkill{}, skillsReport{}},
	Short:  "teach your agent CLIs to use the bus: the skill tutti",
	Flags: []kit.Flag{
		{Name: "host", Kind: kit.Text, Value: "host", Default: "all; under h2a it must be given", Choices: SkillHosts, Help: "which agent CLI; all means those that are installed here"},
		{Name: "scope", Kind: kit.Text, Value: "scope", Default: "user; with --sessions project", Choices: []string{"user", "project"}, Help: "for all that you do, or for the folder where you are"},
		{Name: "sessions", Kind: kit.Switch, Under: kit.Tutti, Help: "the skills about agents in tmux, with their scripts, in place of the skill tutti"},
		{Name: "force", Kind: kit.TrueSwitch, Help: "also replace a skill that you wrote or edited; a dated copy is kept beside it"},
		{Name: "remove", Kind: kit.Switch, Under: kit.Tutti, Help: "remove unchanged skills and nothing else"},
		{Name: "print", Kind: kit.Switch, Under: kit.Tutti, Help: "print the skill and write nothing; with --json all its files"},
	},
	Does: `Puts the skill tutti where agent programs look for skills: what a model has to know to find other agents, write to
them, and deal with their mail. Then a user may type /tutti send, /tutti receive and so on, and the program knows itself when the
skill is needed. Running it again brings the skill up to date.

Where the older programs had put a skill h2a it is put as well. Their skills h2a-connect, h2a-discover and h2a-send are moved
out, into a folder SKILLS.tutti-DATE beside the one of skills. Under h2a it is put wherever they put it, and a file that is
there counts as a fault.

With --sessions it puts the skills tmux-agent-orchestrate-create, -resume, -stop, -status, -monitor and -delegate-job instead: into
.agents/skills, where people's instructions call their scripts (bash .agents/skills/tmux-agent-orchestrate-stop/scripts/stop_session.sh
--session NAME), and into the folders of the programs that are found. Each script is one line that calls the verb of tutti with the
same arguments.`,
	Wont: "It deletes no skill that you wrote or edited: that is kept beside under a dated name, which is printed. Under h2a, and of the skills of --sessions, it is left alone without --force. A file behind a link is left alone. It registers no server: without one the agents use the shell.",
	Examples: `$ tutti install-skills
$ tutti install-skills --host codex --scope project
$ tutti install-skills --print | less
$ tutti install-skills --sessions
$ h2a install-skills --host claude`,
	Exit: "0 done, or there already; 1 wrong usage, or no agent program was found; 2 a file was left alone; 3 a file could not be read or written",
	See:  "connect",
}}
