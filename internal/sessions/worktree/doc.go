// Package worktree lists, compares, merges and removes the linked git worktrees of a repository.
//
// # What it promises
//
//   - [Remove] deletes only bytes that exist elsewhere: each file is, byte for byte, what git would write again from a commit that a
//     branch, a remote branch or a tag contains, or an ignored file with the same bytes at the same path of the main worktree.
//     What it cannot prove, it refuses. There is no way to override a refusal.
//   - A removal that is killed half-way loses nothing either: the folder is aside, beside its old place, and the lock of git names it.
//   - [Merge] and [Rebase] change nothing when a side has uncommitted changes, and abort a conflict.
//   - Hooks and file monitors of the repository are off in every command. Filters of git run as in the user's own commands.
//
// # What it leaves to others
//
// Which sessions exist is for the caller to say. It makes no worktree: package lifecycle does.
package worktree
