package skill

import "strings"

// SessionVersion is the version of the skills of the sessions.
const SessionVersion = "1.0.0"

// A Session is a skill about agents in tmux. Its folder and its script have the names by which people and instructions know
// them; the script hands its arguments to the verb.
type Session struct {
	Name        string // what follows sessionPrefix
	Script      string
	Verb        string
	Former      string   // lines of the script that translate arguments of the older script for the verb, "" where they are the same
	Related     []string // by Name
	Before      []string // skills that are to be known before, by Name
	Description string   // stands unquoted in YAML: no colon before a blank, no number sign
}

const sessionPrefix = "tmux-agent-orchestrate-"

// SessionSkills are all of them. The steps of each are in text/session/NAME.md.
var SessionSkills = [...]Session{
	{
		Name: "create", Script: "create_session.sh", Verb: "session create", Related: []string{"resume", "stop", "status"},
		Description: "Start a coding agent (claude, codex, gemini, opencode, agy, hermes) in a tmux session of its own and register it. Use it when the user wants another agent to work beside this one.",
	},
	{
		Name: "resume", Script: "resume_session.sh", Verb: "session resume", Former: formerResume, Related: []string{"create", "stop", "status"}, Before: []string{"create"},
		Description: "Go on with the conversation of an agent in tmux that was stopped or lost, also after a reboot. Use it when an agent is to come back with what it knows.",
	},
	{
		Name: "stop", Script: "stop_session.sh", Verb: "session stop", Related: []string{"create", "resume", "monitor"}, Before: []string{"create", "resume"},
		Description: "End an agent in tmux so that nothing of it is left running, and keep its conversation for later, or delete that for good. Use it when the user wants a session stopped, ended, cleaned up or replaced.",
	},
	{
		Name: "status", Script: "status.sh", Verb: "session status", Related: []string{"monitor", "resume", "stop"}, Before: []string{"create"},
		Description: "Say which agents are registered in this folder, whether they live in tmux, and what they do. Use it before anything is done to a session. It changes nothing.",
	},
	{
		Name: "monitor", Script: "reconcile.sh", Verb: "session monitor", Related: []string{"status", "resume", "stop"}, Before: []string{"create"},
		Description: "Keep the registry of agents in tmux true while they come and go. Use it when sessions end by themselves, or after a crash or a reboot.",
	},
	{
		Name: "delegate-job", Script: "delegate_job.sh", Verb: "job", Former: formerJob, Related: []string{"create", "status", "stop"}, Before: []string{"create"},
		Description: "Give a piece of work to an agent in tmux, follow it, and accept or reject the result. Use it when work is to be done by another agent and its outcome matters.",
	},
}

// Folder is the name of the skill, and of its folder.
func (s *Session) Folder() string { return sessionPrefix + s.Name }

// Sessions are the skills of the sessions whose verbs are there, each with its parts; the script comes first, for the text names it.
func Sessions(has func(verb string) bool) (all [][]Part) {
	for i := range SessionSkills {
		s := &SessionSkills[i]
		if has != nil && !has(s.Verb) {
			continue
		}
		all = append(all, []Part{
			{Name: s.Folder() + "/scripts/" + s.Script, Text: s.script(), Program: true},
			{Name: s.Folder() + "/SKILL.md", Text: s.markdown()},
		})
	}
	return all
}

// formerResume: the id in the registry was enough.
const formerResume = "set -- --row-conversation \"$@\"\n"

// formerJob: submit waited until the job was over, and its --timeout was how long that might take in all. What is the value of a flag, or
// stands behind "--", stays as it is, whatever it looks like.
const formerJob = `if [ "$1" = submit ]; then
	shift
	flag=
	for word do
		shift
		case $flag in
		--) ;;
		?*) word=$flag=$word flag= ;;
		*)
			case $word in
			--timeout | --timeout=*) word=--total${word#--timeout} ;;
			esac
			case $word in
			--) flag=-- ;;
			--agent | --agent-session | --artifacts | --idle-timeout | --prompt | --reviewer | --reviewer-session | --rounds | --total | --type | --workspace)
				flag=$word
				continue
				;;
			esac
			;;
		esac
		set -- "$@" "$word"
	done
	case $flag in --?*) set -- "$@" "$flag" ;; esac
	set -- submit --wait "$@"
fi
`

// script hands everything to the verb. Agents are often started without the folder in which users have their programs.
func (s *Session) script() string {
	return sealed("", "#!/bin/sh\n"+s.Former+"PATH=\"$PATH:$HOME/.local/bin\" exec tutti "+s.Verb+" \"$@\"\n", "# ", "")
}

func (s *Session) markdown() string {
	names := func(all []string) string {
		var full []string
		for _, n := range all {
			full = append(full, sessionPrefix+n)
		}
		return "[" + strings.Join(full, ", ") + "]"
	}
	head := "---\nname: " + s.Folder() + "\ndescription: " + s.Description + "\nversion: " + SessionVersion + "\nlicense: MIT\n" +
		"platforms: [linux, macos]\nenvironments: [terminal, tmux]\nmetadata:\n  hermes:\n    tags: [tmux, agents, sessions, " + s.Name + "]\n" +
		"    related_skills: " + names(s.Related) + "\n    prereq_skills: " + names(s.Before) + "\n---\n\n"
	return sealed("", head+strings.ReplaceAll(piece("session/"+s.Name), "%SCRIPT%", "scripts/"+s.Script), "<!-- ", " -->")
}
