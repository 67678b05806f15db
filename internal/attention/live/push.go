package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"time"

	"tutti/internal/bus/follow"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/halt"
	"tutti/internal/store"
)

// The topics of pushes. Another subject brings its own, with a function that makes the data.
const (
	PeerJoined      = "presence.peer_joined"   // {"peer":{"sessionId","instance","host","interests"}}; no host where none is known
	PeerLeft        = "presence.peer_left"     // {"peer":{"sessionId"}}
	EnvelopeArrived = "inbox.envelope_arrived" // {"instance","envelopeId"}

	EntriesAppended = "negotiation.event_appended" // {"negotiationId","newEntries","totalEntries"}
)

// pushes is the queue of one session. Only the goroutine of run uses it.
type pushes struct {
	h        *held
	instance address.Instance
	topics   []string
	watch    *follow.Watch
	begun    bool                     // the backlog is known
	ready    chan []*presence.Session // gets the others that were there then, or nil when that could not be found out
	failing  bool                     // the last Emit did not work
	peers    map[address.SessionID]bool
	mail     map[uint64]bool                       // hashes of the ids of messages that are not news any more
	added    int                                   // to mail, since it was last brought in line with the mailbox
	waker    Waker                                 // nil: no waking
	blocked  map[address.Instance]address.Instance // peers that are blocked, by canonical name: as they spell it
}

func newPushes(h *held) *pushes {
	s := h.session()
	return &pushes{
		h: h, instance: s.Instance, topics: s.Topics,
		ready: make(chan []*presence.Session, 1), peers: map[address.SessionID]bool{}, mail: map[uint64]bool{},
	}
}

// run follows the bus until ctx is done. When that fails it begins anew at the next tick of the process, and tells what it
// missed.
func (p *pushes) run(ctx context.Context) {
	o := p.h.a.o
	said := ""
	defer p.tellReady(nil)
	for ctx.Err() == nil {
		p.watch = follow.New(follow.Options{
			Store: o.Store, Switch: follow.Switch{Read: p.h.readSwitch, Look: p.h.look},
			Mailboxes: p.mailboxes, Now: o.Now, Full: p.h.full, Gone: p.gone,
			Expiry: o.Presence.TTL, Also: p.follows(),
		})
		err := p.watch.Run(ctx, func(e follow.Event) error { return p.event(ctx, e) })
		p.tellReady(nil)
		if ctx.Err() != nil {
			return
		}
		if line := fmt.Sprintf("session %s gets no notices for a while: %v", p.h.id, err); line != said {
			said = line
			o.Log(line)
		}
		again := time.NewTimer(o.Heartbeat)
		select {
		case <-ctx.Done():
		case <-again.C:
		case <-p.h.full:
		}
		again.Stop()
	}
}

// tellReady answers Open, which takes the first answer.
func (p *pushes) tellReady(there []*presence.Session) {
	select {
	case p.ready <- slices.Clone(there):
	default:
	}
}

// mailboxes are the folders in which mail for the session lies.
func (p *pushes) mailboxes(ctx context.Context) ([]string, error) {
	sources, err := p.h.a.o.Mail.Sources(ctx, p.instance)
	owners := make([]string, 0, len(sources))
	for _, s := range sources {
		owners = append(owners, s.Owner)
	}
	return owners, err
}

// gone tells whether a peer has left. Right after this process was asleep only those have that say so.
func (p *pushes) gone(s *presence.Session, _ bool) bool {
	return s.State == presence.Closed || s.State == presence.StateExpired || !p.h.a.clock.grace(p.h.a.o.Now())
}

