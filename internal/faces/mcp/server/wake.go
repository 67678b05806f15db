package server

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/app/config"
	"tutti/internal/attention/wake"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/presence"
	"tutti/internal/halt"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/notify"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
)

// A knocker wakes the agent of this connection when mail comes and it sits idle.
type knocker struct {
	v       *server
	b       *bus
	own     *presence.Session // as it was opened
	program *driver.Driver
	ladder  *wake.Ladder
	bell    *wake.Socket // nil: no hook is heard
	stop    context.CancelFunc
	may     func() bool // the agent may be woken: no halt has stopped it
	means   []wake.Rung
	goOn    []wake.Rung // the same, for an agent without mail whose user lets it continue

	mu    sync.Mutex // guards what follows; a leaf
	heard time.Time  // when the agent last did anything that this process knows of
	talks string     // the conversation in which its hooks show it mail, "" as long as none was heard
}

// knocker makes what wakes the agent, nil where nothing can, or another waker does already: a process that holds several sessions
// serves one agent.
func (v *server) knocker(b *bus, s *presence.Session, may func() bool) *knocker {
	program, ok := driver.Agent(s.Instance.Canonical().Host())
	if !ok {
		return nil
	}
	if own := v.named(); own != "" && own.Canonical() != s.Instance.Canonical() {
		return nil
	}
	config := v.waking()
	if !config.Enabled || !program.Wake.Can() && !(config.Desktop && v.desktop().There()) {
		return nil
	}
	ctx, stop := context.WithCancel(context.Background())
	k := &knocker{v: v, b: b, own: s, program: program, stop: stop, may: may, heard: time.Now()}
	times := timesOf(config)
	if !program.Wake.Can() { // people are not told at once of an agent that may be at work
		times.Quiet = max(times.Quiet, times.Climb)
	}
	k.means, k.goOn = k.rungs(config, wake.Sentence), k.rungs(config, wake.GoOn)
	k.ladder = wake.NewLadder(wake.LadderOptions{
		Rungs: k.means, Times: times, Unread: k.unread, May: func() bool { return may() && !k.paused() }, Mine: k.mine, Ended: k.sheet(),
		Note: k.note, Log: v.log,
	})
	if !v.knocks.CompareAndSwap(nil, k) { // it is whole: a call may come in now
		stop()
		return nil
	}
	if program.Wake.Queue != nil && k.resumed() != "" {
		k.ladder.Mail() // no hook shows what waits before the first prompt
	}
	k.listen()
	go k.ladder.Run(ctx) // it ends with the session; what it is about to do then may take a moment, and no caller waits for it
	return k
}

// listen hangs up the bell at which the hooks of the agent are heard. Without it the agent is woken by what is left.
func (k *knocker) listen() {
	whose := ""
	if name := k.program.Talk.Variable; name != "" {
		whose = k.v.facts.Env(name)
	}
	if talk := k.v.talking(); talk != "" {
		whose = talk
	}
	if whose == "" { // the program passes nothing on; its hooks know which agent they are
		whose = string(k.own.Instance.Canonical())
	}
	home, err := k.v.app.Home()
	if err == nil {
		k.bell, err = wake.Listen(wake.BellOptions{
			Place: wake.SocketDir{Home: home, Env: k.v.facts.Env}, Host: k.program.Name, Whose: whose, Heard: k.hears,
			Released: k.released,
		})
	}
	if err != nil {
		k.v.log(fmt.Sprintf("no hook can wait for mail: %v", err))
	}
}

// hears takes what a hook reports.
func (k *knocker) hears(w wake.Word) {
	k.acted()
	k.activeNow()
	if w.Conversation != "" {
		go k.v.hearsOf(w)
		k.mu.Lock()
		k.talks = w.Conversation
		k.mu.Unlock()
		if k.program.Talk.Meta != nil {
			k.v.thread.CompareAndSwap(nil, &w.Conversation) // what its calls say outranks it
		}
	}
	k.tells(w)
}

// tells passes on to the ladder what a hook says.
func (k *knocker) tells(w wake.Word) {
	e, known := k.program.Hooks.Event(w.Event)
	switch {
	case w.Waits:
		k.ladder.Waits()
	case w.Works:
		k.ladder.Heard(driver.Tool)
	case known:
		k.ladder.Heard(e.Moment)
	}
}

// acted notes that the agent does something.
func (k *knocker) acted() {
	k.mu.Lock()
	k.heard = time.Now()
	k.mu.Unlock()
}

func (k *knocker) close() {
	k.stop()
	if k.bell != nil {
		k.bell.Close()
	}
	k.v.knocks.CompareAndSwap(k, nil)
}

