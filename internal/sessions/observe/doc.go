// Package observe says what has become of the sessions in which agent CLIs run: what tmux, their processes, their screens and the files
// that they write tell of them.
//
// It promises:
//
//   - It changes nothing: it takes no lock, writes no row, presses no key and signals no process. Of the registry it needs the rows alone.
//   - A tmux session counts as the one of a row only if it carries the row's owner, and a process only by pid, start and boot.
//   - What is not known is [Unknown]. A tmux server that does not answer says nothing about its sessions.
//   - What only looks so on a screen is marked as a guess. What a CLI writes of itself counts only for exactly that process.
//   - No link below the folder of a transcript is followed.
package observe
