package orgfile

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// shown is a header in one line: keys and values, and the body.
func shown(text string, h Header) string {
	var b strings.Builder
	for _, f := range h.Fields {
		fmt.Fprintf(&b, "%s=%s|", f.Key, f.Value)
	}
	return b.String() + fmt.Sprintf("%q", text[h.Body:])
}

func TestParse(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", MaxValue)
	many := strings.Repeat("#+X: y\n", MaxHeaderLines)
	for _, c := range []struct{ name, text, want string }{
		{"plain", "#+TITLE: A b\n#+SEQUENCE: 1\n\nBody.\n", `TITLE=A b|SEQUENCE=1|"Body.\n"`},
		{"keys in small letters", "#+title: A\n#+Some_Thing:b\n\n", `TITLE=A|SOME_THING=b|""`},
		{"blanks around", "#+TITLE: \t A b \t\n", `TITLE=A b|""`},
		{"no blank behind the colon", "#+TITLE:A:b", `TITLE=A:b|""`},
		{"empty value", "#+TITLE:\n#+FROM:   \n", `TITLE=|FROM=|""`},
		{"crlf", "#+TITLE: A\r\n#+SEQUENCE: 1\r\n\r\nBody.\r\n", `TITLE=A|SEQUENCE=1|"Body.\r\n"`},
		{"bom, blanks, comments", "\ufeff# -*- mode: org -*-\n#\n \t\n#+TITLE: A\n\nB", `TITLE=A|"B"`},
		{"ended by text", "#+TITLE: A\nBody.\n#+SEQUENCE: 1\n", `TITLE=A|"Body.\n#+SEQUENCE: 1\n"`},
		{"ended by a comment", "#+TITLE: A\n# c\n#+SEQUENCE: 1\n", `TITLE=A|"# c\n#+SEQUENCE: 1\n"`},
		{"ended by a keyword of another form", "#+TITLE: A\n#+begin_src sh\n#+TITLE: B\n", `TITLE=A|"#+begin_src sh\n#+TITLE: B\n"`},
		{"keyword in the body", "#+TITLE: A\n\n#+TITLE: B\n", `TITLE=A|"#+TITLE: B\n"`},
		{"only the first blank line is not of the body", "#+TITLE: A\n\n\nB", `TITLE=A|"\nB"`},
		{"unknown key twice", "#+TAG: a\n#+TAG: b\n", `TAG=a|TAG=b|""`},
		{"a separator in the body", "#+TITLE: A\n\na\u2028b\rc\v", `TITLE=A|"a\u2028b\rc\v"`},
		{"a value of the greatest size", "#+TITLE: " + long + "\n", "TITLE=" + long + `|""`},
		{"as many lines as may be", many, strings.Repeat("X=y|", MaxHeaderLines) + `""`},

		{"nothing", "", "0 no_frontmatter"},
		{"text", "Hello.\n#+TITLE: A\n", "1 no_frontmatter"},
		{"not a comment", "#comment\n#+TITLE: A\n", "1 no_frontmatter"},
		{"indented", " #+TITLE: A\n", "1 no_frontmatter"},
		{"a key with a digit", "#+TITLE2: A\n", "1 no_frontmatter"},
		{"no key", "#+: A\n", "1 no_frontmatter"},
		{"comments only", "# a\n\n# b\n", "0 no_frontmatter"},
		{"known key twice", "#+TITLE: A\n#+SEQUENCE: 1\n#+title: A\n", "3 duplicate_field"},
		{"nul in the body", "#+TITLE: A\n\n\x00", "0 not_text"},
		{"no utf-8 in the body", "#+TITLE: A\n\n\xff", "0 not_text"},
		{"line separator", "#+TITLE: A\u2028#+SEQUENCE: 2\n", "1 not_text"},
		{"paragraph separator", "#+TITLE: A\u2029\n", "1 not_text"},
		{"next line", "#+TITLE: A\u0085\n", "1 not_text"},
		{"form feed", "#+TITLE: A\f#+SEQUENCE: 2\n", "1 not_text"},
		{"carriage return alone", "#+TITLE: A\r#+SEQUENCE: 2\n", "1 not_text"},
		{"carriage return at the end", "#+TITLE: A\r", "1 not_text"},
		{"two of them", "#+TITLE: A\r\r\n", "1 not_text"},
		{"in a comment", "# c\v#+TITLE: B\n#+TITLE: A\n", "1 not_text"},
		{"a value that is too long", "#+TITLE: x" + long + "\n", "1 too_large"},
		{"too many lines", many + "#+X: y\n", fmt.Sprint(MaxHeaderLines+1, " too_large")},
		{"too many comments", strings.Repeat("#\n", MaxHeaderLines) + "#+TITLE: A\n", fmt.Sprint(MaxHeaderLines+1, " too_large")},
		{"a header without an end", strings.Repeat("#+X: "+long[:1000]+"\n", 17), "17 too_large"},
		{"a file that is too large", "#+TITLE: A\n\n" + strings.Repeat("x", MaxMessage), "0 too_large"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, err := Parse([]byte(c.text))
			got := ""
			if e := (*Error)(nil); errors.As(err, &e) {
				got = fmt.Sprint(e.Line, " ", e.Code)
			} else {
				got = shown(c.text, h)
			}
			if got != c.want {
				t.Errorf("%.80q:\ngot  %.200s\nwant %.200s", c.text, got, c.want)
			}
		})
	}
}

