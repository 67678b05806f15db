package driver

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tutti/internal/core/canonjson"
)

// MaxHook is the size in bytes from which the input of a hook is not read: programs put whole answers of a model into it, and
// the largest seen had some hundred kilobytes.
const MaxHook = 8 << 20

// A Moment is what an event of a program means for mail. Events of one moment are treated alike.
type Moment uint8

// The moments.
const (
	Other  Moment = iota // nothing is done
	Start                // a conversation begins, or goes on after a pause
	Prompt               // the user has said something, and the model has not seen it yet
	Use                  // a tool is about to run
	Next                 // the model is about to be asked for the next step of a turn
	Tool                 // a tool was used, and the turn goes on
	Ask                  // a person is asked whether a tool may be used
	Stop                 // the turn is over
	End                  // the conversation is over
)

func (m Moment) String() string {
	return [...]string{"other", "start", "prompt", "use", "next", "tool", "ask", "stop", "end"}[m]
}

// An Event is an occasion at which a program runs a command of its user's.
type Event struct {
	Name    string // as the program spells it, in its settings and in the input
	Moment  Moment
	Timeout time.Duration // after which the program gives up on the command; it is written where that is possible
	Matcher string        // the tools at which the program runs it, as it writes them; "": it has none
	Wakes   bool          // the program lets the command wait beside the conversation, and goes on when it ends with status 2
	// Edits are the tools that change files: at Use, and also at Tool where the model does not read what is said at Use.
	Edits []string
	// Beside: at Ask, the program shows its dialog while the command runs, and takes the first of both answers. So the command
	// waits, and denies when a halt comes while the dialog is open.
	Beside bool
	// Detached: at Ask, the program shows its dialog when the command has ended, and another client of its server can answer it. So the
	// command leaves a process behind that waits.
	Detached bool
	// Kept: the command is the one that former releases wrote, byte for byte, because the user of the program has reviewed it.
	Kept bool
}

// AllTools tells whether an entry with this matcher, "" for none, is called for every tool.
func AllTools(matcher string) bool { return matcher == "" || matcher == "*" || matcher == ".*" }

// Hooks is how a program runs commands at events.
type Hooks struct {
	Files []File // none: it has no hooks that are known
	Table []string
	// Module: the file is a module of ours that the program loads, and that calls the hooks. It takes answers in the forms of this package.
	Module bool
	// Until is the first major version that runs none of these hooks; 0: none is known.
	Until  int
	Events []Event // those that are of use, in the order of a conversation
	// Unit is in what timeouts are written; zero: they are not written.
	Unit time.Duration
	// Name: an entry may have a name, by which the program's own lists show it.
	Name bool
	// MaxAgain is how many turns in a row a hook can ask for before the program ends that. Zero: it never does, and a hook
	// that asks each time keeps the agent busy for ever.
	MaxAgain int
	// Conversation is the variable in which a hook finds the id of its conversation, "" for none: the input has it.
	Conversation string
	// Folder is the variable in which a hook finds the folder that the program was started in, "" for none. The one that the
	// input names may be where its agent has gone since.
	Folder string
	// add puts a text before the model, at the moments that have a place for one; deny stops the agent, at those that can. A
	// slightly wrong form lets the tool run: each form was measured.
	add, deny map[Moment]reply
	// Off are the settings that turn all hooks off, as paths in the file of the hooks; for Codex in its config.toml.
	Off [][]string
	// Drops are the sources of a Start whose text never reaches the model.
	Drops []string
	// Note is what its user has to do beside that, "" for nothing.
	Note string
}

// EditsAfter tells whether the model reads a word about an edit only after the tool.
func (h *Hooks) EditsAfter() bool {
	return slices.ContainsFunc(h.Events, func(e Event) bool { return e.Moment == Tool && len(e.Edits) > 0 })
}

// Runs tells whether a version of the program runs these hooks. One that does not say its version counts as one that does.
func (h *Hooks) Runs(version string) bool {
	major, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	n, err := strconv.Atoi(major)
	return err != nil || h.Until == 0 || n < h.Until
}

// File returns where hooks are registered in a scope.
func (h *Hooks) File(scope Scope) (File, bool) { return of(h.Files, scope) }

// Event returns an event by its name.
func (h *Hooks) Event(name string) (Event, bool) {
	for _, e := range h.Events {
		if e.Name == name {
			return e, true
		}
	}
	return Event{}, false
}

