// Package comms has the verbs on conversations between projects, the watcher of their mailboxes, and search.
package comms
