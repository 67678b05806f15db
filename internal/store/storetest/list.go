package storetest

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"tutti/internal/store"
)

// testList: every document of the owner and kind once, nothing of others; owners likewise.
func testList(f *fixture) {
	for _, kind := range docKinds() {
		f.wantList(kind, anyKey(kind).Owner)
	}
	if got := f.owners(store.Inbox); len(got) > 0 {
		f.Errorf("Owners of an empty store: %q", got)
	}
	want := map[string][]string{}
	for i := range 12 {
		owner, name := fmt.Sprint("o", i%3), fmt.Sprint("m", i)
		f.create(key(store.Inbox, owner, name), doc(i))
		want[owner] = append(want[owner], name)
	}
	f.create(key(store.Outbox, "o9", "m"), doc("other kind"))
	for owner, names := range want {
		f.wantList(store.Inbox, owner, names...)
	}
	f.wantList(store.Inbox, "o9")
	f.wantList(store.Inbox, "o") // only a prefix of owners
	if got := f.owners(store.Inbox); !slices.Equal(got, []string{"o0", "o1", "o2"}) {
		f.Errorf("Owners: %q, want o0, o1, o2", got)
	}
	// A listing may be left early, and the store goes on.
	for range f.s.List(f.ctx, store.Inbox, "o0") {
		break
	}
	for range f.s.Owners(f.ctx, store.Inbox) {
		break
	}
	f.create(key(store.Inbox, "o0", "later"), doc("later"))

	for _, kind := range []store.Kind{store.MirrorFence, store.Negotiation, store.Contract, store.Drumbeat} {
		k := anyKey(kind)
		f.create(k, doc("one"))
		f.wantList(kind, "", k.Name)
	}
	// A journal is not a state, and the decisions of the drumbeat are stored beside its entries.
	f.append(key(store.Journal, "only a journal"), "", doc("line"))
	f.append(key(store.DrumbeatDecisions), "", doc("line"))
	f.wantList(store.Negotiation, "", "name")
	f.wantList(store.Drumbeat, "", "name")
}

// testListWhileChanging: a document that is there all the time is listed each time, whatever comes and goes beside it.
func testListWhileChanging(f *fixture) {
	var stay []string
	for i := range 20 {
		stay = append(stay, fmt.Sprintf("stay%02d", i))
		f.create(key(store.Presence, stay[i]), doc(i))
	}
	done := make(chan struct{})
	together(2, func(i int) {
		if i == 0 {
			defer close(done)
			for n := range 60 {
				k := key(store.Presence, fmt.Sprint("go", n%7))
				rev, err := f.s.Create(f.ctx, k, doc(n))
				if err == nil {
					err = f.s.Delete(f.ctx, k, rev)
				}
				if err != nil {
					f.Errorf("Create and Delete %v: %v", k, err)
					return
				}
			}
			return
		}
		for open := true; open; {
			select {
			case <-done:
				open = false
			default:
			}
			got, unfit := f.list(store.Presence, "")
			if len(unfit) > 0 {
				f.Errorf("List beside a writer: %v", unfit)
				return
			}
			got = slices.DeleteFunc(got, func(name string) bool { return strings.HasPrefix(name, "go") })
			if !slices.Equal(got, stay) {
				f.Errorf("List beside a writer: %q, want %q", got, stay)
				return
			}
		}
	})
}

// hostile are segments that are legal and that a careless mapping breaks on.
var hostile = []string{
	"ünïcode-日本語", "two words", " led and ended ", ".hidden", "..two", "~tilde", "tilde~", "a@b", "a=b", "=41", "A=",
	"__", "a__b", "_", "-", "-rf", "x.json", ".x.json", ".lock", ".flock", ".tmp", "a.b.c", "end.", "*", ">", "a>b", "a:b", "%2F", "%",
	`back\slash`, `"quoted"`, "'", "$HOME", "#", "?", "{owner}", "{name}",
	strings.Repeat("s", 200), strings.Repeat("ü", 100), "." + strings.Repeat("=", 199),
}

func init() {
	if runtime.GOOS != "darwin" { // whose file systems take only names that are UTF-8
		hostile = append(hostile, "\xff\xfe")
	}
}

