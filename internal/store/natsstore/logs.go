package natsstore

import (
	"context"
	"iter"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"tutti/internal/store"
)

var _ store.Logger = (*Store)(nil)

// Logs yields the names of the subjects that have lines. The server has them at hand: nothing is read for it.
func (s *Store) Logs(ctx context.Context, kind store.Kind) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		names, err := s.logs(ctx, kind)
		if err != nil {
			yield("", fail("list logs", store.Key{Kind: kind}, err))
			return
		}
		for _, name := range names {
			if !yield(name, nil) {
				return
			}
		}
	}
}

func (s *Store) logs(ctx context.Context, kind store.Kind) ([]string, error) {
	if err := store.CheckLogs(kind); err != nil {
		return nil, err
	}
	if err := s.usable(ctx, false); err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	h := homeOf(kind)
	prefix := h.prefix(s.opt.Name)
	stream, err := s.js.Stream(within, h.stream(s.opt.Name))
	if err != nil {
		return nil, s.said(ctx, err)
	}
	info, err := stream.Info(within, jetstream.WithSubjectFilter(prefix+kind.String()+".>"))
	if err != nil {
		return nil, s.said(ctx, err)
	}
	var names []string
	for subject := range info.State.Subjects {
		if k, err := store.ParseSubject(strings.TrimPrefix(subject, prefix)); err == nil {
			names = append(names, k.Name)
		}
	}
	return names, nil
}
