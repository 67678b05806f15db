package cli

import (
	"context"
	"errors"
	"strconv"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/canonjson"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
)

const (
	tidyAge = 90 * 24 * time.Hour
	// leastTidyAge is a day: a message that was taken a moment ago and is sent again must still be known.
	leastTidyAge = 24 * time.Hour
)

func runStoreTidy(ctx context.Context, c *Call) error {
	older, err := c.age("older", tidyAge)
	if err != nil {
		return err
	}
	if older < leastTidyAge {
		return usagef("--older %s: at least a day", Clean(c.text("older")))
	}
	mode := app.Writing
	if c.on("dry-run") {
		mode = app.Reading
	}
	s, err := c.open(mode)
	if err != nil {
		return err
	}
	defer s.Close()

	var done []filestore.Tidied
	var unfit []string
	for t, err := range s.Tidy(ctx, time.Now().Add(-older), c.on("dry-run")) {
		if u, ok := errors.AsType[*store.UnfitError](err); ok {
			unfit = append(unfit, u.Error())
			if !c.json {
				c.warn("%s", Clean(u.Error()))
			}
			continue
		}
		if err != nil {
			c.showTidied(done, nil, unfit)
			return err
		}
		done = append(done, t)
	}
	now := time.Now()
	trails, err := mailbox.New(s).ShortenTrails(ctx, now.Add(-older), now, c.on("dry-run"))
	c.showTidied(done, trails, unfit)
	if err != nil {
		return err
	}
	if len(unfit) > 0 {
		return &fault{code: exitState}
	}
	return nil
}

func (c *Call) showTidied(done []filestore.Tidied, trails []mailbox.Shortened, unfit []string) {
	docs, size := 0, int64(0)
	for _, t := range done {
		docs += t.Docs
		size += t.Size
	}
	if c.json {
		c.emit(c.tidiedJSON(done, trails, unfit, docs, size))
		return
	}
	var rows [][]string
	for _, t := range done {
		row := []string{t.Kind.String(), t.Owner, t.Month, plural(t.Docs, "message"), kibibytes(t.Size)}
		if !c.on("dry-run") {
			row = append(row, "now "+kibibytes(t.Packed))
		}
		rows = append(rows, row)
	}
	c.table(rows)
	for _, t := range trails {
		word := "taken out"
		if c.on("dry-run") {
			word = "would be taken out"
		}
		c.printf("trail of %s: %s, %s, %s\n", Clean(t.Trail), plural(t.Lines, "line"), kibibytes(t.Bytes), word)
	}
	switch {
	case docs == 0 && len(trails) > 0:
	case docs == 0:
		c.nothing("nothing to tidy")
	case c.on("dry-run"):
		c.printf("%s, %s, would be packed\n", plural(docs, "message"), kibibytes(size))
	default:
		c.printf("%s, %s, packed\n", plural(docs, "message"), kibibytes(size))
	}
}

func (c *Call) tidiedJSON(done []filestore.Tidied, trails []mailbox.Shortened, unfit []string, docs int, size int64) []byte {
	var files, shortened list
	for _, t := range trails {
		var o canonjson.Object
		o.Str("owner", t.Trail)
		o.Int("lines", int64(t.Lines))
		o.Int("bytes", t.Bytes)
		shortened.obj(&o)
	}
	for _, t := range done {
		var o canonjson.Object
		o.Str("kind", t.Kind.String())
		o.Str("owner", t.Owner)
		o.Str("month", t.Month)
		o.Int("documents", int64(t.Docs))
		o.Int("bytes", t.Size)
		if !c.on("dry-run") {
			o.Int("packed", t.Packed)
		}
		o.Str("file", t.File)
		files.obj(&o)
	}
	var o canonjson.Object
	o.Bool("ok", len(unfit) == 0)
	o.Bool("dryRun", c.on("dry-run"))
	o.Int("documents", int64(docs))
	o.Int("bytes", size)
	o.Raw("files", files.bytes())
	o.Raw("trails", shortened.bytes())
	o.Strs("unfit", unfit)
	return o.Bytes()
}

// kibibytes writes a size for people, rounded up.
func kibibytes(n int64) string { return strconv.FormatInt((n+1023)>>10, 10) + " KiB" }
