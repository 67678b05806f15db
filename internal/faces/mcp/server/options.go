package server

import (
	"fmt"
	"strconv"
	"time"

	"tutti/internal/agents/setup"
	"tutti/internal/app/config"
	"tutti/internal/app/full"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
)

// options are the flags and variables of one server.
type options struct {
	autoOpen  bool
	host      string
	instance  address.Instance
	name      string
	scope     string
	lean      bool
	heartbeat time.Duration
	expiry    time.Duration
	remarks   []string // about flags that are taken and do nothing
}

// The limits of what the environment may set. A heartbeat of more than half of the usual expiry would have an agent called
// dead for one that was late; the shortest ones are for tests.
const (
	minHeartbeat = 100 * time.Millisecond
	maxHeartbeat = presence.Expiry / 2
	minExpiry    = 300 * time.Millisecond
	maxExpiry    = 24 * time.Hour
)

func optionsOf(s *full.Service, getenv func(string) string) (options, error) {
	o := options{
		autoOpen: s.MCP.AutoOpen, host: s.MCP.Host, instance: address.Instance(s.MCP.Instance),
		name: s.MCP.Name, scope: s.MCP.Scope, lean: s.MCP.Tools == "lean",
	}
	if o.instance != "" {
		if err := address.Check(string(o.instance)); err != nil {
			return o, fmt.Errorf("--instance: %w", err)
		}
		if !address.HostQualified(string(o.instance)) {
			return o, fmt.Errorf("--instance: %q is not host-qualified: write HOST:LABEL or the full id", o.instance)
		}
		if err := noPerson(o.instance); err != nil {
			return o, fmt.Errorf("--instance: %w", err)
		}
	}
	if len(o.name) > config.MaxName {
		return o, fmt.Errorf("--name has %d bytes, a name has at most %d", len(o.name), config.MaxName)
	}
	o.heartbeat = o.span(getenv, "H2A_HEARTBEAT_INTERVAL_MS", presence.Heartbeat, minHeartbeat, maxHeartbeat)
	o.expiry = o.span(getenv, "H2A_SESSION_EXPIRY_MS", presence.Expiry, minExpiry, maxExpiry)
	if getenv(setup.LookVariable) != "" {
		o.autoOpen = false // the caller only checks whether the server answers, and which bus it would use
	}
	o.remark(s)
	return o, nil
}

// span reads a number of milliseconds from the environment and keeps it within limits.
func (o *options) span(getenv func(string) string, name string, otherwise, least, most time.Duration) time.Duration {
	text := getenv(name)
	if text == "" {
		return otherwise
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms <= 0 {
		o.remarks = append(o.remarks, fmt.Sprintf("%s is not a number of milliseconds; it stays at %s", name, otherwise))
		return otherwise
	}
	d := min(max(time.Duration(min(ms, maxExpiry.Milliseconds()))*time.Millisecond, least), most)
	if d.Milliseconds() != ms {
		o.remarks = append(o.remarks, fmt.Sprintf("%s=%d is out of bounds; it is taken as %d", name, ms, d.Milliseconds()))
	}
	return d
}

// remark says which flags of older settings have no effect.
func (o *options) remark(s *full.Service) {
	switch kind := s.MCP.Wake; kind {
	case "", "logging":
	case "headless":
		o.remarks = append(o.remarks, "--wake headless is refused: it would start a second agent")
	case "native", "local-tmux", "auto":
		o.remarks = append(o.remarks, "--wake "+kind+": this server pushes notifications and types nothing")
	default:
		o.remarks = append(o.remarks, fmt.Sprintf("--wake %q is unknown and has no effect", kind))
	}
	if s.MCP.AutoUpgrade || s.MCP.NoRestart || s.MCP.UpgradeCheck {
		o.remarks = append(o.remarks, "nothing is installed or asked of the network here: tutti version tells the release")
	}
}
