package job

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/platform/atomicfile"
)

const (
	// maxLog is the size at which a log takes no more reports. How the job ends, and what people do with it, it takes up to full.
	maxLog = 64 << 20
	full   = maxLog + 8<<20
	// mostLog is the size of the largest log that is read: a full one and the line that has filled it.
	mostLog = full + 2*MaxEvent
	// tailSize is how much of the end of a log is read to find the last number.
	tailSize = 128 << 10
)

// A Line is one line of the log of a job.
type Line struct {
	Job      string
	N        int    // from 1
	What     string // the kind of the event, or: registered, claimed, delivering, delivered, cancelled, accepted, rejected, dropped
	Event    *Event // nil where none was taken
	Received time.Time
	Via      string // how an event came: local, hook, mqtt, observer
	Reason   string // why it was dropped
	Raw      []byte
}

// parseLine reads a line of the log. Lines that are none are lines all the same, with What "".
func parseLine(raw []byte, id string, n int) Line {
	l := Line{Job: id, N: n, Raw: raw}
	if !canonjson.Valid(raw) || !canonjson.IsObject(raw) {
		return l
	}
	text := func(key string) string {
		v, _ := canonjson.Get(raw, key)
		s, _ := canonjson.String(v)
		return s
	}
	at, _ := canonjson.Get(raw, "received_at")
	l.What, l.Received, l.Via, l.Reason = text("event"), parseTime(at), text("via"), text("reason")
	if _, numbered := canonjson.Get(raw, "seq"); numbered {
		if e, err := parseEvent(canonjson.Delete(canonjson.Delete(raw, "received_at"), "via"), id); err == nil {
			l.Event = e
			if l.Received.IsZero() {
				l.Received = parseTime(canonjson.AppendString(nil, e.Timestamp))
			}
		}
	}
	return l
}

// lastSeq is the number up to which events had been taken when a line was written.
func (l *Line) lastSeq() (int64, bool) {
	if l.Event != nil {
		return l.Event.Seq, true
	}
	v, _ := canonjson.Get(l.Raw, "last_seq")
	return canonjson.Int(v)
}

// event adds an event to the log. When it returns nil a power cut does not take it away.
func (c *change) event(j *Job, e *Event, via string) error {
	line := canonjson.Set(e.Raw, "received_at", canonjson.AppendString(nil, stamp(c.now)))
	line = canonjson.Set(line, "via", canonjson.AppendString(nil, via))
	limit := int64(maxLog)
	if e.Kind.Terminal() || via == ByObserver {
		limit = full
	}
	if err := c.b.appendLine(j.ID, canonjson.Compact(line), limit); err != nil {
		return err
	}
	c.b.passed("event")
	c.copyEvent(j.ID, e)
	return nil
}

// copyEvent adds an event to the copy of the log in the place where others look. The log is what counts.
func (c *change) copyEvent(id string, e *Event) {
	if f, info, _, err := c.jobs.Append(id+".events.log", maxLog); err == nil {
		_ = addLine(f, info.Size, canonjson.Compact(e.Raw))
		_ = f.Close()
	}
}

// note adds a line to the log that is not an event.
func (c *change) note(j *Job, what string, more func(n *canonjson.Object)) error {
	var n canonjson.Object
	n.Str("event", what)
	n.Str("job_id", j.ID)
	n.Int("last_seq", j.LastSeq)
	n.Str("received_at", stamp(c.now))
	more(&n)
	if err := c.b.appendLine(j.ID, n.Bytes(), full); err != nil {
		return err
	}
	c.b.passed(what)
	return nil
}

