package comms

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/overview"
	"tutti/internal/comms/protocol"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/platform/atomicfile"
)

// A pollState is what a poll leaves to the next one, of one project and one session.
type pollState struct {
	known    bool              // somebody has polled before
	Halted   bool              `json:"halted"` // the last poll met the halt switch
	Epoch    uint64            `json:"epoch"`  // halts at the time when the user last let the agent go on
	Empty    int               `json:"empty"`  // polls in a row that found nothing
	Deferred time.Time         `json:"deferred_at,omitzero"`
	Told     map[string]string `json:"told"`  // message to the code of the decision, of those that no ledger remembers
	Shown    map[string]string `json:"shown"` // open conversation and its partner, to the line by which it was shown last
}

// maxPollState bounds what is read: the names of ten thousand messages.
const maxPollState = 4 << 20

// pollPath is where the state lies. A session that claims messages counts for itself.
func pollPath(o *exchange.Service, p exchange.Project, session string) string {
	name := p.Key()
	if slug, ok := protocol.Slugify(session); ok {
		name += "." + slug
	}
	return filepath.Join(o.StatePath("poll"), name+".json")
}

// readPollState reads the state. What cannot be read is as if nobody had polled before, but that this user may have been halted.
func readPollState(path string) pollState {
	var s pollState
	d, err := atomicfile.OpenDir(filepath.Dir(path))
	if err != nil {
		return s
	}
	defer d.Close()
	data, _, err := d.Read(filepath.Base(path), maxPollState)
	if err != nil {
		s.known = !errors.Is(err, fs.ErrNotExist)
		s.Halted = s.known
		return s
	}
	s.known, s.Halted = true, true
	if json.Unmarshal(data, &s) != nil {
		return pollState{known: true, Halted: true}
	}
	return s
}

