package profile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
)

// None is the word for the choice of no profile.
const None = "none"

var key = store.Key{Kind: store.Profile}

// A Choice is which profile a bus has chosen.
type Choice struct {
	Profile *Profile // nil: none
	By      string   // who chose; "" when it was never chosen
	At      string
	Before  string // what held before
	named   string // as written in the document
}

// Chosen returns the choice of a bus. A choice that cannot be read, or that names a profile which is not known here, is an error:
// to take it for none would open every gate.
func Chosen(ctx context.Context, r store.Reader) (Choice, error) {
	doc, err := r.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return Choice{}, nil
	}
	if err != nil {
		return Choice{}, fmt.Errorf("read the chosen profile: %w", err)
	}
	return parse(doc.Data)
}

func parse(data []byte) (Choice, error) {
	var v [4][]byte
	if canonjson.Check(data) != nil || !canonjson.Pick(data, []string{"profile", "by", "at", "was"}, v[:]) {
		return Choice{}, &DamagedError{}
	}
	var c Choice
	c.By, _ = canonjson.String(v[1])
	c.At, _ = canonjson.String(v[2])
	c.Before, _ = canonjson.String(v[3])
	c.named, _ = canonjson.String(v[0])
	if c.named == None {
		return c, nil
	}
	var err error
	if c.Profile, err = Named(c.named); err != nil {
		return c, fmt.Errorf("read the chosen profile: %w", err)
	}
	return c, nil
}

// A DamagedError reports a choice that is not a JSON object.
type DamagedError struct{}

func (*DamagedError) Error() string { return "the chosen profile (" + key.Path() + ") is damaged" }

// Hint says what to type.
func (*DamagedError) Hint() string {
	return "tutti profile use PROFILE   # chooses again; " + None + " for none"
}

// ID is what the choice is called.
func (c Choice) ID() string {
	if c.Profile == nil {
		return None
	}
	return c.Profile.ID
}

// Use chooses a profile for a bus, or none with None. What others wrote beside the choice stays. Choosing the current profile
// changes nothing. store.ErrConflict: another process chose meanwhile.
func Use(ctx context.Context, d store.Docs, id, by string, now time.Time) (Choice, error) {
	if id != None {
		p, err := Named(id)
		if err != nil {
			return Choice{}, err
		}
		id = p.ID
	}
	doc, err := d.Get(ctx, key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return Choice{}, fmt.Errorf("choose profile %s: %w", id, err)
	}
	old := Choice{named: None}
	if doc.Rev != "" {
		var damaged error
		if old, damaged = parse(doc.Data); damaged == nil && old.ID() == id {
			return old, nil
		}
	} else if id == None {
		return old, nil
	}
	data := doc.Data
	if canonjson.Check(data) != nil || !canonjson.IsObject(data) {
		data = nil
	}
	for _, m := range [][2]string{{"profile", id}, {"by", by}, {"at", envelope.Stamp(now)}, {"was", old.named}} {
		data = canonjson.Set(data, m[0], canonjson.AppendString(nil, m[1]))
	}
	if doc.Rev != "" {
		_, err = d.Replace(ctx, key, data, doc.Rev)
	} else if _, err = d.Create(ctx, key, data); errors.Is(err, store.ErrExists) {
		err = store.ErrConflict
	}
	if err != nil {
		return Choice{}, fmt.Errorf("choose profile %s: %w", id, err)
	}
	return parse(data)
}
