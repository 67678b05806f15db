package post

import (
	"bytes"
	"context"
	"runtime"
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
	receipts := make([]Receipt, len(letters))
	raws := make([][]byte, len(letters))
	var halted error
	err := o.Mail.Batch(settle(ctx), func(b *mailbox.Mailbox) error {
		c := counter{o: o, mail: b, found: map[address.Instance]peers.Found{}, keys: map[address.Instance]*signature.Private{}}
		c.handAll(ctx, letters, receipts, raws)
		halted = o.Halted("send a batch")
		return halted
	})
	durable := o.Now() // before that none of them was
	for i := range letters {
		r := &receipts[i]
		switch {
		case r.Outcome == Refused:
		case halted != nil:
			r.Outcome, r.Err = Refused, halted
		default:
			if err != nil {
				o.putAgain(ctx, r, raws[i])
			}
		}
		if r.Stored = durable; r.Outcome == Refused || r.Outcome == Already {
			r.Stored = time.Time{}
		}
	}
	o.copiesAll(settle(ctx), letters, receipts, raws)
	return receipts, halted
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

// stretchLetters is how many letters are written, then sealed, then stored: some milliseconds of work, so that handing it
// over costs nothing beside it.
const stretchLetters = 32

// A stretch is letters of a batch that follow each other. Who seals it takes one piece after the other.
type stretch struct {
	letters []Letter
	pieces  []piece
	next    atomic.Int64
	sealing sync.WaitGroup // counts pieces
}

func (s *stretch) seal() {
	for n := s.next.Add(1) - 1; n < int64(len(s.pieces)); n = s.next.Add(1) - 1 {
		s.pieces[n].seal()
		s.sealing.Done()
	}
}

// handAll stores letters in their order. A signature costs as much as making a file does, so other processors sign and judge
// the letters that follow meanwhile; where there is none that is free, this one does it all.
func (c *counter) handAll(ctx context.Context, letters []Letter, receipts []Receipt, raws [][]byte) {
	helpers := runtime.GOMAXPROCS(0) - 1
	ahead := make(chan *stretch, helpers)
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
	put := func(s *stretch) {
		s.seal()
		s.sealing.Wait()
		for n := range s.pieces {
			p := &s.pieces[n]
			if err := c.o.Halted("send to " + string(s.letters[n].To)); err != nil {
				p.err = err
			}
			receipts[stored], raws[stored], _ = c.put(ctx, &s.letters[n], p)
			stored++
		}
	}
	for len(letters) > 0 {
		n := min(len(letters), stretchLetters)
		s := &stretch{letters: letters[:n], pieces: make([]piece, n)}
		letters = letters[n:]
		s.sealing.Add(n)
		for i := range s.pieces {
			c.prepare(ctx, &s.letters[i], &s.pieces[i])
		}
		select {
		case ahead <- s:
		default: // they all have enough to do
		}
		if queue = append(queue, s); len(queue) > helpers {
			put(queue[0])
			queue = queue[1:]
		}
	}
	for _, s := range queue {
		put(s)
	}
}

// copiesAll is copies for a batch: the files of the outbox are made by all processors, the trails get their lines at once.
func (o *Office) copiesAll(ctx context.Context, letters []Letter, receipts []Receipt, raws [][]byte) {
	var stored []int
	var trails []address.Instance // in the order of their first message
	marks := map[address.Instance][]mailbox.Mark{}
	for i := range receipts {
		r := &receipts[i]
		if r.Outcome != Delivered && r.Outcome != Deposited {
			continue
		}
		stored = append(stored, i)
		if marks[r.To] == nil {
			trails = append(trails, r.To)
		}
		marks[r.To] = append(marks[r.To], mailbox.Mark{ID: r.ID, By: string(letters[i].From.Instance), At: r.Stored})
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(len(stored), runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for n := next.Add(1) - 1; n < int64(len(stored)); n = next.Add(1) - 1 {
				i := stored[n]
				_ = o.Mail.KeepCopy(ctx, letters[i].From.Instance, receipts[i].ID, raws[i])
			}
		})
	}
	for _, to := range trails {
		_ = o.Mail.StoredAll(ctx, to, marks[to])
	}
	all.Wait()
}
