package bus

import (
	"context"
	"errors"
	"strconv"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/store"
	"tutti/internal/store/filestore"
)

const (
	tidyAge = 90 * 24 * time.Hour
	// leastTidyAge is a day: a message that was just taken and is sent again must still be known.
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
		c.Result(tidiedOf(opt, done, trails, unfit, docs, size))
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

// A tidied is what was packed into archives, or would be.
type tidied struct {
	OK        bool             `json:"ok"`
	DryRun    bool             `json:"dryRun"` // nothing was changed
	Documents int              `json:"documents"`
	Bytes     int64            `json:"bytes"`
	Files     []tidiedFile     `json:"files"`
	Trails    []shortenedTrail `json:"trails"`
	Unfit     []string         `json:"unfit"` // files that are not valid, and were left
}

// A tidiedFile is one archive.
type tidiedFile struct {
	Kind      string `json:"kind"`
	Owner     string `json:"owner"`
	Month     string `json:"month"`
	Documents int    `json:"documents"`
	Bytes     int64  `json:"bytes"`
	Packed    *int64 `json:"packed,omitempty"` // bytes in the archive; absent with --dry-run
	File      string `json:"file"`
}

// A shortenedTrail is the trail of one mailbox.
type shortenedTrail struct {
	Owner string `json:"owner"`
	Lines int    `json:"lines"`
	Bytes int64  `json:"bytes"`
}

func tidiedOf(opt *storeTidyOptions, done []filestore.Tidied, trails []mailbox.Shortened, unfit []string, docs int, size int64) tidied {
	dry := opt.DryRun
	return tidied{
		len(unfit) == 0, dry, docs, size,
		render.Each(done, func(t filestore.Tidied) tidiedFile {
			f := tidiedFile{Kind: t.Kind.String(), Owner: t.Owner, Month: t.Month, Documents: t.Docs, Bytes: t.Size, File: t.File}
			if !dry {
				f.Packed = &t.Packed
			}
			return f
		}),
		render.Each(trails, func(t mailbox.Shortened) shortenedTrail { return shortenedTrail{t.Trail, t.Lines, t.Bytes} }),
		render.List(unfit),
	}
}

// kibibytes formats a size for people, rounded up.
func kibibytes(n int64) string { return strconv.FormatInt((n+1023)>>10, 10) + " KiB" }
