package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"tutti/internal/platform/proc"
)

// programs are the agent CLIs that this program is when it is called by their names.
var programs = []string{"claude", "codex", "gemini", "opencode"}

// The variables that tell a scripted agent CLI what to do.
const (
	screenVariable = "PICTURES_SCREEN" // the file of the screen that it shows; the first line is its title
	statusVariable = "PICTURES_STATUS" // what it says of itself, as Claude Code does
	sinceVariable  = "PICTURES_SINCE"  // for how many seconds
	asksVariable   = "PICTURES_ASKS"   // the command for which it waits for an approval
	partVariable   = "PICTURES_PART"   // the part that it plays in a conversation
)

// perform is an agent CLI without a model: it shows a screen that was recorded of the real program, or plays a part.
func perform() error {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("0.0.0")
		return nil
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP, os.Interrupt)
	defer stop()
	if part, ok := parts[os.Getenv(partVariable)]; ok {
		return part(ctx)
	}
	text, err := os.ReadFile(os.Getenv(screenVariable))
	if err != nil {
		return err
	}
	title, screen, _ := bytes.Cut(text, []byte("\n"))
	fmt.Printf("\x1b]2;%s\x1b\\\x1b[2J\x1b[H%s", title, bytes.ReplaceAll(bytes.TrimRight(screen, "\n"), []byte("\n"), []byte("\r\n")))
	conversation := ""
	for i, arg := range os.Args[:len(os.Args)-1] {
		if arg == "--session-id" {
			conversation = os.Args[i+1]
		}
	}
	if status := os.Getenv(statusVariable); status != "" {
		if err := report(conversation, status); err != nil {
			return err
		}
	}
	if command := os.Getenv(asksVariable); command != "" {
		if err := ask(conversation, command); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

// report writes the file in which Claude Code says what it does.
func report(conversation, status string) error {
	self := proc.Self()
	since, _ := strconv.Atoi(os.Getenv(sinceVariable)) // 0: now
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	sheet, err := json.Marshal(map[string]any{
		"pid": self.PID, "procStart": strconv.FormatUint(self.Start, 10), "status": status, "sessionId": conversation, "cwd": dir,
		"statusUpdatedAt": time.Now().Add(-time.Duration(since) * time.Second).UnixMilli(), "waitingFor": "permission prompt",
	})
	if err != nil {
		return err
	}
	folder := filepath.Join(os.Getenv("HOME"), ".claude", "sessions")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, strconv.Itoa(self.PID)+".json"), sheet, 0o600)
}

// ask runs the hook that waits beside a permission dialog.
func ask(conversation, command string) error {
	began, err := hook("SessionStart", conversation, "source", "startup")
	if err != nil {
		return err
	}
	if err := began.Run(); err != nil {
		return err
	}
	beside, err := hook("PermissionRequest", conversation, "tool_name", "Bash", "tool_input", map[string]string{"command": command})
	if err != nil {
		return err
	}
	return beside.Start()
}

// hook is the command that Claude Code runs at an event.
func hook(event, conversation string, more ...any) (*exec.Cmd, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	in := map[string]any{"session_id": conversation, "cwd": dir, "hook_event_name": event}
	for i := 0; i < len(more); i += 2 {
		in[fmt.Sprint(more[i])] = more[i+1]
	}
	raw, err := json.Marshal(in)
	cmd := exec.Command("tutti", "hook", "claude", event)
	cmd.Stdin = bytes.NewReader(raw)
	return cmd, err
}
