package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"tutti/internal/comms/machines"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/platform/atomicfile"
)

const (
	cacheFile = "discovery.json"
	cacheLife = 5 * time.Minute
	maxCache  = 4 << 20 // 500 names of 255 bytes for 30 machines; more are asked again
)

// A cache keeps which machines answered, and what. Those that did not are asked each time. What was kept for another list of machines,
// or another question, is not used.
type cache struct {
	path, key string
	written   time.Time         // of what was found in the file, zero: nothing
	kept      map[string][]byte // by the name of the machine
}

// A cacheContent is what the file has.
type cacheContent struct {
	WrittenAt string `json:"written_at"`
	Key       string `json:"key"`
	Result    struct {
		Peers []json.RawMessage `json:"peers"` // as of PeerView
	} `json:"result"`
}

func newCache(path string, list []byte, enumerate bool) *cache {
	what := "\x00projects=no"
	if enumerate {
		what = "\x00projects=yes"
	}
	sum := sha256.Sum256(append(append([]byte("2\x00"), list...), what...)) // 2: of the form below
	return &cache{path: path, key: hex.EncodeToString(sum[:])}
}

// fill gives the machines what was kept of them, and returns how old that is.
func (c *cache) fill(peers []Peer, now time.Time) (age time.Duration) {
	for i := range peers {
		p := &peers[i]
		if raw := c.kept[p.Host.Name]; raw != nil && p.restore(raw, now) {
			age = now.Sub(c.written)
		}
	}
	return age
}

// read takes what the file has, if it is ours to take and young enough.
func (c *cache) read(now time.Time) {
	dir, err := atomicfile.OpenDir(filepath.Dir(c.path))
	if err != nil {
		return
	}
	defer dir.Close()
	raw, _, err := dir.Read(filepath.Base(c.path), maxCache)
	if err != nil || canonjson.Check(raw) != nil {
		return
	}
	key, _ := canonjson.Get(raw, "key")
	written, ok := timeOf(raw, "written_at")
	if age := now.Sub(written); !canonjson.Is(key, c.key) || !ok || age < 0 || age >= cacheLife {
		return
	}
	result, _ := canonjson.Get(raw, "result")
	list, _ := canonjson.Get(result, "peers")
	c.written, c.kept = written, map[string][]byte{}
	for one := range canonjson.Elements(list) {
		if name, ok := text(one, "name"); ok {
			c.kept[name] = one
		}
	}
}

// restore takes what was kept of a machine.
func (p *Peer) restore(raw []byte, now time.Time) bool {
	seen, ok := timeOf(raw, "last_seen")
	if !ok || seen.After(now) {
		return false
	}
	got := Peer{Host: p.Host, Title: p.Title, Reachable: true, Cached: true, LastSeen: seen}
	got.Halted = flag(raw, "halted")
	got.More = flag(raw, "more")
	if ms, ok := canonjson.Get(raw, "latency_ms"); ok {
		n, _ := canonjson.Int(ms)
		got.Latency = time.Duration(n) * time.Millisecond
	}
	if list, ok := canonjson.Get(raw, "projects"); ok && !canonjson.IsNull(list) {
		got.Listed = true
		names, _ := canonjson.Strings(list)
		for _, name := range names {
			if !machines.ValidProject(name) || len(got.Projects) == MaxProjects {
				return false
			}
			got.Projects = append(got.Projects, name)
		}
	}
	*p = got
	return true
}

// keep writes what is known now. What was kept before and holds on does not become younger by that.
func (c *cache) keep(peers []Peer, now time.Time) error {
	old, changed := false, false
	var list []json.RawMessage
	for _, p := range peers {
		_, had := c.kept[p.Host.Name]
		delete(c.kept, p.Host.Name)
		switch {
		case !p.Reachable || p.Err != nil:
			changed = changed || had
			continue
		case p.Cached:
			old = true
		default:
			changed = true
		}
		list = append(list, render.JSON(p.View()))
	}
	if !changed {
		return nil
	}
	for _, raw := range c.kept { // of machines that were not asked about
		list, old = append(list, raw), true
	}
	if old && !c.written.IsZero() {
		now = c.written
	}
	var file cacheContent
	file.WrittenAt, file.Key, file.Result.Peers = stamp(now), c.key, render.List(list)
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return err
	}
	dir, err := atomicfile.OpenDir(filepath.Dir(c.path))
	if err != nil {
		return err
	}
	defer dir.Close()
	data := append(render.JSON(file), '\n')
	if len(data) > maxCache {
		return errors.New("it is too much")
	}
	return dir.Replace(filepath.Base(c.path), data, 0o600, false) // it may be lost
}

func timeOf(raw []byte, key string) (time.Time, bool) {
	s, ok := text(raw, key)
	t, err := time.Parse(time.RFC3339Nano, s)
	return t, ok && err == nil
}

func text(raw []byte, key string) (string, bool) {
	v, _ := canonjson.Get(raw, key)
	return canonjson.String(v)
}

func flag(raw []byte, key string) bool {
	v, _ := canonjson.Get(raw, key)
	on, _ := canonjson.Bool(v)
	return on
}
