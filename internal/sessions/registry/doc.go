// Package registry says what a row of the registry of agent sessions is, what it may hold, and what a session is called.
//
// The registry is a YAML file that people edit and that programs of others read and write, with a database beside it. This
// package knows neither: a [Row] is read from a JSON object and written as one, and the keeper of the files provides it as a
// [Registry] (package yaml does).
//
// # Rows keep what they do not know
//
// A row was written by people, by programs of others and by programs newer than this one. Members that are unknown here, and
// members with a value that cannot be understood here, stay with the row as raw JSON, in their place in the order. A member that
// is there and says nothing (a conversation id of null, whose place must be kept) is still there when the row is written.
// A row that was read and is written unchanged says what it said.
//
// # What makes a row valid
//
// It checks only what callers act upon: a name, one of four statuses, the mapping of the pane, a server name that tmux takes, a
// role that is not empty. A row without that is an [InvalidError]; it is reported, never repaired and never dropped. Anything
// else that is wrong is a remark.
//
// # Times
//
// Each time is two members, for people and for programs: stopped_at in ISO 8601, UTC, and stopped_at_epoch in seconds. Both are
// written; on reading either may be missing, and where they disagree the first one counts.
//
// Nothing here takes a lock, starts anything or judges whether a session lives.
package registry
