package natsstore

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tutti/internal/store"
)

// Headers. Those of NATS are as its key-value buckets and its publications use them.
const (
	headMark   = "Tutti-Mark" // what tells a message from another one of the same sequence
	headFrom   = "Tutti-From" // on the target of a move: revision and subject of its source
	headTo     = "Tutti-To"   // on the marker that a move leaves, and on what comes after it: revision of the source and subject of the target
	headOp     = "KV-Operation"
	headReason = "Nats-Marker-Reason"
	headWant   = "Nats-Expected-Last-Subject-Sequence"
	headTTL    = "Nats-TTL"
	headSize   = "Nats-Msg-Size"
)

const (
	// markerTTL is how long the marker of a deletion stays. It has to outlast every operation that was under way when it
	// was written, those of programs that were suspended included.
	markerTTL = 7 * 24 * time.Hour
	// pageBytes and pageMessages bound one answer that has many messages.
	pageBytes    = 4 << 20
	pageMessages = 500
)

// errWrongLast is what the server answers when the last message of a subject is not the one that the client expected.
var errWrongLast = errors.New("wrong last sequence")

// A message is the content of a subject.
type message struct {
	key     store.Key
	seq     uint64 // 0: there is none
	mark    string
	at      time.Time
	data    []byte
	size    int64 // of the data, which a listing leaves out
	deleted bool  // the marker that a deletion leaves
	// from is set on the target of a Move. Only by it a reader can tell the twin of a move that was cut short from a
	// document that happens to have the same name.
	from string
	// to is set on the marker that a Move leaves, and on all that comes after it. It shows a mover whether it won, if another
	// process was faster with the deletion.
	to string
}

// there tells whether it is a document.
func (m message) there() bool { return m.seq != 0 && !m.deleted }

// rev is the revision or the position that the message stands for, "" for none.
func (m message) rev() string {
	if m.seq == 0 {
		return ""
	}
	return strconv.FormatUint(m.seq, 10) + "." + m.mark
}

// passage names one end of a move: the subject of the other end, and the source as it was.
func passage(other store.Key, source message) string { return source.rev() + " " + other.Subject() }

// newMark makes a mark of 48 random bits.
func newMark() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // it never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// put publishes a message under its key if the last one there has the sequence want, nil for any. It returns it as it is
// stored, but for its time, or errWrongLast.
func (s *Store) put(ctx context.Context, m message, want *uint64) (message, error) {
	h := homeOf(m.key.Kind)
	m.mark, m.size = newMark(), int64(len(m.data))
	out := nats.NewMsg(h.prefix(s.opt.Name) + m.key.Subject())
	out.Data = m.data
	set := func(name, value string) {
		if value != "" {
			out.Header.Set(name, value)
		}
	}
	set(headMark, m.mark)
	set(headFrom, m.from)
	set(headTo, m.to)
	if m.deleted {
		set(headOp, "DEL")
		if !h.live { // there it leaves with the others
			set(headTTL, markerTTL.String())
		}
	}
	if want != nil {
		set(headWant, strconv.FormatUint(*want, 10))
	}
	within, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	ack, err := s.js.PublishMsg(within, out)
	if err != nil {
		return message{}, s.said(ctx, err)
	}
	if ack.Stream != h.stream(s.opt.Name) {
		return message{}, fmt.Errorf("the stream %s took what is for %s", ack.Stream, h.stream(s.opt.Name))
	}
	m.seq = ack.Sequence
	return m, nil
}

// said turns what a request came to into an error of ours. ctx is the caller's: when it is not done, it was the server
// that took too long.
func (s *Store) said(ctx context.Context, err error) error {
	api := &jetstream.APIError{}
	switch {
	case errors.As(err, &api):
		switch api.ErrorCode {
		case jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant:
			return errWrongLast
		case jetstream.JSErrCodeJetStreamNotEnabled, jetstream.JSErrCodeJetStreamNotEnabledForAccount, jetstream.JSErrCodeStreamNotFound:
			return s.unreachable(err)
		}
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, nats.ErrMaxPayload):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return s.unreachable(errTimeout)
	}
	select {
	case <-s.done:
		return errClosed
	default:
		return s.unreachable(err)
	}
}

func (s *Store) unreachable(err error) error {
	return &UnreachableError{Server: s.at, Err: err}
}

