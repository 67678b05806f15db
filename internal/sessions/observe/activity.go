package observe

import (
	"path/filepath"
	"slices"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/smallfile"
	"tutti/internal/platform/tmux"
)

// The activities of a session, in the words that people and other programs read. [Activity] defines them.
const (
	StateIdle    = "idle"
	StateWorking = "working"
	StateWaiting = "waiting"
	StateLimited = "limited"
	StateEnded   = "ended"
	StateUnknown = "unknown"
)

// Activity is the rule for what a session does, by what was found of it and what its agent CLI tells or its screen shows. What the CLI says
// of itself outranks its screen, but for a limit that the screen shows. The states:
//
//   - ended: tmux has no session of that name, another owner's session has it, or its program has ended.
//   - working: the agent CLI says that it is busy with a turn, or its screen shows that.
//   - idle: the agent CLI says that its turn is over, or its screen shows the prompt, and the screen shows no limit.
//   - limited: the rate limit of its provider stopped it, as its screen shows.
//   - waiting: for its user. It asks for an approval or an answer, or shows another dialog, such as those at the start.
//   - unknown: tmux did not answer, another process is changing the session, its program outlived its tmux session, or nothing shows what the
//     program does.
func Activity(s *Observation, d *Doing, underWay bool) string {
	live := s.State == Alive || s.State == Other && !s.Foreign
	switch {
	case s.State == Unknown, underWay, s.State == Absent && s.Process.PID > 0:
		return StateUnknown
	case !live, d.Word == Gone:
		return StateEnded
	case d.Word == Working:
		return StateWorking
	case d.Word == Idle:
		return StateIdle
	case d.Word == Limited:
		return StateLimited
	case d.Word == Asking, d.Asks != "":
		return StateWaiting
	}
	return StateUnknown
}

// What a session waits for.
const (
	ForApproval = "approval" // whether a tool may be used, or a plan carried out
	ForAnswer   = "answer"
	ForDialog   = "dialog" // another one, such as those at its start
	ForLimit    = "limit"  // until the provider answers again
)

// WaitsFor is what an agent waits for, by its activity and by what it asks; "" while it does not wait.
func WaitsFor(activity, asks string) string {
	switch {
	case activity == StateLimited:
		return ForLimit
	case activity != StateWaiting:
		return ""
	case driver.AsksApproval(asks):
		return ForApproval
	case driver.AsksAnswer(asks):
		return ForAnswer
	}
	return ForDialog
}

// Doing is what an agent CLI tells of its activity.
type Doing struct {
	// Word is working, idle, asking, limited or dead, as older output spells them; "" when it is not known.
	Word string
	// From says who tells: "tmux" and "system" of the dead, "program" when it writes so itself, "screen" when it only looks like it.
	From string
	// Guess: it is what it looks like.
	Guess bool
	// Asks is what it asks or shows, in words, "" when that is not known.
	Asks string
	// Note is what else it shows that its user should know.
	Note    string
	Since   time.Time // zero when that is not known
	Until   string    // when the limit ends, as the screen says it: "9:40pm (UTC)"; "" when that is not known
	Version string    // of the program, as it writes itself; "" when that is not known
}

// The words.
const (
	Working = "working"
	Idle    = "idle"
	Asking  = "asking"
	Limited = "limited"
	Gone    = "dead"
)

// Word is the word for what a driver says, "" for what is not known.
func Word(d driver.Doing) string {
	switch d {
	case driver.Idle:
		return Idle
	case driver.Busy:
		return Working
	case driver.Asking:
		return Asking
	case driver.Limited:
		return Limited
	}
	return ""
}

