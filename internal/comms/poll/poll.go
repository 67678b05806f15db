// Package poll is one look of an agent into the mailbox of its project, as an agent takes it each time it wakes, and the last progress
// message by which it says that it pauses.
//
// A poll looks at the halt switch first, then whether the user is writing, and only then into the mailbox. It tells of each message once:
// what earlier polls have told is in the ledger of the project, and in a state file for what the ledger does not keep. It
// judges messages through [exchange.Service.Receive], and sends by itself only the last progress of a conversation that was
// completed and not released for a day. What a result says to people, and which commands it prints, is for the caller.
package poll

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"tutti/internal/comms/draft"
	"tutti/internal/comms/exchange"
	"tutti/internal/comms/overview"
	"tutti/internal/comms/protocol"
	"tutti/internal/halt"
)

// Options say what a poll looks at. Project and Survey are needed.
type Options struct {
	Project   exchange.Project
	Survey    overview.Options // a look in which the mailbox of Project is one
	Skew      time.Duration    // see [exchange.ReceiveOptions]
	Work      string           // what the agent works on, for its user; "": "this"
	Claim     string           // the session that claims messages
	Engage    bool             // the user lets the agent go on after a halt
	All       bool             // also what earlier polls told
	NoLedger  bool
	UserWrote *time.Duration // ago; nil: the caller does not know
	Warn      func(text string)
}

// A poll is one look.
type poll struct {
	opt    Options
	office *exchange.Service
	now    time.Time
	state  state
	found  Result
}

// Look does what an agent does when it wakes. With an Off nothing was looked at; while everything is halted there is also the error of the halt.
func Look(ctx context.Context, office *exchange.Service, opt Options) (*Result, *Off, error) {
	p := newPoll(office, opt)
	path := statePath(office, opt.Project, opt.Claim)
	p.state = readState(path)
	if s := halt.Read(); s.Halted {
		p.state.Halted = true
		p.keep(path)
		return nil, &Off{Project: opt.Project.Name, Halted: true, Remark: protocol.HaltedRemark}, s.Err("poll")
	}
	if p.stopped() {
		p.keep(path)
		return nil, &Off{Project: opt.Project.Name, Cleared: true, Remark: protocol.ClearedRemark}, nil
	}
	if p.found.Deferred = p.putOff(); p.found.Deferred {
		until := p.found.Ends.UTC().Format(stampLayout)
		p.found.Until = &until
	} else if err := p.look(ctx); err != nil {
		return nil, nil, err
	}
	p.keep(path)
	p.found.Empty = p.state.Empty
	p.found.Silence = !p.found.Deferred && p.found.Empty > 0 && p.found.Empty%protocol.EmptyPolls == 0
	if p.goesOn() {
		seconds := int(protocol.PollCadence / time.Second)
		p.found.Next = &seconds
	}
	return &p.found, nil, nil
}

// stampLayout is a time in UTC, to the millisecond.
const stampLayout = "2006-01-02T15:04:05.000Z"

func newPoll(office *exchange.Service, opt Options) *poll {
	if opt.Warn == nil {
		opt.Warn = func(string) {}
	}
	return &poll{
		opt: opt, office: office, now: time.Now(),
		found: Result{Project: opt.Project.Name, New: []News{}, Open: []Conversation{}, GaveUp: []Ending{}},
	}
}

// keep writes down what the next poll has to know. Without it that one says some things again.
func (p *poll) keep(path string) {
	if err := p.state.write(path); err != nil {
		p.opt.Warn("what this poll has told could not be written down: " + err.Error())
	}
}

// stopped tells whether everything was halted since this agent's user last let it go on. Clearing a halt starts no polling again:
// the user says so, and the agent passes that on with Engage.
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
	if p.opt.UserWrote == nil {
		s.Deferred = time.Time{}
		return false
	}
	wrote := p.now.Add(-*p.opt.UserWrote)
	end := wrote.Add(protocol.DeferEnd)
	switch {
	case s.Deferred.IsZero() && p.now.Sub(wrote) < protocol.DeferWindow:
		s.Deferred = p.now
	case s.Deferred.IsZero() || wrote.After(s.Deferred) || !p.now.Before(end):
		s.Deferred = time.Time{}
		return false
	}
	p.found.Ends = end
	return true
}

