package natsstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"tutti/internal/store"
)

// A home is a stream as the key space names it.
type home struct {
	bucket string // Spec.Bucket
	docs   bool   // a key-value bucket, else a stream of lines
	live   bool   // its documents leave by age
	age    time.Duration
}

// trailAge is how long a line of the stream "trail" stays.
const trailAge = 30 * 24 * time.Hour

// homes are the streams of one store. The buckets are laid out as NATS lays out its key-value buckets, so that its own
// tools can show them.
var homes = []home{
	{bucket: "docs", docs: true},
	{bucket: "live", docs: true, live: true},
	{bucket: "log"},
	{bucket: "trail", age: trailAge},
}

func homeOf(kind store.Kind) home {
	bucket := kind.Spec().Bucket
	return homes[slices.IndexFunc(homes, func(h home) bool { return h.bucket == bucket })]
}

// stream is the name of the stream in the store of a name.
func (h home) stream(name string) string {
	if h.docs {
		return "KV_" + name + "-" + h.bucket
	}
	return name + "-" + h.bucket
}

// prefix is what stands before the subjects of keys.
func (h home) prefix(name string) string {
	if h.docs {
		return "$KV." + name + "-" + h.bucket + "."
	}
	return name + "-" + h.bucket + "."
}

// config is how the stream is made.
func (h home) config(o Options) jetstream.StreamConfig {
	c := jetstream.StreamConfig{
		Name:        h.stream(o.Name),
		Subjects:    []string{h.prefix(o.Name) + ">"},
		Description: "tutti: " + h.bucket,
		Storage:     jetstream.FileStorage,
		Replicas:    1, // a read may be answered by any replica, and one that is behind would break the contract
		Discard:     jetstream.DiscardNew,
		MaxAge:      h.age,
		DenyDelete:  true,
		AllowDirect: true,
	}
	switch {
	case h.docs:
		c.MaxMsgsPerSubject = 1
		c.AllowRollup = true // as the buckets of NATS have it
		c.AllowMsgTTL = true // for the markers of deletions
		if h.live {
			c.MaxAge = o.LiveTTL
		}
	case h.age == 0:
		c.DenyPurge = true
	}
	return c
}

// ensure makes a stream that is not there, and refuses one that would not keep the contract. What an operator may choose,
// as sizes and the age of what is live, is left as it is.
func (s *Store) ensure(ctx context.Context, h home) error {
	want := h.config(s.opt)
	within, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	found, err := s.js.Stream(within, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if s.opt.ReadOnly {
			return store.ErrNotFound
		}
		found, err = s.makeStream(within, want)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another process was faster, with other choices
			found, err = s.js.Stream(within, want.Name)
		}
	}
	if err != nil {
		return s.said(ctx, err)
	}
	return fits(found.CachedInfo().Config, want)
}

// makeStream makes a stream. A server that could not lay its files, which was seen once where dozens were made at the same time on a
// busy disk, answers with a code of its own and keeps nothing of the stream, so it is asked again.
func (s *Store) makeStream(ctx context.Context, want jetstream.StreamConfig) (found jetstream.Stream, err error) {
	for range createTries {
		found, err = s.js.CreateStream(ctx, want)
		if e, ok := errors.AsType[*jetstream.APIError](err); !ok || e.ErrorCode != codeStoreFailed {
			break
		}
		select {
		case <-time.After(createPause):
		case <-ctx.Done():
			return nil, errors.Join(err, ctx.Err())
		}
	}
	return found, err
}

const (
	createTries = 3
	createPause = 100 * time.Millisecond
	// codeStoreFailed is "error creating store for stream".
	codeStoreFailed jetstream.ErrorCode = 10049
)

// fits compares what the contract needs of a stream.
func fits(got, want jetstream.StreamConfig) error {
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"subjects", fmt.Sprint(got.Subjects), fmt.Sprint(want.Subjects)},
		{"messages a subject", max(got.MaxMsgsPerSubject, 0), max(want.MaxMsgsPerSubject, 0)},
		{"discard", got.Discard, want.Discard},
		{"retention", got.Retention, want.Retention},
		{"replicas", got.Replicas, want.Replicas},
		{"direct reads", got.AllowDirect, want.AllowDirect},
		{"times to live of messages", got.AllowMsgTTL, want.AllowMsgTTL},
		{"acknowledgements left out", got.NoAck, want.NoAck},
	} {
		if c.got != c.want {
			return fmt.Errorf("it was made by something else: %s %v, want %v", c.what, c.got, c.want)
		}
	}
	return nil
}
