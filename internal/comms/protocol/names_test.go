package protocol

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"2026-04-27T03:56:11-05:00", "2026-04-27T03:56:11-05:00"},
		{"2026-04-27 03:56:11-0500", "2026-04-27T03:56:11-05:00"},
		{"2026-04-27T08:56Z", "2026-04-27T08:56:00+00:00"},
		{"2026-04-27T08:56:11.987654321123Z", "2026-04-27T08:56:11+00:00"},
		{"2026-04-27T08:56:11+14:00", "2026-04-27T08:56:11+14:00"},
		{"2026-04-27T08:56:11+05:45", "2026-04-27T08:56:11+05:45"},
		{"2024-02-29T00:00Z", "2024-02-29T00:00:00+00:00"},
		{"2026-02-29T00:00Z", ""},
		{"2026-04-27T08:56:11", ""},
		{"2026-04-27T24:00:00Z", ""},
		{"2026-04-27T08:60:00Z", ""},
		{"2026-04-27T08:56:60Z", ""},
		{"2026-00-27T08:56:00Z", ""},
		{"2026-04-00T08:56:00Z", ""},
		{"2026-04-27t08:56:00z", ""},
		{"2026-04-27T08:56:11.Z", ""},
		{"2026-04-27T08:56:1Z", ""},
		{"2026-04-27T08:56:11+24:00", ""},
		{"2026-04-27T08:56:11+05:60", ""},
		{"2026-04-27T08:56:11 +05:00", ""},
		{"2026-04-27T08:56:11+5:00", ""},
		{"2026-04-27T08:56:11+05", ""},
		{"2026-04-27", ""},
		{"9999-12-31T23:59:59-05:00", ""}, // names could not have its year
		{"0000-01-01T00:00:00+05:00", ""},
		{"2026-04-27T08:56:11Zx", ""},
		{"", ""},
	} {
		at, ok := ParseTime(c.in)
		got := ""
		if ok {
			got = FormatTime(at)
		}
		if got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}

func TestParseName(t *testing.T) {
	t.Parallel()
	const at = "20260427T085611Z-from-"
	long := strings.Repeat("a", MaxSlug)
	for _, c := range []struct {
		name, conversation string
		known              []string
		sender, got, code  string
		short              bool
	}{
		{name: at + "data-lab-prep-work.org", code: CodeAmbiguous},
		{name: at + "data-lab-prep-work.org", known: []string{"web", "x"}, code: CodeAmbiguous},
		{name: at + "data-lab-prep-work.org", known: []string{"data", "Data-lab"}, sender: "data", got: "lab-prep-work"},
		{name: at + "data-lab-prep-work.org", known: []string{"data-lab-prep", "data-lab"}, sender: "data-lab-prep", got: "work"},
		{name: at + "data-lab.org", known: []string{"data-lab"}, sender: "data", got: "lab"},
		{name: at + "a-comms-cold-start.org", conversation: "comms-cold-start-discovery", sender: "a", got: "comms-cold-start-discovery", short: true},
		{name: at + "a-comms-cold-star.org", conversation: "comms-cold-start-discovery", code: CodeNameMismatch},
		{name: at + "a-b.org", conversation: "b-c", code: CodeNameMismatch},
		{name: at + "b.org", conversation: "b", code: CodeBadName},
		{name: at + "a-b.org", conversation: "a-b", code: CodeNameMismatch},
		{name: at + "a-b.org", conversation: "../b", code: CodeBadConversation},
		{name: at + long + "-" + long + ".org", sender: long, got: long},
		{name: at + long + "a-b.org", code: CodeBadName},
		{name: at + long + "-a-" + long + ".org", code: CodeBadName},
		{name: at + "a-b.org.asc.asc", code: CodeBadName},
		{name: at + "a-b.asc", code: CodeBadName},
		{name: at + "a-b.ORG", code: CodeBadName},
		{name: at + "a--b.org", code: CodeBadName},
		{name: at + "a-b-.org", code: CodeBadName},
		{name: at + "from-from-b.org", conversation: "b", sender: "from-from", got: "b"},
		{name: "20260230T085611Z-from-a-b.org", code: CodeBadName},
		{name: "20260427T085660Z-from-a-b.org", code: CodeBadName},
		{name: "20260427T085611-from-a-b.org", code: CodeBadName},
		{name: ".x", code: CodeIgnored},
		{name: ".", code: CodeIgnored},
	} {
		n, err := ParseName(c.name, c.conversation, c.known)
		if Code(err) != c.code {
			t.Errorf("%q beside %q: got %v, want %q", c.name, c.conversation, err, c.code)
			continue
		}
		if err == nil && (n.Sender != c.sender || n.Conversation != c.got || n.Short != c.short) {
			t.Errorf("%q beside %q: got %+v, want %q, %q, short %v", c.name, c.conversation, n, c.sender, c.got, c.short)
		}
	}
}

// aSlug draws names of projects and conversations, many of which have hyphens and begin alike.
func aSlug() *rapid.Generator[string] {
	return rapid.StringMatching(`[ab](-[ab0]){0,4}|[a-z0-9]{1,64}|(data|lab)-(lab|prep|work)`)
}

