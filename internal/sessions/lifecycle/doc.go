// Package lifecycle creates, resumes and stops the sessions in which agent CLIs run in tmux.
//
// A session is a row of the registry and a tmux session of its name. Both carry the same owner, a random id that is also an option of the
// tmux session and a variable of everything that is started in it ([observe.Variable]). So a session of the user that happens to have the
// same name is never taken for one of ours, and a program that has left its parent, its group and its terminal is still found.
//
// # What it promises
//
//   - Intent before action. The row says what is about to be done before it is done, and the result afterwards. The lock of the
//     registry is never held while something is waited for. If a process is killed in between, the next one that looks finds out what
//     is true and writes it down.
//   - A process is signalled only by pid, start and boot. After a boot no process of before exists, whatever has its number now.
//   - "Not known" is a value of its own. A tmux server that does not answer is neither dead nor alive, and nothing is done because
//     of it.
//   - A key is pressed only in a pane that is proven to run the session's own program, and Enter never where a question may
//     be open: Enter would answer it with yes.
//   - A conversation is taken, resumed or deleted only when the session's own process had it ([Evidence]), or the user names it. That it
//     is the newest or the only one of a folder proves nothing. A purge keeps one that the session did not begin, unless the user names it.
//   - Stopping is always allowed. Starting and typing ask the halt switch first.
//
// # What it leaves to others
//
// Package observe says what a session does, package monitor follows sessions, registry keeps the rows, and driver knows how agent CLIs
// differ. The bus hears of a session through the functions of [Options]. Halt stops no session.
package lifecycle