// testKeys: each legal segment comes back from listings as it was given, and no two meet.
func testKeys(f *fixture) {
	for _, kind := range []store.Kind{store.Presence, store.Negotiation, store.Policy} {
		for _, part := range hostile {
			f.create(key(kind, part), doc(fmt.Sprintf("%x", part)))
		}
		f.wantList(kind, "", slices.Clone(hostile)...)
		for _, part := range hostile {
			f.wantDoc(key(kind, part), f.get(key(kind, part)).Rev, doc(fmt.Sprintf("%x", part)))
		}
	}
	for i, part := range hostile {
		in := key(store.Inbox, part, hostile[len(hostile)-1-i])
		kept := in
		kept.Kind = store.Archive
		rev := f.create(in, doc(i))
		f.wantList(store.Inbox, part, in.Name)
		if err := f.s.Move(f.ctx, in, rev, kept); err != nil {
			f.Errorf("Move %v: %v", in, err)
		}
		f.wantNone(in)
	}
	if got, want := f.owners(store.Archive), slices.Sorted(slices.Values(hostile)); !slices.Equal(got, want) {
		f.Errorf("Owners: %q, want %q", got, want)
	}
}

// testKeysOfLogs: the same for the names of logs and of leases.
func testKeysOfLogs(f *fixture) {
	for i, part := range hostile {
		f.append(key(store.Trail, part), "", doc(i))
		f.append(key(store.Journal, part), "", doc(i))
		if _, err := f.s.Acquire(f.ctx, part, "me", patience); err != nil {
			f.Errorf("Acquire %q: %v", part, err)
		}
	}
	for i, part := range hostile {
		f.wantLines(key(store.Trail, part), doc(i))
		f.wantLines(key(store.Journal, part), doc(i))
	}
}

// testLogs: the logs of a kind are listed, each once, and nothing else is.
func testLogs(f *fixture) {
	l, ok := f.s.(store.Logger)
	if !ok {
		f.Skip("the backend lists no logs")
	}
	logs := func() []string {
		f.Helper()
		var names []string
		for name, err := range l.Logs(f.ctx, store.Journal) {
			if err != nil {
				f.Fatalf("Logs: %v", err)
			}
			names = append(names, name)
		}
		slices.Sort(names)
		return names
	}
	if got := logs(); len(got) != 0 {
		f.Errorf("Logs of an empty store: %q", got)
	}
	f.create(key(store.Negotiation, "no-log"), doc("record"))
	f.append(key(store.Trail, "other"), "", doc("line"))
	for i, part := range hostile {
		f.append(key(store.Journal, part), "", doc(i))
		f.append(key(store.Journal, part), store.AnyEnd, doc("more"))
	}
	for range 3 { // a log may be longer than a line of it
		f.append(key(store.Trail, "other"), store.AnyEnd, docOf(store.Trail.Spec().WriteLimit/2, "x"))
	}
	for name, err := range l.Logs(f.ctx, store.Trail) {
		if name != "other" || err != nil {
			f.Errorf("Logs of trails: %q, %v", name, err)
		}
	}
	if got, want := logs(), slices.Sorted(slices.Values(hostile)); !slices.Equal(got, want) {
		f.Errorf("Logs: %q, want %q", got, want)
	}
	for range l.Logs(f.ctx, store.Journal) {
		break
	}
	for _, kind := range append(docKinds(), 0) {
		var first error
		for _, err := range l.Logs(f.ctx, kind) {
			first = err
			break
		}
		f.wantRefused(fmt.Sprint("Logs of ", kind), first)
	}
}

// illegal are keys that Key.Check refuses.
func illegal() []store.Key {
	keys := []store.Key{
		{},
		{Kind: 250},
		{Kind: store.Schema, Name: "x"},
		{Kind: store.Instances, Name: "x"},
		{Kind: store.Policy, Owner: "o", Name: "x"},
		{Kind: store.Inbox, Name: "x"},
		{Kind: store.Inbox, Owner: "o"},
		{Kind: store.Policy},
		{Kind: store.Trail},
	}
	for _, part := range []string{".", "..", "...", "a/b", "/", "../x", "a\x00b", "a\nb", "\x7f", strings.Repeat("s", 201)} {
		keys = append(keys, key(store.Inbox, part, "n"), key(store.Inbox, "o", part), key(store.Presence, part),
			key(store.Trail, part), key(store.Journal, part))
	}
	return keys
}

