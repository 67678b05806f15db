package mail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/registry"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/store"
)

// A Reader is whose mail is read, and in which of its sessions.
type Reader struct {
	Instance address.Instance
	Session  string // "" for a one-shot command
}

// An Item is one message as its reader is shown it.
type Item struct {
	*mailbox.Message
	Verdict trust.Verdict
}

// Taken is what one Receive gave out.
type Taken struct {
	Items   []Item
	Left    int     // unread ones that the limit left
	More    bool    // there may be more of these than Left says, because the mailbox is too large to look at all
	Held    []Item  // quarantined now, because the policy does not let them through
	Strange []error // files in the mailbox that are not messages; they stay where they are
}

// Receive offers the reader what was not shown yet, oldest first, at most limit (0: all). What it returns is claimed: no
// other session of the instance is offered it. The caller prints it and then calls Shown.
func (o *Service) Receive(ctx context.Context, r Reader, limit int) (*Taken, error) {
	return o.ReceiveWhile(ctx, r, limit, func(*Item) bool { return true })
}

// ReceiveWhile is Receive for callers that can show only so much at a time: room is asked for each message, oldest first, and
// after the first one that it turns down all others are left unclaimed, too.
func (o *Service) ReceiveWhile(ctx context.Context, r Reader, limit int, room func(*Item) bool) (*Taken, error) {
	return o.ReceiveSome(ctx, r, limit, func(*mailbox.Message) bool { return true }, room)
}

// ReceiveSome is ReceiveWhile for callers that want only some messages: wants is asked about each, in brief and with its state,
// oldest first, before it is read and also after one that there was no room for. Messages that wants turns down are left as if
// they were not there.
func (o *Service) ReceiveSome(ctx context.Context, r Reader, limit int, wants func(*mailbox.Message) bool, room func(*Item) bool) (*Taken, error) {
	if err := o.Halted("receive as " + string(r.Instance)); err != nil {
		return nil, err
	}
	if err := o.Registry.Standing(ctx, r.Instance); err != nil {
		return nil, fmt.Errorf("receive: %w", err)
	}
	who := mailbox.Reader{By: r.Instance, Session: r.Session}
	k := &taking{
		o: o, r: r, limit: limit, wants: wants, room: room, asked: map[string]bool{}, byID: map[string]Item{},
		judge: judge{o: o, known: map[address.Instance]sender{}, reader: r.Instance},
	}
	for n := max(window, limit+1); ; n *= 4 { // of a large mailbox more is listed until there is enough
		found, part, strange, err := o.Mail.Oldest(ctx, r.Instance, n, mailbox.Query{For: &who, Now: o.Now()})
		if err != nil {
			return nil, err
		}
		slices.SortFunc(found, older)
		for _, m := range found {
			if err := k.consider(ctx, m); err != nil {
				return nil, err
			}
		}
		k.t.Strange = append(strange, k.gone...)
		if k.t.More = part; !part || k.t.Left > 0 {
			break
		}
	}
	t := &k.t
	claimed, err := o.Mail.Offer(ctx, r.Instance, k.ids, who, o.Now())
	for _, id := range claimed { // also when the rest failed: what is claimed has to be shown
		t.Items = append(t.Items, k.byID[id])
	}
	if len(claimed) > 0 {
		err = nil
	}
	return t, err
}

// A taking is one ReceiveSome.
type taking struct {
	o     *Service
	r     Reader
	limit int
	wants func(*mailbox.Message) bool
	room  func(*Item) bool
	judge judge

	t     Taken
	asked map[string]bool // ids that were considered
	ids   []string        // to be claimed
	byID  map[string]Item
	full  bool    // room has turned one down
	gone  []error // what was a message when it was listed, and is none any more
}

// consider decides whether a message is one of those to be claimed.
func (k *taking) consider(ctx context.Context, m *mailbox.Message) error {
	if k.asked[m.ID] {
		return nil
	}
	k.asked[m.ID] = true
	if !k.wants(m) {
		return nil
	}
	if k.full || k.limit > 0 && len(k.ids) == k.limit {
		k.t.Left++
		return nil
	}
	item, held, err := k.o.look(ctx, &k.judge, k.r, m)
	switch {
	case errors.Is(err, mailbox.ErrNoMessage): // another reader took it
	case store.IsUnfit(err):
		k.gone = append(k.gone, err)
	case err != nil:
		return err
	case held:
		k.t.Held = append(k.t.Held, item)
	case !k.room(&item):
		k.full = true
		k.t.Left++
	default:
		k.ids = append(k.ids, m.ID)
		k.byID[m.ID] = item
	}
	return nil
}

