package halt

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The lifts are lines in ~/.local/state/tutti/lifts, the newest last: the number of the halt, the time, how it was lifted, and the
// chain of processes that did it, separated by tabs. lifts.seen beside it holds how many bytes of it the user has seen.
const (
	liftsName = "/lifts"
	seenName  = "/lifts.seen"
	maxLifts  = 1 << 20 // only the end of a longer file is read
)

// The ways in which a halt or a pause ends.
const (
	AtTerminal      = "terminal"
	WithoutTerminal = "no-terminal"
	Unrecorded      = "unrecorded" // the switch went without a recorded lift
	Paused          = "paused"     // not an end: a pause began; its reason is the Chain. One that is gone without a line after this one was deleted.
	Raised          = "halted"     // not an end: when a halt that was lifted had begun; its reason is the Chain
)

// A Lift records that a halt or a pause ended, or that one began: [Raised], [Paused].
type Lift struct {
	Count uint64    `json:"halt"` // number of the halt; 0 for a pause
	At    time.Time `json:"at"`
	How   string    `json:"how"`             // AtTerminal, WithoutTerminal or Unrecorded; Raised or Paused
	Chain []string  `json:"chain,omitempty"` // processes that did it, the nearest first
	Pause string    `json:"pause,omitempty"` // the agent or folder that was paused; "" for the halt
}

// Text says what ended and how, without control characters.
func (l *Lift) Text() string {
	what := "the halt"
	if l.Pause != "" {
		what = "the pause of " + l.Pause
	}
	if l.How == Unrecorded {
		return what + " ended without a recorded lift"
	}
	at, by := " at "+l.At.Local().Format("15:04"), " by "
	text := what + " was lifted" + at
	if l.How == WithoutTerminal {
		text, by = what+" was lifted by a script"+at+", without a terminal", ": "
	}
	if len(l.Chain) > 0 {
		text += by + strings.Join(l.Chain[:min(4, len(l.Chain))], " < ")
	}
	return text
}

// Short is Text without the processes, for a screen.
func (l *Lift) Short() string {
	bare := *l
	bare.Chain = nil
	return bare.Text()
}

func (l *Lift) line() string {
	var chain []string
	for _, c := range l.Chain {
		c, _ = cleanReason(c)
		chain = append(chain, strings.ReplaceAll(c, "\t", " "))
	}
	return strconv.FormatUint(l.Count, 10) + "\t" + l.At.UTC().Format(time.RFC3339) + "\t" + l.How + "\t" + strconv.Quote(l.Pause) + "\t" +
		strings.Join(chain, " < ") + "\n"
}

func parseLift(line string) (l Lift, ok bool) {
	f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
	if len(f) != 5 || !strings.HasSuffix(line, "\n") {
		return l, false
	}
	n, ok := parseCount(f[0])
	at, err := time.Parse(time.RFC3339, f[1])
	pause, perr := strconv.Unquote(f[3])
	l = Lift{Count: n, At: at, How: f[2], Pause: clean(pause)}
	if f[4] != "" {
		l.Chain = strings.Split(clean(f[4]), " < ")
	}
	return l, ok && err == nil && perr == nil
}

// Record appends a lift. [ClearBy] does it for the halt.
func Record(l Lift) error {
	p := locate()
	if p.state == "" {
		return errors.New("record the lift: " + p.problem)
	}
	unlock, err := lockCounter(p)
	if err != nil {
		return err
	}
	defer unlock()
	return recordLocked(p, l)
}

