package comms

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/overview"
	"tutti/internal/comms/protocol"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
)

// A poll is one look of an agent into the mailbox of its project.
type poll struct {
	c       *kit.Call
	opt     *commsPollOptions
	office  *exchange.Service
	project exchange.Project
	skew    time.Duration
	now     time.Time

	state pollState
	news  []pollNews
	open  []openTalk
	ended []ending
	until time.Time // the look is put off until then; zero: it was done
}

// An openTalk is a conversation that is open, as this project has to see it.
type openTalk struct {
	*overview.Conversation
	changed bool   // since the last poll, or --all
	why     string // to escalate; "": nothing asks for that
	answer  string // what to type to take the turn; "": it is not this project's
	done    string // what to type once the work is done; "": this project does not do it
}

// pollNews is a message that the agent has not been told of, and what is to be done with it.
type pollNews struct {
	judged *exchange.Judgement
	talk   *overview.Conversation // nil: it is in none that is known
	say    string                 // to the user; "" for what interrupts nobody
	answer string                 // what to type to answer it; "": none is due
	done   string                 // what to type once the work is done; "": this project does not do it
}

type commsPollOptions struct {
	Project, Work, Claim  string
	Engage, All, NoLedger bool
	UserWrote             time.Duration
}

// runCommsPoll does what an agent does when it wakes to look for messages: the switch first, then the user, then the mailbox.
func runCommsPoll(ctx context.Context, c *kit.Call, opt *commsPollOptions) error {
	o, set, err := c.CommsService()
	if err != nil {
		return kit.GeneralFault(err)
	}
	project, err := c.ProjectHere(o, opt.Project)
	if err != nil {
		return err
	}
	p := &poll{c: c, opt: opt, office: o, project: project, skew: set.Skew, now: time.Now()}
	path := pollPath(o, project, opt.Claim)
	p.state = readPollState(path)
	if s := halt.Read(); s.Halted {
		p.state.Halted = true
		p.keep(path)
		p.showHalted()
		return s.Err("poll")
	}
	if p.stopped() {
		p.keep(path)
		p.showCleared()
		return nil
	}
	if !p.putOff() {
		if err := p.look(ctx); err != nil {
			return kit.GeneralFault(err)
		}
	}
	p.keep(path)
	if c.JSON {
		c.Result(p.result())
	} else {
		p.show()
	}
	return nil
}

// keep writes down what the next poll has to know. Without it that one says some things again.
func (p *poll) keep(path string) {
	if err := p.state.write(path); err != nil {
		p.c.Warn("what this poll has told could not be written down: %s", kit.Clean(err.Error()))
	}
}

// stopped tells whether everything was halted since this agent's user last let it go on. Clearing a halt starts no polling again:
// the user says so, and the agent passes that on with --engage.
func (p *poll) stopped() bool {
	s := &p.state
	if s.known && !p.opt.Engage {
		return s.Halted || !halt.Engaged(s.Epoch)
	}
	s.known, s.Halted, s.Epoch = true, false, halt.Epoch()
	return false
}

// putOff tells whether the look has to wait, because the user wrote to the agent a moment ago: until they write again, or have not
// written for five minutes.
func (p *poll) putOff() bool {
	s := &p.state
	if !p.c.IsSet(&p.opt.UserWrote) {
		s.Deferred = time.Time{}
		return false
	}
	wrote := p.now.Add(-p.opt.UserWrote)
	end := wrote.Add(protocol.DeferEnd)
	switch {
	case s.Deferred.IsZero() && p.now.Sub(wrote) < protocol.DeferWindow:
		s.Deferred = p.now
	case s.Deferred.IsZero() || wrote.After(s.Deferred) || !p.now.Before(end):
		s.Deferred = time.Time{}
		return false
	}
	p.until = end
	return true
}

// look judges what is new in the mailbox, and finds out whom the open conversations wait for.
func (p *poll) look(ctx context.Context) error {
	seen, err := p.survey(ctx)
	if err != nil {
		return err
	}
	if seen == nil {
		p.count()
		return nil
	}
	told, decided := map[string]string{}, p.decided()
	for _, m := range append(seen.Unread(), p.releases(seen, decided)...) {
		if decided[m.Conversation][m.Name] && !p.opt.All {
			continue
		}
		code, err := p.judge(ctx, seen, m.Name)
		if err != nil {
			return err
		}
		if code != "" {
			told[m.Name] = code
		}
	}
	p.state.Told = told
	p.giveUp(ctx, seen)
	p.openTalks(seen)
	p.answerOnce()
	p.count()
	return nil
}

// decided are the messages of each conversation that this project was given before. Of a ledger that was lost and made again nobody knows
// whether it was.
func (p *poll) decided() map[string]map[string]bool {
	talks := map[string]map[string]bool{}
	entries, err := p.office.Ledger(p.project).Entries("")
	if err != nil {
		p.c.Warn("%s", kit.Clean(err.Error()))
	}
	for _, e := range entries {
		names := talks[e.Conversation]
		if names == nil {
			names = map[string]bool{}
			talks[e.Conversation] = names
		}
		names[e.Name] = names[e.Name] || !e.Rebuilt
	}
	return talks
}

