package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A cast is one agent in the picture of the live screen.
type cast struct {
	session, cli, folder string
	screen               string // which was recorded of the real program
	status               string // which Claude Code reports, since so many seconds
	since                int
}

// twelve agents of four CLIs in three folders. One of them waits for an approval.
var twelve = []cast{
	{"api", "claude", "shop", "claude-2.1.329/busy-tool", "busy", 130},
	{"api-2", "claude", "shop", "claude-2.1.197/permission", "waiting", 40},
	{"cart", "codex", "shop", "codex-0.169.0/busy-tool", "", 0},
	{"pay", "opencode", "shop", "opencode-1.18.33/limit", "", 0},
	{"migrate", "codex", "shop-wt", "codex-0.169.0/idle", "", 0},
	{"tests", "codex", "shop-wt", "codex-0.169.0/busy-tool", "", 0},
	{"review", "claude", "shop-wt", "claude-2.1.329/done", "idle", 720},
	{"lint", "opencode", "shop-wt", "opencode-1.18.33/done", "", 0},
	{"guide", "gemini", "docs", "gemini-0.61.0/busy-tool", "", 0},
	{"tutorial", "gemini", "docs", "gemini-0.61.0/idle", "", 0},
	{"glossary", "claude", "docs", "claude-2.1.329/busy-tool", "busy", 15},
	{"links", "codex", "docs", "codex-0.169.0/done", "", 0},
}

const asked = "npm publish --dry-run"

// people makes the folders and starts the agents.
func (h *home) people(screens string) error {
	shell := `set -e; mkdir -p src/shop src/docs; cd src/shop; git init -q -b main; git commit -q --allow-empty -m "the shop"; git worktree add -q -b migrations ../shop-wt
cd ../docs; git init -q -b main; git commit -q --allow-empty -m "the pages"; tutti init >/dev/null; tutti host setup --host all --trust-hooks`
	if _, err := h.run("", nil, "sh", "-c", shell); err != nil {
		return err
	}
	for _, c := range twelve {
		folder := "~/src/" + c.folder
		raw, err := os.ReadFile(filepath.Join(screens, filepath.FromSlash(c.screen)+".txt"))
		if err != nil {
			return err
		}
		text := strings.NewReplacer(
			"/home/ana/api", fmt.Sprintf("%-*s", len("/home/ana/api"), folder), "rm -rf build/out", asked, "Remove the output", "Show what would be published",
			"allow access to build/ from this project", "allow npm publish in this project", "clean up", "publish it, but only as a trial",
			"⎿", "└", // which few fonts have
		).Replace(string(raw))
		file := filepath.Join(h.top, c.session)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
		env := []string{screenVariable + "=" + file, statusVariable + "=" + c.status, fmt.Sprintf("%s=%d", sinceVariable, c.since)}
		if c.status == "waiting" {
			env = append(env, asksVariable+"="+asked)
		}
		if _, err := h.run("src/"+c.folder, env, "tutti", "session", "create", "--agent", c.cli, "--session", c.session); err != nil {
			return err
		}
	}
	for _, text := range []string{"the price of an order is in cents now", "please add that to the tutorial"} {
		if _, err := h.run("src/docs", nil, "tutti", "send", "--as", "claude:glossary", "gemini:tutorial", text, "--deposit"); err != nil {
			return err
		}
	}
	return nil
}

// live captures the live screen at three widths.
func (h *home) live(save saver) error {
	for _, w := range []window{{columns: 200, lines: 38}, {columns: 100, lines: 32}, {columns: 40, lines: 24}} {
		w.title = "tutti top"
		server := fmt.Sprintf("top%d", w.columns)
		if err := h.open(server, "src/shop", w, "tutti", "top"); err != nil {
			return err
		}
		if _, err := h.until(server, "12 agents", "asks"); err != nil {
			return err
		}
		if err := h.press(server, "Tab"); err != nil {
			return err
		}
		want := []string{"12 agents", "approve"}
		if w.columns > 40 {
			want = append(want, "Do you want to proceed?")
		}
		got, err := h.until(server, want...)
		if err != nil {
			return err
		}
		m := &movie{
			about:   fmt.Sprintf("tutti top in a terminal of %d columns: twelve agents in three folders, and below them what waits for you", w.columns),
			windows: []window{w}, frames: []frame{{screens: [][]string{rows(got, w.columns, w.lines)}}},
		}
		if err := save(fmt.Sprintf("top-%d.svg", w.columns), m.svg()); err != nil {
			return err
		}
	}
	return nil
}
