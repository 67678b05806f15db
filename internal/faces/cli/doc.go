// Package cli is the command line: one table of verbs, one parser for its three grammars, one presenter.
//
// The program looks at the name it was called by. Under tutti it speaks to people (text, and JSON with --json), under
// h2a it prints that program's JSON envelopes and keeps its exit codes, under cross-agent-NAME it is that one command.
// The same function runs under every name; what differs is the grammar that reads its arguments and the form of what
// it says.
//
// The table is the whole truth about a verb: its names, flags, help, exit status, whether it needs the heavy program,
// and what the halt switch means to it. Parser, help, completion, manual pages and docs/reference.md come from it. It is
// static data: nothing is built at start, nothing is registered, and no map or pattern is made.
//
// What is not linked into tutti is reached by replacing the process with the tutti-full in the folder of our own
// executable. That happens after the halt switch was asked and the verb was parsed, so that a wrong flag or a halt
// never costs a second program. tutti-full never hands back.
//
// [Main] and [MainHeavy] are the only callers of os.Exit, and exitCode is the only place that turns errors into
// numbers.
package cli
