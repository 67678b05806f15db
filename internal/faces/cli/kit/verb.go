package kit

import (
	"context"
	"iter"
	"slices"
	"strings"
)

// Names is the set of program names under which a verb or a flag exists.
type Names uint8

// The names. Cross stands for the command cross-agent-VERB; of a verb of the family comms it has the second word only.
const (
	Tutti Names = 1 << iota
	H2A
	Cross
)

// A ValueKind says what a flag takes.
type ValueKind uint8

// The kinds of flags. Under h2a every flag may be followed by a value, and the two switches differ in what they make of
// it: a Switch is on when it is present at all, a TrueSwitch only when the value is exactly "true", which is also the
// value of a flag that is followed by none.
const (
	Switch ValueKind = iota
	TrueSwitch
	Text
	Count    // a whole number, 0 or more
	Duration // as time.ParseDuration reads it
)

// A Source names what completion offers for a value.
type Source uint8

// What completion can offer beside fixed words.
const (
	Nothing Source = iota
	Files
	Folders
	StoreKinds
	VerbNames
	Agents    // live or registered
	OwnAgents // whose key is here
	Messages  // in the mailbox
	Threads   // of what is in the mailbox
	Negotiations
	Sessions // of the registry in this folder
	Jobs     // of the workspace
	Machines // of the list of peers
	Matters  // that wait for a decision
	Profiles // of organisation
	Topics   // of model show

	Destinations  // projects as send takes them: machine.project
	Projects      // of this machine
	Conversations // of the project that one stands in
	Bundles       // messages that were not delivered
)

// A Flag is one flag of a verb.
type Flag struct {
	Name    string // without the dashes
	Alias   string // another name under tutti, which help does not show
	Kind    ValueKind
	Value   string // the word that stands for the value in help, "" for a switch
	Default string // as help shows it
	Help    string
	Under   Names    // zero means: wherever the verb exists
	Choices []string // the only values allowed, when there are such
	Added   bool     // the names of agent CLIs that the settings describe are allowed, too
	Offer   Source   // what completion offers
}

// A HaltClass is what the halt switch means to a verb.
type HaltClass uint8

// The halt classes. A verb that makes something (an identity, a key, a setting) is refused to agents while the switch is on, and goes on below a
// banner for anybody else: a person may set up. A verb that acts is refused while the switch is on; one that reads goes on below a banner; one that
// ends something is never refused and shows no banner, because it says itself what it did; one that stays, or asks for
// itself, is left alone here; an indifferent one (version, help, completion) is read by programs that have nothing to do
// with halting.
const (
	Reads HaltClass = iota
	Acts
	Ends
	Stays // runs long: stays up and falls silent by itself
	Asks  // asks for itself, at more than one place or not in every case
	Indifferent
	Makes
)

// String says for the documentation what becomes of a verb.
func (h HaltClass) String() string {
	return [...]string{"works, below a banner", "refused", "ends something: never refused", "stays, and is silent", "refused where it acts", "works", "refused to agents"}[h]
}

// A Group is a heading of the overview.
type Group uint8

// The groups in the order of the overview.
const (
	GroupStop Group = iota
	GroupBus
	GroupSessions
	GroupTogether
	GroupComms
	GroupRemote
	GroupGovern
	GroupSetup
	GroupPlumbing
	GroupEnd
)

var GroupTitles = [GroupEnd]string{
	GroupStop:     "Stop everything",
	GroupBus:      "Agents and messages",
	GroupSessions: "Agents in tmux, and jobs",
	GroupTogether: "Working in one folder",
	GroupComms:    "Messages between projects",
	GroupRemote:   "Other machines over HTTP",
	GroupGovern:   "Governance",
	GroupSetup:    "Set up and repair",
	GroupPlumbing: "Plumbing, for scripts and tests",
}

// A Func runs a verb. What it prints goes through the call; what it returns is said and turned into an exit status by
// the caller.
type Func func(ctx context.Context, c *Call) error

