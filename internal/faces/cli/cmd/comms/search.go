package comms

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/store"
)

// A search is what is looked for.
type search struct {
	words  string // small letters, single blanks
	from   string // small letters
	since  time.Time
	newest int // 0: all
}

// A hit is a message in which it was found.
type hit struct {
	kind    string // "bus" or "project"
	id      string
	from    string
	at      time.Time
	verdict string
	where   string // inbox, archive; for people
	path    string
	thread  string
	sort    string // type or kind of the message
	title   string
	snippet string

	judge func(context.Context) (string, error) // what its signature is worth; asked only for what is shown
}

type searchOptions struct {
	Only, From, Since, Project, Instance string
	Newest                               int
}

// runSearch looks for a text in the mail of both kinds.
func runSearch(ctx context.Context, c *kit.Call, opt *searchOptions) error {
	s, err := searchFor(c, opt)
	if err != nil {
		return err
	}
	var hits []hit
	if only := opt.Only; only != "projects" {
		if hits, err = searchBus(ctx, c, opt, s); err != nil {
			if only == "bus" || c.IsSet(&opt.Instance) || ctx.Err() != nil {
				return err
			}
			c.Remark("the bus is not searched: %s", kit.Clean(err.Error()))
		}
	}
	if opt.Only != "bus" {
		more, err := searchProjects(ctx, c, opt, s)
		if err != nil {
			return err
		}
		hits = append(hits, more...)
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Or(b.at.Compare(a.at), strings.Compare(a.id, b.id)) })
	found := len(hits)
	if s.newest > 0 {
		hits = hits[:min(len(hits), s.newest)]
	}
	for i := range hits {
		if hits[i].verdict, err = hits[i].judge(ctx); err != nil {
			return err
		}
	}
	showHits(c, hits, found)
	if found == 0 {
		return &kit.Fault{Code: kit.ExitState} // it is said
	}
	return nil
}

// searchFor reads the command line.
func searchFor(c *kit.Call, opt *searchOptions) (*search, error) {
	s := &search{words: searchable(strings.Join(c.Args, " ")), from: strings.ToLower(opt.From), newest: kit.Or(c, &opt.Newest, fast.DefaultNewest)}
	if s.words == "" {
		return nil, kit.Usagef("search: for what?")
	}
	if c.IsSet(&opt.Since) {
		age, err := c.Age(&opt.Since, 0)
		if err != nil {
			return nil, err
		}
		s.since = time.Now().Add(-age)
	}
	return s, nil
}

// searchable is a text with small letters, and single blanks between its words, wherever its lines end.
func searchable(text string) string { return strings.Join(strings.Fields(strings.ToLower(text)), " ") }

// wants tells whether a message is one of those that are looked into.
func (s *search) wants(from string, at time.Time) bool {
	return (s.from == "" || strings.Contains(strings.ToLower(from), s.from)) && (s.since.IsZero() || at.After(s.since))
}

// around is how many characters of a text are shown on either side of what was found.
const around = 40

// find returns what stands around the words in a text; ok is false when they are not there.
func (s *search) find(text string) (snippet string, ok bool) {
	flat := strings.Join(strings.Fields(text), " ")
	at := strings.Index(strings.ToLower(flat), s.words)
	if at < 0 {
		return "", false
	}
	// Small letters may take more or fewer bytes than the capitals: what is shown is then beside it by some, and still text.
	at, end := min(at, len(flat)), min(at+len(s.words), len(flat))
	for at > 0 && at < len(flat) && !utf8.RuneStart(flat[at]) {
		at--
	}
	for end < len(flat) && !utf8.RuneStart(flat[end]) {
		end++
	}
	before, behind := []rune(flat[:at]), []rune(flat[end:])
	if snippet = flat[at:end]; len(before) > around {
		snippet = "…" + string(before[len(before)-around:]) + snippet
	} else {
		snippet = string(before) + snippet
	}
	if len(behind) > around {
		return snippet + string(behind[:around]) + "…", true
	}
	return snippet + string(behind), true
}