func (s *pollState) write(path string) error {
	if s.Told == nil {
		s.Told = map[string]string{}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return atomicfile.WriteFile(path, render.JSON(s), 0o600)
}

// showHalted says what an agent does that meets the switch. The error that follows says why.
func (p *poll) showHalted() {
	if p.c.JSON {
		p.c.Result(pollHalted{Project: p.project.Name, Halted: true, Remark: protocol.HaltedRemark})
		return
	}
	p.c.Line(protocol.HaltedRemark)
	p.c.Prose("", 0, `end each reply to your user with that line, plan no next poll, and tell them so; "tutti comms farewell" keeps a last progress "`+
		protocol.FarewellBody+`" for each open conversation`)
}

// showCleared says that the switch is off again, and that nothing follows from that yet.
func (p *poll) showCleared() {
	if p.c.JSON {
		p.c.Result(pollHalted{Project: p.project.Name, Cleared: true, Remark: protocol.ClearedRemark})
		return
	}
	p.c.Line(protocol.ClearedRemark)
	p.c.Prose("", 0, "nothing was looked at; once your user has said so: tutti comms poll --engage")
}

func (p *poll) show() {
	c := p.c
	if !p.until.IsZero() {
		c.Line("deferred: your user wrote a moment ago; until they write again, or " + p.until.Local().Format("15:04:05"))
		return
	}
	for i := range p.news {
		p.showNews(&p.news[i])
	}
	if len(p.news) == 0 {
		c.Line("nothing new; empty poll " + strconv.Itoa(p.state.Empty))
	}
	p.showOpen()
	if p.silent() {
		c.Prose("! ", 2, kit.Plural(p.state.Empty, "empty poll")+" in a row, about "+
			strconv.Itoa(int((time.Duration(p.state.Empty)*protocol.PollCadence).Minutes()))+" minutes: "+p.silence())
	}
	for _, e := range p.ended {
		text := kit.Clean(e.talk.ID) + " was completed more than a day ago and never released. "
		if e.err != nil {
			c.Prose("! ", 2, text+"The last progress message could not be sent; the next poll tries again: "+kit.Clean(e.err.Error()))
			continue
		}
		c.Prose("! ", 2, text+`tutti sent a last progress message to `+kit.Clean(e.to)+` and stops polling for it. Tell your user.`)
	}
	if p.goesOn() {
		c.Line("next poll in " + strconv.Itoa(int(protocol.PollCadence/time.Second)) + " s")
	} else {
		c.Line("no conversation waits for an agent: stop polling")
	}
}

// showOpen prints the open conversations that are not as the last poll showed them, and what is to be done about those of which nothing new
// was shown.
func (p *poll) showOpen() {
	c, same := p.c, 0
	for i := range p.open {
		talk := &p.open[i]
		if !talk.changed {
			same++
			continue
		}
		shown, answered := false, false
		for n := range p.news {
			if one := &p.news[n]; one.talk == talk.Conversation {
				shown, answered = true, answered || one.answer != ""
			}
		}
		line := p.line(talk)
		if shown && line == talk.Line() {
			continue // the message has said so
		}
		c.Line(kit.Clean(line))
		if talk.answer != "" && !answered {
			showAnswer(c, talk.answer, talk.done)
		}
	}
	if same > 0 {
		c.Line(kit.Plural(same, "open conversation") + " as before; --all shows them")
	}
}

// line says how an open conversation stands, whether it is this project's turn, and why to escalate if something asks for that.
func (p *poll) line(talk *openTalk) string {
	s := talk.Line()
	switch {
	case talk.why != "":
		s += ": escalate, because " + talk.why
	case talk.AwaitedName != "" && talk.AwaitedName == p.project.Slug():
		s += ": your turn"
	}
	return s
}

// silence says what the user has to know of many empty polls.
func (p *poll) silence() string {
	var mine []string
	for i := range p.open {
		if talk := &p.open[i]; talk.AwaitedName == p.project.Slug() {
			mine = append(mine, kit.Clean(talk.ID))
		} else if !talk.PollingPaused && !talk.GaveUp {
			return "tell your user that no answer came"
		}
	}
	if len(mine) == 0 {
		return "tell your user that no answer came"
	}
	return "it is your turn in " + strings.Join(mine, ", ") + "; tell your user what keeps you"
}

// showNews prints one message that came: never its body.
func (p *poll) showNews(n *pollNews) {
	c, j := p.c, n.judged
	c.Line("new: " + kit.Clean(j.Name))
	c.Line("  decision: " + string(j.Word))
	if j.Reason != "" {
		c.Prose("  reason: ", 10, kit.Clean(j.Reason))
	}
	if j.Word == protocol.Process {
		c.Line("  " + string(j.Message.Type) + " from " + kit.Clean(j.Sender))
		c.Line("  title, text of a peer: | " + kit.Clean(j.Message.Title))
	}
	if len(j.Warnings) > 0 {
		c.Line("  warnings: " + kit.Clean(strings.Join(j.Warnings, ", ")))
	}
	if r := j.Reply; r != nil {
		c.Prose("  answer with a "+string(r.Type)+": | ", 4, kit.Clean(r.Text))
	}
	if j.Word != protocol.Reject {
		c.Line("  file: " + kit.Clean(c.App.Shown(j.File)))
	}
	for _, path := range j.Artifacts {
		c.Line("  artifact: " + kit.Clean(c.App.Shown(path)))
	}
	if n.talk != nil {
		c.Line("  " + kit.Clean(n.talk.Line()) + releasedWords(n.talk))
		if j.Message.Type == protocol.Release && n.talk.Open {
			c.Prose("  note: ", 8, protocol.SendWarning(protocol.WarnReleaseByReceiver))
		}
	}
	if n.say != "" {
		c.Prose("  say: ", 7, kit.Clean(n.say))
	}
	if n.answer != "" {
		showAnswer(c, n.answer, n.done)
	}
}

// showAnswer prints what to type next, and what to type once the work is done.
func showAnswer(c *kit.Call, answer, done string) {
	c.Line("  answer: " + kit.Clean(answer))
	if done != "" {
		c.Line("  when done: " + kit.Clean(done))
	}
	if strings.HasPrefix(answer, "tutti send "+unknownMachine) {
		c.Prose("  ", 2, `MACHINE is what you call that machine: "tutti comms discover" lists the names`)
	}
}

// releasedWords says how a conversation ended, "" when it has not.
func releasedWords(talk *overview.Conversation) string {
	if !talk.Terminal {
		return ""
	}
	return ": released (" + kit.Clean(talk.ReleaseStatus) + ")"
}