// TestNameRoundTrip: a file name made from a header is matched to that header again, whatever hyphens it has.
func TestNameRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sender, id := aSlug().Draw(t, "sender"), aSlug().Draw(t, "conversation")
		at := time.Unix(rapid.Int64Range(-62167219200, 253402300799).Draw(t, "time"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
		name, err := FormatName(at, sender, id)
		if err != nil {
			t.Fatal(err)
		}
		for _, signature := range []bool{false, true} {
			name := name
			if signature {
				name = SignatureName(name)
			}
			n, err := ParseName(name, id, nil)
			if err != nil || n.Sender != sender || n.Conversation != id || n.Signature != signature || n.Short || n.Stamp.Unix() != at.Unix() {
				t.Fatalf("%q: got %+v, %v", name, n, err)
			}
			kind := Classify(name, false)
			if kind != MessageEntry && !signature || kind != SignatureEntry && signature {
				t.Fatalf("%q is taken for kind %d", name, kind)
			}
			archived, err := ArchiveName(name, id)
			if err != nil || !strings.HasPrefix(archived, id+"-") || strings.HasSuffix(archived, ascSuffix) != signature {
				t.Fatalf("%q is archived as %q, %v", name, archived, err)
			}
			// What the name alone says is the truth, or that it does not say it.
			if n, err := ParseName(name, "", nil); err == nil && (n.Sender != sender || n.Conversation != id) || err != nil && Code(err) != CodeAmbiguous {
				t.Fatalf("%q alone: got %+v, %v", name, n, err)
			}
			if n, err := ParseName(name, "", []string{sender}); err != nil || n.Sender != sender || n.Conversation != id {
				t.Fatalf("%q with its sender known: got %+v, %v", name, n, err)
			}
		}
	})
}

func TestSlugifyMakesSlugs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		got, ok := Slugify(s)
		if ok != (got != "") || ok && !Slug(got) {
			t.Fatalf("%q: %q, %v", s, got, ok)
		}
		if again, _ := Slugify(got); again != got {
			t.Fatalf("%q: %q becomes %q", s, got, again)
		}
		if Slug(s) && got != s {
			t.Fatalf("the slug %q becomes %q", s, got)
		}
	})
}

func FuzzParseName(f *testing.F) {
	f.Add("20260427T085611Z-from-data-lab-prep-work.org", "prep-work", "data-lab")
	f.Add("20260427T085611Z-from-a-comms-cold.org.asc", "comms-cold-start", "a")
	f.Add("../x", "", "")
	f.Fuzz(func(t *testing.T, name, id, known string) {
		n, err := ParseName(name, id, []string{known})
		if err == nil {
			if !Slug(n.Sender) || !Slug(n.Conversation) || strings.ContainsAny(name, "/\\\x00\n") || id != "" && n.Conversation != id {
				t.Fatalf("%q beside %q: %+v", name, id, n)
			}
			if again, err := FormatName(n.Stamp, n.Sender, n.Conversation); err != nil || !n.Short && again != strings.TrimSuffix(name, ascSuffix) {
				t.Fatalf("%q beside %q is %q, %v", name, id, again, err)
			}
		}
		for _, folder := range []bool{false, true} {
			kind := Classify(name, folder)
			if kind == MessageEntry && (folder || !strings.HasSuffix(name, orgSuffix) || strings.Contains(name, "/")) {
				t.Fatalf("%q is taken for a message", name)
			}
		}
		if at, ok := ParseTime(name); ok {
			if again, ok := ParseTime(FormatTime(at)); !ok || again.Unix() != at.Unix() {
				t.Fatalf("%q is %v and comes back as %v", name, at, again)
			}
		}
		if path, ok := Artifact(name); ok && (!strings.HasPrefix(path, "artifacts/") || slices.Contains(strings.Split(path, "/"), "..")) {
			t.Fatalf("%q leads to %q", name, path)
		}
	})
}

func TestArtifact(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string]bool{
		"artifacts/a": true, "artifacts/.a": true, "artifacts/a b/c": true,
		"artifacts": false, "artifacts/": false, "artifacts//a": false, "artifacts/./a": false, "./artifacts/a": false, "Artifacts/a": false,
		"artifacts/a\x1b[m": false, "artifacts\\a": false, "artifacts/a\\..\\b": false, "": false, "a/artifacts/b": false,
	} {
		if _, ok := Artifact(ref); ok != want {
			t.Errorf("%q: got %v", ref, ok)
		}
	}
}

func TestClassifyAllocatesNothing(t *testing.T) {
	names := []string{"20260427T085611Z-from-alpha-question.org", "20260427T085611Z-from-alpha-question.org.asc", "notes.txt", ".tmp.x"}
	if n := testing.AllocsPerRun(100, func() {
		for _, name := range names {
			Classify(name, false)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestAddress(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Address{
		"beta.notes": {"beta", "notes"}, "beta.my.proj": {"beta", "my.proj"}, "local._x": {"local", "_x"}, "b-1.A": {"b-1", "A"},
		"beta": {}, "beta.": {}, ".notes": {}, "Beta.notes": {}, "-b.x": {}, "beta.a/b": {}, "beta.a..b": {}, "beta.-a": {}, "beta..a": {}, "b@c.x": {},
	} {
		got, ok := ParseAddress(in)
		if got != want || ok != (want != Address{}) || ok && got.String() != in {
			t.Errorf("%q: got %+v, %v", in, got, ok)
		}
	}
}
