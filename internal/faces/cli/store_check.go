package cli

import (
	"context"
	"errors"

	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

// A census counts what a walk over the store has met.
type census struct {
	docs, lines int
	unfit       []string
}

func runStoreCheck(ctx context.Context, c *Call) error {
	s, err := c.readBus()
	if err != nil {
		return err
	}
	defer s.Close()
	var found census
	for _, k := range store.Kinds() {
		if err := found.kind(ctx, s, k); err != nil {
			return err
		}
	}
	if c.json {
		var o canonjson.Object
		o.Bool("ok", len(found.unfit) == 0)
		o.Int("documents", int64(found.docs))
		o.Int("lines", int64(found.lines))
		o.Strs("unfit", found.unfit)
		c.emit(o.Bytes())
	} else {
		for _, u := range found.unfit {
			c.line("unfit: " + Clean(u))
		}
		c.printf("%s, %s of logs, %d unfit\n", plural(found.docs, "document"), plural(found.lines, "line"), len(found.unfit))
	}
	if len(found.unfit) > 0 {
		return &fault{code: exitState}
	}
	return nil
}

// A whole is what check needs of a store.
type whole interface {
	store.Reader
	store.Log
	store.Logger
}

// kind walks over the documents or the logs of a kind.
func (f *census) kind(ctx context.Context, s whole, k store.Kind) error {
	switch {
	case k.Spec().IsLog() && k.Spec().HasName():
		for name, err := range s.Logs(ctx, k) {
			if err == nil {
				err = f.log(ctx, s, store.Key{Kind: k, Name: name})
			}
			if err = f.note(err); err != nil {
				return err
			}
		}
		return nil
	case k.Spec().IsLog():
		return f.log(ctx, s, store.Key{Kind: k})
	case !k.Spec().HasOwner():
		return f.documents(ctx, s, k, "")
	}
	return f.owners(ctx, s, k, func(owner string) error { return f.documents(ctx, s, k, owner) })
}

func (f *census) owners(ctx context.Context, s whole, k store.Kind, one func(string) error) error {
	for owner, err := range s.Owners(ctx, k) {
		if err == nil {
			err = one(owner)
		}
		if err = f.note(err); err != nil {
			return err
		}
	}
	return nil
}

func (f *census) documents(ctx context.Context, s whole, k store.Kind, owner string) error {
	for e, err := range s.List(ctx, k, owner) {
		if err == nil {
			err = f.one(ctx, s, e.Key)
		}
		if err = f.note(err); err != nil {
			return err
		}
	}
	return nil
}

func (f *census) log(ctx context.Context, s whole, key store.Key) error {
	for _, err := range s.Read(ctx, key, "") {
		if err == nil {
			f.lines++
		}
		if err = f.note(err); err != nil {
			return err
		}
	}
	return nil
}

func (f *census) one(ctx context.Context, s whole, key store.Key) error {
	doc, err := s.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil // taken away since it was listed
	}
	if err != nil {
		return err
	}
	f.docs++
	if key.Kind != store.Quarantine && !canonjson.Valid(doc.Data) {
		f.unfit = append(f.unfit, key.Path()+": is no JSON")
	}
	return nil
}

// note counts what is unfit and hands every other error on.
func (f *census) note(err error) error {
	var u *store.UnfitError
	if !errors.As(err, &u) {
		return err
	}
	if why := u.Error(); !contains(f.unfit, why) { // trails are found by the mailboxes, whose owners come up twice
		f.unfit = append(f.unfit, why)
	}
	return nil
}
