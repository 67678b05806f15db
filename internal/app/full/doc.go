// Package full wires what the full program has beside the hot verbs: agreements, conductors, reservations, the watchdog, sessions in tmux
// and the jobs they have, and the record of the running tutti up. Package app has what both programs need.
package full