// called notes that the agent has called a tool, and by the returned function that it has the answer.
func (v *server) called(meta []byte) (done func()) {
	k := v.knocks.Load()
	if k == nil {
		return func() {}
	}
	k.acted()
	k.activeNow()
	if find := k.program.Talk.Meta; find != nil {
		if id := find(meta); id != "" {
			v.thread.Store(&id)
		}
	}
	answered := k.ladder.Called()
	return func() {
		k.acted()
		answered()
	}
}

// capabilities are those that a program wants declared before it can be woken.
func (v *server) capabilities() map[string]any {
	host := v.o.host
	if host == "" {
		host = v.o.instance.Canonical().Host()
	}
	if d, ok := driver.Get(host); ok && d.Wake.Capability != "" {
		return map[string]any{d.Wake.Capability: map[string]any{}}
	}
	return nil
}

// rungs are the means by which this agent can be woken with a sentence, the mildest first.
func (k *knocker) rungs(set *config.Wake, say string) []wake.Rung {
	w := &k.program.Wake
	var all []wake.Rung
	if w.Channel != "" {
		all = append(all, wake.ChannelRung(w.Channel, k.v.wire.Notify, say))
	}
	if w.Hooks {
		all = append(all, wake.RewakeRung(func() *wake.Socket { return k.bell }, say))
	}
	nudger, inPane := k.nudger(say)
	inPane = inPane && set.Nudge
	if w.Queue != nil {
		var held func(context.Context) bool
		if inPane {
			held = func(ctx context.Context) bool { return nudger.BrokenOff(ctx, k.program.Life.Screen) }
		}
		all = append(all, wake.QueueRung(w.Queue, k.find, k.conversation, held, say))
	}
	if inPane {
		all = append(all, wake.NudgeRung(nudger, k.program))
	}
	if set.Desktop {
		all = append(all, wake.DesktopRung(func(ctx context.Context) (bool, error) {
			return k.v.desktop().Say(ctx, "Mail for "+string(k.own.Instance.Canonical()), "It is not at work, and has not looked at it yet.")
		}))
	}
	return all
}

// nudger types into the pane of the agent; false: it has none that is known. A CLI may give its servers an environment without the
// variable of tmux; its own has it.
func (k *knocker) nudger(say string) (n wake.Nudger, ok bool) {
	agent, known := k.v.facts.AgentProcess()
	if !known || agent.Agent() != k.program.Name {
		return n, false
	}
	at := k.v.facts.Env("TMUX")
	if at == "" {
		at, _, _ = proc.Getenv(agent.ID.PID, "TMUX")
	}
	screen, err := tmux.FromEnv(at)
	return wake.Nudger{
		Server: screen, Agent: agent.ID, Halted: func() error { return halt.Check("type into a pane") },
		Typing: wake.TypingWindow(k.v.facts.Env(wake.TypingVariable)), Say: say,
	}, err == nil
}

// readWaking reads what the user has set about waking. What cannot be understood is said, and counts for nothing.
func (v *server) readWaking() *config.Wake {
	set, err := v.app.Wake()
	if err != nil {
		v.log(withHint(err) + "; agents are woken as usual")
	}
	return set
}

func timesOf(set *config.Wake) wake.Times {
	times := wake.Usual()
	if set.Quiet > 0 {
		times.Quiet = set.Quiet
	}
	if set.Climb > 0 {
		times.Climb = set.Climb
	}
	return times
}

// desktop shows notices to the user of this process.
func (v *server) desktop() notify.Desktop { return notify.Desktop{Env: v.facts.Env} }

// conversation is what the agent talks in, "" as long as that is unknown. Before its first prompt no hook and no call has named it; one
// that was resumed has it among the arguments of its process.
func (k *knocker) conversation(context.Context) string {
	if id := k.v.thread.Load(); id != nil {
		return *id
	}
	return k.resumed()
}

// resumed is the conversation that the process of the agent was started to go on with, "" for none.
func (k *knocker) resumed() string {
	agent, known := k.v.facts.AgentProcess()
	if !known || agent.Agent() != k.program.Name || !agent.ID.Alive() {
		return ""
	}
	argv, err := proc.Cmdline(agent.ID.PID)
	if err != nil || len(argv) < 2 {
		return ""
	}
	_, id, _ := k.program.Life.Unchosen(argv[1:])
	return id
}

// find finds the program that serves the agent: it is the one that has started this server, with the folder that it was started
// with. Another release could put the sentence where no reader finds it. Where the program is unknown, it is the one that its user
// would start.
func (k *knocker) find() (wake.Program, error) {
	w := &k.program.Wake
	var p wake.Program
	agent, ok := k.v.facts.AgentProcess()
	if ok && agent.Agent() == k.program.Name && agent.ID.Alive() {
		if home, given, err := proc.Getenv(agent.ID.PID, w.Home); err == nil && given {
			p.Env = []string{w.Home + "=" + home}
		}
		if _, err := os.Stat(agent.Exe); err == nil && filepath.Base(agent.Exe) == k.program.Program {
			p.Path = agent.Exe
			return p, nil
		}
	}
	var err error
	p.Path, err = exec.LookPath(k.program.Program)
	return p, err
}

