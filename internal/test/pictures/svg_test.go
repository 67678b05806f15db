package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"tutti/internal/test/hostile"
)

func TestRows(t *testing.T) {
	t.Parallel()
	got := rows("\x1b[1mtutti\x1b[0m  \x1b[32m●\x1b[39m <b>\n\n\x1b[7m› api  \x1b[0m\n", 20, 4)
	want := []string{
		`<text x="0" y="13" font-weight="700" textLength="42">tutti</text><text x="58.8" y="13" fill="#98c379">●</text><text x="75.6" y="13" textLength="25.2">&lt;b&gt;</text>`,
		"",
		`<rect x="0" width="58.8" height="17" fill="#d4d7dd"/><text x="0" y="13" fill="#1b1e24" textLength="42">› api</text>`,
		"",
	}
	for y := range want {
		if got[y] != want[y] {
			t.Errorf("row %d is\n%s, want\n%s", y, got[y], want[y])
		}
	}
}

// A movie shows each row from the frame in which it appears to the one in which it changes, and its last frame where nothing moves.
func TestMovie(t *testing.T) {
	t.Parallel()
	const lines = 3
	m := &movie{about: "a & b", windows: []window{{title: "w", columns: 9, lines: lines, view: 2}}, hold: time.Second}
	for i, text := range []string{"one", "one\ntwo", "one\nTWO\nthree"} {
		m.frames = append(m.frames, frame{at: time.Duration(i) * time.Second, screens: [][]string{rows(text, 9, lines)}})
	}
	got := m.svg()
	for _, want := range []string{
		`aria-label="a &amp; b"`, "<title>a &amp; b</title>", "prefers-reduced-motion",
		"{0%{visibility:hidden}33.33%{visibility:visible}66.67%{visibility:hidden}100%{visibility:hidden}}", // two
		"{0%{visibility:hidden}66.67%{visibility:visible}100%{visibility:visible}}",                         // TWO and three
		"{0%{transform:translateY(-0px)}66.67%{transform:translateY(-17px)}100%{transform:translateY(-17px)}}",
		` class="a1 x">` + rows("two", 9, 1)[0], `<g transform="translate(0 0)">` + rows("one", 9, 1)[0],
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
	if strings.Count(got, ">one<") != 1 {
		t.Errorf("a row that stays is drawn more than once:\n%s", got)
	}
}

// Whatever a terminal shows, the picture is well-formed and has no other elements than those that draw it.
func TestHostile(t *testing.T) {
	t.Parallel()
	for _, text := range hostile.Texts(t) {
		m := &movie{about: "x", windows: []window{{columns: 80, lines: 4}}, frames: []frame{{screens: [][]string{rows(text.Text+"</text><script>", 80, 4)}}}}
		d := xml.NewDecoder(strings.NewReader(m.svg()))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s %q: %v", text.Class, text.Text, err)
			}
			if e, ok := token.(xml.StartElement); ok && !strings.Contains(" svg title style g rect text ", " "+e.Name.Local+" ") {
				t.Errorf("%s %q became an element %s", text.Class, text.Text, e.Name.Local)
			}
		}
	}
}
