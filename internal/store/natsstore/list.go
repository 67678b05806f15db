package natsstore

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tutti/internal/store"
)

// consumerIdle is after how long the server itself drops the consumer of a listing whose client has died.
const consumerIdle = 30 * time.Second

// twinKeys is how many archive keys are asked for in one question of a listing. Each takes up to 1.3 kB in it, and the
// server answers at most 1024.
const twinKeys = 250

// List yields the documents of one owner.
func (s *Store) List(ctx context.Context, kind store.Kind, owner string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		k := store.Key{Kind: kind, Owner: owner}
		found, err := s.listed(ctx, kind, owner)
		if err != nil {
			yield(store.Entry{}, fail("list", k, err))
			return
		}
		for _, m := range found {
			if !yield(store.Entry{Key: m.key, Size: m.size, Stored: m.at}, unfit(m)) {
				return
			}
		}
	}
}

func (s *Store) listed(ctx context.Context, kind store.Kind, owner string) (map[store.Key]message, error) {
	if err := s.listDoor(ctx, kind, owner); err != nil {
		return nil, err
	}
	return s.list(ctx, kind, store.Key{Kind: kind, Owner: owner})
}

// listDoor is the door for a kind and an owner: any name will do in its key.
func (s *Store) listDoor(ctx context.Context, kind store.Kind, owner string) error {
	k := store.Key{Kind: kind, Owner: owner}
	if slices.Contains(store.Kinds(), kind) && kind.Spec().HasName() {
		k.Name = "any"
	}
	return s.door(ctx, k, false)
}

// Owners yields the owners of a kind that have documents.
func (s *Store) Owners(ctx context.Context, kind store.Kind) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		err := s.listDoor(ctx, kind, "any")
		var found map[store.Key]message
		if err == nil {
			found, err = s.list(ctx, kind, store.Key{Kind: kind})
		}
		if err != nil {
			yield("", fail("list owners of", store.Key{Kind: kind}, err))
			return
		}
		seen := map[string]bool{}
		for k := range found {
			if !seen[k.Owner] && !yield(k.Owner, nil) {
				return
			}
			seen[k.Owner] = true
		}
	}
}

// list returns the documents below the subject of a key, without their data. It goes to the end of the stream: a document
// that is rewritten while others are being listed moves there, and must not be missed.
func (s *Store) list(ctx context.Context, kind store.Kind, below store.Key) (map[store.Key]message, error) {
	h := homeOf(kind)
	filter := h.prefix(s.opt.Name) + below.Subject()
	if kind.Spec().HasName() {
		filter += ".>"
	}
	found := map[store.Key]message{}
	err := s.heads(ctx, h, filter, func(m message) {
		if m.there() {
			found[m.key] = m
		} else {
			delete(found, m.key)
		}
	})
	if err == nil && kind == store.Inbox {
		err = s.dropMoved(ctx, found)
	}
	return found, err
}

// heads gives the heads of the messages below a filter to fn, later ones of a subject after earlier ones. Each page has a
// consumer of its own: only when it is made the server counts exactly what is left. Afterwards it estimates, and beside a
// writer it may say that nothing is left when something is.
func (s *Store) heads(ctx context.Context, h home, filter string, fn func(message)) error {
	for last, more := uint64(0), true; more; {
		err := s.usable(ctx, false)
		if err == nil {
			more, err = s.headPage(ctx, h, filter, &last, fn)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// headPage is one page of heads after the sequence last, which it moves on, and tells whether there may be more.
func (s *Store) headPage(ctx context.Context, h home, filter string, last *uint64, fn func(message)) (more bool, err error) {
	within, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	name := h.stream(s.opt.Name)
	c, err := s.js.CreateConsumer(within, name, jetstream.ConsumerConfig{
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       *last + 1,
		AckPolicy:         jetstream.AckNonePolicy,
		FilterSubjects:    []string{filter},
		HeadersOnly:       true,
		MemoryStorage:     true,
		Replicas:          1,
		InactiveThreshold: consumerIdle,
	})
	if err != nil {
		return false, s.said(ctx, err)
	}
	consumer := name + "." + c.CachedInfo().Name
	// This is not waited for; if the call is lost the server drops the consumer on its own.
	defer func() { _ = s.nc.Publish("$JS.API.CONSUMER.DELETE."+consumer, nil) }()
	if c.CachedInfo().NumPending == 0 {
		return false, nil
	}
	got, err := s.pull(ctx, h, consumer, last, fn)
	return got == 0 || got == pageMessages, err
}

// A pull asks a consumer for what it has, and not to wait for more.
type pull struct {
	Batch  int  `json:"batch"`
	NoWait bool `json:"no_wait"`
}

// pull gives the heads of one page to fn and returns how many messages it had. Fewer than a page are all, but none may be
// an estimate.
func (s *Store) pull(ctx context.Context, h home, consumer string, last *uint64, fn func(message)) (got int, err error) {
	q := pull{Batch: pageMessages, NoWait: true}
	err = s.ask(ctx, "$JS.API.CONSUMER.MSG.NEXT."+consumer, q, func(status string, in *nats.Msg) (bool, error) {
		switch status {
		case "":
		case "404":
			return false, nil
		default:
			return false, refused(in)
		}
		got++
		meta, err := in.Metadata()
		if err != nil {
			return false, err
		}
		*last = meta.Sequence.Stream
		m, err := s.stored(h, in.Subject, meta.Sequence.Stream, meta.Timestamp, in.Header)
		if err != nil {
			return got < q.Batch, nil // another program's name: no key has it
		}
		if m.size, err = strconv.ParseInt(in.Header.Get(headSize), 10, 64); err != nil {
			return false, err
		}
		fn(m)
		return got < q.Batch, nil
	})
	return got, err
}

// dropMoved takes away the messages of the inbox whose twin is in the archive.
func (s *Store) dropMoved(ctx context.Context, found map[store.Key]message) error {
	for keys := range slices.Chunk(slices.Collect(maps.Keys(found)), twinKeys) {
		targets := make([]store.Key, len(keys))
		for i, k := range keys {
			targets[i] = archived(k)
		}
		var moved []message
		err := s.lasts(ctx, homeOf(store.Archive), targets, func(target message) {
			source := store.Key{Kind: store.Inbox, Owner: target.key.Owner, Name: target.key.Name}
			if isTwin(target, found[source]) {
				moved = append(moved, found[source])
			}
		})
		if err != nil {
			return err
		}
		for _, m := range moved {
			s.finishMove(ctx, m)
			delete(found, m.key)
		}
	}
	return nil
}
