// Package demo plays a meeting of agents for a user who sees the bus for the first time.
//
// The agents are real connections: for each of them a server process is started and driven by the client of the
// official SDK, as the programs of agents do it. Everything happens in a home folder of its own, with its own bus and
// its own halt switch, so that no agent of the user sees or feels it.
//
// Every line that is printed comes from an answer of a server, from a push, or from a file that was looked at. A step
// that does not come out as it should ends the play with an *Error that names it; the play prints nothing that it has not seen.
// No process and, unless it is to be kept, no folder is left behind.
package demo