// survey finds the mailbox of the project, nil when there is none yet.
func (p *poll) survey(ctx context.Context) (*overview.Project, error) {
	s, err := overview.Look(ctx, p.c.App.OverviewOptions(p.office, p.project))
	if err != nil {
		return nil, err
	}
	for _, found := range s.Projects {
		if found.Path == p.project.Path {
			return found, found.Err
		}
	}
	return nil, nil
}

// judge decides on one message and keeps it if that is news. It returns the code of what the agent was told, "" of what belongs into
// the ledger or to another session.
func (p *poll) judge(ctx context.Context, seen *overview.Project, name string) (code string, err error) {
	j, err := p.office.Receive(ctx, filepath.Join(p.project.MailboxPath(), name), exchange.ReceiveOptions{
		SkewMax: p.skew, Claim: p.opt.Claim, NoLedger: p.opt.NoLedger,
	})
	if err != nil && !errors.Is(err, exchange.ErrLedger) {
		return "", err
	}
	for _, note := range j.Notes {
		p.c.Warn("%s", kit.Clean(note))
	}
	if j.Code == protocol.CodeClaimed || j.Word == protocol.Dedup {
		return "", nil
	}
	known := p.state.Told[name] == j.Code && !p.opt.All
	if !known {
		p.news = append(p.news, p.newsOf(seen, j))
	}
	if j.Word == protocol.Process && !p.opt.NoLedger && err == nil {
		return "", nil
	}
	return j.Code, nil
}

// newsOf says what the agent tells its user about a message, if anything.
func (p *poll) newsOf(seen *overview.Project, j *exchange.Judgement) pollNews {
	n := pollNews{judged: j, talk: seen.Conversation(j.Name)}
	work := p.opt.Work
	if work == "" {
		work = "this"
	}
	switch {
	case j.Word == protocol.Reject:
		n.say = protocol.Refusal(j.Sender, j.Reason)
	case j.Word == protocol.Process && j.Message.Type.Surfaces() && j.Message.Type != protocol.Release:
		n.say = protocol.Surfacing(work, j.Sender, j.Message.Type)
	}
	return n
}

// count counts polls that found nothing.
func (p *poll) count() {
	if len(p.news) > 0 {
		p.state.Empty = 0
		return
	}
	p.state.Empty++
}

// silent tells whether so many polls in a row found nothing that the user has to know.
func (p *poll) silent() bool {
	return p.until.IsZero() && p.state.Empty > 0 && p.state.Empty%protocol.EmptyPolls == 0
}

// goesOn tells whether the agent has something to poll for: a conversation that is open and does not wait for the user.
func (p *poll) goesOn() bool {
	for _, talk := range p.open {
		if !talk.PollingPaused && !talk.GaveUp {
			return true
		}
	}
	return !p.until.IsZero()
}

// giveUp sends the last progress of each conversation that this project completed and whose originator has not come back for a day. After
// that it is polled for no more.
func (p *poll) giveUp(ctx context.Context, seen *overview.Project) {
	for i := range seen.Conversations {
		talk := &seen.Conversations[i]
		if !talk.Open || !talk.VerificationOverdue || talk.GaveUp || talk.Receiver != p.project.Slug() {
			continue
		}
		e := ending{talk: talk}
		if e.to, e.err = p.lastProgress(ctx, talk); e.err == nil {
			talk.GaveUp = true
		}
		p.ended = append(p.ended, e)
	}
}

// An ending is a conversation that this project gave up.
type ending struct {
	talk *overview.Conversation
	to   string // address
	err  error  // the last progress did not go out
}

// lastProgress tells the originator that this project has stopped waiting for the release.
func (p *poll) lastProgress(ctx context.Context, talk *overview.Conversation) (to string, err error) {
	sent, err := p.office.Sent(p.project).Entries(talk.ID)
	if err != nil {
		return "", err
	}
	if len(sent) == 0 {
		return "", errors.New("the address of the other project is not known")
	}
	to = sent[len(sent)-1].To
	_, err = sendProgress(ctx, p.office, talk, exchange.Draft{
		Destination: to, Sender: p.project.Slug(), Project: p.project, Dir: p.project.Path, Retries: -1,
	}, "Not released", protocol.UnverifiedBody)
	return to, err
}

// sendProgress sends a progress message that is the next one of a conversation.
func sendProgress(ctx context.Context, o *exchange.Service, talk *overview.Conversation, d exchange.Draft, title, body string) (*exchange.Sent, error) {
	d.Text = fmt.Appendf(nil, "#+TITLE: %s\n#+CONVERSATION_ID: %s\n#+MESSAGE_TYPE: %s\n#+SEQUENCE: %d\n#+TIMESTAMP: %s\n#+PROTOCOL_VERSION: %s\n\n%s\n",
		title, talk.ID, protocol.Progress, talk.NextSequence, protocol.TimeOfSend, protocol.Version, body)
	return o.Send(ctx, d)
}
