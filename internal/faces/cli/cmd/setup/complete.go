package setup

import (
	"context"
	"slices"
	"strings"

	"tutti/internal/app"
	"tutti/internal/faces/cli/cmd/stop"
	"tutti/internal/faces/cli/docs"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/store"
)

// The answers that ask the shell itself for names.
const (
	offerFiles   = ":files"
	offerFolders = ":dirs"
)

// runComplete prints what may stand in the place of the last word. The words are those of the command line, the first
// being the program. It says nothing on standard error and never fails: a fault here would be shown in the middle of
// the line that the user is typing.
func runComplete(ctx context.Context, c *kit.Call) error {
	if len(c.Args) < 2 {
		return nil
	}
	words, last := c.Args[1:len(c.Args)-1], c.Args[len(c.Args)-1]
	under, cross := kit.ProgramName(c.Args[0])
	k := &completer{c: c, ctx: ctx, under: under, last: last}
	k.locate(words, cross)
	k.answer()
	return nil
}

// A completer finds what may stand next on one command line.
type completer struct {
	c        *kit.Call
	ctx      context.Context
	under    kit.Names
	last     string
	prefix   string // of last, before the part that is completed
	who      string // whose mailbox was said to be meant
	registry string // of sessions, that was said to be meant
	verb     *kit.Verb
	family   string    // typed, and no verb of two words yet
	args     []string  // positional words so far
	waits    *kit.Flag // whose value the last word is
	ended    bool      // "--" was typed
	trace    bool      // --trace was: single messages are offered, too
	lost     bool      // a word is not a verb: nothing sensible can follow
}

// locate reads the words before the one that is completed.
func (k *completer) locate(words []string, cross string) {
	if k.under == kit.Cross {
		k.verb = k.c.Table.Find(kit.Cross, cross, "")
	}
	for i := 0; i < len(words); i++ {
		if k.verb == nil && k.family == "" {
			words = kit.Unalias(words, i)
		}
		w := words[i]
		if f := k.waits; f != nil && !(k.under == kit.H2A && strings.HasPrefix(w, "--")) {
			k.given(f, w)
			k.waits = nil
			continue
		}
		k.waits = nil
		switch {
		case w == "--" && k.under != kit.H2A:
			k.ended = true
		case !k.ended && kit.IsFlag(w):
			k.flag(w)
		case k.verb == nil || k.verb.Family() == "" && len(k.args) == 0 && k.c.Table.Find(k.under, k.verb.Name, w) != nil:
			k.word(w)
		default:
			k.args = append(k.args, w)
		}
	}
}

func (k *completer) flag(w string) {
	name, value, given := strings.Cut(strings.TrimLeft(w, "-"), "=")
	if place := k.verb.Typed(k.under, name); place >= 0 {
		switch f := k.verb.At(place); {
		case given:
			k.given(f, value)
		case f.Kind >= kit.Text:
			k.waits = f
		case f.Name == "trace":
			k.trace = true
		}
	}
}

// given takes the flags that say on which bus, and at whose mailbox, names are looked for.
func (k *completer) given(f *kit.Flag, value string) {
	switch f.Name {
	case "root":
		k.c.App = app.New(app.Settings{Root: value})
	case "as", "instance":
		k.who = value
	case "registry":
		k.registry = value
	}
}

// word takes one more word of the verb.
func (k *completer) word(w string) {
	first := k.family
	if first == "" && k.verb != nil {
		first = k.verb.Name
	}
	if first != "" {
		v := k.c.Table.Find(k.under, first, w)
		k.verb, k.family, k.lost = v, "", v == nil
		return
	}
	k.verb = k.c.Table.Find(k.under, w, "")
	if k.c.Table.HasFamily(k.under, w) {
		k.family = w
	}
	k.lost = k.verb == nil && k.family == ""
}

func (k *completer) answer() {
	switch {
	case k.lost:
	case k.waits != nil:
		k.value(k.waits)
	case !k.ended && strings.HasPrefix(k.last, "-"):
		if name, _, given := strings.Cut(strings.TrimLeft(k.last, "-"), "="); given {
			if place := k.verb.Flag(k.under, name); place >= 0 {
				k.prefix = k.last[:strings.IndexByte(k.last, '=')+1]
				k.value(k.verb.At(place))
			}
			return
		}
		k.flags()
	default:
		if k.verb == nil || k.family != "" && len(k.args) == 0 {
			k.verbs()
		}
		if k.verb != nil {
			k.positional()
		}
	}
}