// sheet reads what the program writes of itself. It counts only as that of a process of this session: the number in its name may
// have had another owner.
func (l *looker) sheet(f *Found) {
	d, ok := driver.Kind(f.Kind)
	if !ok || d.Life.Sheet == nil || d.Life.ReadSheet == nil {
		return
	}
	place := driver.Site{Home: l.Home, Env: l.Env}
	sheet, ok := ReadSelfReport(&d.Life, place, f.Process)
	if !ok && slices.Contains(d.Life.Comms, f.Pane.Command) { // the program may be below the one that was started
		sheet, ok = reportBelow(&d.Life, place, f.Process, l.all())
	}
	if !ok {
		return
	}
	f.Conversation = sheet.Conversation
	if w := Word(sheet.Doing); w != "" {
		f.Doing = Doing{Word: w, From: "program", Asks: sheet.Asks, Since: sheet.Since, Version: sheet.Version}
	}
}

// needsScreen tells whether the screen may say more than a program writes of itself: nothing, or that it is idle, because that it was
// stopped by a limit it does not write.
func needsScreen(word string) bool { return word == "" || word == Idle }

// ReadSelfReport returns what a program writes of itself, if it is that of exactly this process.
func ReadSelfReport(life *driver.Life, place driver.Site, id proc.ID) (s driver.SelfReport, ok bool) {
	if life.Sheet == nil || life.ReadSheet == nil {
		return s, false
	}
	path := life.Sheet(place, id.PID)
	if path == "" || !filepath.IsAbs(path) {
		return s, false
	}
	raw, _, err := smallfile.Read(path, driver.MaxSheet, smallfile.NoLinks)
	if err != nil {
		return s, false
	}
	s, ok = life.ReadSheet(raw)
	return s, ok && s.PID == id.PID && s.Start == id.Start
}

// ReportBelow returns what a program writes of itself that is the process, or was started by it.
func ReportBelow(life *driver.Life, place driver.Site, first proc.ID) (s driver.SelfReport, ok bool) {
	if s, ok = ReadSelfReport(life, place, first); ok || life.Sheet == nil {
		return s, ok
	}
	all, _ := proc.List() // without it, less is known
	return reportBelow(life, place, first, all)
}

func reportBelow(life *driver.Life, place driver.Site, first proc.ID, all []proc.Process) (s driver.SelfReport, ok bool) {
	for _, p := range proc.Tree(all, first) {
		if s, ok = ReadSelfReport(life, place, p.ID); ok {
			break
		}
	}
	return s, ok
}

// screens looks at the screens of those of which it is not known yet what they do.
func (l *looker) screens(sessions []Found) {
	refs, places := map[string][]tmux.Ref{}, map[string][]int{}
	for i := range sessions {
		f := &sessions[i]
		if f.State == Dead || f.State == Absent && f.Process == (proc.ID{}) {
			f.Doing = Doing{Word: Gone, From: "tmux"}
			continue
		}
		d, ok := driver.Kind(f.Kind)
		if f.State != Alive || !ok || d.Life.Screen == nil || !needsScreen(f.Doing.Word) {
			continue
		}
		refs[f.Server], places[f.Server] = append(refs[f.Server], f.Pane.Ref()), append(places[f.Server], i)
	}
	for name, panes := range refs {
		s, err := tmux.Named(name)
		if err != nil {
			continue // no pane of it was found, then
		}
		for n, screen := range s.Screens(l.ctx, panes, tmux.Capture{}) {
			if f := &sessions[places[name][n]]; screen.Err == nil {
				f.seen(screen.Text)
			}
		}
	}
}

// seen adds what the screen of a session says.
func (f *Found) seen(screen string) {
	d, _ := driver.Kind(f.Kind)
	s := d.Life.Screen(screen, f.Pane.Title)
	if f.Doing.From == "program" {
		if s.Doing == driver.Limited {
			f.Doing = Doing{Word: Limited, From: "screen", Guess: true, Until: driver.LimitEnd(screen), Version: f.Doing.Version}
		}
		f.Doing.Note = s.Note
		return
	}
	f.Doing = Doing{Word: Word(s.Doing), From: "screen", Guess: true, Asks: s.Dialog, Note: s.Note}
	if s.Doing == driver.Limited {
		f.Doing.Until = driver.LimitEnd(screen)
	}
	if f.Doing.Word == "" && f.Doing.Asks == "" && f.Doing.Note == "" {
		f.Doing = Doing{}
	}
}
