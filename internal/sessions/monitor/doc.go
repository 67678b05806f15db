// Package monitor follows sessions and tells what changes: it compares rows of the registry with what package observe finds, and has package
// lifecycle write down what is true.
//
// It promises:
//
//   - A registry has one monitor. A lock beside the registry sees to that, and a file beside it says when the monitor looked last.
//   - A session is written down as ended only after two looks, a second apart. When tmux does not answer, nothing is written.
//   - It ends no program and types nothing. A program that runs on without its tmux session keeps its row.
//   - Each difference is reported once, and again when something was done about it.
//   - Between events nothing wakes up, but for a full look every 30 seconds.
//
// [Keepalive] does the same for connections on a bus: it keeps agents present that live in tmux and do not say so themselves.
package monitor