// A Verb is one row of the table.
type Verb struct {
	Name     string // one word, or family and word: "store list"
	Under    Names
	Group    Group
	Short    string // one line, for overviews
	Args     string // positional arguments as help shows them
	MinArgs  int
	MaxArgs  int // -1 means any number
	Offer    Source
	Flags    []Flag
	Does     string // one or more paragraphs
	Wont     string // what a user might expect and does not get
	Examples string // commands that work when pasted, each line beginning with "$ "; what they print stands below
	Exit     string // exit status: numbers in order, each with its meaning, parted by "; "
	See      string // verbs to read about next, beside those of the same family: "receive, store list"
	Halt     HaltClass
	Hidden   bool // not in overviews and completion
	Lax      bool // runs in spite of wrong arguments, which are reported afterwards (halt)
	Waits    bool // may run long: an interrupt ends its context instead of the process; see [Call.Interruptible]
	Bus      bool // works on the bus, which may be one that only the full program can open
	Mute     bool // programs call it that are not to be bothered: what goes wrong is said in the log of hooks, and is exit status 0
	TextOnly bool // prints text also where JSON is the rule
	Apart    int  // exit status where the other of our two programs is missing or of another build; 0: 3
	Decides  bool // its exit status is a decision, and 1 is one of them: wrong usage is 64 under each name
	Anyway   bool // goes on in the tutti-full of another build: that it is done matters more

	// Result is a zero value of what the verb prints with --json: a struct or a list of one, or [render.OneOf]. nil: it prints none, or
	// JSON that is not made from a struct.
	Result any

	Run  Func     // of a verb that reads no flags of its own
	Opts *Options // of one that does

	CrossExit string // exit status as the command cross-agent-VERB, where it differs
}

// Family returns the first word of a name of two words, "" for a name of one.
func (v *Verb) Family() string {
	if i := strings.IndexByte(v.Name, ' '); i > 0 {
		return v.Name[:i]
	}
	return ""
}

// is tells whether the verb has the name of those two words; sub may be empty.
func (v *Verb) is(word, sub string) bool {
	if sub == "" {
		return v.Name == word
	}
	return len(v.Name) == len(word)+1+len(sub) && v.Name[:len(word)] == word &&
		v.Name[len(word)] == ' ' && v.Name[len(word)+1:] == sub
}

// A Table is the list of verbs, in the order of help.
type Table []*Verb

// Join makes a table of families of verbs.
func Join(families ...[]Verb) (t Table) {
	for _, family := range families {
		for i := range family {
			t = append(t, &family[i])
		}
	}
	return t
}

// With returns the verb with another function: one program may do more under a name than the other.
func (v Verb) With(run Func, opts *Options) Verb {
	v.Run, v.Opts = run, opts
	return v
}

// run is the function of the verb.
func (v *Verb) run() Func {
	if v.Opts != nil {
		return v.Opts.run
	}
	return v.Run
}

// Reading is With for a function that takes the flags as a struct.
func (v Verb) Reading(o *Options) Verb {
	v.Run, v.Opts = nil, o
	return v
}

// Of yields the verbs that exist under a name.
func (t Table) Of(under Names) iter.Seq[*Verb] {
	return func(yield func(*Verb) bool) {
		for _, v := range t {
			if v.Under&under != 0 && !yield(v) {
				return
			}
		}
	}
}

// Shown yields those of them that are not hidden.
func (t Table) Shown(under Names) iter.Seq[*Verb] {
	return func(yield func(*Verb) bool) {
		for v := range t.Of(under) {
			if !v.Hidden && !yield(v) {
				return
			}
		}
	}
}

// commsFamily is the family whose verbs are commands of their own as well: cross-agent-send is comms send.
const commsFamily = "comms"

// CrossName is what stands behind cross-agent- where the verb is a command of its own.
func (v *Verb) CrossName() string {
	return strings.TrimPrefix(v.Name, commsFamily+" ")
}

// Find returns the verb of one or two words, nil when there is none. The name of a cross-agent command is one word.
func (t Table) Find(under Names, word, sub string) *Verb {
	for v := range t.Of(under) {
		if v.is(word, sub) || under == Cross && sub == "" && v.CrossName() == word {
			return v
		}
	}
	return nil
}