// searchBus looks through what an agent got: its mailbox and what it took.
func searchBus(ctx context.Context, c *kit.Call, opt *searchOptions, s *search) ([]hit, error) {
	d, err := c.Looker(ctx, opt.Instance)
	if d == nil || err != nil {
		return nil, err
	}
	defer d.Close()
	sources, err := d.Mail.Sources(ctx, d.Who.Instance)
	if err != nil {
		return nil, err
	}
	judge := fast.Judge(d)
	var hits []hit
	seen := map[string]bool{}
	for _, kind := range []store.Kind{store.Inbox, store.Archive} {
		for i := range sources {
			found, err := searchIn(ctx, d, s, kind, &sources[i])
			if err != nil {
				return nil, err
			}
			for _, f := range found {
				if seen[f.hit.id] {
					continue
				}
				seen[f.hit.id] = true
				// The bus is closed when this is asked; a verdict costs no more than the look at a sender.
				v, err := judge(ctx, f.key, &f.summary)
				if err != nil {
					return nil, err
				}
				word := v.Word.String()
				if v.RoleNotRegistered {
					word += ", role not registered"
				}
				f.hit.judge = func(context.Context) (string, error) { return word, nil }
				hits = append(hits, f.hit)
			}
		}
	}
	return hits, nil
}

// A busHit is a hit with what its verdict depends on.
type busHit struct {
	hit     hit
	key     store.Key
	summary envelope.Summary
}

// searchIn looks through one folder, newest first, until there are as many as are shown.
func searchIn(ctx context.Context, d *kit.Account, s *search, kind store.Kind, from *mailbox.Source) ([]busHit, error) {
	var found []busHit
	for row, err := range store.ViewOf(ctx, d.Store, kind, from.Owner, d.Mail.Projection, store.Query{}) {
		var unfit *store.UnfitError
		switch {
		case errors.As(err, &unfit):
			continue // inbox names it
		case err != nil:
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		m, err := envelope.Decode(row.Summary)
		if err != nil || !s.wants(string(m.Actor.Instance), time.UnixMilli(row.Order)) {
			continue
		}
		text := m.Preview
		if m.TextSize > len(m.Preview) {
			doc, err := d.Store.Get(ctx, row.Key)
			if errors.Is(err, store.ErrNotFound) {
				continue // it was taken; the archive has it
			}
			if err != nil {
				return nil, err
			}
			e, err := envelope.Parse(doc.Data)
			if err != nil {
				continue
			}
			text = e.Text()
		}
		snippet, ok := s.find(text)
		if !ok {
			continue
		}
		found = append(found, busHit{
			hit: hit{
				kind: "bus", id: m.ID, from: string(m.Actor.Instance), at: time.UnixMilli(row.Order), where: kind.String(), thread: m.ThreadID,
				sort: m.Kind, snippet: snippet,
			},
			key: row.Key, summary: m,
		})
	}
	return found, nil
}

// showHits prints what was found.
func showHits(c *kit.Call, hits []hit, found int) {
	if c.JSON {
		var o canonjson.Object
		var all kit.List
		for i := range hits {
			all.Raw(hits[i].json())
		}
		o.Int("found", int64(found))
		o.Raw("hits", all.Bytes())
		c.Emit(o.Bytes())
		return
	}
	if found == 0 {
		c.Nothing("nothing was found")
		return
	}
	now := time.Now()
	for i := range hits {
		h := &hits[i]
		c.Line(strings.Join([]string{kit.Clean(h.from), c.Paint(wordColor(h.verdict), kit.Clean(h.verdict)), kit.Ago(now.Sub(h.at)), kit.Clean(h.where)}, "  "))
		what := kit.Clean(h.id)
		if h.kind == "project" {
			what = kit.Clean(c.App.Shown(h.path))
		}
		c.Line("  " + what)
		if h.title != "" {
			c.Line("  title: " + fast.Cell(c, h.title))
		}
		if h.snippet != "" {
			c.Prose("  | ", 4, kit.Clean(h.snippet))
		}
	}
	if left := found - len(hits); left > 0 {
		c.Printf("and %d more; --newest 0 shows all\n", left)
	}
}

// wordColor is the colour of what a signature is worth.
func wordColor(word string) string {
	switch {
	case strings.HasPrefix(word, "verified"):
		return kit.Green
	case strings.HasPrefix(word, "key changed"), strings.HasPrefix(word, "bad signature"):
		return kit.Red
	}
	return kit.Yellow
}

func (h *hit) json() []byte {
	var o canonjson.Object
	o.Str("kind", h.kind)
	o.Str("id", h.id)
	o.Str("from", h.from)
	o.Str("at", h.at.UTC().Format(kit.JSONTime))
	o.Str("verdict", h.verdict)
	o.Str("where", h.where)
	o.Opt("path", h.path)
	o.Opt("thread", h.thread)
	o.Opt("type", h.sort)
	o.Opt("title", h.title)
	o.Str("snippet", h.snippet)
	return o.Bytes()
}
