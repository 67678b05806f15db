package monitor

import (
	"path/filepath"
	"strings"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/smallfile"
	"tutti/internal/sessions/registry"
)

// A Beat is what a monitor writes of itself with each pass.
type Beat struct {
	Process proc.ID
	Began   time.Time
	At      time.Time // of the last pass
	Pass    int64     // how many there were
	Servers []Heard   // by name
}

// Heard is the result of the last look at a tmux server: "watched", "polled" (it cannot be watched), "absent", or why it is not
// known.
type Heard struct{ Name, Result string }

// BeatPath is where the monitor of a registry writes.
func BeatPath(reg string) string { return beside(reg, "monitor.json") }

// lockPath is the lock of which a registry has one, for its monitor.
func lockPath(reg string) string { return beside(reg, "monitor.lock") }

// beside is a file in the folder of a registry. The usual registry needs no name in it.
func beside(reg, name string) string {
	if real, err := filepath.EvalSymlinks(reg); err == nil {
		reg = real // all names of a registry have one monitor
	}
	dir, file := filepath.Split(reg)
	if file != registry.File {
		name = strings.TrimSuffix(file, filepath.Ext(file)) + "." + name
	}
	return filepath.Join(dir, name)
}

const maxBeat = 64 << 10

// ReadBeat returns what the monitor of a registry wrote last; ok is false when none did. Whether it still runs is another question.
func ReadBeat(reg string) (b Beat, ok bool) {
	raw, _, err := smallfile.Read(BeatPath(reg), maxBeat, smallfile.NoLinks)
	if err != nil || canonjson.Check(raw) != nil {
		return b, false
	}
	var v [7][]byte
	if !canonjson.Pick(raw, []string{"pid", "start_ticks", "boot_id", "began_at", "at", "pass", "servers"}, v[:]) {
		return b, false
	}
	id, ok := canonjson.Int(v[0])
	start, ok2 := canonjson.Int(v[1])
	if !ok || !ok2 || id <= 0 || start < 0 {
		return b, false
	}
	b.Process.PID, b.Process.Start = int(id), uint64(start)
	b.Process.Boot, _ = canonjson.String(v[2])
	b.Began, b.At = beatTime(v[3]), beatTime(v[4])
	b.Pass, _ = canonjson.Int(v[5])
	for raw := range canonjson.Elements(v[6]) {
		var s [2][]byte
		canonjson.Pick(raw, []string{"name", "result"}, s[:])
		name, _ := canonjson.String(s[0])
		result, _ := canonjson.String(s[1])
		b.Servers = append(b.Servers, Heard{name, result})
	}
	return b, true
}

func beatTime(raw []byte) time.Time {
	text, _ := canonjson.String(raw)
	t, _ := time.Parse(time.RFC3339, text)
	return t
}

// write puts a beat in the place of the last one.
func (b *Beat) write(reg string) error {
	var o canonjson.Object
	o.Int("pid", int64(b.Process.PID))
	o.Int("start_ticks", int64(b.Process.Start))
	o.Str("boot_id", b.Process.Boot)
	o.Str("began_at", b.Began.UTC().Format(time.RFC3339))
	o.Str("at", b.At.UTC().Format(time.RFC3339))
	o.Int("pass", b.Pass)
	canonjson.Objects(&o, "servers", b.Servers, func(o *canonjson.Object, s Heard) {
		o.Str("name", s.Name)
		o.Str("result", s.Result)
	})
	path := BeatPath(reg)
	dir, err := atomicfile.OpenDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Replace(filepath.Base(path), append(o.Bytes(), '\n'), 0o600, false)
}
