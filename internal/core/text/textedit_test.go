package text

import (
	"errors"
	"testing"
)

func TestApply(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		changes []Splice
		want    string // "": refused
	}{
		"nothing":                      {nil, "abc"},
		"one":                          {[]Splice{Put(1, 2, "xy")}, "axyc"},
		"out of order":                 {[]Splice{Put(2, 3, "z"), Put(0, 1, "")}, "bz"},
		"two at one place":             {[]Splice{Put(1, 1, "x"), Put(1, 1, "y")}, "axybc"},
		"an insertion before a change": {[]Splice{Put(1, 2, "B"), Put(1, 1, "x")}, "axBc"},
		"at the end":                   {[]Splice{Put(3, 3, "!")}, "abc!"},
		"side by side":                 {[]Splice{Put(0, 1, "x"), Put(1, 3, "y")}, "xy"},
		"they meet":                    {[]Splice{Put(0, 2, "x"), Put(1, 3, "y")}, ""},
		"beyond the end":               {[]Splice{Put(2, 4, "x")}, ""},
		"backwards":                    {[]Splice{Put(2, 1, "x")}, ""},
		"before the text":              {[]Splice{Put(-1, 1, "x")}, ""},
	} {
		got, err := Apply([]byte("abc"), c.changes...)
		if string(got) != c.want || (c.want == "") != errors.Is(err, ErrOverlap) {
			t.Errorf("%s: %q, %v, want %q", what, got, err, c.want)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	text := []byte("a\r\n\n # c\nend")
	for at, want := range map[int][3]int{0: {0, 3, 1}, 2: {0, 3, 1}, 3: {3, 4, 2}, 4: {4, 9, 3}, 8: {4, 9, 3}, 9: {9, 12, 4}, 12: {9, 12, 4}} {
		if got := [3]int{LineStart(text, at), LineEnd(text, at), Line(text, at)}; got != want {
			t.Errorf("the line of byte %d: %v, want %v", at, got, want)
		}
	}
	if EOL(text) != "\r\n" || EOL([]byte("a\nb\r\n")) != "\n" || EOL([]byte("\n")) != "\n" || EOL(nil) != "\n" {
		t.Error("ends of lines")
	}
	for line, want := range map[string][2]bool{"": {true, false}, " \t\r\n": {true, false}, "\t # c": {false, true}, "a # c": {false, false}} {
		if got := [2]bool{Blank([]byte(line)), Comment([]byte(line))}; got != want {
			t.Errorf("%q: blank, comment %v, want %v", line, got, want)
		}
	}
}

func TestFlaw(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": -1, "é\ufffd": -1, "a\x00b\xff": 1, "é\xc3": 2, "\xff": 0, "a\xed\xa0\x80": 1} {
		if got, reason := Flaw([]byte(text)); got != want || (reason != "") != (want >= 0) {
			t.Errorf("%q: %d %s, want %d", text, got, reason, want)
		}
	}
}