// say prints one answer if the last word, behind its prefix, can become it.
func (k *completer) say(word, remark string) {
	if word = k.prefix + word; strings.HasPrefix(word, k.last) {
		k.c.Line(word + "\t" + remark)
	}
}

// verbs offers what may stand where a verb is expected: those of a normal day first.
func (k *completer) verbs() {
	if k.family != "" {
		for v := range k.c.Table.Shown(k.under) {
			if f := v.Family(); f == k.family {
				k.say(v.Name[len(f)+1:], v.Short)
			}
		}
		return
	}
	words := k.c.Table.Words(k.under, "")
	if k.under == kit.Tutti {
		for _, word := range docs.Everyday {
			if slices.Contains(words, word) {
				k.firstWord(word)
			}
		}
		words = slices.DeleteFunc(words, func(w string) bool { return slices.Contains(docs.Everyday, w) })
	}
	for i, word := range words {
		if !slices.Contains(words[:i], word) {
			k.firstWord(word)
		}
	}
	if k.under == kit.Tutti {
		for _, a := range kit.Aliases {
			k.say(a.Word, "tutti "+a.For)
		}
	}
}

// firstWord offers a verb with its line, or a family with its verbs.
func (k *completer) firstWord(word string) {
	if v := k.c.Table.Find(k.under, word, ""); v != nil {
		k.say(word, v.Short)
		return
	}
	k.say(word, strings.Join(k.c.Table.Words(k.under, word), ", "))
}

func (k *completer) flags() {
	for _, f := range k.verb.Takes(k.under) {
		k.say("--"+f.Name, f.Help)
	}
}

// value offers values of a flag.
func (k *completer) value(f *kit.Flag) {
	for _, choice := range f.Values() {
		k.say(choice, "")
	}
	k.source(f.Offer)
}

func (k *completer) positional() {
	v := k.verb
	switch {
	case v.Name == "completion":
		for _, shell := range shells {
			k.say(shell.name, "")
		}
	case v.Offer == kit.StoreKinds && len(k.args) == 1:
		k.owners(k.args[0])
	case v.Offer == kit.Destinations && len(k.args) == 1:
		k.source(kit.Files)
	case v.MaxArgs >= 0 && len(k.args) >= v.MaxArgs:
	case v.Offer == kit.VerbNames || len(k.args) == 0 || v.MaxArgs < 0:
		k.source(v.Offer)
		if v.Name == "send" && len(k.args) == 0 { // one verb for both kinds of addresses
			k.source(kit.Destinations)
		}
	}
}

func (k *completer) source(what kit.Source) {
	switch what {
	case kit.Files:
		k.c.Line(offerFiles)
	case kit.Folders:
		k.c.Line(offerFolders)
	case kit.StoreKinds:
		for _, kind := range store.Kinds() {
			k.say(kind.String(), kind.Spec().Path)
		}
	case kit.VerbNames:
		if len(k.args) == 1 {
			k.family = k.args[0]
		}
		if len(k.args) <= 1 {
			k.verbs()
		}
	case kit.Sessions:
		k.sessions()
	case kit.Agents, kit.OwnAgents, kit.Messages, kit.Threads, kit.Negotiations, kit.Matters:
		k.onBus(what)
	case kit.Jobs:
		k.jobs()
	case kit.Machines:
		k.machines()
	case kit.Profiles, kit.Topics:
		k.models(what)
	case kit.Destinations, kit.Projects, kit.Conversations, kit.Bundles:
		k.onComms(what)
	}
}

// models offers words of the organisation model.
func (k *completer) models(what kit.Source) {
	if what == kit.Topics {
		for _, t := range kit.ModelTopics {
			k.say(t, "")
		}
	}
	for _, p := range kit.ProfileWords {
		k.say(p, "")
	}
	if k.verb.Name == "profile use" {
		k.say("none", "takes the choice back")
	}
}

// machines offers those of the list of peers.
func (k *completer) machines() {
	peers, _, err := stop.Others(k.c)
	if err != nil {
		return
	}
	for _, h := range peers.List[:min(len(peers.List), maxOffered)] {
		k.say(h.Name, h.Host) // both were checked when the list was read
	}
}

