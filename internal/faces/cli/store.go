package cli

import (
	"context"
	"errors"
	"sort"
	"strconv"
	"time"

	"tutti/internal/core/canonjson"
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
	hint := didYouMean(nearest(name, names), "")
	if hint == "" {
		hint = `"tutti store kinds" lists them`
	}
	return 0, usageHint(hint, "%s: no such kind", Clean(name))
}

// keyArgs reads a key from words of the command line: the kind, then the owner and the name, where the kind has them.
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
		return k, usageHint("a key of this kind is: "+kind.String()+want, "%s", Clean(err.Error()))
	}
	return k, nil
}

var classNames = [...]string{
	store.Once: "once", store.Owned: "owned", store.Locked: "locked", store.StrictLog: "log, strict",
	store.LenientLog: "log, lenient",
}

func runStoreKinds(_ context.Context, c *Call) error {
	var l list
	rows := [][]string{{"KIND", "CLASS", "LIMIT", "PATH"}}
	for _, k := range store.Kinds() {
		s := k.Spec()
		rows = append(rows, []string{s.Name, classNames[s.Class], strconv.FormatInt(s.WriteLimit>>10, 10) + " KiB", s.Path})
		var o canonjson.Object
		o.Str("kind", s.Name)
		o.Str("class", classNames[s.Class])
		o.Int("limit", s.WriteLimit)
		o.Str("path", s.Path)
		l.obj(&o)
	}
	if c.json {
		c.emit(l.bytes())
		return nil
	}
	c.table(rows)
	return nil
}

func runStoreList(ctx context.Context, c *Call) error {
	kind, err := kindArg(c.arg(0))
	if err != nil {
		return err
	}
	spec := kind.Spec()
	if c.arg(1) != "" && !spec.HasOwner() {
		return usagef("%s: this kind has no owners", spec.Name)
	}
	if spec.IsLog() {
		return usageHint(`"tutti store log `+spec.Name+`" prints it`, "%s is a log", spec.Name)
	}
	s, err := c.readBus()
	if err != nil {
		return err
	}
	defer s.Close()
	if spec.HasOwner() && c.arg(1) == "" {
		return c.listOwners(ctx, s, kind)
	}
	var found []store.Entry
	for e, err := range s.List(ctx, kind, c.arg(1)) {
		if c.unfit(err) {
			continue
		}
		if err != nil {
			return err
		}
		found = append(found, e)
	}
	sort.Slice(found, func(i, j int) bool { return found[i].Key.Name < found[j].Key.Name })
	return c.showEntries(found)
}

func (c *Call) showEntries(found []store.Entry) error {
	var l list
	var rows [][]string
	for _, e := range found {
		name := e.Key.Name
		if name == "" {
			name = e.Key.Kind.String()
		}
		rows = append(rows, []string{name, strconv.FormatInt(e.Size, 10), ago(time.Since(e.Stored))})
		var o canonjson.Object
		o.Str("name", e.Key.Name)
		o.Int("size", e.Size)
		o.Str("stored", e.Stored.UTC().Format("2006-01-02T15:04:05.000Z"))
		l.obj(&o)
	}
	switch {
	case c.json:
		c.emit(l.bytes())
	case len(rows) == 0:
		c.nothing("nothing there")
	default:
		c.table(rows)
	}
	return nil
}

func (c *Call) listOwners(ctx context.Context, s store.Reader, kind store.Kind) error {
	var owners []string
	for o, err := range s.Owners(ctx, kind) {
		if c.unfit(err) {
			continue
		}
		if err != nil {
			return err
		}
		owners = append(owners, o)
	}
	sort.Strings(owners)
	if c.json {
		var l list
		for _, o := range owners {
			l.str(o)
		}
		c.emit(l.bytes())
		return nil
	}
	for _, o := range owners {
		c.line(Clean(o))
	}
	if len(owners) == 0 {
		c.nothing("nobody has any")
	}
	return nil
}

func runStoreShow(ctx context.Context, c *Call) error {
	key, err := keyArgs(c.Args)
	if err != nil {
		return err
	}
	if key.Kind.Spec().IsLog() {
		return usageHint(`"tutti store log `+key.String()+`" prints it`, "%s is a log", key.Kind)
	}
	s, err := c.readBus()
	if err != nil {
		return err
	}
	defer s.Close()
	doc, err := s.Get(ctx, key)
	if err != nil {
		return err
	}
	if c.json {
		var o canonjson.Object
		o.Str("revision", string(doc.Rev))
		o.Str("stored", doc.Stored.UTC().Format("2006-01-02T15:04:05.000Z"))
		if canonjson.Valid(doc.Data) {
			o.Raw("document", doc.Data)
		} else {
			o.Str("text", string(doc.Data))
		}
		c.emit(o.Bytes())
		return nil
	}
	c.raw(doc.Data)
	return nil
}

func runStoreLog(ctx context.Context, c *Call) error {
	key, err := keyArgs(c.Args)
	if err != nil {
		return err
	}
	if !key.Kind.Spec().IsLog() {
		return usageHint(`"tutti store show `+key.String()+`" prints it`, "%s is no log", key.Kind)
	}
	s, err := c.readBus()
	if err != nil {
		return err
	}
	defer s.Close()
	for line, err := range s.Read(ctx, key, store.Pos(c.text("from"))) {
		if c.unfit(err) {
			continue
		}
		if err != nil {
			return err
		}
		if c.json {
			var o canonjson.Object
			o.Str("at", string(line.At))
			o.Str("next", string(line.Next))
			o.Raw("line", line.Data)
			c.out = append(append(c.out, o.Bytes()...), '\n') // one a line: a log may be longer than memory
		} else {
			c.raw(line.Data)
		}
		if err := c.flushLong(); err != nil {
			return err
		}
	}
	return nil
}
