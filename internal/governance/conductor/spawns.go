package conductor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

var spawns = store.Key{Kind: store.ConductorSpawns}

// markers makes the rows of the log of requests.
var markers = &store.Projection{
	Name: "spawns", Version: 1,
	Make: func(line []byte, _ time.Time) ([]string, int64, []byte, error) {
		workspace, _, ok := marker(line)
		if !ok {
			return nil, 0, nil, errors.New("names no workspace")
		}
		return []string{byWorkspace + workspace}, 0, nil, nil
	},
}

// marker reads one line: the workspace in canonical form, and the time.
func marker(line []byte) (workspace, at string, ok bool) {
	var v [2][]byte
	if !canonjson.Pick(line, []string{"workspaceId", "at"}, v[:]) {
		return "", "", false
	}
	workspace, ok = canonjson.String(v[0])
	at, _ = canonjson.String(v[1])
	return address.Canonical(workspace), at, ok && workspace != ""
}

// lastSpawn is the time of the latest request that is younger than the cool-down, "" when there is none. A time that cannot be read, or
// is further in the future than clocks differ, would shut the gate for good and counts for nothing.
func (d *Service) lastSpawn(ctx context.Context, workspace string, now time.Time) (string, error) {
	id := address.Canonical(workspace)
	var last time.Time
	var text string
	for line, err := range store.FindIn(ctx, d.Log, spawns, markers, byWorkspace+id) {
		if err != nil {
			return "", fmt.Errorf("read the requests for a launch: %w", err)
		}
		of, at, ok := marker(line.Data)
		t, isTime := envelope.ParseTime(at)
		if !ok || of != id || !isTime || t.Sub(now) > envelope.MaxSkew {
			continue
		}
		if now.Sub(t) < Cooldown && t.After(last) {
			last, text = t, at
		}
	}
	return text, nil
}

// mark records a request.
func (d *Service) mark(ctx context.Context, workspace string, to address.Instance, now time.Time) error {
	var o canonjson.Object
	o.Str("workspaceId", workspace)
	o.Str("at", envelope.Stamp(now))
	o.Str("to", string(to))
	if _, err := d.Log.Append(ctx, spawns, store.AnyEnd, o.End()); err != nil {
		return fmt.Errorf("record the launch: %w", err)
	}
	return nil
}
