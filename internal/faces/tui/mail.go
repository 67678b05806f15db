package tui

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/faces/cli/kit"
)

// mail lists the mail of an agent.
func (o *Options) mail(ctx context.Context, a *Agent) ([]string, error) {
	if a.Instance == "" {
		return []string{"not connected to a bus, so it has no mail"}, nil
	}
	out, said, err := o.tutti(ctx, call{args: append(a.onBus("inbox"), "--json", "--as", string(a.Instance))})
	if err != nil && said != "" {
		return textLines(said), nil
	}
	var all []struct {
		From       address.Instance `json:"from"`
		ReceivedAt time.Time        `json:"receivedAt"`
		Preview    string           `json:"preview"`
		Verdict    string           `json:"verdict"`
		Unread     bool             `json:"unread"`
	}
	if err == nil {
		err = json.Unmarshal([]byte(out), &all)
	}
	var lines []string
	for _, m := range all {
		line := m.ReceivedAt.Local().Format("15:04") + " " + kit.Name(m.From) + " (" + kit.Clean(m.Verdict) + "): " + kit.Clean(m.Preview)
		if m.Unread {
			line = "unread " + line
		}
		lines = append(lines, line, "")
	}
	return lines, err
}

// textLines are the lines of a text, sanitised.
func textLines(s string) (all []string) {
	for line := range strings.Lines(strings.TrimRight(s, "\n")) {
		all = append(all, kit.Clean(strings.TrimRight(line, "\n")))
	}
	return all
}