// testIllegalKeys: every method refuses every bad key.
func testIllegalKeys(f *fixture) {
	good := key(store.Quarantine, "o", "n")
	for _, k := range illegal() {
		if k.Check() == nil {
			f.Fatalf("the key %#v is legal", k)
		}
		for what, err := range f.onDoc(k, good) {
			f.wantRefused(fmt.Sprintf("%s %#v", what, k), err)
		}
		for what, err := range f.onLog(k) {
			f.wantRefused(fmt.Sprintf("%s %#v", what, k), err)
		}
		if k.Kind == store.Presence { // the name of a lease is such a part
			_, err := f.s.Acquire(f.ctx, k.Name, "me", patience)
			f.wantRefused(fmt.Sprintf("Acquire %q", k.Name), err)
		}
		if k.Kind == store.Inbox && k.Name == "n" || k.Kind == 0 || k.Kind == 250 {
			f.wantRefused(fmt.Sprintf("List %#v", k), listErr(f, k.Kind, k.Owner))
		}
	}
	f.wantRefused("List of a kind with owners and no owner", listErr(f, store.Inbox, ""))
	f.wantRefused("List of a kind without owners and one", listErr(f, store.Policy, "o"))
	for _, kind := range []store.Kind{0, 250} {
		var first error
		for _, err := range f.s.Owners(f.ctx, kind) {
			first = errors.Join(first, err)
		}
		f.wantRefused(fmt.Sprint("Owners of ", kind), first)
	}
	f.wantNone(good)
}

// testWrongKind: the methods of documents and those of logs do not mix.
func testWrongKind(f *fixture) {
	good := key(store.Quarantine, "o", "n")
	for _, kind := range logKinds() {
		k := anyKey(kind)
		f.append(k, "", doc("line"))
		for what, err := range f.onDoc(k, good) {
			f.wantRefused(fmt.Sprintf("%s %v", what, k), err)
		}
		f.wantRefused(fmt.Sprintf("List %v", kind), listErr(f, kind, ""))
		f.wantLines(k, doc("line"))
	}
	for _, kind := range docKinds() {
		k := anyKey(kind)
		if k == good {
			continue
		}
		f.create(k, doc("doc"))
		for what, err := range f.onLog(k) {
			f.wantRefused(fmt.Sprintf("%s %v", what, k), err)
		}
		f.wantDoc(k, f.get(k).Rev, doc("doc"))
	}
	f.wantNone(good)
}

// onDoc calls every method of documents with a key.
func (f *fixture) onDoc(k, other store.Key) map[string]error {
	_, get := f.s.Get(f.ctx, k)
	_, create := f.s.Create(f.ctx, k, doc("x"))
	_, replace := f.s.Replace(f.ctx, k, doc("x"), "r")
	source := key(store.Quarantine, "o", "source")
	rev, err := f.s.Create(f.ctx, source, doc("x"))
	if err != nil {
		rev = f.get(source).Rev
	}
	return map[string]error{
		"Get": get, "Create": create, "Replace": replace, "Delete": f.s.Delete(f.ctx, k, "r"),
		"Move from": f.s.Move(f.ctx, k, "r", other), "Move to": f.s.Move(f.ctx, source, rev, k),
	}
}

// onLog calls every method of logs with a key.
func (f *fixture) onLog(k store.Key) map[string]error {
	_, add := f.s.Append(f.ctx, k, store.AnyEnd, doc("x"))
	_, _, extend := store.ExtendWith(f.ctx, f.s, k, store.AnyEnd, [][]byte{doc("x")})
	return map[string]error{
		"Read": f.readErr(f.ctx, f.s, k, ""), "Append": add,
		"Extend": extend,
	}
}

func listErr(f *fixture, kind store.Kind, owner string) error {
	for _, err := range f.s.List(f.ctx, kind, owner) {
		if err != nil {
			return err
		}
	}
	return nil
}