// maxOffered limits the names of a bus that are offered: more would be slow in a shell.
const maxOffered = 200

// owners offers the owners of a kind, or its names when it has none, from the bus of the command line.
func (k *completer) owners(kindName string) {
	kind := store.KindNamed(kindName)
	if kind == 0 {
		return
	}
	s, err := k.c.App.Open(app.Reading)
	if err != nil {
		return
	}
	defer s.Close()
	n := 0
	offer := func(name string, err error) bool {
		if err == nil && harmless(name) {
			k.say(name, "")
		}
		n++
		return n < maxOffered
	}
	if kind.Spec().HasOwner() {
		s.Owners(k.ctx, kind)(offer)
		return
	}
	for e, err := range s.List(k.ctx, kind, "") {
		if !offer(e.Key.Name, err) {
			return
		}
	}
}

// A shell is one for which there is a script.
type shell struct{ name, script string }

var shells = [...]shell{{"bash", bashScript}, {"zsh", zshScript}, {"fish", fishScript}}

// runCompletion prints the script of a shell. The scripts know no verb: they ask the program, whose table is the truth,
// so a script that was installed once stays right when verbs are added.
func runCompletion(_ context.Context, c *kit.Call) error {
	if text, ok := shellScript(c, c.Arg(0)); ok {
		c.Out = append(c.Out, text...)
		return nil
	}
	return kit.UsageHint("one of: bash, zsh, fish", "completion: %s: no such shell", kit.Clean(c.Arg(0)))
}

// shellScript is the script for a shell.
func shellScript(c *kit.Call, shell string) (text string, ok bool) {
	names := append([]string{"tutti"}, linkNames(c)...)
	for _, s := range shells {
		if s.name == shell {
			return strings.ReplaceAll(s.script, "{names}", strings.Join(names, " ")), true
		}
	}
	return "", false
}

// bash before 4.4 sorts what it is offered; it knows no nosort. bash cuts words at ":" and "="; the script takes the line apart itself and gives back only what stands behind the
// last such cut.
const bashScript = `# completion of tutti and its other names, for bash
_tutti_complete() {
    local line="${COMP_LINE:0:COMP_POINT}" cur="" cut word remark
    local -a words=()
    read -ra words <<<"$line"
    words[0]="${words[0]##*/}"
    if [[ "$line" =~ [[:space:]]$ ]]; then words+=(""); fi
    cur="${words[${#words[@]}-1]}"
    cut="${cur%"${cur##*[:=]}"}"
    COMPREPLY=()
    while IFS=$'\t' read -r word remark; do
        case "$word" in
        :files) compopt -o filenames 2>/dev/null; while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "${cur#"$cut"}") ;;
        :dirs) compopt -o filenames 2>/dev/null; while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -d -- "${cur#"$cut"}") ;;
        ?*) COMPREPLY+=("${word#"$cut"}") ;;
        esac
    done < <(command tutti __complete -- "${words[@]}" 2>/dev/null)
}
complete -o nosort -F _tutti_complete {names} 2>/dev/null || complete -F _tutti_complete {names}
`

const zshScript = `#compdef {names}
# completion of tutti and its other names, for zsh
_tutti_complete() {
    local -a found
    local word remark
    while IFS=$'\t' read -r word remark; do
        case "$word" in
        :files) _files ;;
        :dirs) _files -/ ;;
        ?*) found+=("${word//:/\\:}${remark:+:$remark}") ;;
        esac
    done < <(command tutti __complete -- "${words[1]:t}" "${(@)words[2,CURRENT-1]}" "${words[CURRENT]}" 2>/dev/null)
    (( ${#found} )) && _describe -V 'tutti' found
}
if [[ "${funcstack[1]}" == _* ]]; then
    _tutti_complete "$@"
else
    compdef _tutti_complete {names}
fi
`

const fishScript = `# completion of tutti and its other names, for fish
function __tutti_complete
    set -l words (commandline -opc)
    set -l cur (commandline -ct)
    set words[1] (basename $words[1])
    for line in (command tutti __complete -- $words "$cur" 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path "$cur"
            case ':dirs'
                __fish_complete_directories "$cur"
            case '*'
                echo $line
        end
    end
end
for name in {names}
    complete -k -c $name -f -a '(__tutti_complete)'
end
`
