package post

import (
	"bytes"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tutti/internal/address"
	"tutti/internal/mailbox"
	"tutti/internal/peers"
	"tutti/internal/signature"
)

// SendAll sends many letters and syncs once. The receipts are in the order of the letters. Letters that could not be
// written or addressed are refused each by itself. A halt that comes before the letters become visible refuses all, and is the
// error. When the batch fails otherwise, some of it may lie there: each letter is then put by itself, so that each has a true word.
func (o *Office) SendAll(ctx context.Context, letters []Letter) ([]Receipt, error) {
	receipts, remember, halted := o.Deliver(ctx, letters)
	remember()
	return receipts, halted
}

// Deliver is SendAll for who has to answer first: the letters are durable when it returns, and remember, which has to be called once, does
// what only serves memory: the copies of the senders and the lines of the trails. Neither receipts nor letters may be changed before that.
func (o *Office) Deliver(ctx context.Context, letters []Letter) (receipts []Receipt, remember func(), halted error) {
	s := sending{letters: letters, receipts: make([]Receipt, len(letters)), raws: make([][]byte, len(letters)), copied: make([]bool, len(letters))}
	var box *mailbox.Mailbox
	err := o.Mail.Batch(settle(ctx), func(b *mailbox.Mailbox) error {
		box = b
		c := counter{o: o, mail: b, found: map[address.Instance]peers.Found{}, keys: map[address.Instance]*signature.Private{}, stand: map[address.Instance]error{}}
		c.handAll(ctx, &s)
		halted = o.Halted("send a batch")
		return halted
	})
	durable := o.Now() // before that none of them was
	for i := range letters {
		r := &s.receipts[i]
		switch {
		case r.Outcome == Refused:
		case halted != nil:
			r.Outcome, r.Err = Refused, halted
		case r.Outcome == "": // the batch failed before it came to the letter
			r.Outcome, r.Asked, r.To, r.Err = Refused, letters[i].To, letters[i].To, err
		default:
			if err != nil {
				o.putAgain(ctx, r, s.raws[i])
			}
		}
		if r.Stored = durable; r.Outcome == Refused || r.Outcome == Already {
			r.Stored = time.Time{}
		}
	}
	return s.receipts, func() {
		var copies sync.WaitGroup
		if err == nil {
			copies.Go(box.Copies)
		} else {
			clear(s.copied)
		}
		o.copiesAll(settle(ctx), &s)
		copies.Wait()
	}, halted
}

// A sending is a batch of letters and what became of each.
type sending struct {
	letters  []Letter
	receipts []Receipt
	raws     [][]byte
	copied   []bool // the store makes the sender's copy
}

// putAgain stores a letter of a batch that failed. One that the batch did store is there, and keeps its word.
func (o *Office) putAgain(ctx context.Context, r *Receipt, raw []byte) {
	if r.Err = o.Halted("send to " + string(r.To)); r.Err == nil {
		_, r.Err = o.Mail.Put(settle(ctx), r.To, raw)
	} else if m, err := o.Mail.Get(settle(ctx), r.To, r.ID); err == nil && bytes.Equal(m.Envelope.Raw, raw) {
		r.Err = nil
	}
	if r.Err != nil {
		r.Outcome = Refused
	}
}

const (
	// stretchLetters is how many letters are written and sealed by one processor: half a millisecond of work, so that handing
	// it over costs nothing beside it.
	stretchLetters = 32
	// stretchesAhead is how many stretches are ready for each other processor, so that none of them ever waits for this one.
	stretchesAhead = 3
)

// A stretch is letters of a batch that follow each other. Who seals it takes one piece after the other.
type stretch struct {
	letters []Letter
	pieces  []piece
	next    atomic.Int64
	sealing sync.WaitGroup // counts pieces
	left    atomic.Int64   // likewise
}

