// Package lifecycle lets agent programs live in tmux: it begins them, goes on with their conversations, ends them, and says what
// has become of them.
//
// A session is a row of the registry and a tmux session of its name. The two are held together by an owner, a random id that
// stands in the row, in an option of the tmux session and in the environment of everything that is started in it ([Variable]). So
// a session of the user's that happens to have the same name is never taken for one of ours, and a program that has left its
// parent, its group and its terminal is still found.
//
// # What it promises
//
//   - Intent before action. What is about to be done stands in the row before it is done, what came of it afterwards; the lock of the
//     registry is never held while something is waited for. Who was killed in between is found by the next one who looks, and what
//     is true then is written down.
//   - A process is signalled only as the one that it was: pid, start and boot. After a boot everything of before is gone,
//     whoever has the numbers now.
//   - "Not known" is a value of its own. A tmux server that does not answer is neither dead nor alive, and nothing is done because
//     of it.
//   - A key is pressed only in a pane that is proven to run the session's own program, and Enter never where a question may
//     be open: it would be answered with yes.
//   - Ending is always allowed. Beginning and typing ask the halt switch first.
//
// # What it leaves to others
//
// How the rows are kept is roster's, what differs between the programs is driver's, and mail is none of its matters: the
// bus is told of a session through the functions of [Options]. Halt ends no session.
package lifecycle