// The last bytes that ParseHead sees decide nothing that Parse does not decide in the same way.
func TestParseHeadAtTheLimit(t *testing.T) {
	t.Parallel()
	for _, tail := range []string{"\nBody", "#+FROM: a.b\n\nBody", "# comment\nBody", "#", "Body", "\u00e4\u00e4\u00e4", "\u2003\n"} {
		for over := -14; over <= 2; over++ {
			var text []byte
			for len(text) < MaxHeader-1100 {
				text = append(text, "#+X: "+strings.Repeat("y", 1000)+"\n"...)
			}
			text = append(text, "#+Y: "...)
			text = append(text, bytes.Repeat([]byte("z"), MaxHeader-len(text)+over-1)...)
			text = append(text, "\n"+tail...)
			text = append(text, bytes.Repeat([]byte("."), 64)...)
			whole, errWhole := Parse(text)
			head, errHead := ParseHead(text[:MaxHeader], true)
			if fmt.Sprint(whole, errWhole) != fmt.Sprint(head, errHead) {
				t.Errorf("%q, %d: the whole gives %v, the beginning %v", tail, over, errWhole, errHead)
			}
			if strings.HasPrefix(tail, "#+") {
				checkParse(t, text) // what the limit cuts off is not passed over
			}
			if errWhole == nil && whole.Fields[len(whole.Fields)-1].End > MaxHeader {
				t.Errorf("%q, %d: the header is larger than the limit", tail, over)
			}
		}
	}
}

