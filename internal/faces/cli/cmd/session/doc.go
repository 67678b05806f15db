// Package session has the verbs on agents in tmux, the jobs that they work on, and the watchdog that asks stalled ones to go on.
package session