// limit is the largest value of a kind.
func (f *fixture) limit(kind store.Kind) int64 {
	n := kind.Spec().WriteLimit
	if f.b.MaxValue > 0 {
		n = min(n, f.b.MaxValue)
	}
	return n
}

// testLimits: the largest document is kept, one byte more is refused and leaves nothing behind.
func testLimits(f *fixture) {
	for _, kind := range docKinds() {
		k, n := anyKey(kind), f.limit(kind)
		_, err := f.s.Create(f.ctx, k, docOf(n+1, "x"))
		f.wantRefused(fmt.Sprintf("Create %v of %d bytes", k, n+1), err)
		f.wantNone(k)
		f.wantList(kind, k.Owner)
		rev := f.create(k, docOf(n, "x"))
		f.wantDoc(k, rev, docOf(n, "x"))
		if kind.Spec().Class == store.Once {
			continue
		}
		_, err = f.s.Replace(f.ctx, k, docOf(n+1, "y"), rev)
		f.wantRefused(fmt.Sprintf("Replace %v with %d bytes", k, n+1), err)
		f.wantDoc(k, rev, docOf(n, "x"))
		rev, err = f.s.Replace(f.ctx, k, docOf(n, "y"), rev)
		if err != nil {
			f.Errorf("Replace %v with %d bytes: %v", k, n, err)
		}
		f.wantDoc(k, rev, docOf(n, "y"))
	}
}

// testForeignDocs: what other programs do is seen, and never mistaken for what the caller had seen.
func testForeignDocs(f *fixture) {
	if f.b.PlantDoc == nil {
		f.Skip("the backend has no foreign programs")
	}
	for _, kind := range rewritten() {
		k := anyKey(kind)
		rev := f.create(k, doc("ours"))
		f.b.PlantDoc(f, f.s, k, doc("foreign"))
		_, err := f.s.Replace(f.ctx, k, doc("ours again"), rev)
		f.wantErr(fmt.Sprintf("Replace %v over a foreign change", k), err, store.ErrConflict)
		f.wantErr(fmt.Sprintf("Delete %v over a foreign change", k), f.s.Delete(f.ctx, k, rev), store.ErrConflict)
		f.wantDoc(k, f.get(k).Rev, doc("foreign"))
		if _, err := f.s.Replace(f.ctx, k, doc("merged"), f.get(k).Rev); err != nil {
			f.Errorf("Replace %v at the foreign revision: %v", k, err)
		}
	}
	foreign := key(store.Inbox, "a", "foreign")
	f.b.PlantDoc(f, f.s, foreign, doc("foreign"))
	_, err := f.s.Create(f.ctx, foreign, doc("ours"))
	f.wantExists("Create where a foreign document lies", err, foreign, f.get(foreign).Rev)

	// One that is too large to be read is named and skipped; the others are as they were.
	large := key(store.Presence, "large")
	f.b.PlantDoc(f, f.s, large, docOf(store.Presence.Spec().ReadLimit+1, "x"))
	f.create(key(store.Presence, "small"), doc("small"))
	_, err = f.s.Get(f.ctx, large)
	f.wantUnfit("Get a document that is too large", err, large)
	names, unfit := f.list(store.Presence, "")
	if !slices.Equal(names, []string{"name", "small"}) || len(unfit) != 1 {
		f.Fatalf("List beside a document that is too large: %q and errors %v", names, unfit)
	}
	f.wantUnfit("List a document that is too large", unfit[0], large)
	_, err = f.s.Create(f.ctx, large, doc("ours"))
	f.wantErr("Create where something unfit lies", err, store.ErrExists)
}

func (f *fixture) wantUnfit(what string, err error, k store.Key) {
	f.Helper()
	u, ok := errors.AsType[*store.UnfitError](err)
	if !ok {
		f.Errorf("%s: error %v, want an UnfitError", what, err)
		return
	}
	if u.Key != k || u.Where == "" || u.Why == "" {
		f.Errorf("%s: %+v, want the key %v, where it lies and why", what, u, k)
	}
}
