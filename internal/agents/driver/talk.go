package driver

import "tutti/internal/core/canonjson"

// Talk is how a conversation of a program is named.
type Talk struct {
	// Variable is in the environment of its servers, and of what its model runs, "" for none.
	Variable string
	// Meta finds the id in the _meta of a tool call; nil: it is not there.
	Meta func(meta []byte) string
	// Session finds the id in the _meta of a tool call by which hooks name the conversation: that of a subagent is its parent's. Nil:
	// it is not there.
	Session func(meta []byte) string
}

// member is the text of a member, "" when there is none.
func member(raw []byte, name string) string {
	v, _ := canonjson.Get(raw, name)
	s, _ := canonjson.String(v)
	return s
}

// Skills is where a program looks for what its models can be taught.
type Skills struct {
	Folders []Folder
	// Note is what its user has to do beside that, "" for nothing.
	Note string
}

// A Folder is one of those places.
type Folder struct {
	Scope Scope
	Path  func(Site) string
	Form  Form
	// Old: the older programs put their skill there. The program may look there or not.
	Old bool
}

// A Form is how a skill is written.
type Form uint8

// The forms.
const (
	Markdown Form = iota // NAME/SKILL.md: front matter, then Markdown
	Command              // NAME.toml: a description and a prompt
)

// Wake is how an idle agent of a program can be made to look, without typing.
type Wake struct {
	// Hooks: a hook that waits in the background can wake it (see [Event.Wakes]).
	Hooks bool
	// Queue makes the arguments that hand a text to a conversation as its user's; nil: there is no such command.
	Queue func(conversation, text string) []string
	// Home is the variable that says which agents of the program the queue reaches, "" for none.
	Home string
	// Channel is the method of a notification that may wake it, "" for none. Nothing tells whether it did.
	Channel string
	// Capability is what the server has to declare for that, as a member of experimental.
	Capability string
	// Nudge: a line may be typed into its screen, if [Life.Screen] says that it is free.
	Nudge bool
	// Alone reports from the environment of a hook that no person uses the CLI: it does one task, and ends when everything that
	// it has started has ended. Nil: that is never so.
	Alone func(env func(name string) string) bool
}

// Can tells whether there is any way.
func (w *Wake) Can() bool {
	return w.Hooks || w.Queue != nil || w.Channel != "" || w.Nudge
}

// Wakeable tells whether an idle agent of the agent CLI with this name can be woken.
func Wakeable(name string) bool {
	d, ok := Kind(name)
	return ok && d.Wake.Can()
}

// Doing is what an agent is seen to do.
type Doing uint8

// What an agent can be seen to do.
const (
	Unknown Doing = iota
	Idle          // it waits for its user
	Busy          // it works
	Asking        // it waits for an answer to a question, which any key may give
	Limited       // it would work, and its provider does not let it for now
)

func (d Doing) String() string { return [...]string{"unknown", "idle", "busy", "asking", "limited"}[d] }