// look reads a message and judges it. One that the policy does not let through goes to quarantine, which is held.
func (o *Service) look(ctx context.Context, j *judge, r Reader, m *mailbox.Message) (item Item, held bool, err error) {
	if err := o.Mail.Load(ctx, m); err != nil {
		return item, false, err
	}
	item = Item{Message: m}
	if item.Verdict, err = j.verdict(ctx, m.Envelope); err != nil {
		return item, false, err
	}
	why := o.Policy.refuses(m.Envelope.Actor.Instance, &item.Verdict)
	if why == "" {
		j.meet(&item)
		return item, false, nil
	}
	return item, true, o.Mail.Quarantine(settle(ctx), r.Instance, m.ID, why, o.Now())
}

// window is how many messages of a mailbox too large to be looked at as a whole are looked at first.
const window = 32

// older sorts as messages were written, then as they arrived.
func older(a, b *mailbox.Message) int {
	return cmp.Or(cmp.Compare(a.Order, b.Order), a.Stored.Compare(b.Stored), cmp.Compare(a.ID, b.ID))
}

// Shown records that the reader has what Receive or Answer gave out, and pins the key of each sender who was met for the first
// time. It is not done before: a key that the reader has not seen must not count as known the next time.
func (o *Service) Shown(ctx context.Context, r Reader, t *Taken) error {
	prints := make([]Print, len(t.Items))
	for n := range t.Items {
		prints[n] = t.Items[n].Print()
	}
	return o.Proven(ctx, r, prints)
}

// A Print is what has to be remembered of an item that was printed until it is proven that its reader has it.
type Print struct {
	ID    string
	From  address.Instance
	First signature.Public // the key of a first contact, which the reader was shown; else zero
}

// Print is what has to be remembered of an item.
func (i *Item) Print() Print {
	p := Print{ID: i.Envelope.ID, From: i.Envelope.Actor.Instance}
	if i.Verdict.Word == trust.NewKey && i.Verdict.Counts() {
		p.First = i.Verdict.Key
	}
	return p
}

// Proven records a delivery that another process confirmed later.
func (o *Service) Proven(ctx context.Context, r Reader, prints []Print) error {
	var errs []error
	var first []trust.Contact
	marks := make([]mailbox.Mark, len(prints))
	for n, p := range prints {
		if p.First != (signature.Public{}) {
			first = append(first, trust.Contact{Instance: p.From.Agent(), Key: p.First})
		}
		marks[n] = mailbox.Mark{ID: p.ID, Step: mailbox.Shown, By: string(r.Instance), Session: r.Session, At: o.Now()}
	}
	if err := o.Pins.PinAll(first, o.Now()); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(append(errs, o.Mail.StepAll(settle(ctx), r.Instance, marks))...)
}

// Pushed records that a reader was notified of messages, and in which way (see mailbox.ResultStop).
func (o *Service) Pushed(ctx context.Context, r Reader, ids []string, way string) error {
	marks := make([]mailbox.Mark, len(ids))
	for n, id := range ids {
		marks[n] = mailbox.Mark{ID: id, Step: mailbox.Pushed, By: string(r.Instance), Session: r.Session, At: o.Now(), Result: way}
	}
	return o.Mail.StepAll(settle(ctx), r.Instance, marks)
}

// GiveBack records that a reader is over, and that nothing proves that it had what it was offered: others need not wait for it.
func (o *Service) GiveBack(ctx context.Context, r Reader, ids []string) error {
	marks := make([]mailbox.Mark, len(ids))
	for n, id := range ids {
		marks[n] = mailbox.Mark{ID: id, Step: mailbox.Failed, By: string(r.Instance), Session: r.Session, At: o.Now(), Result: mailbox.ResultBack}
	}
	return o.Mail.StepAll(settle(ctx), r.Instance, marks)
}

// Judge returns the verdict on the signatures of a message, and whether it is addressed to the reader; "": there is no
// particular reader.
func (o *Service) Judge(ctx context.Context, reader address.Instance, e *envelope.Envelope) (v trust.Verdict, err error) {
	j := judge{o: o, reader: reader}
	return j.verdict(ctx, e)
}

