package web

import "time"

// fullSnapshot has something in each field that others can write; text is in all of them.
func fullSnapshot(text string) *Snapshot {
	now := time.Now()
	return &Snapshot{
		At: now,
		threads: []thread{{bus: "/home/ana/.h2a", id: "thread-1", last: now, count: 4, messages: []message{
			{id: "m1", from: text, to: text, text: text, verdict: text, counts: true, at: now.Add(-time.Minute)},
			{id: "m2", from: "codex:tests", to: "claude:api", text: text, verdict: "unsigned", at: now},
		}}},
	}
}
