package identity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/platform/proc"
	"tutti/internal/store"
)

// A Binding says which conversation, workspace and process an instance belongs to. Members that a line has beyond these
// are for others.
type Binding struct {
	Host      string
	Session   string // id of the conversation at the host, or fallback:<host>:<workspace>, or login:<name>
	Workspace string // "" for a person
	Instance  address.Instance
	UUID      string // the full one
	At        string
	// Ours, ignored by existing programs:
	Scope   string  // under which it speaks, "" is DefaultScope
	Process proc.ID // the agent program that is this instance; zero: not known
	Through proc.ID // the process by which it was recognised, through which it was started; zero: by itself
	Named   bool    // the agent got a name of its own: a conversation without a name does not take it over
	Shared  bool    // Process serves several windows at a time, so that it does not tell which agent this is
	Folder  string  // path, device and inode of the folder, see Place.Folder; "": not known
}

var bindingsLog = store.Key{Kind: store.Bindings}

// newestOf is how many of the lines with one key are considered: the last ones. A line is added only for a new
// conversation or process, so what is farther back has been replaced many times.
const newestOf = 32

// bindings is how the log of bindings is searched.
var bindings = store.Projection{Name: "identity-bindings", Version: 3, Make: func(line []byte, _ time.Time) ([]string, int64, []byte, error) {
	b, err := parseBinding(line)
	if err != nil {
		return nil, 0, nil, err
	}
	keys := []string{sessionKey(b.Host, b.Session)}
	if b.Workspace != "" {
		keys = append(keys, workspaceKey(b.Host, b.Workspace))
	}
	if b.Folder != "" {
		keys = append(keys, folderKey(b.Host, b.Folder))
	}
	if b.Process.PID != 0 {
		keys = append(keys, processKey(b.Process))
	}
	if b.Through.PID != 0 {
		keys = append(keys, processKey(b.Through))
	}
	return keys, 0, nil, nil
}}

// The keys under which a binding is found. Hosts and workspaces compare as addresses do; conversations to the letter.
func sessionKey(host, session string) string {
	return "s\x00" + address.Canonical(host+":x") + "\x00" + session
}

func workspaceKey(host, workspace string) string {
	return "w\x00" + address.Canonical(host+":x") + "\x00" + address.Canonical(workspace)
}

func folderKey(host, folder string) string {
	return "f\x00" + address.Canonical(host+":x") + "\x00" + folder
}

func processKey(id proc.ID) string {
	b := append([]byte("p\x00"), id.Boot...)
	b = append(b, 0)
	b = strconv.AppendInt(b, int64(id.PID), 10)
	b = append(b, 0)
	return string(strconv.AppendUint(b, id.Start, 10))
}

var errNoBinding = errors.New("line is not a binding")

// parseBinding reads a line. An instance of another host than the line's is refused: a binding must not lend an agent the
// id of a person, or of an agent of another kind, whose keys happen to lie in the same keyring.
func parseBinding(line []byte) (Binding, error) {
	keys := [...]string{"host", "providerSessionId", "workspaceId", "instance", "agentUuid", "at", "scope", "process", "through", "named", "shared", "folder"}
	var v [len(keys)][]byte
	if !canonjson.Pick(line, keys[:], v[:]) {
		return Binding{}, errNoBinding
	}
	text := func(n int) string { s, _ := canonjson.String(v[n]); return s }
	b := Binding{
		Host: text(0), Session: text(1), Workspace: text(2), Instance: address.Instance(text(3)),
		UUID: text(4), At: text(5), Scope: text(6),
	}
	if b.Host == "" || b.Session == "" || address.Check(string(b.Instance)) != nil ||
		address.Canonical(b.Host+":x") != address.Canonical(b.Instance.Host()+":x") {
		return Binding{}, errNoBinding
	}
	b.Process, b.Through = parseProcess(v[7]), parseProcess(v[8])
	b.Named, _ = canonjson.Bool(v[9])
	b.Shared, _ = canonjson.Bool(v[10])
	b.Folder = text(11)
	return b, nil
}

// parseProcess reads {"pid":…,"start":…,"boot":…}; anything else names no process.
func parseProcess(raw []byte) proc.ID {
	keys := [...]string{"pid", "start", "boot"}
	var v [len(keys)][]byte
	if raw == nil || !canonjson.Pick(raw, keys[:], v[:]) {
		return proc.ID{}
	}
	pid, okPID := canonjson.Int(v[0])
	start, okStart := canonjson.Int(v[1])
	boot, okBoot := canonjson.String(v[2])
	if !okPID || !okStart || !okBoot || pid <= 1 || start < 0 {
		return proc.ID{}
	}
	return proc.ID{PID: int(pid), Start: uint64(start), Boot: boot}
}

func (b Binding) line() []byte {
	var o canonjson.Object
	o.Str("host", b.Host)
	o.Str("providerSessionId", b.Session)
	o.Str("workspaceId", b.Workspace)
	o.Str("instance", string(b.Instance))
	o.Str("agentUuid", b.UUID)
	o.Str("at", b.At)
	if b.Scope != DefaultScope {
		o.Opt("scope", b.Scope)
	}
	appendProcess(&o, "process", b.Process)
	appendProcess(&o, "through", b.Through)
	if b.Named {
		o.Bool("named", true)
	}
	if b.Shared {
		o.Bool("shared", true)
	}
	o.Opt("folder", b.Folder)
	return o.Bytes()
}

func appendProcess(o *canonjson.Object, name string, id proc.ID) {
	if id.PID == 0 {
		return
	}
	var p canonjson.Object
	p.Int("pid", int64(id.PID))
	p.Int("start", int64(id.Start))
	p.Str("boot", id.Boot)
	o.Raw(name, p.Bytes())
}

// find returns the last bindings with a key, newest first.
func (k *Keeper) find(ctx context.Context, key string) ([]Binding, error) {
	var found []Binding
	for line, err := range store.FindIn(ctx, k.Log, bindingsLog, &bindings, key) {
		if err != nil {
			return nil, fmt.Errorf("look up a binding: %w", err)
		}
		if b, err := parseBinding(line.Data); err == nil {
			found = append(found, b)
		}
		if len(found) > 2*newestOf {
			found = slices.Delete(found, 0, newestOf)
		}
	}
	slices.Reverse(found)
	return found[:min(len(found), newestOf)], nil
}

// bind appends a binding if the log still ends at end.
func (k *Keeper) bind(ctx context.Context, end store.Pos, b Binding) error {
	if _, err := k.Log.Append(ctx, bindingsLog, end, b.line()); err != nil {
		return fmt.Errorf("bind %s: %w", b.Instance, err)
	}
	return nil
}
