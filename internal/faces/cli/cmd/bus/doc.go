// Package bus has the verbs on a bus itself: who is on it, with which keys, what lies in its mailboxes and its store.
package bus
