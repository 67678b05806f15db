// Package skill teaches agent programs to use the bus: it has the text of the skill tutti, in the forms that the programs read,
// and puts it where they look.
//
// # The text
//
// There is one text, made of the pieces in the folder text. What a user may type after /tutti is a row of [Routes] and a piece of
// its own; a subject that brings new verbs adds a row, and nothing else changes. A model reads the skill each time it is used,
// so it is short; the long part on modelling is in a file beside it, where the form of skills has room for that. No piece may
// name a command or a tool that does not exist: tests of the packages that have those hold it to that.
//
// # The skills of the sessions
//
// Those about agents in tmux ([Sessions]) are laid only when they are asked for. Each has a script under the name by which people's
// instructions call it, of one line that hands its arguments to our verb.
//
// # Files of other people
//
// The folders belong to the user. Each file ends in a mark with a sum of the text before it, so that a file of ours of any
// release can be distinguished from one that was edited: the former is brought up to date and removed, the latter is left
// alone. With [Request.Force] it is replaced, and kept beside under a dated name. Files appear whole or not at all. Links are
// followed to the folder of skills of a user, which people keep elsewhere, and never below it; in a project, which may come
// from strangers, nowhere.
//
// Skills of older programs that this one takes the place of are moved out of the folder, never deleted. One whose first lines
// do not say that it is theirs stays.
//
// Where the folders are is the question of package driver. Nothing here asks who the user is, or prints.
package skill
