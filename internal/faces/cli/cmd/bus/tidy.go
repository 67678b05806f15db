package bus

import (
	"context"
	"errors"
	"strconv"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
)

const (
	tidyAge = 90 * 24 * time.Hour
	// leastTidyAge is a day: a message that was taken a moment ago and is sent again must still be known.
	leastTidyAge = 24 * time.Hour
)

type storeTidyOptions struct {
	Older  string
	DryRun bool
}

func runStoreTidy(ctx context.Context, c *kit.Call, opt *storeTidyOptions) error {
	older, err := c.Age(&opt.Older, tidyAge)
	if err != nil {
		return err
	}
	if older < leastTidyAge {
		return kit.Usagef("--older %s: at least a day", kit.Clean(opt.Older))
	}
	mode := app.Writing
	if opt.DryRun {
		mode = app.Reading
	}
	s, err := c.Open(mode)
	if err != nil {
		return err
	}
	defer s.Close()

	var done []filestore.Tidied
	var unfit []string
	for t, err := range s.Tidy(ctx, time.Now().Add(-older), opt.DryRun) {
		if u, ok := errors.AsType[*store.UnfitError](err); ok {
			unfit = append(unfit, u.Error())
			if !c.JSON {
				c.Warn("%s", kit.Clean(u.Error()))
			}
			continue
		}
		if err != nil {
			showTidied(c, opt, done, nil, unfit)
			return err
		}
		done = append(done, t)
	}
	now := time.Now()
	trails, err := mailbox.New(s).ShortenTrails(ctx, now.Add(-older), now, opt.DryRun)
	showTidied(c, opt, done, trails, unfit)
	if err != nil {
		return err
	}
	if len(unfit) > 0 {
		return &kit.Fault{Code: kit.ExitState}
	}
	return nil
}

func showTidied(c *kit.Call, opt *storeTidyOptions, done []filestore.Tidied, trails []mailbox.Shortened, unfit []string) {
	docs, size := 0, int64(0)
	for _, t := range done {
		docs += t.Docs
		size += t.Size
	}
	if c.JSON {
		c.Emit(tidiedJSON(c, opt, done, trails, unfit, docs, size))
		return
	}
	var rows [][]string
	for _, t := range done {
		row := []string{t.Kind.String(), t.Owner, t.Month, kit.Plural(t.Docs, "message"), kibibytes(t.Size)}
		if !opt.DryRun {
			row = append(row, "now "+kibibytes(t.Packed))
		}
		rows = append(rows, row)
	}
	c.Rows(rows)
	for _, t := range trails {
		word := "taken out"
		if opt.DryRun {
			word = "would be taken out"
		}
		c.Printf("trail of %s: %s, %s, %s\n", kit.Clean(t.Trail), kit.Plural(t.Lines, "line"), kibibytes(t.Bytes), word)
	}
	switch {
	case docs == 0 && len(trails) > 0:
	case docs == 0:
		c.Nothing("nothing to tidy")
	case opt.DryRun:
		c.Printf("%s, %s, would be packed\n", kit.Plural(docs, "message"), kibibytes(size))
	default:
		c.Printf("%s, %s, packed\n", kit.Plural(docs, "message"), kibibytes(size))
	}
}

func tidiedJSON(c *kit.Call, opt *storeTidyOptions, done []filestore.Tidied, trails []mailbox.Shortened, unfit []string, docs int, size int64) []byte {
	var files, shortened kit.List
	for _, t := range trails {
		var o canonjson.Object
		o.Str("owner", t.Trail)
		o.Int("lines", int64(t.Lines))
		o.Int("bytes", t.Bytes)
		shortened.Obj(&o)
	}
	for _, t := range done {
		var o canonjson.Object
		o.Str("kind", t.Kind.String())
		o.Str("owner", t.Owner)
		o.Str("month", t.Month)
		o.Int("documents", int64(t.Docs))
		o.Int("bytes", t.Size)
		if !opt.DryRun {
			o.Int("packed", t.Packed)
		}
		o.Str("file", t.File)
		files.Obj(&o)
	}
	var o canonjson.Object
	o.Bool("ok", len(unfit) == 0)
	o.Bool("dryRun", opt.DryRun)
	o.Int("documents", int64(docs))
	o.Int("bytes", size)
	o.Raw("files", files.Bytes())
	o.Raw("trails", shortened.Bytes())
	o.Strs("unfit", unfit)
	return o.Bytes()
}

// kibibytes writes a size for people, rounded up.
func kibibytes(n int64) string { return strconv.FormatInt((n+1023)>>10, 10) + " KiB" }
