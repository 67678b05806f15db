package session

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"tutti/internal/agents/codexserver"
	"tutti/internal/agents/driver"
	"tutti/internal/attention/approval"
	"tutti/internal/attention/codexwait"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

// maxAsker bounds what is read of the request, in bytes.
const maxAsker = 64 << 10

var detachedVerb = kit.Verb{
	Name: fast.DetachedVerb, Under: kit.Tutti, Group: kit.GroupTogether, Halt: kit.Indifferent, Run: runDetached,
	Hidden: true, TextOnly: true, Mute: true,
	Short: "wait beside a dialog of Codex, for a hook that has ended",
	Does: `Puts up what Codex asks for, so that "tutti approve" can answer it, and ends when it was answered. The hook of Codex
starts it. Where Codex does not run in its background server it does nothing.`,
	Examples: "$ cat request.json | tutti __approval",
	Exit:     "0 always",
}

func runDetached(ctx context.Context, c *kit.Call) error {
	state, err := c.App.StateDir()
	if err != nil {
		return err
	}
	home, err := c.App.Home()
	if err != nil {
		return err
	}
	raw, err := io.ReadAll(io.LimitReader(c.In, maxAsker))
	if err != nil {
		return err
	}
	var who approval.Request
	if err := json.Unmarshal(raw, &who); err != nil {
		return err
	}
	d, ok := driver.Get(who.CLI)
	if !ok || !d.Life.IsID(who.Conversation) {
		return kit.Usagef("no conversation of an agent CLI: %.100q", who.Conversation)
	}
	folder := os.Getenv("CODEX_HOME")
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(home, ".codex")
	}
	socket := codexserver.Socket(folder)
	if _, err := os.Stat(socket); err != nil {
		return nil // it runs in one process: its dialog is the only place
	}
	return codexwait.Wait(ctx, state, socket, who)
}
