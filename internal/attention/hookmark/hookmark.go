// Package hookmark keeps one small file for each agent CLI process in which a hook of this program was seen. From these marks
// "tutti halt" tells which agents it reached.
//
// It promises:
//
//   - A mark names a process by pid, start and boot, so that it never describes another process with the same pid.
//   - [Record] writes only when the mark says something new. The usual call reads one small file.
//   - What a process once acknowledged or proved stays in its mark as long as the process runs the same build.
//   - [All] returns marks of processes that run, and deletes those of processes that have ended.
//
// Marks are derived data: deleting the folder loses nothing but the report until the next hook. Which processes are agent
// CLIs, and what to print about each, is left to callers.
package hookmark

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/smallfile"
)

// A Mark is what hooks have seen of one agent CLI process.
type Mark struct {
	PID          int    `json:"pid"`
	Start        uint64 `json:"start"` // as in proc.ID
	Boot         string `json:"boot"`
	Space        string `json:"space,omitempty"` // the pid namespace; see proc.Space
	CLI          string `json:"cli"`             // the name of its driver: "claude"
	Build        string `json:"build"`           // of the program that ran as the hook
	Conversation string `json:"conversation,omitempty"`
	Dir          string `json:"dir,omitempty"`
	Instance     string `json:"instance,omitempty"`
	// Denies: in this process the all-tools hook of this build was seen, so that its next tool call is denied under halt.
	Denies bool `json:"denies"`
	// Acked is the number of the last halt (halt.Memory) that this process acknowledged: by a denied tool, a blocked prompt, an
	// ended turn or its waiting hook. Zero: none.
	Acked uint64    `json:"acked"`
	At    time.Time `json:"at"` // when the mark was last written
	// Events are the names of the events at which a hook was seen, with commas between, in the order in which each came first.
	Events string `json:"events,omitempty"`
	// Last is the last event that began or ended a turn or asked the user, and LastAt when that was. Those at tools are not kept: they
	// come too often.
	Last   string    `json:"last,omitempty"`
	LastAt time.Time `json:"lastAt,omitzero"`
}

// ID is the process that the mark describes.
func (m *Mark) ID() proc.ID { return proc.ID{PID: m.PID, Start: m.Start, Boot: m.Boot} }

const (
	folder = "reach"
	suffix = ".json"
	// maxMark bounds a mark that is read, in bytes.
	maxMark = 16 << 10
	// maxText bounds each text of a mark, in bytes. Longer ones are left out: they come from the input of hooks.
	maxText = 2 << 10
)

func name(id proc.ID) string {
	return strconv.Itoa(id.PID) + "-" + strconv.FormatUint(id.Start, 10) + suffix
}

// Record merges m into the mark of its process below the folder of state. Empty texts keep what the mark said. While the build
// stays the same, Denies stays once it is set, and Acked until another halt is acknowledged.
func Record(state string, m Mark) error {
	if m.PID <= 1 || m.Boot == "" || !filepath.IsAbs(state) {
		return errors.New("record the reach of a hook: no process or no folder is named")
	}
	dir := filepath.Join(state, folder)
	file := filepath.Join(dir, name(m.ID()))
	m.LastAt = m.LastAt.UTC().Truncate(time.Millisecond)
	for _, text := range []*string{&m.CLI, &m.Build, &m.Conversation, &m.Dir, &m.Instance, &m.Events, &m.Last} {
		if len(*text) > maxText {
			*text = ""
		}
	}
	old, known := read(file)
	if known && old.ID() == m.ID() {
		m.keep(&old)
		at := m.At
		if m.At = old.At; m == old {
			return nil
		}
		m.At = at
	}
	if m.Space == "" {
		m.Space = proc.Space()
	}
	if m.At.IsZero() {
		m.At = time.Now()
	}
	m.At = m.At.UTC().Truncate(time.Millisecond)
	err := write(dir, file, m.bytes())
	if err != nil {
		return fmt.Errorf("record the reach of a hook: %w", err)
	}
	return nil
}