// A Call is one event as a program told of it. Everything in it comes from outside; what was missing or of another type is
// empty.
type Call struct {
	Event        Event
	Conversation string   // id of the conversation
	Dir          string   // in which the agent works
	Transcript   string   // where the program writes the conversation
	Source       string   // at Start: startup, resume, clear, compact
	Reason       string   // at End
	Prompt       string   // at Prompt: what the user said. At most 4096 bytes are kept
	Tool         string   // at Use, Tool and Ask: as the program spells it
	Files        []string // at Use of a tool that changes files: what is about to be changed, as the model spells it; at Tool: what was
	Input        []byte   // at Ask: the arguments of the tool, as JSON
	Rules        []byte   // at Ask: the rules that the program suggests so that it need not ask again, as JSON; nil: none
	Again        bool     // at Stop: this turn was asked for by a hook
	// Helper: the event is one of an agent that the agent of the conversation has set to work. What is said then, that one
	// hears. From documentation alone.
	Helper bool
}

// The errors of an input.
var (
	// ErrEvent reports an event that is none of those which are of use.
	ErrEvent = errors.New("unknown event")
	// ErrInput reports an input that is not a JSON object, or too large.
	ErrInput = errors.New("the input is not a JSON object")
)

// keepPrompt is how much of a prompt is kept: enough to know a sentence of our own again.
const keepPrompt = 4096

// Read reads the input of a hook that was called for an event. The event that the input names outranks the one of the command
// line, which a user may have copied to another event.
func (h *Hooks) Read(event string, input []byte) (Call, error) {
	var v [13][]byte
	names := []string{"hook_event_name", "session_id", "cwd", "transcript_path", "source", "reason", "prompt", "stop_hook_active", "agent_id", "notification_type", "tool_name", "tool_input", "permission_suggestions"}
	if len(input) > MaxHook || !canonjson.Pick(input, names, v[:]) {
		return Call{}, ErrInput
	}
	if named, ok := canonjson.String(v[0]); ok && named != "" {
		event = named
	}
	e, ok := h.Event(event)
	if !ok {
		return Call{}, fmt.Errorf("%w: %.100q", ErrEvent, event)
	}
	if notice, ok := canonjson.String(v[9]); ok && e.Moment == Ask && !strings.Contains(strings.ToLower(notice), "permission") {
		e.Moment = Other // it says something else to its user
	}
	c := Call{Event: e}
	for i, to := range []*string{&c.Conversation, &c.Dir, &c.Transcript, &c.Source, &c.Reason, &c.Prompt} {
		*to, _ = canonjson.String(v[i+1])
	}
	if len(c.Prompt) > keepPrompt {
		c.Prompt = c.Prompt[:keepPrompt]
	}
	c.Tool, _ = canonjson.String(v[10])
	if (e.Moment == Use || e.Moment == Tool) && slices.Contains(e.Edits, c.Tool) {
		c.Files = edited(input)
	}
	if e.Moment == Ask {
		c.Input, c.Rules = v[11], v[12]
	}
	c.Again, _ = canonjson.Bool(v[7])
	helper, _ := canonjson.String(v[8])
	c.Helper = helper != ""
	return c, nil
}

// edited are the files that a tool is about to change, by the arguments that editing tools have.
func edited(input []byte) (files []string) {
	const most = 4096 // bytes of a path
	raw, _ := canonjson.Get(input, "tool_input")
	var v [3][]byte
	canonjson.Pick(raw, []string{"file_path", "notebook_path", "absolute_path"}, v[:])
	for _, one := range v {
		if path, ok := canonjson.String(one); ok && path != "" && len(path) <= most && !strings.ContainsRune(path, 0) {
			files = append(files, path)
		}
	}
	return files
}

// An Answer is what a hook prints and ends with. The zero one says nothing, and costs the program nothing.
type Answer struct {
	Out, Err []byte
	Status   int
	// Told: the answer of [Hooks.Deny] only tells the model that it must stop. The agent goes on all the same.
	Told bool
}

// A reply makes the answer to an event that carries a text.
type reply func(e Event, text string) Answer

// to answers an event with a text, if it has both.
func (r reply) to(e Event, text string) (a Answer, ok bool) {
	if r == nil || text == "" {
		return Answer{}, false
	}
	return r(e, text), true
}

// Add makes the answer that puts a text before the model, beside what its user says. Where an event has no place for one the
// answer is empty, and ok false.
func (h *Hooks) Add(e Event, text string) (a Answer, ok bool) { return h.add[e.Moment].to(e, text) }

// GoOn makes the answer that asks for one more turn at Stop, with a text for the model.
func (h *Hooks) GoOn(e Event, text string) (a Answer, ok bool) {
	if e.Moment != Stop {
		return Answer{}, false
	}
	return reply(block).to(e, text)
}

// Deny makes the answer that stops the agent at an event: the tool does not run, the prompt is not answered, or the turn ends.
// Where the event can only inform the model, it returns Told. Where it cannot do that either the answer is empty, and ok
// false.
func (h *Hooks) Deny(e Event, why string) (a Answer, ok bool) { return h.deny[e.Moment].to(e, why) }

// Rouse makes the answer with which a command that waits in the background wakes its agent, with a text for the model.
func (h *Hooks) Rouse(e Event, text string) (a Answer, ok bool) {
	if !e.Wakes || text == "" {
		return Answer{}, false
	}
	return Answer{Err: []byte(text + "\n"), Status: 2}, true
}

