// Package identity knows which agent a conversation is, and who is speaking when a command is run.
//
// An agent keeps its id over restarts: [Keeper.Connect] reclaims it or mints a new one, and writes down which conversation,
// workspace and process it belongs to. [Keeper.Speak] and [Keeper.Reader] answer for one command whose name its messages
// bear and whose mailbox it reads, from facts that the caller collected; nothing here looks at the environment or at
// processes, and no transcript of an agent program is ever consulted.
//
// # Reclaim or mint
//
// A conversation goes on as the agent that its program already is in that folder, so that /clear and the like keep the agent; else as the
// agent of its transcript, unless another program is using that one; else as the first agent of (host, folder) that no live
// connection holds, the unnumbered one before the numbered ones. Only when all are live a new agent is made: api, api-2, api-3.
// An agent that was named, or made for a session with a name, is not taken by a conversation that brings no name. A server that does
// not know its conversation makes no agent while another one is live in the folder: [ErrUnnamed].
// Existing programs reclaim by workspace instead ([Request.Reclaims]): the binding of the conversation, else of the process,
// else the newest one of the workspace. Provable means: the private key is in this user's keyring
// and signs for a key that the registry holds active. An id that was revoked or retired is thus never taken up again:
// the agent gets a new one, and [Result.Notice] says so. A private key serves one id only; that of an older program's
// channel is left where it is, and not copied.
//
// # What a crash leaves
//
// Key, then binding, then registration. The binding is appended only if nothing was added since it was looked for, so two
// processes that connect one conversation come to one id. A binding whose key is there and whose registration is missing is
// one that was cut off, or whose maker is not done yet: it is finished, not replaced.
//
// Who may register, and which keys count, is the question of package registry; where private keys lie that of keyring.
package identity

import (
	"tutti/internal/bus/keyring"
	"tutti/internal/bus/presence"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
	"tutti/internal/store"
)

// A Keeper reads and writes the identities of one bus. Its members are set once, before the first call; it is safe for
// concurrent use.
type Keeper struct {
	Log      store.Log
	Registry *registry.Registry
	Presence *presence.Presence
	Ring     *keyring.Ring
	Root     string // of the bus, as written in the endpoint of a registration
	// Machine is asked which processes are alive; where it is empty no process counts as alive.
	Machine presence.Machine
	// Names returns what agents were renamed to, by their canonical ids. It may be nil.
	Names func() map[address.Instance]string
	// Made is called with each registration that the Keeper makes. It may be nil.
	Made func(r *registry.Registration)
}

// Human is the host of people: human:ana:3f2a9c01b7de.
const Human = "human"

// Remote is the host of agents behind a bridge, whose id is that of their conversation.
const Remote = "remote"

// The roles that a speaker can have without being given one.
const (
	RoleAgent  = "AGENTS"
	RolePerson = "PRINCIPAL"
)

// DefaultScope is the scope of an agent that names none. It is what existing programs write.
const DefaultScope = "scope:default"

// An Action says how an identity was come by. The words stand in the output of existing programs.
type Action string

// The actions.
const (
	Reclaim  Action = "reclaim"
	Mint     Action = "mint"
	Override Action = "override"
)

// The sources of a conversation id, as existing programs call them.
const (
	SourceEnv        = "env"
	SourceBridge     = "bridge"
	SourceTranscript = "transcript"
	SourceNone       = "none"
)

// checkHost refuses what cannot be the first part of an agent's id.
func checkHost(host string) error {
	if err := address.Check(host); err != nil {
		return err
	}
	for _, c := range host {
		if c == ':' || c == '~' || c == '/' || c == '\\' || c == ' ' {
			return &address.Error{ID: host, Why: "is not a host: it holds a character that separates the parts of an address"}
		}
	}
	if host == Human {
		return &address.Error{ID: host, Why: "is the host of people, whose id is made when they first speak"}
	}
	return nil
}