// JudgeIn is Judge for a message in the mailbox with this folder name.
func (o *Service) JudgeIn(ctx context.Context, mailbox string, e *envelope.Envelope) (trust.Verdict, error) {
	return o.Judge(ctx, address.Instance(address.SegmentToAddress(mailbox)), e)
}

// A judge remembers the senders that it has looked up, unless known is nil.
type judge struct {
	o      *Service
	reader address.Instance // "": not known
	to     *Recipient       // the reader; nil: not asked yet
	known  map[address.Instance]sender
	met    map[address.Instance]signature.Public // the key of a first contact among the messages before, by agent
}

// A sender is what there is to know of one.
type sender struct {
	keys  trust.Keys
	roles []string
}

// meet remembers the key of a first contact. Only one key can be the first: a later message with another one has a changed key,
// although nothing is pinned until they are shown.
func (j *judge) meet(item *Item) {
	if item.Verdict.Word == trust.NewKey && item.Verdict.Counts() {
		if j.met == nil {
			j.met = map[address.Instance]signature.Public{}
		}
		j.met[item.Envelope.Actor.Instance.Agent()] = item.Verdict.Key
	}
}

func (j *judge) verdict(ctx context.Context, e *envelope.Envelope) (trust.Verdict, error) {
	s, known := j.known[e.Actor.Instance]
	if !known {
		var err error
		if s.keys, s.roles, err = j.o.Sender(ctx, e.Actor.Instance); err != nil {
			return trust.Verdict{}, err
		}
		if j.known != nil {
			j.known[e.Actor.Instance] = s
		}
	}
	v := s.keys.Judge(e)
	agent := e.Actor.Instance.Agent()
	if met, is := j.met[agent]; is && v.Word == trust.NewKey && met != v.Key {
		keys, err := j.o.Registry.Keys(ctx, agent)
		if err != nil {
			return trust.Verdict{}, err
		}
		v = trust.By(keys, []signature.Public{met}).Judge(e)
	}
	v.RoleNotRegistered = trust.RoleNotRegistered(e.Actor.Role, s.roles)
	var err error
	if v.AddressedTo, err = j.elsewhere(ctx, e.Target); err == nil {
		v.User = j.reader != "" && j.o.fromUser(e, &v)
	}
	return v, err
}

// fromUser reports whether a message with this verdict comes from the user of this service. No agent can bind a key for a
// person, and no message of another person is under the key that is here.
func (o *Service) fromUser(e *envelope.Envelope, v *trust.Verdict) bool {
	who := e.Actor.Instance
	if v.Word != trust.Verified || v.AddressedTo != "" || e.Via() != identity.ViaTerminal || e.Actor.Role != identity.RolePerson ||
		who.Canonical().Host() != identity.Human || o.Ring == nil || !slices.Contains(o.Pins.Bound(who), v.Key) {
		return false
	}
	own, err := o.Ring.Public(who)
	return err == nil && own == v.Key
}

// UserAnswers tells whether the message is the user's answer to a question of an agent.
func (i *Item) UserAnswers() bool {
	return i.Verdict.User && i.Envelope.Kind() == envelope.UserAnswer
}

// Source says whose text the message is, for the line above it. A message that a person signed may be the user's own, sent where no
// terminal shows it; so it is not said to be another's.
func (i *Item) Source() string {
	switch {
	case i.UserAnswers():
		return "answer of your user"
	case i.Verdict.User:
		return "message signed with the key of your user at a terminal"
	case i.Verdict.Counts() && i.Envelope.Actor.Instance.Canonical().Host() == identity.Human:
		return "text of a person, not known to be your user"
	}
	return "text of a peer, not of your user"
}

// elsewhere is [Recipient.Elsewhere] for the reader. What else the reader is called is found out only for a message that does not name
// the reader itself, which nearly all do.
func (j *judge) elsewhere(ctx context.Context, target address.Instance) (address.Instance, error) {
	if j.reader == "" || target == "" || family(target.Canonical()) == family(j.reader.Canonical()) {
		return "", nil
	}
	if j.to == nil {
		to, err := j.o.Recipient(ctx, j.reader)
		if err != nil {
			return "", err
		}
		j.to = &to
	}
	return j.to.Elsewhere(target), nil
}

