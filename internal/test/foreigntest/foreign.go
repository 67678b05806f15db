// Package foreigntest writes to a bus the way the programs do that tutti shares it with, so that tests can run both side by side.
//
// Its habits are theirs, the bad ones included: mail is overwritten in place without a temporary file, a pop reads and then
// deletes under a lock file that is created first and filled afterwards, a heartbeat is a patch without a lock, a listing
// of sessions deletes what it cannot make sense of, and a log is parsed whole, so that one bad line fails every reading.
// What it chokes on, it reports; nothing is repaired.
package foreigntest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"tutti/internal/core/address"
)

// A Program is one foreign process on one bus.
type Program struct {
	Root  string
	Lease bool // speaks the lease form of locks instead of the pid form
	// Expiry is how long a session lives without a heartbeat; 0: as long as theirs do.
	Expiry time.Duration
	seq    int
}

// Times of the originals: how long they wait for a lock, how often they look, and how long a session lives without a heartbeat.
const (
	lockTimeout = 5 * time.Second
	lockPoll    = 50 * time.Millisecond
	leaseTime   = 30 * time.Second
	expiry      = 90 * time.Second
	stampForm   = "2006-01-02T15:04:05.000Z"
)

func stamp() string { return time.Now().UTC().Format(stampForm) }

// lock makes the file exclusively, then writes its record.
func (p *Program) lock(path string) (func(), error) {
	host, _ := os.Hostname()
	nonce := fmt.Sprintf("%016x", time.Now().UnixNano())
	token := 1
	record := func() any {
		if p.Lease {
			return map[string]any{
				"holder": fmt.Sprintf("%s:%d", host, os.Getpid()), "nonce": nonce, "acquiredAt": stamp(),
				"renewedAt": stamp(), "leaseMs": leaseTime.Milliseconds(), "fencingToken": token,
			}
		}
		return map[string]any{"pid": os.Getpid(), "hostname": host, "startedAt": stamp()}
	}
	for end := time.Now().Add(lockTimeout); ; {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err == nil {
			data, _ := json.Marshal(record())
			_, err = f.Write(data)
			return p.unlock(path, nonce), errors.Join(err, f.Close())
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if stale, next := p.stale(path, host); stale {
			token = next
			os.Remove(path)
			continue
		}
		if time.Now().After(end) {
			data, _ := os.ReadFile(path)
			return nil, fmt.Errorf("timeout waiting for lock %s, held by %s", path, data)
		}
		time.Sleep(lockPoll)
	}
}

func (p *Program) unlock(path, nonce string) func() {
	return func() {
		var r struct{ Nonce string }
		data, _ := os.ReadFile(path)
		if !p.Lease || json.Unmarshal(data, &r) == nil && r.Nonce == nonce {
			os.Remove(path)
		}
	}
}

// stale judges a lock as the mode does: the pid form spares what it cannot read, the lease form takes it at once.
func (p *Program) stale(path, host string) (stale bool, token int) {
	data, err := os.ReadFile(path)
	if err != nil {
		return false, 1
	}
	var r struct {
		PID                   *int
		Hostname, StartedAt   *string
		Holder, Nonce         *string
		RenewedAt             *string
		LeaseMs, FencingToken *float64
	}
	bad := json.Unmarshal(data, &r) != nil
	if p.Lease {
		if bad || r.Holder == nil || r.Nonce == nil || r.RenewedAt == nil || r.LeaseMs == nil || r.FencingToken == nil {
			return true, 1
		}
		at, err := time.Parse(time.RFC3339, *r.RenewedAt)
		return err != nil || time.Since(at) > time.Duration(*r.LeaseMs)*time.Millisecond, int(*r.FencingToken) + 1
	}
	if bad || r.PID == nil || r.Hostname == nil || r.StartedAt == nil || *r.Hostname != host {
		return false, 1
	}
	return syscall.Kill(*r.PID, 0) == syscall.ESRCH, 1
}

func (p *Program) inbox(actor string) string {
	return filepath.Join(p.Root, "inbox", address.Segment(address.Canonical(actor)))
}

// Put overwrites the file of the message in place, under the lock of the mailbox.
func (p *Program) Put(actor, id string, envelope map[string]any) error {
	dir := p.inbox(actor)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	unlock, err := p.lock(filepath.Join(dir, ".lock"))
	if err != nil {
		return err
	}
	defer unlock()
	data, err := json.MarshalIndent(envelope, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, address.Segment(id)+".json"), data, 0o644)
}

// ChokeError is a file that makes a foreign reading fail as a whole.
type ChokeError struct {
	Path string
	Err  error
}

func (e *ChokeError) Error() string { return fmt.Sprintf("choked on %s: %v", e.Path, e.Err) }

// Read parses every message file without a lock and sorts by id. Any file that is no JSON fails all of it; a file that
// vanishes while it is looked at is passed over.
func (p *Program) Read(actor string) ([]map[string]any, error) {
	paths, err := filepath.Glob(filepath.Join(p.inbox(actor), "*.json"))
	if err != nil {
		return nil, err
	}
	var all []map[string]any
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var e map[string]any
		if err == nil {
			err = json.Unmarshal(data, &e)
		}
		if err != nil {
			return nil, &ChokeError{path, err}
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b map[string]any) int { return strings.Compare(fmt.Sprint(a["id"]), fmt.Sprint(b["id"])) })
	return all, nil
}