func (p *pushes) event(ctx context.Context, e follow.Event) error {
	switch e.Kind {
	case follow.Watching:
		there, mail, err := p.survey(ctx)
		if err != nil {
			return err
		}
		how := missed
		if !p.begun {
			p.begun, how = true, backlog
			p.tellReady(there)
		}
		if o := p.h.a.o; o.Ready != nil {
			select {
			case <-o.Ready:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		p.catchUp(there, mail, how)
		return p.blockages(ctx, how)
	case follow.Changed:
		return p.changed(ctx, e.Of)
	case follow.Halted: // as readSwitch has noted
		if p.waker != nil {
			p.waker.Halt()
		}
	case follow.Resumed:
		return p.resumed(ctx)
	case follow.Joined:
		p.joined(e.Session, missed)
	case follow.Left:
		p.left(e.Session.SessionID)
	case follow.Mail:
		p.arrived(e.Message.ID, missed, true)
		if p.added > maxAdded {
			return p.catchUpNow(ctx, missed)
		}
	case follow.Unfit:
		p.h.a.o.Log(fmt.Sprintf("something in the mailbox %s is not a message: %v", e.Mailbox, e.Err))
	}
	return nil
}

// A manner says what is done with things that were not told yet.
type manner uint8

const (
	missed  manner = iota // they are pushed
	backlog               // they are pushed as what was there before
	silent                // they are not pushed, and are no longer news
)

// survey finds out who else is there, and which messages are, oldest first.
func (p *pushes) survey(ctx context.Context) ([]*presence.Session, []*mailbox.Message, error) {
	o := p.h.a.o
	there, err := o.Presence.Fresh(ctx, o.Now())
	if err != nil {
		return nil, nil, err
	}
	there = slices.DeleteFunc(there, func(s *presence.Session) bool { return s.SessionID == p.h.id })
	if !p.wants(EnvelopeArrived) {
		return there, nil, nil
	}
	mail, bad, err := o.Mail.List(ctx, p.instance, mailbox.Query{Brief: true, States: !p.begun})
	if err != nil {
		return nil, nil, err
	}
	for _, err := range bad { // it may be in the making
		if unfit, ok := errors.AsType[*store.UnfitError](err); ok {
			p.watch.Forget(unfit.Key)
		}
	}
	slices.SortFunc(mail, func(x, y *mailbox.Message) int { return cmp.Or(cmp.Compare(x.Order, y.Order), cmp.Compare(x.ID, y.ID)) })
	return there, mail, nil
}

func (p *pushes) catchUpNow(ctx context.Context, how manner) error {
	there, mail, err := p.survey(ctx)
	if err == nil {
		p.catchUp(there, mail, how)
	}
	return err
}

// resumed is called when the switch was cleared. Events from meanwhile are not news, unless the user was faster than the watch
// and has let the agent go on already: later events must not be lost, and only peers that left are forgotten.
func (p *pushes) resumed(ctx context.Context) error {
	how := missed
	var err error
	if p.h.isStopped() {
		how, err = silent, p.catchUpNow(ctx, silent)
	} else {
		var there []*presence.Session
		if there, _, err = p.survey(ctx); err == nil {
			p.forget(there)
		}
	}
	if err != nil {
		return err
	}
	return p.blockages(ctx, how)
}

// forget forgets the peers that are not there any more.
func (p *pushes) forget(there []*presence.Session) {
	maps.DeleteFunc(p.peers, func(id address.SessionID, _ bool) bool {
		return !slices.ContainsFunc(there, func(s *presence.Session) bool { return s.SessionID == id })
	})
}

// catchUp brings what is known in line with what is there: peers that joined, peers that left, mail.
func (p *pushes) catchUp(there []*presence.Session, mail []*mailbox.Message, how manner) {
	is := map[address.SessionID]bool{}
	for _, s := range there {
		is[s.SessionID] = true
		p.joined(s, how)
	}
	if how == silent {
		p.forget(there)
	}
	for id := range p.peers {
		if !is[id] && !p.h.a.clock.grace(p.h.a.o.Now()) {
			p.left(id)
		}
	}
	p.trim(mail)
	for _, m := range mail {
		p.arrived(m.ID, how, m.State.Pushed.IsZero())
		if how == backlog && p.h.cameSince(m) {
			p.wake()
		}
	}
}

// maxAdded is after how many messages those that have left the mailbox are forgotten: half a megabyte of hashes.
const maxAdded = 1 << 15

// trim forgets the messages that are not in the list of those that are there. No look can find them again.
func (p *pushes) trim(list []*mailbox.Message) {
	known := make(map[uint64]bool, len(list))
	for _, m := range list {
		if h := hash(m.ID); p.mail[h] {
			known[h] = true
		}
	}
	p.mail, p.added = known, 0
}

// joined takes notice of a peer, and tells of it if it was not known.
func (p *pushes) joined(s *presence.Session, how manner) {
	if s.SessionID == p.h.id || p.peers[s.SessionID] || !sane(string(s.SessionID)) || !sane(string(s.Instance)) {
		return
	}
	p.peers[s.SessionID] = true
	p.push(PeerJoined, how, func() []byte { return peerData(s) })
}

// left takes notice that a peer is not there any more. Those of which the session does not know were never told.
func (p *pushes) left(id address.SessionID) {
	if !p.peers[id] {
		return
	}
	delete(p.peers, id)
	p.push(PeerLeft, missed, func() []byte { return leftData(id) })
}

// arrived takes notice of a message. With note its push is to stand in the trail.
func (p *pushes) arrived(id string, how manner, note bool) {
	h := hash(id)
	if p.mail[h] {
		return
	}
	p.mail[h] = true
	p.added++
	if how == missed {
		p.wake()
	}
	pushed := p.push(EnvelopeArrived, how, func() []byte { return envelopeData(p.instance, id) })
	if pushed && note {
		p.h.a.notes.add(p.instance, mailbox.Mark{
			ID: id, Step: mailbox.Pushed, At: p.h.a.o.Now(), By: string(p.instance), Session: string(p.h.id),
		})
	}
}

// wake says that there is mail for which the agent may be woken.
func (p *pushes) wake() {
	if p.waker != nil && p.h.mayPush() {
		p.waker.Mail()
	}
}

var seed = maphash.MakeSeed()

func hash(id string) uint64 { return maphash.String(seed, id) }

func (p *pushes) wants(topic string) bool { return slices.Contains(p.topics, topic) }

// push tells the session something if it wants to hear of that and its agent may go on. It says whether it did.
func (p *pushes) push(topic string, how manner, data func() []byte) bool {
	if how == silent || !p.wants(topic) || !p.h.mayPush() {
		return false
	}
	raw := data()
	if how == backlog {
		raw = canonjson.Set(raw, "backlog", []byte("true"))
	}
	err := p.h.a.o.Emit(Push{Topic: topic, Session: p.h.id, Data: raw})
	if err != nil && !p.failing {
		p.h.a.o.Log(fmt.Sprintf("session %s could not be told of %s: %v", p.h.id, topic, err))
	}
	p.failing = err != nil
	return err == nil
}

// mayPush tells whether the user lets pushes go out now: nothing is halted, and nothing was since the user let this session
// go on. The counter of halts finds those that came and went between two looks.
func (h *held) mayPush() bool {
	s := h.readSwitch()
	now := h.a.o.Epoch()
	if now == halt.UnknownEpoch {
		return false
	}
	return !h.isStopped() && now == h.epoch.Load() || !s.Halted && h.engagedElsewhere(now)
}

// engagedElsewhere lets the session go on when its user has said so to another program. epoch is as it was before that is asked.
func (h *held) engagedElsewhere(epoch uint64) bool {
	o := &h.a.o
	if o.Engaged == nil {
		return false
	}
	was := h.engaged.Load()
	on, err := o.Engaged(h.a.end, h.session().Instance)
	if err != nil {
		o.Log(fmt.Sprintf("session %s gets no notices: it is unknown whether its user has let it go on: %v", h.id, err))
	}
	if err != nil || !on || !h.engaged.CompareAndSwap(was, was+1) {
		return false
	}
	h.epoch.Store(epoch)
	return true
}

// readSwitch looks at the switch, and stops the pushes where it is on. A look may take a while: one that began before the user
// let the session go on says nothing of what is so since then.
func (h *held) readSwitch() halt.State {
	engaged := h.engaged.Load()
	s := h.a.o.Switch.Read()
	if !s.Halted {
		return s
	}
	for was := h.stopped.Load(); was <= engaged && !h.stopped.CompareAndSwap(was, engaged+1); {
		was = h.stopped.Load()
	}
	return s
}

// isStopped tells whether the switch was seen on since the user let the session go on.
func (h *held) isStopped() bool { return h.stopped.Load() > h.engaged.Load() }

// maxName and maxInterests bound what a peer can make this process say, in bytes: the longest name that is anybody's, and
// some hundred scopes.
const (
	maxName      = address.MaxSegment
	maxInterests = 4 << 10
)

func sane(name string) bool { return len(name) <= maxName && address.Check(name) == nil }

// peerData names a peer. Interests beyond all measure are left out.
func peerData(s *presence.Session) []byte {
	var o, peer, interests canonjson.Object
	interests.Strs("scopes", s.Interests.Scopes)
	interests.Strs("negotiations", s.Interests.Negotiations)
	about := interests.Bytes()
	if len(about) > maxInterests {
		about = []byte(`{"scopes":[],"negotiations":[]}`)
	}
	peer.Str("sessionId", string(s.SessionID))
	peer.Str("instance", string(s.Instance))
	if len(s.Host) <= maxName {
		peer.Opt("host", s.Host)
	}
	peer.Raw("interests", about)
	o.Raw("peer", peer.Bytes())
	return o.Bytes()
}

func leftData(id address.SessionID) []byte {
	var o, peer canonjson.Object
	peer.Str("sessionId", string(id))
	o.Raw("peer", peer.Bytes())
	return o.Bytes()
}

func envelopeData(i address.Instance, id string) []byte {
	var o canonjson.Object
	o.Str("instance", string(i))
	o.Str("envelopeId", id)
	return o.Bytes()
}