// keep takes over what the former mark of the process knows.
func (m *Mark) keep(old *Mark) {
	for _, t := range []struct {
		to   *string
		from string
	}{{&m.Space, old.Space}, {&m.CLI, old.CLI}, {&m.Build, old.Build}, {&m.Conversation, old.Conversation}, {&m.Dir, old.Dir}, {&m.Instance, old.Instance}} {
		if *t.to == "" {
			*t.to = t.from
		}
	}
	if m.Last == "" {
		m.Last, m.LastAt = old.Last, old.LastAt
	}
	switch {
	case m.Events == "" || slices.Contains(strings.Split(old.Events, ","), m.Events):
		m.Events = old.Events
	case old.Events != "" && len(old.Events) < maxText/2:
		m.Events = old.Events + "," + m.Events
	}
	if old.Build != m.Build {
		return
	}
	m.Denies = m.Denies || old.Denies
	if m.Acked == 0 { // a lost counter begins anew: the halt that was acknowledged last may have a lower number
		m.Acked = old.Acked
	}
}

// write replaces the file, without waiting for the disk: a mark dies with the boot. Two hooks of one process may write at once;
// the later one counts, and the next hook merges again.
func write(dir, file string, data []byte) error {
	d, err := atomicfile.OpenDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o700); err == nil {
			d, err = atomicfile.OpenDir(dir)
		}
	}
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Replace(filepath.Base(file), data, 0o600, false)
}

// All returns the marks of agent CLI processes that run, in no order. Those of processes in another pid namespace are left out,
// because this process cannot see whether they run; their files stay.
func All(state string) (all []Mark, err error) {
	space := proc.Space()
	err = each(state, func(file string, m Mark, ok bool) {
		switch {
		case ok && m.Space != space && m.Boot == proc.BootID():
		case ok && m.ID().Alive():
			all = append(all, m)
		default: // it has ended, or the file is damaged
			_ = os.Remove(file)
		}
	})
	return all, err
}

// Ever returns all marks that can be read, also those of processes that have ended. It deletes none.
func Ever(state string) (all []Mark, err error) {
	err = each(state, func(_ string, m Mark, ok bool) {
		if ok {
			all = append(all, m)
		}
	})
	return all, err
}

// each reads the files of marks; ok false: one that is damaged.
func each(state string, tell func(file string, m Mark, ok bool)) error {
	dir := filepath.Join(state, folder)
	entries, err := smallfile.ReadDir(dir, smallfile.NoLinks)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the reach of hooks: %w", err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) && e.Type().IsRegular() {
			file := filepath.Join(dir, e.Name())
			m, ok := read(file)
			tell(file, m, ok)
		}
	}
	return nil
}

var members = []string{"pid", "start", "boot", "space", "cli", "build", "conversation", "dir", "instance", "denies", "acked", "at", "events", "last", "lastAt"}

// read returns ok false for what is not a mark.
func read(file string) (m Mark, ok bool) {
	data, _, err := smallfile.Read(file, maxMark-1, smallfile.NoLinks)
	if err != nil {
		return m, false
	}
	var v [15][]byte
	if canonjson.Check(data) != nil || !canonjson.Pick(data, members, v[:]) {
		return m, false
	}
	pid, _ := canonjson.Int(v[0])
	start, _ := canonjson.Int(v[1])
	for i, to := range []*string{&m.Boot, &m.Space, &m.CLI, &m.Build, &m.Conversation, &m.Dir, &m.Instance} {
		*to, _ = canonjson.String(v[2+i])
	}
	m.Denies, _ = canonjson.Bool(v[9])
	acked, _ := canonjson.Int(v[10])
	at, _ := canonjson.Int(v[11])
	m.Events, _ = canonjson.String(v[12])
	if m.Last, _ = canonjson.String(v[13]); m.Last != "" {
		at, _ := canonjson.Int(v[14])
		m.LastAt = time.UnixMilli(at).UTC()
	}
	m.PID, m.Start, m.Acked, m.At = int(pid), uint64(start), uint64(max(acked, 0)), time.UnixMilli(at).UTC()
	return m, pid > 1 && start >= 0
}

// bytes writes the mark without reflection: hooks write it.
func (m *Mark) bytes() []byte {
	var o canonjson.Object
	o.Int("pid", int64(m.PID))
	o.Int("start", int64(m.Start))
	o.Str("boot", m.Boot)
	o.Opt("space", m.Space)
	o.Str("cli", m.CLI)
	o.Str("build", m.Build)
	o.Opt("conversation", m.Conversation)
	o.Opt("dir", m.Dir)
	o.Opt("instance", m.Instance)
	o.Bool("denies", m.Denies)
	o.Int("acked", int64(m.Acked))
	o.Int("at", m.At.UnixMilli())
	o.Opt("events", m.Events)
	if m.Last != "" {
		o.Str("last", m.Last)
		o.Int("lastAt", m.LastAt.UnixMilli())
	}
	return append(o.Bytes(), '\n')
}