func TestInsertAndReplace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"plain", "#+TITLE: A\n\nB\n", "#+TITLE: A\n#+FROM: a.b\n#+TO: c.d\n\nB\n"},
		{"crlf", "#+TITLE: A\r\n\r\nB", "#+TITLE: A\r\n#+FROM: a.b\r\n#+TO: c.d\r\n\r\nB"},
		{"no end", "#+TITLE: A", "#+TITLE: A\n#+FROM: a.b\n#+TO: c.d\n"},
		{"crlf, no end", "#+TITLE: A\r\n#+X: y", "#+TITLE: A\r\n#+X: y\r\n#+FROM: a.b\r\n#+TO: c.d\r\n"},
		{"followed by text", "\ufeff#+TITLE: A\nB", "\ufeff#+TITLE: A\n#+FROM: a.b\n#+TO: c.d\nB"},
	} {
		h, err := Parse([]byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(Insert([]byte(c.text), h, Field{Key: From, Value: "a.b"}, Field{Key: To, Value: "c.d"})); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	for _, c := range []struct{ text, value, want string }{
		{"#+TITLE:  A b \n\nB", "C", "#+TITLE:  C \n\nB"},
		{"#+TITLE:\n", "C", "#+TITLE: C\n"},
		{"#+TITLE:  \r\n", "C", "#+TITLE:  C\r\n"},
		{"#+TITLE:A", "", "#+TITLE:"},
		{"#+TITLE: A\n", "B\n#+SEQUENCE: 2\u2028\x00", "#+TITLE: B #+SEQUENCE: 2  \n"},
	} {
		h, err := Parse([]byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(Replace([]byte(c.text), h.Fields[0], c.value)); got != c.want {
			t.Errorf("%q with %q: got %q, want %q", c.text, c.value, got, c.want)
		}
	}
}

// lines are what texts are made of that are nearly headers.
var lines = []string{
	"#+TITLE: A", "#+title:B ", "#+SEQUENCE: 1", "#+MESSAGE_TYPE: request", "#+message_type: release", "#+X: y", "#+X: z", "#+FROM:",
	"", " \t", "# c", "#", "#c", "Body.", " #+TITLE: C", "#+begin_src", "#+TITLE", "\ufeff", "\u2028#+TITLE: D", "#+TITLE: \u2028#+TITLE: E",
	"#+TITLE: F\r#+SEQUENCE: 2", "\v", "\u00a0", "#+\u00c4: y", "#+X: \u00e4",
}

func text(t *rapid.T) []byte {
	var b []byte
	for range rapid.IntRange(0, 12).Draw(t, "lines") {
		b = append(b, rapid.SampledFrom(lines).Draw(t, "line")...)
		b = append(b, rapid.SampledFrom([]string{"\n", "\n", "\n", "\r\n", "", "\r"}).Draw(t, "end")...)
	}
	return b
}

// Other readers, as they are written in a few lines of Python. One splits where str.splitlines does, one at line feeds
// only; one takes the first line with a key, one the last.
var (
	anyBreak = regexp.MustCompile("\r\n|[\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029]")
	lineFeed = regexp.MustCompile("\n")
	aKeyword = regexp.MustCompile(`^#\+([A-Za-z_]+):(.*)$`)
)

func naive(text string, breaks *regexp.Regexp, last bool) map[string]string {
	got := map[string]string{}
	for _, line := range breaks.Split(strings.TrimPrefix(text, "\ufeff"), -1) {
		m := aKeyword.FindStringSubmatch(strings.TrimSuffix(line, "\r"))
		switch {
		case m != nil:
			key := strings.ToUpper(m[1])
			if _, had := got[key]; !had || last {
				got[key] = strings.TrimSpace(m[2])
			}
		case len(got) > 0:
			return got
		}
	}
	return got
}

func checkParse(t interface{ Fatalf(string, ...any) }, text []byte) {
	h, err := Parse(text)
	head, errHead := ParseHead(text[:min(len(text), MaxHeader)], len(text) > MaxHeader)
	if err == nil && fmt.Sprint(h) != fmt.Sprint(head) {
		t.Fatalf("%q: the whole gives %v, the beginning %v, %v", text, h, head, errHead)
	}
	if err != nil {
		if e := (*Error)(nil); !errors.As(err, &e) || e.Code == "" || e.Detail == "" {
			t.Fatalf("%q: %#v is not a good error", text, err)
		}
		return
	}
	end := 0
	for _, f := range h.Fields {
		if f.Start < end || f.VStart < f.Start || f.VEnd < f.VStart || f.End < f.VEnd || string(text[f.VStart:f.VEnd]) != f.Value {
			t.Fatalf("%q: %+v does not lie in its line", text, f)
		}
		end = f.End
	}
	if h.Body < end || h.Body > len(text) || end > MaxHeader || len(h.Fields) > MaxHeaderLines {
		t.Fatalf("%q: header to %d, body from %d", text, end, h.Body)
	}
	for _, breaks := range []*regexp.Regexp{anyBreak, lineFeed} {
		for _, last := range []bool{false, true} {
			others := naive(string(text), breaks, last)
			for key, value := range others {
				if got, _ := h.Get(key); Known(key) && got != value {
					t.Fatalf("%q: another reader sees %s as %q, we as %q", text, key, value, got)
				}
			}
			for _, f := range h.Fields {
				if _, there := others[f.Key]; !there {
					t.Fatalf("%q: another reader does not see %s", text, f.Key)
				}
			}
		}
	}
}

// Whatever Parse accepts, other readers read in the same way.
func TestParseProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { checkParse(t, text(t)) })
}