// last returns the last message of a key, a deletion marker included; its seq is 0 when there is none.
func (s *Store) last(ctx context.Context, k store.Key) (message, error) {
	h := homeOf(k.Kind)
	within, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	subject := directPrefix + h.stream(s.opt.Name) + "." + h.prefix(s.opt.Name) + k.Subject()
	answer, err := s.nc.RequestWithContext(within, subject, nil)
	if err != nil {
		return message{}, s.said(ctx, err)
	}
	switch status := answer.Header.Get("Status"); status {
	case "":
		return s.parse(h, answer)
	case "404":
		return message{key: k}, nil
	default:
		return message{}, refused(answer)
	}
}

const directPrefix = "$JS.API.DIRECT.GET."

// refused is the error for a status that is none of those expected.
func refused(answer *nats.Msg) error {
	return fmt.Errorf("the server answers %s %s", answer.Header.Get("Status"), answer.Header.Get("Description"))
}

// A query asks for the messages of several subjects, or for several of one.
type query struct {
	Seq       uint64   `json:"seq,omitempty"` // from this one on
	NextFor   string   `json:"next_by_subj,omitempty"`
	Batch     int      `json:"batch,omitempty"`
	MaxBytes  int      `json:"max_bytes,omitempty"`
	MultiLast []string `json:"multi_last,omitempty"`
}

// page sends a query and gives each message of the answer to fn. It returns how many messages the answer leaves out.
func (s *Store) page(ctx context.Context, h home, q query, fn func(message)) (left uint64, err error) {
	q.MaxBytes = pageBytes
	err = s.ask(ctx, directPrefix+h.stream(s.opt.Name), q, func(status string, answer *nats.Msg) (bool, error) {
		switch status {
		case "":
			m, err := s.parse(h, answer)
			if err == nil {
				fn(m)
			}
			return true, err
		case "404":
			return false, nil
		case "204":
			left, err = strconv.ParseUint(answer.Header.Get("Nats-Num-Pending"), 10, 64)
			return false, err
		}
		return false, refused(answer)
	})
	return left, err
}

// ask sends a question and gives each answer with its status, which a message has none of, to fn while that wants more.
// An answer that does not come is an error, so a part is never taken for the whole.
func (s *Store) ask(ctx context.Context, subject string, question any, fn func(status string, answer *nats.Msg) (bool, error)) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	inbox := s.nc.NewInbox()
	sub, err := s.nc.SubscribeSync(inbox)
	if err != nil {
		return s.said(ctx, err)
	}
	defer func() { _ = sub.Unsubscribe() }() // an error says that the connection, and with it the subscription, is gone
	if err := s.nc.PublishRequest(subject, inbox, body); err != nil {
		return s.said(ctx, err)
	}
	for more := true; more; {
		answer, err := sub.NextMsgWithContext(within)
		if err != nil {
			return s.said(ctx, err)
		}
		status := answer.Header.Get("Status")
		if status == "503" {
			return s.unreachable(nats.ErrNoResponders)
		}
		if more, err = fn(status, answer); err != nil {
			return err
		}
	}
	return nil
}

// parse reads an answer of a direct read.
func (s *Store) parse(h home, answer *nats.Msg) (message, error) {
	seq, err := strconv.ParseUint(answer.Header.Get("Nats-Sequence"), 10, 64)
	if err != nil {
		return message{}, fmt.Errorf("a message without a sequence: %w", err)
	}
	at, err := time.Parse(time.RFC3339Nano, answer.Header.Get("Nats-Time-Stamp"))
	if err != nil {
		return message{}, fmt.Errorf("message %d: %w", seq, err)
	}
	m, err := s.stored(h, answer.Header.Get("Nats-Subject"), seq, at, answer.Header)
	m.data, m.size = answer.Data, int64(len(answer.Data))
	return m, err
}

// stored makes a message of what the server says about it. A subject that no key has is an error.
func (s *Store) stored(h home, subject string, seq uint64, at time.Time, head nats.Header) (message, error) {
	prefix := h.prefix(s.opt.Name)
	if len(subject) < len(prefix) || subject[:len(prefix)] != prefix {
		return message{}, fmt.Errorf("message %d has the subject %q", seq, subject)
	}
	k, err := store.ParseSubject(subject[len(prefix):])
	if err != nil {
		return message{}, err
	}
	m := message{key: k, seq: seq, at: at, mark: head.Get(headMark), from: head.Get(headFrom), to: head.Get(headTo)}
	if m.mark == "" { // another program's: the time of its arrival will do
		m.mark = "t" + strconv.FormatInt(at.UnixNano(), 36)
	}
	switch head.Get(headOp) {
	case "DEL", "PURGE":
		m.deleted = h.docs
	}
	m.deleted = m.deleted || head.Get(headReason) != "" && h.docs
	return m, nil
}
