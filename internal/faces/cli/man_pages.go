package cli

import (
	"iter"
	"strings"
)

// pageName is the name of a verb's page, without the section.
func (v *Verb) pageName(under Names) string {
	return strings.ReplaceAll(v.called(under), " ", "-")
}

// manPages yields all pages by the names of their files, in the order of the table.
func (t Table) manPages() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		if !yield("tutti.1", t.mainPage()) || !yield("h2a.1", t.h2aPage()) {
			return
		}
		for _, under := range [...]Names{Tutti, Cross} {
			stopped := false
			t.each(under, func(v *Verb) bool {
				stopped = !v.Hidden && !yield(v.pageName(under)+".1", t.verbPage(v, under))
				return !stopped
			})
			if stopped {
				return
			}
		}
	}
}

// hasPage tells whether there is a page of that name, which is without the section. It writes none.
func (t Table) hasPage(name string) bool {
	found := name == "tutti" || name == "h2a"
	for _, under := range [...]Names{Tutti, Cross} {
		t.each(under, func(v *Verb) bool {
			found = found || !v.Hidden && v.pageName(under) == name
			return !found
		})
	}
	return found
}

// verbPage is the page of one verb, under tutti or as a command of its own.
func (t Table) verbPage(v *Verb, under Names) []byte {
	r := newPage(v.pageName(under))
	r.section("NAME")
	r.line(escapeRoff(v.pageName(under)) + ` \- ` + escapeRoff(v.Short))
	r.section("SYNOPSIS")
	called := v.called(under)
	r.line(boldRoff(called) + escapeRoff(strings.TrimPrefix(usageLine(v, under), called)))
	r.section("DESCRIPTION")
	r.prose(v.Does)
	if flags := v.flagsUnder(under); len(flags) > 0 || under == Tutti {
		r.section("OPTIONS")
		r.flags(flags, under)
		if under == Tutti {
			if len(flags) > 0 {
				r.raw(".PP")
			}
			r.line("The flags that every verb has are described in " + boldRoff("tutti") + "(1).")
		}
	}
	r.section("EXIT STATUS")
	for _, row := range exitRows(v.exitOf(under)) {
		r.tagged(row[0], row[1])
	}
	if v.Wont != "" {
		r.section("CAVEATS")
		r.prose(v.Wont)
	}
	if under == Tutti {
		r.section("EXAMPLES")
		r.code(v.Examples)
	}
	r.section("SEE ALSO")
	names := []string{"tutti"}
	if under != Tutti {
		names = append(names, v.pageName(Tutti))
	}
	for _, name := range t.related(v, under) {
		word, sub, _ := strings.Cut(name, " ")
		names = append(names, t.find(under, word, sub).pageName(under))
	}
	r.pages(names)
	return r.b
}

func (r *roff) flags(flags []Flag, under Names) {
	for i := range flags {
		if f := &flags[i]; f.Under == 0 || f.Under&under != 0 {
			r.tagged(f.label(), f.explained())
		}
	}
}

// exitMeanings are the numbers that all verbs share.
var exitMeanings = [...][2]string{
	{"0", "done, or there was nothing to do"},
	{"1", "the command line was wrong, or what it asks for is refused"},
	{"2", "not there, there already, changed meanwhile, held by somebody else, or unhealthy"},
	{"3", "a file, another program or the time limit stood in the way"},
	{"5", "refused because the halt switch is on"},
	{"64", "the command line of a cross-agent command was wrong"},
	{"70", "a fault of the program itself"},
	{"130", "interrupted while it waited"},
}