// addContext is the answer that several programs take as text for the model.
func addContext(e Event, text string) Answer {
	var o, specific canonjson.Object
	specific.Str("hookEventName", e.Name)
	specific.Str("additionalContext", text)
	o.Raw("hookSpecificOutput", specific.Bytes())
	return Answer{Out: append(o.Bytes(), '\n')}
}

// tell is the answer of an event that cannot deny: the model reads why, and goes on.
func tell(e Event, why string) Answer {
	a := addContext(e, why)
	a.Told = true
	return a
}

// block is the answer that several programs take as the wish for one more turn.
func block(_ Event, text string) Answer {
	var o canonjson.Object
	o.Str("decision", "block")
	o.Str("reason", text)
	return Answer{Out: append(o.Bytes(), '\n')}
}

// endTurn is the answer that several programs take as the end of a turn.
func endTurn(_ Event, why string) Answer {
	var o canonjson.Object
	o.Bool("continue", false)
	o.Str("stopReason", why)
	return Answer{Out: append(o.Bytes(), '\n')}
}

// denyTool is the answer of several programs at Use.
func denyTool(e Event, why string) Answer {
	var o, specific canonjson.Object
	specific.Str("hookEventName", e.Name)
	specific.Str("permissionDecision", "deny")
	specific.Str("permissionDecisionReason", why)
	o.Raw("hookSpecificOutput", specific.Bytes())
	return Answer{Out: append(o.Bytes(), '\n')}
}

// denyAsked is the answer of several programs at Ask.
func denyAsked(e Event, why string) Answer { return asked(e, why, false) }

// interruptAsked is denyAsked that ends the turn. A program that does not know this member takes the whole answer for invalid.
func interruptAsked(e Event, why string) Answer { return asked(e, why, true) }

func asked(e Event, why string, interrupt bool) Answer {
	var decision canonjson.Object
	decision.Str("behavior", "deny")
	decision.Str("message", why)
	if interrupt {
		decision.Bool("interrupt", true)
	}
	return decided(e, &decision)
}

// Allow is the answer at Ask that lets the tool run: with other arguments where input is not nil, and with rules that the program keeps so
// that it does not ask again where rules is not nil.
func (e Event) Allow(input, rules []byte) Answer {
	var decision canonjson.Object
	decision.Str("behavior", "allow")
	if input != nil {
		decision.Raw("updatedInput", input)
	}
	if rules != nil {
		decision.Raw("updatedPermissions", rules)
	}
	return decided(e, &decision)
}

// Refuse is the answer at Ask by which the user refuses the tool, and the agent goes on.
func (e Event) Refuse(why string) Answer { return asked(e, why, false) }

func decided(e Event, decision *canonjson.Object) Answer {
	var o, specific canonjson.Object
	specific.Str("hookEventName", e.Name)
	specific.Raw("decision", decision.Bytes())
	o.Raw("hookSpecificOutput", specific.Bytes())
	return Answer{Out: append(o.Bytes(), '\n')}
}

// Entry is what stands in the list of an event, as a JSON object: one command. wakes: it waits in the background.
func (h *Hooks) Entry(e Event, command string, wakes bool) []byte {
	var c, o canonjson.Object
	c.Str("type", "command")
	if h.Name {
		c.Str("name", "tutti")
	}
	c.Str("command", command)
	if wakes {
		c.Bool("asyncRewake", true)
	}
	if limit := e.limit(wakes); h.Unit > 0 && limit > 0 {
		c.Int("timeout", int64(limit/h.Unit))
	}
	o.Opt("matcher", e.Matcher)
	o.Raw("hooks", append(append([]byte{'['}, c.Bytes()...), ']'))
	return o.Bytes()
}

// limit is the timeout that is asked for.
func (e Event) limit(wakes bool) time.Duration {
	if wakes || e.Beside {
		return wakeFor
	}
	return e.Timeout
}

// wakeFor is how long a command may wait in the background, or beside a dialog. The program ends it after that, and starts it anew at the
// next event only: an agent that sits idle for longer has no such command. It costs nothing while it waits, and its server ends it. A
// week was tried to be taken as it is written, and more than ten minutes of waiting; a program that counts milliseconds in 32 bits has room for
// three.
const wakeFor = 7 * 24 * time.Hour

// FormerTimeout is the timeout that entries of former releases have where a newer one asks for another, as it is written; "" for
// none. An entry that has it was not set by its user.
func (h *Hooks) FormerTimeout(e Event, wakes bool) string {
	former := 10 * time.Minute
	switch {
	case h.Unit == 0:
		return ""
	case wakes:
	case e.Beside:
		former = e.Timeout
	default:
		return ""
	}
	return strconv.FormatInt(int64(former/h.Unit), 10)
}