func checkEdit(t interface{ Fatalf(string, ...any) }, text []byte, value string) {
	h, err := Parse(text)
	if err != nil {
		return
	}
	before := bytes.Clone(text)
	at := h.Fields[len(h.Fields)-1].End
	longer := Insert(text, h, Field{Key: "ADDED_X", Value: value})
	if !bytes.Equal(before, text) {
		t.Fatalf("%q: Insert changed what it was given", before)
	}
	if !bytes.HasPrefix(longer, text[:at]) || !bytes.HasSuffix(longer, text[at:]) {
		t.Fatalf("%q: more than a line was added: %q", text, longer)
	}
	if len(value) <= MaxValue && len(h.Fields) < MaxHeaderLines/2 && len(longer) < MaxHeader && at < MaxHeader/2 {
		checkParse(t, longer)
		h2, err := Parse(longer)
		if err != nil || len(h2.Fields) != len(h.Fields)+1 || !bytes.Equal(longer[h2.Body:], text[h.Body:]) {
			t.Fatalf("%q: after Insert %q: %v, %v", text, longer, h2, err)
		}
	}
	for i, f := range h.Fields {
		other := Replace(text, f, value)
		if !bytes.HasPrefix(other, text[:f.VStart]) || !bytes.HasSuffix(other, text[f.VEnd:]) || !bytes.Equal(before, text) {
			t.Fatalf("%q: another byte was changed: %q", text, other)
		}
		if len(value) > MaxValue || at > MaxHeader/2 || len(other) > MaxMessage {
			continue
		}
		h2, err := Parse(other)
		if err != nil || len(h2.Fields) != len(h.Fields) {
			t.Fatalf("%q: after Replace %q: %v, %v", text, other, h2, err)
		}
		for j, g := range h2.Fields {
			if g.Key != h.Fields[j].Key || j != i && g.Value != h.Fields[j].Value {
				t.Fatalf("%q: after Replace of line %d %q: line %d is %+v", text, i, other, j, g)
			}
		}
	}
}

func TestEditsChangeNothingElse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		checkEdit(t, text(t), rapid.SampledFrom([]string{"v", "", "a b", "x\ny", "\r\n#+TITLE: Z", "\u2028", "\u00e4", " x "}).Draw(t, "value"))
	})
}

func FuzzParse(f *testing.F) {
	for _, l := range lines {
		f.Add([]byte(l), "v")
	}
	f.Add([]byte(strings.Join(lines, "\n")), "a\nb")
	f.Fuzz(func(t *testing.T, text []byte, value string) {
		checkParse(t, text)
		checkEdit(t, text, strings.ToValidUTF8(value, "?"))
	})
}

func BenchmarkParseHead(b *testing.B) {
	text := []byte("#+TITLE: Where the tests stand\n#+CONVERSATION_ID: test-conv\n#+MESSAGE_TYPE: request\n#+SEQUENCE: 1\n" +
		"#+TIMESTAMP: 2026-04-27T05:00:00-05:00\n#+PROTOCOL_VERSION: 5\n#+FROM: beta.alpha\n#+TO: here.notes\n\nBody.\n")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseHead(text, false); err != nil {
			b.Fatal(err)
		}
	}
}
