package driver

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tutti/internal/canonjson"
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
	Edit                 // a file is about to be changed
	Tool                 // a tool was used, and the turn goes on
	Ask                  // a person is asked whether a tool may be used
	Stop                 // the turn is over
	End                  // the conversation is over
)

func (m Moment) String() string {
	return [...]string{"other", "start", "prompt", "edit", "tool", "ask", "stop", "end"}[m]
}

// An Event is an occasion at which a program runs a command of its user's.
type Event struct {
	Name    string // as the program spells it, in its settings and in the input
	Moment  Moment
	Timeout time.Duration // after which the program gives up on the command; it is written where that is possible
	Matcher string        // the tools at which the program runs it, as it writes them; "": at all
	Wakes   bool          // the program lets the command wait beside the conversation, and goes on when it ends with status 2
}

// Hooks is how a program runs commands at events.
type Hooks struct {
	Files  []File // none: it has no hooks that are known
	Table  []string
	Events []Event // those that are of use, in the order of a conversation
	// Unit is in what timeouts are written; zero: they are not written.
	Unit time.Duration
	// Name: an entry may have a name, by which the program's own lists show it.
	Name bool
	// MaxAgain is how many turns in a row a hook can ask for before the program ends that. Zero: it never does, and a hook
	// that asks each time keeps the agent busy for ever.
	MaxAgain int
	// Conversation is the variable in which a hook finds the id of its conversation, "" for none: it stands in the input.
	Conversation string
	// Folder is the variable in which a hook finds the folder that the program was started in, "" for none. The one that the
	// input names may be where its agent has gone since.
	Folder    string
	add, goOn func(e Event, text string) Answer
	// Note is what its user has to do beside that, "" for nothing.
	Note string
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
	Files        []string // at Edit: what is about to be changed, as the model spells it
	Again        bool     // at Stop: this turn was asked for by a hook
	// Helper: the event is one of an agent that the agent of the conversation has set to work. What is said then, that one
	// hears. From documentation alone.
	Helper bool
}

// The errors of an input.
var (
	// ErrEvent reports an event that is none of those which are of use.
	ErrEvent = errors.New("unknown event")
	// ErrInput reports what is no JSON object, or too large.
	ErrInput = errors.New("the input is no JSON object")
)

// keepPrompt is how much of a prompt is kept: enough to know a sentence of our own again.
const keepPrompt = 4096

// Read reads the input of a hook that was called for an event. The event that the input names outranks the one of the command
// line, which somebody may have copied to another event.
func (h *Hooks) Read(event string, input []byte) (Call, error) {
	var v [10][]byte
	names := []string{"hook_event_name", "session_id", "cwd", "transcript_path", "source", "reason", "prompt", "stop_hook_active", "agent_id", "notification_type"}
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
	if e.Moment == Edit {
		c.Files = edited(input)
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
}

// Add makes the answer that puts a text before the model, beside what its user says. Where an event has no place for one the
// answer is empty, and ok false.
func (h *Hooks) Add(e Event, text string) (a Answer, ok bool) {
	if h.add == nil || text == "" {
		return Answer{}, false
	}
	a = h.add(e, text)
	return a, len(a.Out)+len(a.Err) > 0
}

// GoOn makes the answer that asks for one more turn at Stop, with a text for the model.
func (h *Hooks) GoOn(e Event, text string) (a Answer, ok bool) {
	if h.goOn == nil || text == "" || e.Moment != Stop {
		return Answer{}, false
	}
	return h.goOn(e, text), true
}

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

// block is the answer that several programs take as the wish for one more turn.
func block(_ Event, text string) Answer {
	var o canonjson.Object
	o.Str("decision", "block")
	o.Str("reason", text)
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
	if wakes {
		return wakeFor
	}
	return e.Timeout
}

// wakeFor is how long a command may wait in the background. The program ends it after that, and starts it anew at the next
// event only: an agent that sits idle for longer has no such command. It costs nothing while it waits, and its server ends it. A
// week was tried to be taken as it is written, and more than ten minutes of waiting; a program that counts milliseconds in 32 bits has room for
// three.
const wakeFor = 7 * 24 * time.Hour

// FormerTimeout is the timeout that entries of former releases have where a newer one asks for another, as it is written; "" for
// none. An entry that has it was not set by its user.
func (h *Hooks) FormerTimeout(wakes bool) string {
	if !wakes || h.Unit == 0 {
		return ""
	}
	return strconv.FormatInt(int64(10*time.Minute/h.Unit), 10)
}