// Pop reads the message and then deletes it, under the lock. It reports fs.ErrNotExist when there is none.
func (p *Program) Pop(actor, id string) (map[string]any, error) {
	dir := p.inbox(actor)
	unlock, err := p.lock(filepath.Join(dir, ".lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()
	path := filepath.Join(dir, address.Segment(id)+".json")
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var e map[string]any
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, &ChokeError{path, err}
	}
	return e, os.Remove(path)
}

// Log parses a whole log; blank lines are passed over, one bad line fails the reading.
func (p *Program) Log(rel string) ([]map[string]any, error) {
	path := filepath.Join(p.Root, rel)
	data, err := readLog(path)
	if err != nil {
		return nil, err
	}
	var all []map[string]any
	for i, line := range strings.Split(string(data), "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return nil, &ChokeError{fmt.Sprintf("%s:%d", path, i+1), err}
		}
		all = append(all, e)
	}
	return all, nil
}

// ErrRegistered reports an id that the registry has.
var ErrRegistered = errors.New("already registered")

// Register reads the whole registry under its lock, and appends when the id is new.
func (p *Program) Register(registration map[string]any) error {
	unlock, err := p.lock(filepath.Join(p.Root, "registry/.lock"))
	if err != nil {
		return err
	}
	defer unlock()
	all, err := p.Log("registry/instances.jsonl")
	if err != nil {
		return err
	}
	for _, r := range all {
		if r["id"] == registration["id"] {
			return ErrRegistered
		}
	}
	return appendLine(filepath.Join(p.Root, "registry/instances.jsonl"), registration)
}

// readLog reads a log whose last line may just be written. A line that crosses the border of a page is seen in part for a moment by who
// reads without a lock, whoever writes it; its own program would begin anew.
func readLog(path string) ([]byte, error) {
	for tries := 0; ; tries++ {
		data, err := os.ReadFile(path)
		if err != nil || len(data) == 0 || data[len(data)-1] == '\n' || tries == 100 {
			return data, err
		}
		time.Sleep(time.Millisecond)
	}
}

func appendLine(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	return errors.Join(err, f.Close())
}

// Session is a presence record with nothing but what is demanded.
func Session(id, instance string) map[string]any {
	return map[string]any{
		"sessionId": id, "instance": instance, "startedAt": stamp(), "heartbeatAt": stamp(), "state": "live",
		"interests": map[string]any{"scopes": []string{"scope:default"}, "negotiations": []string{}}, "subscribedTopics": []string{},
	}
}

func (p *Program) presence(id string) string {
	return filepath.Join(p.Root, "presence", address.Segment(id)+".json")
}

// Announce writes a presence record: temporary file beside it, then rename.
func (p *Program) Announce(record map[string]any) error {
	if err := os.MkdirAll(filepath.Join(p.Root, "presence"), 0o755); err != nil {
		return err
	}
	data, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return err
	}
	p.seq++
	path := p.presence(record["sessionId"].(string))
	tmp := fmt.Sprintf("%s.tmp-%d-%d", path, os.Getpid(), time.Now().UnixMilli()+int64(p.seq))
	if err := os.WriteFile(tmp, append(data, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// Heartbeat patches a record without a lock. One that was swept is not written again.
func (p *Program) Heartbeat(id string) error {
	data, err := os.ReadFile(p.presence(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var r map[string]any
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		return &ChokeError{p.presence(id), err}
	}
	r["heartbeatAt"] = stamp()
	return p.Announce(r)
}

var states = []any{"opening", "live", "draining", "closed", "expired"}

// Sessions lists presence, and deletes what it cannot parse, what lacks a member, and what has expired. It tells which
// files it deleted because they made no sense.
func (p *Program) Sessions() (live []map[string]any, senseless []string, err error) {
	paths, err := filepath.Glob(filepath.Join(p.Root, "presence", "*.json"))
	if err != nil {
		return nil, nil, err
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		var r map[string]any
		if json.Unmarshal(data, &r) != nil || !sensible(r) {
			senseless = append(senseless, filepath.Base(path)+": "+string(data))
			os.Remove(path)
			continue
		}
		at, err := time.Parse(time.RFC3339, r["heartbeatAt"].(string))
		if err != nil || time.Since(at) > cmp.Or(p.Expiry, expiry) {
			os.Remove(path)
			continue
		}
		live = append(live, r)
	}
	return live, senseless, nil
}

func sensible(r map[string]any) bool {
	for _, m := range []string{"sessionId", "instance", "startedAt", "heartbeatAt"} {
		if s, ok := r[m].(string); !ok || s == "" {
			return false
		}
	}
	interests, ok := r["interests"].(map[string]any)
	_, topics := r["subscribedTopics"].([]any)
	_, scopes := interests["scopes"].([]any)
	_, negotiations := interests["negotiations"].([]any)
	return ok && topics && scopes && negotiations && slices.Contains(states, r["state"])
}
