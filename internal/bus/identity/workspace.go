package identity

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/registry"
	"tutti/internal/core/address"
)

// A Workplace is where an agent works.
type Workplace struct {
	Path    string // real path
	Machine string // id of the machine, see DeriveWorkspace
	// Shared: the bus is used from several machines, so that a path found in it may be that of another one.
	Shared bool
	// Folder is the device and the inode of Path, "" where they are not known. With the path they tell a folder from another one that
	// came in its place.
	Folder string
}

// key is how a binding names the folder, so that it is found whatever id a program gives the workspace.
func (p Workplace) key() string { return p.Machine + ":" + p.Path + ":" + p.Folder }

// WorkspaceOf returns the workspace of a place for an agent of that host. The id is that of the newest registration or fresh
// session in the same folder, so that programs which derive it in another way stay in one group with us; it is derived only
// when no agent has been there.
func (k *Keeper) WorkspaceOf(ctx context.Context, host string, p Workplace, now time.Time) (*registry.Workspace, error) {
	w := &registry.Workspace{Path: p.Path, Host: host, Label: leafOf(p.Path)}
	var newest time.Time
	adopt := func(id, path, at string) {
		if path != p.Path || id == "" {
			return
		}
		if t, _ := envelope.ParseTime(at); w.ID == "" || t.After(newest) {
			w.ID, newest = id, t
		}
	}
	if !p.Shared {
		registered, err := k.Registry.ByWorkspacePath(ctx, p.Path)
		if err != nil {
			return nil, err
		}
		for _, r := range registered {
			adopt(r.Workspace.ID, r.Workspace.Path, r.CreatedAt)
		}
		sessions, err := k.Presence.Fresh(ctx, now)
		if err != nil {
			return nil, fmt.Errorf("look for the workspace %s: %w", p.Path, err)
		}
		for _, s := range sessions {
			if s.Workspace != nil && s.MirroredAt == "" { // the path of one that is mirrored is on another machine
				adopt(s.Workspace.ID, s.Workspace.Path, s.StartedAt)
			}
		}
	}
	if w.ID == "" {
		w.ID = string(DeriveWorkspace(p.Machine, p.Path))
	}
	return w, nil
}

// leafOf is the name of a folder, as written in the channel of the agents that work there.
func leafOf(path string) string {
	leaf := filepath.Base(path)
	if leaf == "/" || leaf == "." || leaf == "" {
		return "workspace"
	}
	return leaf
}

// DeriveWorkspace makes the id of a folder from the machine's id (the trimmed content of /etc/machine-id, of its copy in
// /var/lib/dbus, or the host name) and the real path: ws: and a UUID of version 5 form, the first 16 bytes of the SHA-256
// of both with a NUL between. That existing programs use this digest is the best reading of what is known of them and
// unproven, which is why an id that they wrote is adopted where there is one.
func DeriveWorkspace(machine, path string) address.WorkspaceID {
	sum := sha256.Sum256([]byte(machine + "\x00" + path))
	b := sum[:16]
	b[6] = b[6]&0x0f | 0x50
	b[8] = b[8]&0x3f | 0x80
	h := hex.EncodeToString(b)
	return address.WorkspaceID("ws:" + h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:])
}

// RepositoryWorkspace is the id that later programs give a folder inside a git repository: the same on every machine. We
// read it like any other and do not write it.
func RepositoryWorkspace(rootCommits []string, worktree string) address.WorkspaceID {
	sorted := slices.Sorted(slices.Values(rootCommits))
	sum := sha256.Sum256([]byte(strings.Join(sorted, ",") + "\n" + worktree))
	return address.WorkspaceID("ws:" + hex.EncodeToString(sum[:]))
}