// Sender returns what a message of an instance is judged by: its keys, and the roles that it is registered with. One that is
// not registered has neither; of one that was taken out of service none counts.
func (o *Service) Sender(ctx context.Context, from address.Instance) (trust.Keys, []string, error) {
	k, err := trust.KeysOf(ctx, o.Registry, o.Pins, from)
	if err != nil {
		return trust.Keys{}, nil, err
	}
	switch err := o.Registry.Standing(ctx, from); {
	case errors.Is(err, registry.ErrGone):
		k.Gone = true
	case err != nil:
		return trust.Keys{}, nil, err
	}
	reg, err := o.Registry.Registered(ctx, from.Agent()) // without grants, which anybody can write
	if errors.Is(err, registry.ErrNotRegistered) {
		return k, nil, nil
	}
	if err != nil {
		return k, nil, err
	}
	if from.Agent() != from {
		return k, []string{registry.Agents}, nil // a subagent has no other role
	}
	return k, reg.Roles, nil
}

// Ack takes messages away from the mailbox into the archive. An id that is not there is an error beside the others.
func (o *Service) Ack(ctx context.Context, r Reader, ids []string) (acked []string, err error) {
	if err := o.Halted("acknowledge as " + string(r.Instance)); err != nil {
		return nil, err
	}
	if err := o.Registry.Standing(ctx, r.Instance); err != nil {
		return nil, fmt.Errorf("acknowledge: %w", err)
	}
	var errs []error
	for _, id := range ids {
		if _, err := o.Mail.Take(settle(ctx), r.Instance, id); err != nil {
			errs = append(errs, err)
			continue
		}
		acked = append(acked, id)
		errs = append(errs, o.Mail.Step(settle(ctx), r.Instance,
			mailbox.Mark{ID: id, Step: mailbox.Taken, By: string(r.Instance), Session: r.Session, At: o.Now()}))
	}
	return acked, errors.Join(errs...)
}

// AckShown acknowledges everything that this instance was shown; unseen messages stay.
func (o *Service) AckShown(ctx context.Context, r Reader) ([]string, error) {
	if err := o.Halted("acknowledge as " + string(r.Instance)); err != nil {
		return nil, err
	}
	found, _, err := o.Mail.List(ctx, r.Instance, mailbox.Query{Exact: true, Brief: true, States: true})
	if err != nil {
		return nil, err
	}
	var shown []string
	for _, m := range found {
		if m.State.SeenBy(r.Instance) {
			shown = append(shown, m.ID)
		}
	}
	return o.Ack(ctx, r, shown)
}

// Reply answers a message in its thread and acknowledges it. The message may have been acknowledged before.
func (o *Service) Reply(ctx context.Context, r Reader, id string, l Draft) (Receipt, error) {
	m, err := o.Mail.Get(ctx, r.Instance, id)
	if err != nil {
		return Receipt{Outcome: Refused, Err: err}, err
	}
	l.To, l.ReplyTo, l.Thread = m.Envelope.Actor.Instance, m.Envelope.ID, m.Envelope.ThreadID
	receipt, err := o.Send(ctx, l)
	if err != nil || m.Archived {
		return receipt, err
	}
	_, err = o.Ack(ctx, r, []string{id})
	return receipt, err
}

// Answer waits until the agent to which a message was sent has replied. Replies of other agents stay in the mailbox. It looks whenever look delivers, and every second, because
// hints of a watcher may be lost. The caller claims what it is going to print, prints it, and then calls Shown.
func (o *Service) Answer(ctx context.Context, r Reader, to address.Instance, id string, look <-chan struct{}) (*Item, error) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if err := o.Registry.Standing(ctx, r.Instance); err != nil {
			return nil, fmt.Errorf("wait for the answer: %w", err)
		}
		m, err := o.Mail.ReplyTo(ctx, r.Instance, id, func(from address.Instance) bool { return speaksFor(from, to) })
		if err != nil && !errors.Is(err, mailbox.ErrNoMessage) {
			return nil, err
		}
		if err == nil {
			item, held, err := o.look(ctx, &judge{o: o, reader: r.Instance}, r, m)
			switch {
			case held && err == nil:
				continue // it is in quarantine now; there may be another one
			case err == nil && !held:
				return &item, nil
			case err != nil && !errors.Is(err, mailbox.ErrNoMessage):
				return nil, err
			}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-look:
		case <-tick.C:
		}
	}
}

// Claim offers the reader a message that Answer found, so that no Receive beside it shows it again. Another session that was
// faster has it as well: who asked is still told.
func (o *Service) Claim(ctx context.Context, r Reader, answer *Item) error {
	_, err := o.Mail.Offer(ctx, r.Instance, []string{answer.ID}, mailbox.Reader{By: r.Instance, Session: r.Session}, o.Now())
	return err
}
