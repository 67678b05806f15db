package docs

import (
	"iter"
	"strings"

	"tutti/internal/faces/cli/kit"
)

// PageName is the name of a verb's page, without the section.
func PageName(v *kit.Verb, under kit.Names) string {
	return strings.ReplaceAll(v.Called(under), " ", "-")
}

// ManPages yields all pages by the names of their files, in the order of the table.
func ManPages(t kit.Table) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		if !yield("tutti.1", MainPage(t)) || !yield("h2a.1", H2APage(t)) {
			return
		}
		for _, under := range [...]kit.Names{kit.Tutti, kit.Cross} {
			for v := range t.Shown(under) {
				if !yield(PageName(v, under)+".1", VerbPage(t, v, under)) {
					return
				}
			}
		}
	}
}

// HasPage tells whether there is a page of that name, which is without the section. It writes none.
func HasPage(t kit.Table, name string) bool {
	for _, under := range [...]kit.Names{kit.Tutti, kit.Cross} {
		for v := range t.Shown(under) {
			if PageName(v, under) == name {
				return true
			}
		}
	}
	return name == "tutti" || name == "h2a"
}

// VerbPage is the page of one verb, under tutti or as a command of its own.
func VerbPage(t kit.Table, v *kit.Verb, under kit.Names) []byte {
	r := newPage(PageName(v, under))
	r.section("NAME")
	r.Line(EscapeRoff(PageName(v, under)) + ` \- ` + EscapeRoff(v.Short))
	r.section("SYNOPSIS")
	called := v.Called(under)
	r.Line(boldRoff(called) + EscapeRoff(strings.TrimPrefix(kit.UsageLine(v, under), called)))
	r.section("DESCRIPTION")
	r.prose(v.Does)
	if flags := v.FlagsUnder(under); len(flags) > 0 || under == kit.Tutti {
		r.section("OPTIONS")
		r.flags(flags, under)
		if under == kit.Tutti {
			if len(flags) > 0 {
				r.raw(".PP")
			}
			r.Line("The flags that every verb has are described in " + boldRoff("tutti") + "(1).")
		}
	}
	r.section("EXIT STATUS")
	for _, row := range ExitRows(ExitOf(v, under)) {
		r.tagged(row[0], row[1])
	}
	if v.Wont != "" {
		r.section("CAVEATS")
		r.prose(v.Wont)
	}
	if under == kit.Tutti {
		r.section("EXAMPLES")
		r.code(v.Examples)
	}
	r.section("SEE ALSO")
	names := []string{"tutti"}
	if under != kit.Tutti {
		names = append(names, PageName(v, kit.Tutti))
	}
	for _, name := range Related(t, v, under) {
		word, sub, _ := strings.Cut(name, " ")
		names = append(names, PageName(t.Find(under, word, sub), under))
	}
	r.pages(names)
	return r.B
}

func (r *Roff) flags(flags []kit.Flag, under kit.Names) {
	for i := range flags {
		if f := &flags[i]; f.Under == 0 || f.Under&under != 0 {
			r.tagged(f.Label(), Explained(f))
		}
	}
}

// exitMeanings are the numbers that all verbs share.
var exitMeanings = [...][2]string{
	{"0", "done, or there was nothing to do"},
	{"1", "the command line was wrong, or what it asks for is refused"},
	{"2", "not there, there already, changed meanwhile, held by another agent or user, or unhealthy"},
	{"3", "a file, another program or the time limit stood in the way"},
	{"5", "refused because the halt switch is on"},
	{"64", "the command line of a cross-agent command was wrong"},
	{"70", "a fault of the program itself"},
	{"130", "interrupted while it waited"},
}

// Environment are the variables that the program looks at, for the page and the reference.
var Environment = [...][2]string{
	{"H2A_ROOT", "the bus, where --root does not name one"},
	{"HOME", "where the halt switch, the settings and the usual bus lie"},
	{"TUTTI_INSTANCE", "who speaks, where --as does not say so"},
	{"CLAUDE_CODE_SESSION_ID", "the conversation whose agent speaks, set by the agent program"},
	{"AGENT_SESSIONS_YAML", "the registry of agent sessions, where --registry does not name one"},
	{"TMUX_SERVER_NAME", "the tmux server for new sessions, where --tmux-server does not name one"},
	{"MQTT_BROKER, MQTT_PORT, MQTT_TLS, MQTT_USERNAME, MQTT_PASSWORD, MQTT_CA_CERTS, MQTT_CERTFILE, MQTT_KEYFILE, MQTT_CLIENT_ID_PREFIX", "the broker that receives job events; the file .env of a workspace fills in what is missing"},
	{"TUTTI_PUBLIC_BROKER", "the one broker in public networks that may be used"},
	{"CROSS_AGENT_FROM", "who sends a message to another project, where --from does not say so"},
	{"GPG_USER", "the key that signs such messages, where --key does not say so"},
	{"GNUPGHOME", "the folder of gpg"},
	{"NO_COLOR", "no colours when it is set"},
	{"TERM", "no colours when it is dumb"},
	{"MANPAGER, PAGER", "what tutti man shows a page with, by way of man"},
}

