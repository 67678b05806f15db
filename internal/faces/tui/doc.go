// Package tui is the live screen of "tutti top": all agents of the user in a list, what the selected one shows, and what waits for the
// user, with keys to act.
//
// It holds no rules. A snapshot comes from outside, and each action runs tutti with the verb that does it, so what a verb refuses is
// refused here as well. Update starts no process and reads no file: that is left to commands, which run beside it. Colours are those of
// the terminal, and no meaning has a colour alone.
package tui
