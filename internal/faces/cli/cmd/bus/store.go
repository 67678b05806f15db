package bus

import (
	"context"
	"encoding/json"
	"errors"
	"sort"
	"strconv"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/store"
)

// kindArg reads a kind from the command line.
func kindArg(name string) (store.Kind, error) {
	if k := store.KindNamed(name); k != 0 {
		return k, nil
	}
	var names []string
	for _, k := range store.Kinds() {
		names = append(names, k.String())
	}
	hint := kit.DidYouMean(kit.Nearest(name, names), "")
	if hint == "" {
		hint = `"tutti store kinds" lists them`
	}
	return 0, kit.UsageHint(hint, "%s: no such kind", kit.Clean(name))
}

// keyArgs reads a key from the command line: the kind, then the owner and the name if the kind has them.
func keyArgs(words []string) (store.Key, error) {
	kind, err := kindArg(words[0])
	if err != nil {
		return store.Key{}, err
	}
	k, rest := store.Key{Kind: kind}, words[1:]
	spec := kind.Spec()
	want := ""
	if spec.HasOwner() {
		want += " <owner>"
		if len(rest) > 0 {
			k.Owner, rest = rest[0], rest[1:]
		}
	}
	if spec.HasName() {
		want += " <name>"
		if len(rest) > 0 {
			k.Name, rest = rest[0], rest[1:]
		}
	}
	if err := k.Check(); err != nil || len(rest) > 0 {
		if err == nil {
			err = errors.New("there is a word too many")
		}
		return k, kit.UsageHint("a key of this kind is: "+kind.String()+want, "%s", kit.Clean(err.Error()))
	}
	return k, nil
}

var classNames = [...]string{
	store.Once: "once", store.Owned: "owned", store.Locked: "locked", store.StrictLog: "log, strict",
	store.LenientLog: "log, lenient",
}

// A storeKind is one kind of documents or logs.
type storeKind struct {
	Kind  string `json:"kind"`
	Class string `json:"class"` // document, log or lock
	Limit int64  `json:"limit"` // most bytes of one
	Path  string `json:"path"`  // where it is, below the bus
}

func runStoreKinds(_ context.Context, c *kit.Call) error {
	l := []storeKind{}
	rows := [][]string{{"KIND", "CLASS", "LIMIT", "PATH"}}
	for _, k := range store.Kinds() {
		s := k.Spec()
		rows = append(rows, []string{s.Name, classNames[s.Class], strconv.FormatInt(s.WriteLimit>>10, 10) + " KiB", s.Path})
		l = append(l, storeKind{s.Name, classNames[s.Class], s.WriteLimit, s.Path})
	}
	if c.JSON {
		c.Result(l)
		return nil
	}
	c.Rows(rows)
	return nil
}

func runStoreList(ctx context.Context, c *kit.Call) error {
	kind, err := kindArg(c.Arg(0))
	if err != nil {
		return err
	}
	spec := kind.Spec()
	if c.Arg(1) != "" && !spec.HasOwner() {
		return kit.Usagef("%s: this kind has no owners", spec.Name)
	}
	if spec.IsLog() {
		return kit.UsageHint(`"tutti store log `+spec.Name+`" prints it`, "%s is a log", spec.Name)
	}
	s, err := c.ReadBus()
	if err != nil {
		return err
	}
	defer s.Close()
	if spec.HasOwner() && c.Arg(1) == "" {
		return listOwners(ctx, c, s, kind)
	}
	var found []store.Entry
	for e, err := range s.List(ctx, kind, c.Arg(1)) {
		if c.Unfit(err) {
			continue
		}
		if err != nil {
			return err
		}
		found = append(found, e)
	}
	sort.Slice(found, func(i, j int) bool { return found[i].Key.Name < found[j].Key.Name })
	return showEntries(c, found)
}

// A storeEntry is one document of a kind.
type storeEntry struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"` // bytes
	Stored string `json:"stored"`
}

func showEntries(c *kit.Call, found []store.Entry) error {
	l := []storeEntry{}
	var rows [][]string
	for _, e := range found {
		name := e.Key.Name
		if name == "" {
			name = e.Key.Kind.String()
		}
		rows = append(rows, []string{name, strconv.FormatInt(e.Size, 10), kit.Ago(time.Since(e.Stored))})
		l = append(l, storeEntry{e.Key.Name, e.Size, e.Stored.UTC().Format("2006-01-02T15:04:05.000Z")})
	}
	switch {
	case c.JSON:
		c.Result(l)
	case len(rows) == 0:
		c.Nothing("nothing there")
	default:
		c.Rows(rows)
	}
	return nil
}

func listOwners(ctx context.Context, c *kit.Call, s store.Reader, kind store.Kind) error {
	var owners []string
	for o, err := range s.Owners(ctx, kind) {
		if c.Unfit(err) {
			continue
		}
		if err != nil {
			return err
		}
		owners = append(owners, o)
	}
	sort.Strings(owners)
	if c.JSON {
		c.Result(render.List(owners))
		return nil
	}
	for _, o := range owners {
		c.Line(kit.Clean(o))
	}
	if len(owners) == 0 {
		c.Nothing("no agent has any")
	}
	return nil
}

// A storeDoc is one document.
type storeDoc struct {
	Revision string          `json:"revision"`
	Stored   string          `json:"stored"`
	Document json.RawMessage `json:"document,omitempty"` // where it is JSON
	Text     *string         `json:"text,omitempty"`     // where it is not
}

func runStoreShow(ctx context.Context, c *kit.Call) error {
	key, err := keyArgs(c.Args)
	if err != nil {
		return err
	}
	if key.Kind.Spec().IsLog() {
		return kit.UsageHint(`"tutti store log `+key.String()+`" prints it`, "%s is a log", key.Kind)
	}
	s, err := c.ReadBus()
	if err != nil {
		return err
	}
	defer s.Close()
	doc, err := s.Get(ctx, key)
	if err != nil {
		return err
	}
	if c.JSON {
		v := storeDoc{Revision: string(doc.Rev), Stored: doc.Stored.UTC().Format("2006-01-02T15:04:05.000Z")}
		if canonjson.Valid(doc.Data) {
			v.Document = doc.Data
		} else {
			text := string(doc.Data)
			v.Text = &text
		}
		c.Result(v)
		return nil
	}
	c.Raw(doc.Data)
	return nil
}

// A storeLine is one line of a log.
type storeLine struct {
	At   string          `json:"at"`   // where it is
	Next string          `json:"next"` // where the next one is
	Line json.RawMessage `json:"line,omitempty"`
}

type storeLogOptions struct{ From string }

func runStoreLog(ctx context.Context, c *kit.Call, opt *storeLogOptions) error {
	key, err := keyArgs(c.Args)
	if err != nil {
		return err
	}
	if !key.Kind.Spec().IsLog() {
		return kit.UsageHint(`"tutti store show `+key.String()+`" prints it`, "%s is not a log", key.Kind)
	}
	s, err := c.ReadBus()
	if err != nil {
		return err
	}
	defer s.Close()
	for line, err := range s.Read(ctx, key, store.Pos(opt.From)) {
		if c.Unfit(err) {
			continue
		}
		if err != nil {
			return err
		}
		if c.JSON {
			c.ResultLine(storeLine{string(line.At), string(line.Next), line.Data}) // one per line: a log may be longer than memory
		} else {
			c.Raw(line.Data)
		}
		if err := c.FlushLong(); err != nil {
			return err
		}
	}
	return nil
}
