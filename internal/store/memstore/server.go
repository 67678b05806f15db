package memstore

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// errWrongLast is what the server answers when the last message of a subject is not the one that the client expected.
var errWrongLast = errors.New("wrong last sequence")

// A message is the content of a subject. It is never changed once it is stored.
type message struct {
	seq     uint64
	at      time.Time
	data    []byte
	deleted bool // the marker that a deletion leaves
	// from is set on the target of a Move. Only by it a reader can tell the twin of a move that was cut short from a
	// document that happens to have the same name.
	from passage
	// to is set on the marker that a Move leaves, and on the document created over that marker. It shows a mover whether it
	// won, if another process was faster with the deletion.
	to passage
}

// A passage is one end of a move: the subject of the other end, and the sequence that the source had.
type passage struct {
	subject string
	seq     uint64
}

// A server is the part that outlives its clients. Each of its methods is one request: it happens whole, and between two
// of them other clients may come.
type server struct {
	now func() time.Time

	mu       sync.Mutex // guards all below; never held while calling out
	buckets  map[string]*bucket
	streams  map[string]*stream
	watchers map[*watcher]bool
}

// A bucket keeps the last message of each subject.
type bucket struct {
	seq  uint64
	ttl  time.Duration // age at which a message goes away, 0 for never
	last map[string]message
}

// A stream keeps all messages of each subject, oldest first.
type stream struct {
	seq      uint64
	ttl      time.Duration
	messages map[string][]message
}

func newServer(now func() time.Time, liveTTL time.Duration) *server {
	return &server{
		now: now,
		buckets: map[string]*bucket{
			"docs": {last: map[string]message{}},
			"live": {last: map[string]message{}, ttl: liveTTL},
		},
		streams: map[string]*stream{
			"log":   {messages: map[string][]message{}},
			"trail": {messages: map[string][]message{}, ttl: trailAge},
		},
		watchers: map[*watcher]bool{},
	}
}

// gone tells whether a message of that age limit has left.
func (m message) gone(ttl time.Duration, now time.Time) bool {
	return ttl > 0 && now.Sub(m.at) >= ttl
}

// get returns the last message of a subject, a deletion marker included; its seq is 0 when there is none.
func (s *server) get(in, subject string) message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buckets[in].get(subject, s.now())
}

func (b *bucket) get(subject string, now time.Time) message {
	m := b.last[subject]
	if m.seq != 0 && m.gone(b.ttl, now) {
		delete(b.last, subject)
		return message{}
	}
	return m
}

// put stores a message if the last one of its subject has the sequence want, 0 for none, and returns the new sequence.
// On errWrongLast the message returned is the one that was found.
func (s *server) put(in, subject string, want uint64, m message) (message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, now := s.buckets[in], s.now()
	if found := b.get(subject, now); found.seq != want {
		return found, errWrongLast
	}
	b.seq++
	m.seq, m.at = b.seq, now
	b.last[subject] = m
	s.tell(subject)
	return m, nil
}

// list returns the subjects below a prefix that hold a document, with their messages.
func (s *server) list(in, prefix string) map[string]message {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, now := s.buckets[in], s.now()
	found := map[string]message{}
	for subject := range b.last {
		if subject != prefix && !strings.HasPrefix(subject, prefix+".") {
			continue
		}
		if m := b.get(subject, now); m.seq != 0 && !m.deleted {
			found[subject] = m
		}
	}
	return found
}

// read returns the messages of a subject that have not left.
func (s *server) read(in, subject string) []message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams[in].get(subject, s.now())
}

func (t *stream) get(subject string, now time.Time) []message {
	all := t.messages[subject]
	i := slices.IndexFunc(all, func(m message) bool { return !m.gone(t.ttl, now) })
	if i < 0 {
		i = len(all)
	}
	t.messages[subject] = all[i:]
	return all[i:len(all):len(all)]
}

// add appends a message to a subject if the last one there has the sequence want; nil means any.
func (s *server) add(in, subject string, want *uint64, data []byte) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, now := s.streams[in], s.now()
	if want != nil && lastSeq(t.get(subject, now)) != *want {
		return 0, errWrongLast
	}
	t.seq++
	t.messages[subject] = append(t.messages[subject], message{seq: t.seq, at: now, data: data})
	s.tell(subject)
	return t.seq, nil
}

// recreate drops all messages of a subject. Sequences go on, as they do after a purge.
func (s *server) recreate(in, subject string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams[in].messages, subject)
	s.tell(subject)
}

// shrink drops the messages of a subject of which keep returns false. The others keep their sequences.
func (s *server) shrink(in, subject string, keep func(message) bool) (gone int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.streams[in]
	var kept []message
	for _, m := range t.messages[subject] {
		if keep(m) {
			kept = append(kept, m)
		} else {
			gone++
		}
	}
	if gone > 0 {
		t.messages[subject] = kept
		s.tell(subject)
	}
	return gone
}

// lastSeq returns the sequence of the last message, 0 when there is none.
func lastSeq(all []message) uint64 {
	if len(all) == 0 {
		return 0
	}
	return all[len(all)-1].seq
}

// logs returns the subjects with a prefix that have messages.
func (s *server) logs(in, prefix string) (found []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, now := s.streams[in], s.now()
	for subject := range t.messages {
		if strings.HasPrefix(subject, prefix) && len(t.get(subject, now)) > 0 {
			found = append(found, subject)
		}
	}
	return found
}
