package remote

import (
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
)

// An Endpoint is what is served to other machines by HTTP, as its user wants it. Which members count depends on what is served.
type Endpoint struct {
	Host, Path string
	Port       int  // 0: a free one
	Exposed    bool // Host may be one that other machines reach
	Cert, Key  string
	Rate       float64 // what one signer may send, a second; 0: the usual
	Unread     int     // how many messages of one signer may wait in a mailbox; 0: any number

	Recipients string   // whose mailboxes are open
	KnownAs    []string // URLs under which the endpoint is known

	Enrolled []byte // keys that may push, as they stand in their file
	Variable string // the same, as the environment has it

	To        address.Instance // for whom instructions are taken
	Specified bool             // by the registry alone, as h2a specifies it
	Command   string           // that injects them
	Environ   []string

	Ready func(url string)  // is called when it listens
	Log   func(line string) // what its operator should know
}

// A Destination is an endpoint that something is sent to.
type Destination struct {
	URL   string
	Away  bool   // an agent that another bus has shown names it: it must not be this machine
	Roots string // file of authorities; "": those of the system
}

// A Push shows an agent on another bus.
type Push struct {
	Instance address.Instance
	Key      *signature.Private
	URL      string
}

// An Order is an instruction that one agent gives another one.
type Order struct {
	From, To    address.Instance
	Instruction string
	Key         *signature.Private
	Way, Host   string
	Nonce, At   string // "": made here
	Environ     []string
	Tell        func(line string)
	Specified   bool // by the registry alone, as h2a specifies it
}

// A Driven order says what became of it.
type Driven struct {
	Line string // as it travelled, "" when it was refused
	Way  string // that it went, "" when none led there
	Err  error  // why it has not reached the agent
}

// An Instruction is one that was let through.
type Instruction struct{ From, To, Text string }
