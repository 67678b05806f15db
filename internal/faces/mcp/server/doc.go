// Package server gives the bus to an agent program as tools: it sends, receives and answers messages, lists who is there,
// keeps the sessions of its connection present, and reports what happens to them.
//
// # Who speaks
//
// A connection is one agent's. It is the instance of the flag; else the one that was connected at start; else that of the
// session which was opened last on this connection; else who would speak on a command line in the same place, if that is an
// agent. A person never speaks here, even at a terminal: behind the connection sits a model. Tools that write do so
// as this instance, or as a subagent of it, and refuse every other actor with a word on what to do instead; what they store
// is signed with the key in the ring of this user, and without it nothing is stored. Reading is free, as on the command line.
//
// # What a model is shown
//
// The text of a message is given out with who sent it, what its signature is worth, and the remark that it is the text of a
// peer. No answer is longer than the narrowest client takes: lists come in pages and say how to go on, a long text is cut
// and says how the rest is read, and a message that was not shown is not claimed. It counts as shown when the answer has been
// written. What the user's settings keep back no tool shows; it is named as withheld.
//
// # Halt
//
// The server stays while the switch is on. Tools that send or take refuse; those that read, and those that set up or end
// one's own things, go on and say that halt is active. The switch is asked before each call, and while a call waits.
//
// # Start and end
//
// The first line is answered before the bus is looked at: clients leave out a server that is not ready within a second. The
// bus is opened, and the agent connected, beside that; a call that needs them waits. Without a bus the tools say what to
// type, and work once it is there.
//
// How the lines are read and written is package wire's question, how sessions are kept that of package live, what becomes of
// mail that of post.
package server
