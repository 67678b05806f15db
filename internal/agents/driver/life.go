package driver

import (
	"slices"
	"strings"
	"time"
)

// Life is how a program for the terminal is begun, seen and ended there. What is not known of a program is empty: its screen is
// then not read, and nothing is typed into it.
type Life struct {
	// Fixed are the arguments that come first whenever it is started.
	Fixed []string
	// Choose is the argument before the id of ours, a UUID, under which a conversation begins; "": the program chooses.
	Choose string
	// ResumeBy is the argument before the id of the conversation that it goes on with; "": it cannot.
	ResumeBy string
	// Fork are the arguments with which it goes on with a copy of a conversation; nil: it cannot.
	Fork func(id string) []string
	// IsID tells whether a text can be the id of a conversation. It is asked before an id goes into arguments or paths.
	IsID func(id string) bool
	// Exit is the line that its user types to leave, "" when that is not known. It may be typed where [Seen.Free] says so, and
	// nowhere else: with a question open, the Enter behind it answers the question.
	Exit string
	// Clear are the keys, one after the other, that empty the line where its user types, in the words of package tmux; nil: they are not
	// known. Where the line is empty they do something else.
	Clear []string
	// Grace is how long it may take to end after it was asked to: the longest that was seen, and some more.
	Grace time.Duration
	// Comms are the names of the process in front while it runs, as tmux tells them.
	Comms []string
	// Screen tells from the text of the visible screen, and from the title of the terminal, what it does. Nil: it is not known.
	Screen func(screen, title string) Seen
	// Sheet is the file in which a running program says what it does; nil: it writes none. It is nothing that its maker promises: what
	// is not there, or is not as it was, means that nothing is known.
	Sheet func(p Site, pid int) string
	// ReadSheet reads that file, of which at most [MaxSheet] bytes count.
	ReadSheet func(raw []byte) (SelfReport, bool)
	// Find is where its conversations lie.
	Find Finder
	// Serves tells from the arguments of a process, the program among them, that it is a server which the program keeps in the
	// background for all its screens, and which outlives them. Nil: it keeps none.
	Serves func(argv []string) bool
	// Skips are arguments that let it do things without being asked. "-a=b" is the argument -a with the value b.
	Skips []string
	// Choices are arguments with which its user says which conversation it is to be.
	Choices []Choice
}

// Begin says how a session is begun.
type Begin struct {
	// Conversation is the id that it shall have, a UUID; "": the program chooses. It counts where [Life.Choose] is there.
	Conversation string
	Args         []string // own ones of its user
}

// Seen is what a screen shows. Everything that the screen does not say for certain is left empty, or marked as a guess.
type Seen struct {
	Doing Doing
	// Dialog is what stands open in place of the line where its user types, in words that follow "it asks" or "it shows"; "" when
	// nothing does, or nothing that is known.
	Dialog string
	// Prompt: the line where its user types is there, and takes what is typed. A busy program may have one, too.
	Prompt bool
	// Typed is what stands there. Text that the program suggests cannot always be told from one that was typed.
	Typed string
	// Note is what else the program says there that its user should know, "" for nothing.
	Note string
	// BrokenOff: its user has broken off the last turn, and it starts nothing from its queue until the user types.
	BrokenOff bool
	// Guess: Doing is what it looks like. Another sign that ought to be there is missing, or the text could come from a model.
	Guess bool
	// Rule names the rule that decided, for people: `busy "esc to interrupt"`. "" when none matched.
	Rule string
}

// Free reports whether a line can be typed: it is idle for certain, asks nothing, and no one has begun to type.
func (s Seen) Free() bool {
	return s.Doing == Idle && s.Prompt && s.Typed == "" && s.Dialog == "" && !s.Guess
}

// Holds tells whether a line that was typed stands there alone, so that Enter submits it and nothing else.
func (s Seen) Holds(line string) bool {
	return s.Doing == Idle && s.Prompt && s.Typed == line && s.Dialog == "" && !s.Guess
}

// The keys of [Life.Clear]. In Claude Code and Gemini CLI a second Ctrl-C soon after the first ends the program, and Escape does not empty
// the line of Codex.
var (
	escapes  = []string{"Escape", "Escape"}
	controlC = []string{"C-c"}
)

// MaxSheet is the size in bytes of a sheet that is read; those that were seen have less than one thousand.
const MaxSheet = 64 << 10

// A SelfReport is what a running program says of itself.
type SelfReport struct {
	PID          int
	Start        uint64 // of that process, in ticks since the machine was started: the number may have had another owner before
	Conversation string // "" when it does not say
	Dir          string // in which it was started, without links; "" when it does not say
	// Background: it goes on without a terminal, and outlives the one that it was begun in. It is a conversation with an id of
	// its own, made of the one that was there.
	Background bool
	Doing      Doing
	Asks       string    // for what it waits, in its own words; with Asking
	Since      time.Time // when it began to do that; zero when it does not say
	Version    string    // of the program; "" when it does not say
}

// Skipping returns the arguments that let the program do things without being asked, as they stand among args.
func (l *Life) Skipping(args []string) (found []string) {
	for i, arg := range args {
		next := ""
		if i+1 < len(args) {
			next = args[i+1]
		}
		if slices.ContainsFunc(l.Skips, func(skip string) bool { return skips(skip, arg, next) }) {
			found = append(found, arg)
		}
	}
	return found
}

// skips reports whether to skip an argument, or it and the next one.
func skips(skip, arg, next string) bool {
	flag, value, valued := strings.Cut(skip, "=")
	if !valued {
		given, _ := strings.CutPrefix(arg, flag+"=")
		return arg == flag || given != arg && given != "false"
	}
	plain := func(s string) string { return strings.NewReplacer(`"`, "", "'", "", " ", "").Replace(s) }
	if arg == flag {
		return plain(next) == value
	}
	rest, ok := strings.CutPrefix(arg, flag)
	return ok && (plain(rest) == "="+value || len(flag) == 2 && plain(rest) == value)
}

// Start makes the arguments that begin a session. The own ones of its user come last, and no argument is added that lets the
// program do things without being asked.
func (l *Life) Start(b Begin) []string {
	args := slices.Clone(l.Fixed)
	if l.Choose != "" && b.Conversation != "" {
		args = append(args, l.Choose, b.Conversation)
	}
	return append(args, b.Args...)
}

// Resume makes the arguments that go on with a conversation; they are nil for a text that is not an id, and where the program
// cannot.
func (l *Life) Resume(id string, b Begin) []string {
	if l.ResumeBy == "" || !l.IsID(id) {
		return nil
	}
	return slices.Concat(l.Fixed, []string{l.ResumeBy, id}, b.Args)
}

// isUUID tells whether a text has the form of a UUID, in small letters as all these programs write it.
func isUUID(id string) bool {
	if len(id) != 36 {
		return false
	}
	for i, c := range []byte(id) {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return true
}

// isWord tells whether an id has nothing in it but letters, digits, - and _, and does not look like an option.
func isWord(id string) bool {
	const most = 128
	if id == "" || len(id) > most || id[0] == '-' {
		return false
	}
	for _, c := range []byte(id) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}