// sheet looks at what the program says of itself, nil where it says nothing: whether the agent has ended its turn since a time.
func (k *knocker) sheet() (ended func(since time.Time) bool) {
	life := &k.program.Life
	agent, known := k.v.facts.AgentProcess()
	home, err := k.v.app.Home()
	if !known || agent.Agent() != k.program.Name || err != nil {
		return nil
	}
	if n, inPane := k.nudger(""); life.Sheet == nil && inPane && k.program.Wake.Queue != nil {
		return func(time.Time) bool { return n.BrokenOff(context.Background(), life.Screen) }
	}
	if life.Sheet == nil {
		return nil
	}
	path := life.Sheet(driver.Site{Home: home, Env: k.v.facts.Env}, agent.ID.PID)
	return func(since time.Time) bool {
		d, err := atomicfile.OpenDir(filepath.Dir(path))
		if err != nil {
			return false
		}
		defer d.Close()
		raw, _, err := d.Read(filepath.Base(path), driver.MaxSheet)
		if err != nil {
			return false
		}
		s, ok := life.ReadSheet(raw)
		return ok && s.PID == agent.ID.PID && s.Start == agent.ID.Start && s.Doing == driver.Idle && s.Since.After(since)
	}
}

// unread returns the messages that were not shown, the newest first. One that is about to be shown is not among them;
// again is when the first of these is free, because nothing proved by then that it was shown: a hook may have been killed.
func (k *knocker) unread(ctx context.Context) (ids []string, again time.Time, err error) {
	all, _, err := k.b.Mail.Lines(ctx, k.own.Instance, mailbox.Query{States: true}) // the reader of the mailbox reports unfit files
	if err != nil {
		return nil, again, err
	}
	now := time.Now()
	me := mailbox.Reader{By: k.own.Instance, Session: k.talk()}
	for i := range all {
		s := all[i].State
		switch {
		case s == nil || !s.Seen() && s.Free(me, now):
			ids = append(ids, all[i].ID)
		case !s.Seen():
			if at, ever := s.FreeAt(me); ever && (again.IsZero() || at.Before(again)) {
				again = at
			}
		}
	}
	return ids, again, nil
}

// talk is the conversation in which the hooks of the agent show it mail, "" when it is not known.
func (k *knocker) talk() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if name := k.program.Talk.Variable; k.talks == "" && name != "" {
		return k.v.facts.Env(name)
	}
	return k.talks
}

// mine tells whether this connection of the agent is the one to be woken: the one whose conversation was begun or taken up last, else
// the one that was active last.
func (k *knocker) mine(ctx context.Context) bool {
	others, err := k.others(ctx)
	if err != nil || len(others) == 0 {
		return true // better twice than never
	}
	if talk := k.v.talking(); talk != "" && k.v.o.instance == "" {
		current, err := k.b.Identity.Current(ctx, k.own.Instance, k.workspace(), k.v.facts.Place(), time.Now())
		switch {
		case err != nil || current == "":
		case current == talk:
			return true
		case slices.ContainsFunc(others, func(s *presence.Session) bool { return identity.ConversationOf(s) == current }):
			return false
		}
	}
	k.mu.Lock()
	heard := k.heard
	k.mu.Unlock()
	for _, s := range others {
		if at, ok := envelope.ParseTime(s.MCPActivityAt); ok && at.After(heard) {
			return false
		}
	}
	return true
}

func (k *knocker) workspace() string {
	if w := k.own.Workspace; w != nil {
		return w.ID
	}
	return ""
}

// others are the connections of the agent that other processes hold.
func (k *knocker) others(ctx context.Context) ([]*presence.Session, error) {
	all, err := k.b.Presence.Of(ctx, k.own.Instance, time.Now())
	return slices.DeleteFunc(all, func(s *presence.Session) bool {
		return s.SessionID == k.own.SessionID || s.PID == k.own.PID || s.Ended(k.b.Identity.Machine)
	}), err
}

// activeNow says that the agent is active here. Where it has other connections they are to know at once.
func (k *knocker) activeNow() {
	k.b.attend.Active(k.own.SessionID)
	k.b.absent.Work(func() {
		ctx, cancel := context.WithTimeout(context.Background(), noteWithin)
		defer cancel()
		if others, err := k.others(ctx); err == nil && len(others) > 0 {
			k.b.attend.ActiveNow(k.own.SessionID)
		}
	})
}
