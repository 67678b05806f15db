package web

import (
	"strings"
	"time"

	"tutti/internal/attention/overview"
	"tutti/internal/attention/todo"
	"tutti/internal/core/address"
	"tutti/internal/faces/tui"
)

// fullSnapshot has something in each field that others can write; text is in all of them.
func fullSnapshot(text string) *Snapshot {
	now := time.Now()
	agents := []Agent{
		{Row: overview.Row{Agent: text, CLI: text, Machine: text, Folder: text, Branch: text, Doing: text, Asks: text, Blocked: text, Since: now, Live: true, Instance: address.Instance(text), Bus: text, Session: text, Server: text, Registry: text}},
		{Row: overview.Row{Agent: "tests", CLI: "codex", Folder: "~/src/shop-wt", Doing: "idle", Since: now.Add(-12 * time.Minute), Live: true, Session: "tests", Registry: "r", Unread: 2, Guess: true}},
	}
	return &Snapshot{
		Snapshot: tui.Snapshot{
			At: now, Agents: agents, Notes: []string{text},
			Waits: []Wait{
				{ID: "w1", Agent: agents[1].Key(), Text: text, Since: now.Add(-40 * time.Second), Command: text},
				{ID: "w2" + text, Text: text, Change: strings.ReplaceAll(text, "\n", " ") + "\n-", Since: now, Command: text, Actions: []todo.Action{{ID: "answer", Label: text, Input: text, Args: []string{"answer", text, "--"}}, {ID: "show", Label: text, Args: []string{"escalation", "show", text}}}},
			},
		},
		threads: []thread{{bus: text, id: text, last: now, count: 4, messages: []message{
			{id: "m1", from: text, to: text, text: text, verdict: text, counts: true, at: now.Add(-time.Minute)},
			{id: "m2", from: "codex:tests", to: "claude:api", text: text, verdict: "unsigned", at: now},
		}}},
		problems: []overview.BusProblem{{Bus: text, Error: text}},
	}
}

// shopSnapshot is a snapshot of four agents with two things that wait.
func shopSnapshot() *Snapshot {
	now := time.Now()
	agents := []Agent{
		{Row: overview.Row{Agent: "api", CLI: "claude", Folder: "~/src/shop", Branch: "main", Doing: "working", Since: now.Add(-2 * time.Minute), Live: true, Session: "api", Registry: "r"}},
		{Row: overview.Row{Agent: "api-2", CLI: "claude", Folder: "~/src/shop", Branch: "main", Doing: "waiting", Asks: "to run: npm publish --dry-run", Since: now.Add(-40 * time.Second), Live: true, Session: "api-2", Registry: "r", Unread: 1}},
		{Row: overview.Row{Agent: "tests", CLI: "codex", Folder: "~/src/shop-wt", Branch: "migrations", Doing: "idle", Since: now.Add(-12 * time.Minute), Live: true, Session: "tests", Registry: "r"}},
		{Row: overview.Row{Agent: "docs", CLI: "gemini", Folder: "~/src/docs", Doing: "idle", Guess: true, Since: now.Add(-time.Hour), Live: true, Session: "docs", Registry: "r", Unread: 2}},
	}
	return &Snapshot{
		Snapshot: tui.Snapshot{
			At: now, Agents: agents,
			Waits: []Wait{
				{ID: "p", Agent: agents[1].Key(), Text: "api-2 asks to run: npm publish --dry-run", Since: now.Add(-40 * time.Second), Command: "tutti session attach api-2"},
				{ID: "q", Agent: agents[0].Key(), Text: "api asks: may I drop the table legacy_orders?", Change: "-create table legacy_orders;\n+drop table legacy_orders;\n -- done", Since: now.Add(-5 * time.Minute), Command: "tutti answer evt-1 ANSWER", Actions: []todo.Action{{ID: "answer", Label: "Answer", Input: "Your answer", Args: []string{"answer", "evt-1", "--"}}}},
			},
		},
		threads: []thread{{bus: "~/src/shop/.h2a", id: "t", last: now, count: 2, messages: []message{
			{id: "m1", from: "claude:api", to: "codex:tests", text: "do the migrations pass?", verdict: "verified", counts: true, at: now.Add(-3 * time.Minute)},
			{id: "m2", from: "codex:tests", to: "claude:api", text: "014 fails on sqlite, passes on postgres", verdict: "verified", counts: true, at: now.Add(-2 * time.Minute)},
		}}},
	}
}
