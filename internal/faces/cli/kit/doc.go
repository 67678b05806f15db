// Package kit is what every verb of the command line is made with: the row that describes it, the grammar that reads its arguments, the
// call through which it prints, and the exit status that its error becomes. It runs a program ([Program.Main]).
//
// A program looks at the name it was called by. Under tutti it speaks to people (text, and JSON with --json), under
// h2a it prints that program's JSON envelopes and keeps its exit codes, under cross-agent-NAME it is that one command.
// The same function runs under every name; what differs is the grammar that reads its arguments and the form of what
// it says.
//
// The row is the whole truth about a verb: its names, flags, help, exit status, and what the halt switch means to it. Parser, help,
// completion, manual pages and docs/reference.md come from it. Rows are static data.
//
// What tutti does not have is reached by replacing the process with the tutti-full in the folder of our own executable ([HandOver]).
// tutti-full never hands back.
//
// [Program.Main] is the only caller of os.Exit, and [ExitCode] is the only place that turns errors into numbers.
package kit
