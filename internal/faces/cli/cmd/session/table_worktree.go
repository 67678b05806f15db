package session

import "tutti/internal/faces/cli/kit"

const treeArg = "<worktree>"

// WorktreeVerbs come behind ChangeVerbs in help.
var WorktreeVerbs = []kit.Verb{
	{
		Name: "worktree list", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Reads, Opts: onSessions(worktreeList),
		Result: []treeRow{},
		Short:  "list the git worktrees of this repository",
		Flags:  []kit.Flag{registryFlag},
		Does: `Lists the worktrees of the repository in which you are: the session that tutti started there, the branch, its base,
how many commits each side has that the other lacks, changed and untracked files, and what uses the folder. The base
is the branch from which tutti session create --worktree made the branch; otherwise it is the branch of the main
worktree.`,
		Wont:     "It changes nothing. IN USE BY does not show processes of other users, or in containers.",
		Examples: `$ tutti worktree list`,
		Exit:     "0 done; 1 wrong usage, or this folder is in no git repository; 3 a file could not be read",
		See:      "session create, worktree remove",
	},
	{
		Name: "worktree diff", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Reads, MaxArgs: 1, Offer: kit.Sessions, Opts: onSessions(worktreeDiff),
		Result: treeDiff{},
		Short:  "show what a worktree changes",
		Args:   "[" + treeArg + "]",
		Flags:  []kit.Flag{{Name: "stat", Kind: kit.Switch, Help: "show files and numbers of lines only"}, registryFlag},
		Does: `Shows the difference between a worktree and the commit at which it left its base, with changes that are not committed,
and the names of untracked files. Name the worktree by its session, branch or folder; the default is the worktree in
which you are.`,
		Wont: "It runs no diff program of yours or of the repository, and changes nothing.",
		Examples: `$ tutti worktree diff fix-login
$ tutti worktree diff fix-login --stat`,
		Exit: "0 done; 1 wrong usage, no such worktree, or git cannot tell; 3 a file could not be read",
		See:  "worktree merge",
	},
	{
		Name: "worktree merge", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Acts, MinArgs: 1, MaxArgs: 1, Offer: kit.Sessions, Opts: onSessions(worktreeMerge),
		Result: treeChange{},
		Short:  "merge the branch of a worktree into its base",
		Args:   treeArg,
		Flags:  []kit.Flag{registryFlag},
		Does: `Merges the branch of a worktree into its base, in the worktree that has the base checked out. Both must be clean: no
uncommitted changes, and no untracked files in the worktree that is merged. It aborts a merge with conflicts, and
names the files.`,
		Wont:     "It pushes nothing, runs no git hooks and resolves no conflict. It leaves the worktree as it is.",
		Examples: `$ tutti worktree merge fix-login`,
		Exit:     "0 done; 1 wrong usage, refused, or conflicts; 3 a file could not be read; 5 halted",
		See:      "worktree rebase, worktree remove",
	},
	{
		Name: "worktree rebase", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Acts, MinArgs: 1, MaxArgs: 1, Offer: kit.Sessions, Opts: onSessions(worktreeRebase),
		Result: treeChange{},
		Short:  "rebase the branch of a worktree onto its base",
		Args:   treeArg,
		Flags:  []kit.Flag{registryFlag},
		Does: `Rebases the branch of a worktree onto its base, so that a later merge is a fast-forward. The worktree must be clean.
It aborts a rebase with conflicts, and names the files.`,
		Wont:     "It pushes nothing, runs no git hooks and resolves no conflict.",
		Examples: `$ tutti worktree rebase fix-login`,
		Exit:     "0 done; 1 wrong usage, refused, or conflicts; 3 a file could not be read; 5 halted",
		See:      "worktree merge",
	},
	{
		Name: "worktree remove", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Acts, MinArgs: 1, MaxArgs: 1, Offer: kit.Sessions, Opts: onSessions(worktreeRemove),
		Result: treeChange{},
		Short:  "remove a worktree that holds nothing unsaved",
		Args:   treeArg,
		Flags:  []kit.Flag{registryFlag},
		Does: `Deletes the folder of a worktree and keeps its branch. It deletes only if every file is the one of the last commit,
and another branch, a remote branch or a tag contains that commit. An ignored file may be there if the main worktree
has the same file with the same content.

It refuses uncommitted changes, untracked files, other ignored files, commits that are not merged or pushed, a lock, a
process or session in the folder, and everything that it cannot check. It first moves the folder aside, checks it
again and deletes exactly the files that it checked.`,
		Wont: `No flag overrides a refusal. It never removes the main worktree. It does not see processes of other users or in
containers. On systems other than Linux it cannot see who uses a folder, and refuses.`,
		Examples: `$ tutti worktree remove fix-login`,
		Exit:     "0 done; 1 wrong usage, or refused; 3 a file could not be read; 5 halted",
		See:      "worktree merge, session stop",
	},
	{
		Name: "worktree accept", Under: kit.Tutti, Group: kit.GroupSessions, Halt: kit.Makes, MaxArgs: 1, Opts: onSessions(worktreeAccept),
		Result: treeAccepted{},
		Short:  "allow the set-up program of a repository",
		Args:   "[<dir>]",
		Flags: []kit.Flag{
			{Name: "yes", Kind: kit.Switch, Help: "do not ask"},
			registryFlag,
		},
		Does: `Shows the file .worktreesetup at the top of the repository and asks whether tutti may run it. After that, tutti session
create --worktree runs it in each new worktree, with the folder of the repository in TUTTI_REPOSITORY, before the agent
starts. The acceptance is for exactly this content: if the file changes, tutti asks for a new one. Programs that the
file starts are not part of it.`,
		Wont: "It runs nothing now. An agent cannot use it.",
		Examples: `$ tutti worktree accept
$ tutti worktree accept ~/src/api --yes`,
		Exit: "0 done; 1 wrong usage, refused, or there is no such file; 3 a file could not be read; 5 halted",
		See:  "session create",
	},
}