// HasFamily tells whether there are verbs of two words that begin with word.
func (t Table) HasFamily(under Names, word string) bool {
	for v := range t.Of(under) {
		if v.Family() == word {
			return true
		}
	}
	return false
}

// Has tells whether there is a verb of that name, of one or two words, or a family of that name.
func (t Table) Has(under Names, name string) bool {
	word, sub, _ := strings.Cut(name, " ")
	return t.Find(under, word, sub) != nil || sub == "" && t.HasFamily(under, word)
}

// Words returns what may stand where a verb is expected, or, for a family, what may follow it. Hidden verbs are left
// out.
func (t Table) Words(under Names, family string) []string {
	var out []string
	for v := range t.Shown(under) {
		word := v.Name
		switch f := v.Family(); {
		case family != "" && f != family:
			continue
		case family != "":
			word = v.Name[len(family)+1:]
		case f != "":
			word = f
		}
		if len(out) == 0 || out[len(out)-1] != word {
			out = append(out, word)
		}
	}
	return out
}

// Flag returns the place of a flag among the verb's own and the global ones (after them), -1 when there is none.
func (v *Verb) Flag(under Names, name string) int {
	for place, f := range v.Takes(under) {
		if f.Name == name {
			return place
		}
	}
	return -1
}

// Takes yields the verb's own flags that exist under a name, and then the global ones, with their places.
func (v *Verb) Takes(under Names) iter.Seq2[int, *Flag] {
	return func(yield func(int, *Flag) bool) {
		for place := range v.places() {
			if f := v.At(place); f.in(under) && !yield(place, f) {
				return
			}
		}
	}
}

// places is how many flags there are, under all names.
func (v *Verb) places() int {
	if v == nil {
		return len(Globals)
	}
	return len(v.Flags) + len(Globals)
}

// in tells whether the flag exists under a name, where its verb does.
func (f *Flag) in(under Names) bool { return f.Under == 0 || f.Under&under != 0 }

// Typed is flag for a name from a command line, where a flag may also be called by its alias.
func (v *Verb) Typed(under Names, name string) int {
	place := v.Flag(under, name)
	if place >= 0 || v == nil || under != Tutti || name == "" {
		return place
	}
	return slices.IndexFunc(v.Flags, func(f Flag) bool { return f.Alias == name && f.in(under) })
}

// At returns the flag at a place that flag or typed returned.
func (v *Verb) At(i int) *Flag {
	if v == nil {
		return &Globals[i]
	}
	if i < len(v.Flags) {
		return &v.Flags[i]
	}
	return &Globals[i-len(v.Flags)]
}

// Globals are the flags that are the same everywhere. Under h2a the word json belongs to the verbs, which take bodies
// by it; the cross-agent commands have only what their page says.
var Globals = [...]Flag{
	{
		Name: "root", Kind: Text, Value: "dir", Under: Tutti | H2A, Offer: Folders,
		Help: "the bus: its folder, or nats://host:port/name (default: H2A_ROOT, the nearest accepted .h2a, ~/h2a-workspace/.h2a)",
	},
	{Name: "json", Kind: Switch, Under: Tutti, Help: "print JSON; help, man, completion and demo stay text"},
	{Name: "quiet", Kind: Switch, Under: Tutti | H2A, Help: "print no remarks on standard error, only errors"},
	{Name: "verbose", Kind: Switch, Under: Tutti | H2A, Help: "also print where the bus comes from and what answers"},
	{Name: "no-color", Kind: Switch, Under: Tutti | H2A, Help: "no colours (also: NO_COLOR)"},
	{Name: "timeout", Kind: Duration, Value: "time", Under: Tutti | H2A, Help: "give up after this time: 500ms, 10s, 2m"},
	{Name: "help", Kind: Switch, Under: Tutti | H2A | Cross, Help: "show this text and do nothing (also: -h)"},
	{Name: "version", Kind: Switch, Under: Tutti | H2A | Cross, Help: "print the version and do nothing"},
}
