// Package bus has the verbs for a bus itself: its agents, their keys, its mailboxes and its store.
package bus