// sealOne seals a piece that nobody has taken, if there is one.
func (s *stretch) sealOne() bool {
	n := s.next.Add(1) - 1
	if n >= int64(len(s.pieces)) {
		return false
	}
	s.pieces[n].seal(&s.letters[n])
	s.left.Add(-1)
	s.sealing.Done()
	return true
}

func (s *stretch) seal() {
	for s.sealOne() {
	}
}

// handAll stores letters in their order. A signature costs as much as making a file does, so other processors write, sign and
// judge the letters that follow meanwhile; this one does the same when it has nothing to store, and all where there is no other.
func (c *counter) handAll(ctx context.Context, all *sending) {
	helpers := runtime.GOMAXPROCS(0) - 1
	if !slices.ContainsFunc(all.letters, func(l Letter) bool { return l.Judged == nil }) {
		helpers = 0 // to wake one costs more than what is left to do for such letters
	}
	most := helpers * stretchesAhead
	ahead := make(chan *stretch, most)
	defer close(ahead)
	for range helpers {
		go func() {
			for s := range ahead {
				s.seal()
			}
		}()
	}
	var queue []*stretch
	stored := 0
	put := func() {
		s := queue[0]
		queue = queue[1:]
		s.seal()
		for _, other := range queue {
			for s.left.Load() > 0 && other.sealOne() {
			}
		}
		s.sealing.Wait()
		halted := c.o.Halted("send a batch")
		for n := range s.pieces {
			p := &s.pieces[n]
			if halted != nil {
				p.err = halted
			}
			c.store(ctx, all, stored, &s.letters[n], p)
			stored++
		}
	}
	for rest := all.letters; len(rest) > 0; {
		n := min(len(rest), stretchLetters)
		s := &stretch{letters: rest[:n], pieces: make([]piece, n)}
		rest = rest[n:]
		s.sealing.Add(n)
		s.left.Store(int64(n))
		for i := range s.pieces {
			c.prepare(ctx, &s.letters[i], &s.pieces[i])
		}
		select {
		case ahead <- s:
		default: // they all have enough to do
		}
		if queue = append(queue, s); len(queue) > most {
			put()
		}
	}
	for len(queue) > 0 {
		put()
	}
}

// store puts letter i, and has a copy made of it.
func (c *counter) store(ctx context.Context, all *sending, i int, l *Letter, p *piece) {
	r, raw, _ := c.put(ctx, l, p)
	all.receipts[i], all.raws[i] = r, raw
	if kept(&r) && !l.Arrived {
		all.copied[i] = c.mail.CopyAfter(settle(ctx), l.From.Instance, r.ID, raw)
	}
}

// kept tells whether a letter gets a copy and a line in the trail.
func kept(r *Receipt) bool { return r.Outcome == Delivered || r.Outcome == Deposited }

// copiesAll is copies for a batch: the files of the outbox, but for those that the store makes, are made by all processors, the
// trails get their lines at once.
func (o *Office) copiesAll(ctx context.Context, s *sending) {
	var left []int
	var trails []address.Instance // in the order of their first message
	marks := map[address.Instance][]mailbox.Mark{}
	for i := range s.receipts {
		r := &s.receipts[i]
		if !kept(r) {
			continue
		}
		if !s.copied[i] && !s.letters[i].Arrived {
			left = append(left, i)
		}
		if marks[r.To] == nil {
			trails = append(trails, r.To)
		}
		marks[r.To] = append(marks[r.To], mailbox.Mark{ID: r.ID, By: string(s.letters[i].From.Instance), At: r.Stored})
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(len(left), runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for n := next.Add(1) - 1; n < int64(len(left)); n = next.Add(1) - 1 {
				i := left[n]
				_ = o.Mail.KeepCopy(ctx, s.letters[i].From.Instance, s.receipts[i].ID, s.raws[i])
			}
		})
	}
	for _, to := range trails {
		_ = o.Mail.StoredAll(ctx, to, marks[to])
	}
	all.Wait()
}