// Places are the files that a user may want to know of.
var Places = [...][2]string{
	{"~/.config/cross-agent-comms/HALT", "the halt switch: while it exists, nothing of yours is sent, started or typed"},
	{"~/.config/cross-agent-comms/peers.toml", "the other machines that messages between projects go to"},
	{"~/.config/cross-agent-comms/signers.toml", "whose key may sign such messages for which sender"},
	{"~/.local/state/cross-agent-comms", "what projects have sent and received, what was not delivered, and the log of the watcher"},
	{"~/.config/tutti/config.toml", "settings, where there are any"},
	{"~/h2a-workspace/.h2a", "the bus that is used if there is no nearer one"},
	{".hermes/agent-sessions.yaml", "the agents in tmux that belong to the folder"},
	{"~/.local/state/tutti", "the keys that you have pinned, checksums of what you have started in sessions, and a count of halts"},
}

const mainText = `tutti lets the coding agents on one machine find each other, send each other signed messages in threads, and be
stopped by one command. It is one program and one folder, the bus, and it shares that folder with the programs of h2a.

A person halts with tutti halt, looks with tutti status, and follows with tutti watch. An agent gets an identity with
tutti connect, finds others with tutti discover, and writes and reads with tutti send, tutti receive and tutti reply.
Alone, tutti shows the status where there is a bus, and the overview elsewhere.

Flags may stand anywhere behind the verb, as --flag value or --flag=value, and end at --. What was asked for goes to
standard output, everything else to standard error.`

const MainExamples = `$ tutti init
$ tutti connect --host claude --name ana
$ tutti discover
$ tutti send codex:bob 'the schema changed, see db/014.sql'
$ tutti receive
$ tutti halt 'runaway loop'`

// MainPage is the page of the whole program.
func MainPage(t kit.Table) []byte {
	r := newPage("tutti")
	r.section("NAME")
	r.Line(`tutti \- coding agents find each other, send signed messages, and stop at one command`)
	r.section("SYNOPSIS")
	r.Line(boldRoff("tutti") + EscapeRoff(" <verb> [<flag>...] [<argument>...]"))
	r.section("DESCRIPTION")
	r.prose(mainText)
	r.section("VERBS")
	for g := range kit.GroupEnd {
		r.part(kit.GroupTitles[g])
		for v := range t.Shown(kit.Tutti) {
			if v.Group == g {
				r.raw(".TP")
				r.Line(boldRoff(PageName(v, kit.Tutti)) + "(1)")
				r.Line(EscapeRoff(v.Short))
			}
		}
	}
	r.section("OPTIONS")
	r.flags(kit.Globals[:], kit.Tutti)
	r.section("EXIT STATUS")
	r.rows(exitMeanings[:])
	r.section("ENVIRONMENT")
	r.rows(Environment[:])
	r.section("FILES")
	r.rows(Places[:])
	r.section("EXAMPLES")
	r.code(MainExamples)
	r.section("SEE ALSO")
	names := []string{"h2a"}
	for v := range t.Shown(kit.Cross) {
		names = append(names, PageName(v, kit.Cross))
	}
	r.pages(names)
	return r.B
}

func (r *Roff) rows(rows [][2]string) {
	for _, row := range rows {
		r.tagged(row[0], row[1])
	}
}

const h2aText = `h2a is a name of tutti for scripts that know the program h2a: the same bus and the same verbs, with the command line,
the JSON and the exit status of that program.

A flag is followed by its value unless the next word begins with two dashes; without one its value is true. Help for one
verb never runs it. An unknown flag is worth a warning and changes nothing. Standard output is JSON.`

// H2APage is the page of the older name.
func H2APage(t kit.Table) []byte {
	r := newPage("h2a")
	r.section("NAME")
	r.Line(`h2a \- agents of several hosts share one bus, as scripts know it`)
	r.section("SYNOPSIS")
	r.Line(boldRoff("h2a") + EscapeRoff(" <verb> [--<flag> [<value>]...]"))
	r.section("DESCRIPTION")
	r.prose(h2aText)
	r.section("VERBS")
	for v := range t.Shown(kit.H2A) {
		r.tagged(kit.UsageLine(v, kit.H2A), v.Short)
	}
	r.section("OPTIONS")
	r.flags(kit.Globals[:], kit.H2A)
	r.section("EXIT STATUS")
	for _, row := range exitMeanings {
		if row[0] != "64" {
			r.tagged(row[0], row[1])
		}
	}
	r.section("EXAMPLES")
	r.code("$ h2a doctor\n$ h2a inbox read --instance claude:api:3f2a9c01b7de")
	r.section("SEE ALSO")
	r.pages([]string{"tutti"})
	return r.B
}
