package bus

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/store"
)

// A Census counts what a walk over the store finds.
type Census struct {
	docs, lines int
	Unfit       []string
}

// A checkedStore is what a check of all files found.
type checkedStore struct {
	OK        bool     `json:"ok"`
	Documents int      `json:"documents"`
	Lines     int      `json:"lines"`
	Unfit     []string `json:"unfit"` // files that are not valid, each with the reason
}

func runStoreCheck(ctx context.Context, c *kit.Call) error {
	s, err := c.ReadBus()
	if err != nil {
		return err
	}
	defer s.Close()
	var found Census
	if why := NoInbox(s.Path()); why != "" {
		found.Unfit = append(found.Unfit, why)
	}
	for _, k := range store.Kinds() {
		if err := found.kind(ctx, s, k); err != nil {
			return err
		}
	}
	if c.JSON {
		c.Result(checkedStore{len(found.Unfit) == 0, found.docs, found.lines, render.List(found.Unfit)})
	} else {
		for _, u := range found.Unfit {
			c.Line("unfit: " + kit.Clean(u))
		}
		c.Printf("%s, %s of logs, %d unfit\n", kit.Plural(found.docs, "document"), kit.Plural(found.lines, "line"), len(found.Unfit))
	}
	if len(found.Unfit) > 0 {
		return &kit.Fault{Code: kit.ExitState}
	}
	return nil
}

// NoInbox says that a bus in a folder has lost the folder of its mailboxes, "" if it has not.
func NoInbox(root string) string {
	if _, err := os.Lstat(filepath.Join(root, "inbox")); !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return "inbox: the folder of all mailboxes is missing"
}

// A Whole is a store that check can read.
type Whole interface {
	store.Reader
	store.Log
	store.Logger
}

// kind walks over the documents or the logs of a kind.
func (f *Census) kind(ctx context.Context, s Whole, k store.Kind) error {
	switch {
	case k.Spec().IsLog() && k.Spec().HasName():
		for name, err := range s.Logs(ctx, k) {
			if err == nil {
				err = f.Log(ctx, s, store.Key{Kind: k, Name: name})
			}
			if err = f.note(err); err != nil {
				return err
			}
		}
		return nil
	case k.Spec().IsLog():
		return f.Log(ctx, s, store.Key{Kind: k})
	case !k.Spec().HasOwner():
		return f.Documents(ctx, s, k, "")
	}
	return f.owners(ctx, s, k, func(owner string) error { return f.Documents(ctx, s, k, owner) })
}

func (f *Census) owners(ctx context.Context, s Whole, k store.Kind, one func(string) error) error {
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

func (f *Census) Documents(ctx context.Context, s Whole, k store.Kind, owner string) error {
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

func (f *Census) Log(ctx context.Context, s Whole, key store.Key) error {
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

func (f *Census) one(ctx context.Context, s Whole, key store.Key) error {
	doc, err := s.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil // removed since it was listed
	}
	if err != nil {
		return err
	}
	f.docs++
	if key.Kind != store.Quarantine && !canonjson.Valid(doc.Data) {
		f.Unfit = append(f.Unfit, key.Path()+": not valid JSON")
	}
	return nil
}

// note counts an unfit document, and returns every other error.
func (f *Census) note(err error) error {
	var u *store.UnfitError
	if !errors.As(err, &u) {
		return err
	}
	if why := u.Error(); !slices.Contains(f.Unfit, why) { // the owner of a trail is found twice
		f.Unfit = append(f.Unfit, why)
	}
	return nil
}