func recordLocked(p *place, l Lift) error {
	if l.At.IsZero() {
		l.At = time.Now()
	}
	fd, err := open(p.state+liftsName, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	return writeAll(fd, l.line())
}

// recorded records the lift of the last halt, and that halt before it. The lock must be held.
func (l *Lift) recorded(p *place, s *State) bool {
	e, _, err := loadEntry(p)
	if err != nil {
		return false
	}
	l.Count = e.Count
	_ = recordLocked(p, Lift{Count: e.Count, At: s.Since, How: Raised, Chain: []string{s.Reason}}) // only lists show it
	return recordLocked(p, *l) == nil
}

// Lifts returns the recorded lifts, the oldest first, how many of the newest the user has not seen, and where the record ends, which
// is what [Seen] wants.
func Lifts() (all []Lift, unseen int, end int64) {
	p := locate()
	if p.state == "" {
		return nil, 0, 0
	}
	data, start := readTail(p.state + liftsName)
	seenText, _ := readSmall(p.state+seenName, 64)
	seen, _ := strconv.ParseInt(strings.TrimSpace(string(seenText)), 10, 64)
	at := start
	for line := range strings.Lines(data) {
		at += int64(len(line))
		if l, ok := parseLift(line); ok && l.How != Paused && l.How != Raised {
			all = append(all, l)
			if at > seen {
				unseen++
			}
		}
	}
	return all, unseen, at
}

// History returns when halts and pauses are recorded to have begun and ended, the oldest first. The Chain of one that began, whose How is
// [Raised] or [Paused], is its reason.
func History() (all []Lift) {
	p := locate()
	if p.state == "" {
		return nil
	}
	data, _ := readTail(p.state + liftsName)
	for line := range strings.Lines(data) {
		if l, ok := parseLift(line); ok {
			all = append(all, l)
		}
	}
	return all
}

// LostPauses records the pauses that are gone though nothing recorded their end, and returns what was paused. Each is returned to one
// caller, which announces it.
func LostPauses() (lost []string) {
	p := locate()
	if p.state == "" {
		return nil
	}
	data, _ := readTail(p.state + liftsName)
	if !strings.Contains(data, "\t"+Paused+"\t") {
		return nil
	}
	unlock, err := lockCounter(p)
	if err != nil {
		return nil
	}
	defer unlock()
	open := map[string]bool{}
	data, _ = readTail(p.state + liftsName)
	for line := range strings.Lines(data) {
		if l, ok := parseLift(line); ok && l.Pause != "" {
			open[l.Pause] = l.How == Paused
		}
	}
	for _, one := range Pauses() {
		if one.What() == "everything" {
			return nil // what is paused cannot be read now
		}
		delete(open, one.What())
	}
	for what, is := range open {
		if is && recordLocked(p, Lift{How: Unrecorded, Pause: what}) == nil {
			lost = append(lost, what)
		}
	}
	slices.Sort(lost)
	return lost
}

// readTail reads the end of a file, and where that begins.
func readTail(name string) (text string, start int64) {
	fd, err := open(name, syscall.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", 0
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return "", 0
	}
	start = max(0, info.Size()-maxLifts)
	buf := make([]byte, info.Size()-start)
	n, _ := f.ReadAt(buf, start)
	return string(buf[:n]), start
}

// Seen records that the user has seen all lifts up to where the record of them ended, as [Lifts] returned it.
func Seen(end int64) error {
	p := locate()
	if p.state == "" || end == 0 {
		return nil
	}
	return os.WriteFile(p.state+seenName, []byte(strconv.FormatInt(end, 10)+"\n"), 0o600)
}

// Ended looks at a switch that is off although nothing recorded its lift: the entry of the last halt is still open. first is true
// for the one caller that recorded it, which announces it.
func (e *Entry) Ended() (unrecorded, first bool) {
	if !e.Open || present() {
		return false, false
	}
	p := locate()
	unlock, err := lockCounter(p) // one that is being lifted is recorded by then
	if err != nil {
		return false, false
	}
	defer unlock()
	now, whole, err := loadEntry(p)
	if err != nil || !whole || !now.Open || now.Count != e.Count || present() {
		return false, false
	}
	all, _, _ := Lifts()
	for _, l := range all {
		if l.Count == now.Count && l.Pause == "" && l.How == Unrecorded {
			return true, false
		}
	}
	return true, recordLocked(p, Lift{Count: now.Count, How: Unrecorded}) == nil
}

// EndText says to an agent how the last halt ended, and what follows for it.
func EndText() string {
	const then = "; go on with what you were doing only if your user says so"
	all, _, _ := Lifts()
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Pause != "" {
			continue
		}
		switch all[i].How {
		case Unrecorded:
			return "all agents were halted, and the halt ended without a recorded lift" + then
		case WithoutTerminal:
			return "all agents were halted, and the halt was lifted without a terminal" + then
		}
		break
	}
	return Cleared
}