// appendLine adds a line to the log of a job, unless it is larger than a limit, and syncs it. Under the lock.
func (b *Book) appendLine(id string, line []byte, limit int64) (err error) {
	dir, err := b.open(logsDir+"/"+id, true)
	if err != nil {
		return fmt.Errorf("log of job %s: %w", id, err)
	}
	defer dir.Close()
	f, info, created, err := dir.Append(eventLog, limit)
	if err != nil {
		return fmt.Errorf("log of job %s: %w", id, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := addLine(f, info.Size, line); err != nil {
		return fmt.Errorf("log of job %s: %w", id, err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("log of job %s: %w", id, err)
	}
	if created {
		return dir.Sync()
	}
	return nil
}

// addLine adds a line to a file of that size. If a process was ended while writing the line before it, that text stays a line
// of its own.
func addLine(f *atomicfile.File, size int64, line []byte) error {
	text := make([]byte, 0, len(line)+2)
	if size > 0 {
		var last [1]byte
		if n, err := f.Pread(last[:], size-1); err != nil || n != 1 {
			return fmt.Errorf("read its end: %w", errors.Join(err, fs.ErrInvalid))
		}
		if last[0] != '\n' {
			text = append(text, '\n')
		}
	}
	text = append(append(text, line...), '\n')
	if _, err := f.Append(text); err != nil {
		return errors.Join(err, f.Truncate(size))
	}
	return nil
}

// endLine ends the last line of a log, whose writer was ended before that. Under the lock.
func (b *Book) endLine(id string) error {
	dir, err := b.open(logsDir+"/"+id, false)
	if err != nil {
		return fmt.Errorf("log of job %s: %w", id, err)
	}
	defer dir.Close()
	f, _, _, err := dir.Append(eventLog, mostLog)
	if err != nil {
		return fmt.Errorf("log of job %s: %w", id, err)
	}
	_, err = f.Append([]byte{'\n'})
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("log of job %s: %w", id, err)
	}
	return nil
}

// Log reads the log of a job from an offset on, of which n lines lie before. next is where the next read begins; a line that
// is still being written waits for it.
func (b *Book) Log(id string, from int64, n int) (lines []Line, next int64, err error) {
	if err := CheckID(id); err != nil {
		return nil, from, err
	}
	data, size, err := b.readLog(id, from, 0)
	if err != nil || size < from { // it was replaced by a shorter one: nothing that was seen comes again
		return nil, max(size, 0), err
	}
	next = from
	for {
		line, rest, whole := bytes.Cut(data, []byte{'\n'})
		if !whole {
			return lines, next, nil
		}
		n, next, data = n+1, next+int64(len(line))+1, rest
		if len(line) > 0 {
			lines = append(lines, parseLine(line, id, n))
		}
	}
}

// readLog reads the bytes of a log from an offset on, at most so many; 0: all.
func (b *Book) readLog(id string, from, most int64) (data []byte, size int64, err error) {
	dir, err := b.open(logsDir+"/"+id, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("log of job %s: %w", id, err)
	}
	defer dir.Close()
	f, info, err := dir.Open(eventLog, false, mostLog)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("log of job %s: %w", id, err)
	}
	defer f.Close()
	if from < 0 {
		from = max(0, info.Size+from)
	}
	if info.Size <= from {
		return nil, info.Size, nil
	}
	n := info.Size - from
	if most > 0 {
		n = min(n, most)
	}
	data = make([]byte, n)
	got, err := f.Pread(data, from)
	if err != nil {
		return nil, info.Size, fmt.Errorf("log of job %s: %w", id, err)
	}
	return data[:got], info.Size, nil
}

// catchUp applies to a job what its log has beyond its record: the writer was ended in between.
func (b *Book) catchUp(j *Job) error {
	data, size, err := b.readLog(j.ID, -tailSize, 0)
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(data, '\n') + 1 // the rest is being written, or its writer was ended
	j.torn = whole < len(data)
	last, found := tailSeq(data[:whole], j.ID)
	if found && last <= j.LastSeq || !found && size <= tailSize {
		return nil
	}
	lines, _, err := b.Log(j.ID, 0, 0)
	if err != nil {
		return err
	}
	for i := range lines {
		if e := lines[i].Event; e != nil && e.Seq > j.LastSeq {
			j.behind = append(j.behind, e)
			_ = j.apply(e, lines[i].Received) // another program wrote a line that does not fit, and it is not ours to judge again
		}
	}
	return nil
}

// tailSeq finds the last number in the end of a log.
func tailSeq(data []byte, id string) (int64, bool) {
	for len(data) > 0 {
		i := bytes.LastIndexByte(bytes.TrimRight(data, "\n"), '\n')
		l := parseLine(bytes.TrimRight(data[i+1:], "\n"), id, 0)
		if seq, ok := l.lastSeq(); ok {
			return seq, true
		}
		data = data[:i+1]
	}
	return 0, false
}

// now is what status.json holds beside the state: how much a broker has received, and how much was dropped. It is derived: when
// it is lost, events are published twice, which those who read them notice by their numbers.
type now struct{ published, dropped int64 }

func (b *Book) readNow(id string) (n now) {
	dir, err := b.open(logsDir+"/"+id, false)
	if err != nil {
		return n
	}
	defer dir.Close()
	raw, _, err := dir.Read(nowName, MaxEvent)
	if err != nil {
		return n
	}
	v := make([][]byte, 2)
	canonjson.Pick(raw, []string{"published_seq", "dropped"}, v)
	n.published, _ = canonjson.Int(v[0])
	n.dropped, _ = canonjson.Int(v[1])
	return n
}

// writeNow writes the latest state of a job for those that look there.
func (b *Book) writeNow(j *Job, change func(n *now)) {
	dir, err := b.open(logsDir+"/"+j.ID, true)
	if err != nil {
		return
	}
	defer dir.Close()
	n := b.readNow(j.ID)
	if change != nil {
		change(&n)
	}
	var o canonjson.Object
	o.Int("schema_version", schemaVersion)
	o.Str("job_id", j.ID)
	o.Str("status", string(j.Status))
	o.Str("updated_at", stamp(j.Updated))
	o.Int("last_seq", j.LastSeq)
	o.Opt("last_event", string(j.Last))
	o.Opt("detail", j.Detail)
	o.Opt("verdict", string(j.Verdict))
	o.Int("published_seq", n.published)
	o.Int("dropped", n.dropped)
	_ = dir.Replace(nowName, append(canonjson.Indent(o.Bytes()), '\n'), 0o600, false)
}