// environment are the variables that the program looks at, for the page and the reference.
var environment = [...][2]string{
	{"H2A_ROOT", "the bus, where --root does not name one"},
	{"HOME", "where the halt switch, the settings and the usual bus lie"},
	{"TUTTI_INSTANCE", "who speaks, where --as does not say so"},
	{"CLAUDE_CODE_SESSION_ID", "the conversation whose agent speaks, set by the agent program"},
	{"AGENT_SESSIONS_YAML", "the registry of agent sessions, where --registry does not name one"},
	{"TMUX_SERVER_NAME", "the tmux server for new sessions, where --tmux-server does not name one"},
	{"MQTT_BROKER, MQTT_PORT, MQTT_TLS, MQTT_USERNAME, MQTT_PASSWORD, MQTT_CA_CERTS, MQTT_CERTFILE, MQTT_KEYFILE, MQTT_CLIENT_ID_PREFIX", "the broker that is told of jobs; the file .env of a workspace fills in what is missing"},
	{"TUTTI_PUBLIC_BROKER", "the one broker in public networks that may be used"},
	{"CROSS_AGENT_FROM", "who sends a message to another project, where --from does not say so"},
	{"GPG_USER", "the key that signs such messages, where --key does not say so"},
	{"GNUPGHOME", "the folder of gpg"},
	{"NO_COLOR", "no colours when it is set"},
	{"TERM", "no colours when it is dumb"},
	{"MANPAGER, PAGER", "what tutti man shows a page with, by way of man"},
}

// places are the files that a user may want to know of.
var places = [...][2]string{
	{"~/.config/cross-agent-comms/HALT", "the halt switch: while it exists, nothing of yours is sent, started or typed"},
	{"~/.config/cross-agent-comms/peers.toml", "the other machines that messages between projects go to"},
	{"~/.config/cross-agent-comms/signers.toml", "whose key may sign such messages for which sender"},
	{"~/.local/state/cross-agent-comms", "what projects have sent and received, what was not delivered, and the log of the watcher"},
	{"~/.config/tutti/config.toml", "settings, where there are any"},
	{"~/h2a-workspace/.h2a", "the bus that is meant where there is no nearer one"},
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

const mainExamples = `$ tutti init
$ tutti connect --host claude --name ana
$ tutti discover
$ tutti send codex:bob 'the schema changed, see db/014.sql'
$ tutti receive
$ tutti halt 'runaway loop'`

// mainPage is the page of the whole program.
func (t Table) mainPage() []byte {
	r := newPage("tutti")
	r.section("NAME")
	r.line(`tutti \- coding agents find each other, send signed messages, and stop at one command`)
	r.section("SYNOPSIS")
	r.line(boldRoff("tutti") + escapeRoff(" <verb> [<flag>...] [<argument>...]"))
	r.section("DESCRIPTION")
	r.prose(mainText)
	r.section("VERBS")
	for g := range groupEnd {
		r.part(groupTitles[g])
		t.each(Tutti, func(v *Verb) bool {
			if v.Group == g && !v.Hidden {
				r.raw(".TP")
				r.line(boldRoff(v.pageName(Tutti)) + "(1)")
				r.line(escapeRoff(v.Short))
			}
			return true
		})
	}
	r.section("OPTIONS")
	r.flags(globals[:], Tutti)
	r.section("EXIT STATUS")
	r.rows(exitMeanings[:])
	r.section("ENVIRONMENT")
	r.rows(environment[:])
	r.section("FILES")
	r.rows(places[:])
	r.section("EXAMPLES")
	r.code(mainExamples)
	r.section("SEE ALSO")
	names := []string{"h2a"}
	t.each(Cross, func(v *Verb) bool {
		if !v.Hidden {
			names = append(names, v.pageName(Cross))
		}
		return true
	})
	r.pages(names)
	return r.b
}

func (r *roff) rows(rows [][2]string) {
	for _, row := range rows {
		r.tagged(row[0], row[1])
	}
}

const h2aText = `h2a is a name of tutti for scripts that know the program h2a: the same bus and the same verbs, with the command line,
the JSON and the exit status of that program.

A flag is followed by its value unless the next word begins with two dashes; without one its value is true. Help for one
verb never runs it. An unknown flag is worth a warning and changes nothing. Standard output is JSON.`

// h2aPage is the page of the older name.
func (t Table) h2aPage() []byte {
	r := newPage("h2a")
	r.section("NAME")
	r.line(`h2a \- agents of several hosts share one bus, as scripts know it`)
	r.section("SYNOPSIS")
	r.line(boldRoff("h2a") + escapeRoff(" <verb> [--<flag> [<value>]...]"))
	r.section("DESCRIPTION")
	r.prose(h2aText)
	r.section("VERBS")
	t.each(H2A, func(v *Verb) bool {
		if !v.Hidden {
			r.tagged(usageLine(v, H2A), v.Short)
		}
		return true
	})
	r.section("OPTIONS")
	r.flags(globals[:], H2A)
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
	return r.b
}