// look judges what is new in the mailbox, and finds out which side the open conversations wait for.
func (p *poll) look(ctx context.Context) error {
	seen, err := p.survey(ctx)
	if err != nil {
		return err
	}
	if seen != nil {
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
	}
	p.state.Empty++
	if len(p.found.New) > 0 {
		p.state.Empty = 0
	}
	return nil
}

// decided are the messages of each conversation that this project was given before. A ledger that was lost and made again does not tell.
func (p *poll) decided() map[string]map[string]bool {
	talks := map[string]map[string]bool{}
	entries, err := p.office.Ledger(p.opt.Project).Entries("")
	if err != nil {
		p.opt.Warn(err.Error())
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
	s, err := overview.Look(ctx, p.opt.Survey)
	if err != nil {
		return nil, err
	}
	found := s.Project(p.opt.Project.Path)
	if found == nil {
		return nil, nil
	}
	return found, found.Err
}

// judge decides on one message and keeps it if that is news. It returns the code that the agent sees, "" for what belongs into
// the ledger or to another session.
func (p *poll) judge(ctx context.Context, seen *overview.Project, name string) (code string, err error) {
	j, err := p.office.Receive(ctx, filepath.Join(p.opt.Project.MailboxPath(), name), exchange.ReceiveOptions{
		SkewMax: p.opt.Skew, Claim: p.opt.Claim, NoLedger: p.opt.NoLedger,
	})
	if err != nil && !errors.Is(err, exchange.ErrLedger) {
		return "", err
	}
	for _, note := range j.Notes {
		p.opt.Warn(note)
	}
	if j.Code == protocol.CodeClaimed || j.Word == protocol.Dedup {
		return "", nil
	}
	if p.state.Told[name] != j.Code || p.opt.All {
		n := News{Message: j.View(), Say: say(j, p.opt.Work), Judgement: j, Talk: seen.Conversation(j.Name)}
		n.Surface = n.Say != ""
		p.found.New = append(p.found.New, n)
	}
	if j.Word == protocol.Process && !p.opt.NoLedger && err == nil {
		return "", nil
	}
	return j.Code, nil
}

// goesOn tells whether the agent has something to poll for: a conversation that is open and does not wait for the user.
func (p *poll) goesOn() bool {
	for i := range p.found.Open {
		if talk := p.found.Open[i].Talk; !talk.PollingPaused && !talk.GaveUp {
			return true
		}
	}
	return p.found.Deferred
}

// giveUp sends the last progress of each conversation that this project completed and whose originator has not come back for a day. After
// that it is polled for no more.
func (p *poll) giveUp(ctx context.Context, seen *overview.Project) {
	for i := range seen.Conversations {
		talk := &seen.Conversations[i]
		if !talk.Open || !talk.VerificationOverdue || talk.GaveUp || talk.Receiver != p.opt.Project.Slug() {
			continue
		}
		e := Ending{Conversation: talk.ID}
		if e.To, e.Err = p.lastProgress(ctx, talk); e.Err == nil {
			e.Sent, talk.GaveUp = true, true
		}
		p.found.GaveUp = append(p.found.GaveUp, e)
	}
}

// lastProgress tells the originator that this project has stopped waiting for the release.
func (p *poll) lastProgress(ctx context.Context, talk *overview.Conversation) (to string, err error) {
	sent, err := p.office.Sent(p.opt.Project).Entries(talk.ID)
	if err != nil {
		return "", err
	}
	if len(sent) == 0 {
		return "", errors.New("the address of the other project is not known")
	}
	to = sent[len(sent)-1].To
	return to, p.progress(ctx, talk, exchange.Draft{Destination: to, Retries: -1}, "Not released", protocol.UnverifiedBody)
}

// progress sends a progress message that is the next one of a conversation.
func (p *poll) progress(ctx context.Context, talk *overview.Conversation, d exchange.Draft, title, body string) error {
	d.Sender, d.Project, d.Dir = p.opt.Project.Slug(), p.opt.Project, p.opt.Project.Path
	text := draft.Draft{Conversation: talk.ID, Title: title, Type: protocol.Progress, Sequence: talk.NextSequence, Timestamp: protocol.TimeOfSend, Body: body + "\n"}
	d.Text = text.Text()
	_, err := p.office.Send(ctx, d)
	return err
}
