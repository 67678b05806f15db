package tmux

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const bracketed = `\033[?2004h` // the program asks for the marks of a paste

func TestTypeSubmitsOneLine(t *testing.T) {
	t.Parallel()
	w := start(t)
	p := w.recorder("r", "got", bracketed)
	const sentence = `say "mail" $(x) 'ä' #(touch x) #{pid} \; Enter ~ %0;`
	if err := w.Type(t.Context(), p.Ref(), sentence); err != nil {
		t.Fatal(err)
	}
	if got, want := w.holds("got", len(sentence)+13), "\x1b[200~"+sentence+"\x1b[201~\r"; got != want {
		t.Errorf("the program read %q, want %q", got, want)
	}
	for _, bad := range []string{"", "two\nlines", "a\ttab", "esc\x1b[201~", "cr\r", "\x7f", "\u009b", "\xff", strings.Repeat("x", MaxType+1)} {
		if err := w.Type(t.Context(), p.Ref(), bad); err == nil {
			t.Errorf("%.40q is typed", bad)
		}
	}
	if out := w.do("list-buffers"); out != "" {
		t.Errorf("buffers stay behind: %q", out)
	}
}

// A program that asks for no marks gets a carriage return for each line feed: that is why one line is typed.
func TestPasteWithoutMarks(t *testing.T) {
	t.Parallel()
	w := start(t)
	p := w.recorder("r", "got", "")
	if err := w.Paste(t.Context(), p.Ref(), "-l one\ntwo;"); err != nil {
		t.Fatal(err)
	}
	if got, want := w.holds("got", 11), "-l one\rtwo;"; got != want {
		t.Errorf("the program read %q, want %q", got, want)
	}
}

func TestPasteCannotEndItself(t *testing.T) {
	t.Parallel()
	w := start(t)
	p := w.recorder("r", "got", bracketed)
	if err := w.Paste(t.Context(), p.Ref(), "a\x1b[201~\rrm\x03\x00\u009b201~b\x9bc\x7f\r\n\td"); err != nil {
		t.Fatal(err)
	}
	want := "\x1b[200~a[201~\rrm201~b\ufffdc\r\td\x1b[201~"
	if got := w.holds("got", len(want)); got != want {
		t.Errorf("the program read %q, want %q", got, want)
	}
	if err := w.Paste(t.Context(), p.Ref(), "\x1b\x00"); err == nil {
		t.Error("a text of which nothing is left is pasted")
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "a\tb\nc": "a\tb\nc", "a\r\nb\rc\r": "a\nb\nc\n", "\x1b[31m": "[31m", "\x00\x08\x0b\x7f": "",
		"\u0085\u009f\u00a0": "\u00a0", "ä✋": "ä✋", "\xe2\x9c": "\ufffd\ufffd", "\ufffd": "\ufffd",
	} {
		if got := Clean(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestLargePasteArrivesWhole(t *testing.T) {
	t.Parallel()
	w := start(t)
	p := w.recorder("r", "got", bracketed)
	var b strings.Builder
	for i := 0; b.Len() < 2<<20; i++ {
		fmt.Fprintf(&b, "line %d ä;\n", i)
	}
	text := b.String()
	begin := time.Now()
	if err := w.Paste(t.Context(), p.Ref(), text); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes handed over in %s", len(text), time.Since(begin))
	want := "\x1b[200~" + strings.ReplaceAll(text, "\n", "\r") + "\x1b[201~"
	if got := w.holds("got", len(want)); got != want {
		t.Errorf("%d bytes arrived, %d were pasted, or others", len(got), len(want))
	}
	if err := w.Paste(t.Context(), p.Ref(), strings.Repeat("x", MaxPaste+1)); err == nil {
		t.Error("a text over the limit is pasted")
	}
}

func TestPastesDoNotMix(t *testing.T) {
	t.Parallel()
	w := start(t)
	p := w.recorder("r", "got", bracketed)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if err := w.Paste(context.Background(), p.Ref(), strings.Repeat(string(rune('a'+i)), 5000)); err != nil {
				t.Errorf("paste %d: %v", i, err)
			}
		})
	}
	all.Wait()
	got := w.holds("got", 8*5012)
	for i := range 8 {
		if want := "\x1b[200~" + strings.Repeat(string(rune('a'+i)), 5000) + "\x1b[201~"; strings.Count(got, want) != 1 {
			t.Errorf("paste %d is not there whole", i)
		}
	}
}

func TestDeadPane(t *testing.T) {
	t.Parallel()
	w := start(t)
	p := w.new("d", "cat", "-")
	seen := p.Ref()
	w.do("send-keys", "-t", p.ID, "last words", "Enter", "C-d")
	w.until(p.ID, "dead", func(p Pane) bool { return p.Dead })
	want(t, "paste", w.Paste(t.Context(), seen, "x"), ErrDead)
	want(t, "enter", w.Enter(t.Context(), seen), ErrDead)
	want(t, "type", w.Type(t.Context(), seen, "x"), ErrDead)
	if text, err := w.Capture(t.Context(), seen, Capture{History: -1}); err != nil || !strings.Contains(text, "last words") {
		t.Errorf("last screen %q, %v", text, err)
	}
	if out := w.do("list-buffers"); out != "" {
		t.Errorf("buffers stay behind: %q", out)
	}
	if again := w.pane("%0"); again.Server != p.Server || again.Dead {
		t.Errorf("the server was %d, is %+v", p.Server, again)
	}
	w.do("kill-pane", "-t", p.ID)
	want(t, "paste into no pane", w.Paste(t.Context(), seen, "x"), ErrAbsent)
	_, err := w.Capture(t.Context(), seen, Capture{})
	want(t, "capture of no pane", err, ErrAbsent)
}

// The program ends while it is pasted to, at every point of the way.
func TestProgramEndsWhilePasting(t *testing.T) {
	t.Parallel()
	w := start(t)
	counts := map[string]int{}
	for round := range 50 {
		p := w.new(fmt.Sprintf("r%d", round), "cat", "-")
		var killed sync.WaitGroup
		killed.Go(func() {
			time.Sleep(rand.N(6 * time.Millisecond))
			if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil { // a child of this test's server, not yet gone
				t.Errorf("kill %d: %v", p.PID, err)
			}
		})
		err := w.Paste(t.Context(), p.Ref(), strings.Repeat("some text\n", 100))
		killed.Wait()
		switch {
		case err == nil:
			counts["pasted"]++
		case errors.Is(err, ErrDead):
			counts["dead"]++
		case errors.Is(err, ErrChanged): // a zombie has no name any more, a moment before the server takes notice
			counts["changed"]++
		default:
			t.Errorf("round %d: %v", round, err)
		}
		want(t, "enter", w.Enter(t.Context(), w.until(p.ID, "dead", func(p Pane) bool { return p.Dead }).Ref()), ErrDead)
		w.do("kill-pane", "-t", p.ID)
	}
	t.Log(counts)
	if snap, err := w.Panes(t.Context()); err != nil || len(snap.Panes) != 1 || snap.Panes[0].Dead {
		t.Errorf("afterwards: %+v, %v", snap, err)
	}
}

// A person scrolls, or chooses from a list: neither swallows what is typed, and Enter does not choose for them.
func TestPaneModesAreLeft(t *testing.T) {
	t.Parallel()
	w := start(t)
	for i, mode := range [][]string{{"copy-mode"}, {"choose-tree"}, {"clock-mode"}, {"copy-mode", "-t", "%0", ";", "choose-buffer"}} {
		file := fmt.Sprint("got", i)
		p := w.recorder(fmt.Sprint("m", i), file, "")
		for k, a := range mode {
			if a == "%0" {
				mode[k] = p.ID
			}
		}
		w.do("set-buffer", "-b", "x", "of the user")
		w.do(append(mode, "-t", p.ID)...)
		if !w.pane(p.ID).InMode {
			t.Fatalf("%q: not in a mode", mode)
		}
		if err := w.Paste(t.Context(), p.Ref(), "one"); err != nil {
			t.Errorf("%q: %v", mode, err)
		}
		w.do(append(mode, "-t", p.ID)...)
		if err := w.Enter(t.Context(), p.Ref()); err != nil {
			t.Errorf("%q: %v", mode, err)
		}
		if got := w.holds(file, 4); got != "one\r" || w.pane(p.ID).InMode {
			t.Errorf("%q: the program read %q; still in the mode: %t", mode, got, w.pane(p.ID).InMode)
		}
	}
	if out := w.do("show-buffer", "-b", "x"); out != "of the user" {
		t.Errorf("the user's buffer is %q", out)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	w := start(t)
	p := w.recorder("r", "got", "")
	refuse := func(what string, s Server, ref Ref, kind error) {
		t.Helper()
		want(t, "paste, "+what, s.Paste(t.Context(), ref, "x"), kind)
		want(t, "enter, "+what, s.Enter(t.Context(), ref), kind)
	}
	w.do("select-pane", "-d", "-t", p.ID)
	refuse("input off", w.Server, p.Ref(), ErrInputOff)
	w.do("select-pane", "-e", "-t", p.ID)

	w.do("set-option", "-w", "-t", p.ID, "synchronize-panes", "on")
	refuse("shared keys", w.Server, p.Ref(), ErrShared)
	w.do("set-option", "-w", "-t", p.ID, "synchronize-panes", "off")

	ref := p.Ref()
	for what, r := range map[string]Ref{
		"another server":  {ref.Server + 1, ref.Started, ref.ID, ref.PID, ref.Command},
		"another life":    {ref.Server, ref.Started - 1, ref.ID, ref.PID, ref.Command},
		"another process": {ref.Server, ref.Started, ref.ID, ref.PID + 1, ref.Command},
		"another program": {ref.Server, ref.Started, ref.ID, ref.PID, "claude"},
		"another pane":    {ref.Server, ref.Started, "%0", ref.PID, ref.Command},
	} {
		refuse(what, w.Server, r, ErrChanged)
	}
	refuse("no pane", w.Server, Ref{ref.Server, ref.Started, "%77", ref.PID, ref.Command}, ErrAbsent)
	for _, r := range []Ref{
		{},
		{ref.Server, ref.Started, "", ref.PID, ""},
		{ref.Server, ref.Started, "first", ref.PID, ""},
		{ref.Server, ref.Started, "%1 ; kill-server", ref.PID, ""},
		{ref.Server, 0, ref.ID, ref.PID, ""},
		{ref.Server, ref.Started, ref.ID, 0, ""},
	} {
		if err := w.Paste(t.Context(), r, "x"); err == nil {
			t.Errorf("pasted with %+v", r)
		}
	}
	text, err := w.Capture(t.Context(), Ref{ref.Server, ref.Started, ref.ID, ref.PID + 1, ""}, Capture{})
	want(t, "capture of another process", err, ErrChanged)
	if text != "" {
		t.Errorf("captured %q", text)
	}
	// None of all this reached the program; with the right pane it does, whichever program is in front.
	ref.Command = ""
	if err := w.Enter(t.Context(), ref); err != nil {
		t.Error(err)
	}
	if got := w.holds("got", 1); got != "\r" {
		t.Errorf("the program read %q", got)
	}
	w.do("respawn-pane", "-k", "-t", p.ID, "--", "cat", "-")
	refuse("started anew", w.Server, ref, ErrChanged)
}

// TestShellIsNotTypedInto: after the agent has ended, the shell below it would run the text for the agent.
func TestShellIsNotTypedInto(t *testing.T) {
	t.Parallel()
	w := start(t)
	p := w.new("s", "sh", "-i")
	w.do("send-keys", "-t", p.ID, "cat -", "Enter")
	p = w.until(p.ID, "cat in front", func(p Pane) bool { return p.Command == "cat" })
	w.do("send-keys", "-t", p.ID, "C-d")
	w.until(p.ID, "the shell in front", func(now Pane) bool { return now.Command == "sh" && now.PID == p.PID })
	want(t, "type", w.Type(t.Context(), p.Ref(), "touch ran"), ErrChanged)
	w.do("send-keys", "-t", p.ID, "Enter", "touch after", "Enter")
	eventually(t, func() (string, bool) {
		_, err := os.Stat(w.file("after"))
		return "the shell does not answer", err == nil
	})
	if _, err := os.Stat(w.file("ran")); err == nil {
		t.Error("the shell ran the sentence")
	}
}

func TestServerOfTheEnvironment(t *testing.T) {
	t.Parallel()
	w := start(t, "sh", "-c", `printf %s "$TMUX" >env; exec cat`)
	value := w.do("display-message", "-p", "-t", "%0", "#{socket_path},#{pid},0")
	s, err := FromEnv(value)
	if err != nil {
		t.Fatal(err)
	}
	if got := w.holds("env", len(value)); got != value {
		t.Errorf("$TMUX is %q, want %q", got, value)
	}
	p := w.until("%0", "cat in front", func(p Pane) bool { return p.Command == "cat" })
	if err := s.Paste(t.Context(), p.Ref(), "here"); err != nil {
		t.Error(err)
	}
	before, err := FromEnv(fmt.Sprintf("%s,%d,0", s.socket, s.pid+1)) // a server that was on this socket before
	if err != nil {
		t.Fatal(err)
	}
	_, err = before.Panes(t.Context())
	want(t, "panes of an earlier server", err, ErrAbsent)
	want(t, "paste into an earlier server", before.Paste(t.Context(), p.Ref(), "x"), ErrChanged)
}

func TestTypeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	w := start(t)
	p := w.recorder("r", "got", "")
	halted := errors.New("halted")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for w.pane(p.ID).Activity.IsZero() || !strings.Contains(w.holds("got", 4), "text") {
			time.Sleep(time.Millisecond)
		}
		cancel(halted)
	}()
	want(t, "type", w.Type(ctx, p.Ref(), "text"), halted)
	if got := w.holds("got", 4); got != "text" {
		t.Errorf("the program read %q", got)
	}
}

func TestCapture(t *testing.T) {
	t.Parallel()
	w := start(t)
	p := w.new("c", "sh", "-c", `i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo "line $i"; done; printf '\033[31mred\033[0m\n'; printf '%0250d\n' 7; echo "no 1 2 %0"; exec cat`)
	p = w.until(p.ID, "cat in front", func(p Pane) bool { return p.Command == "cat" })
	read := func(c Capture) string {
		t.Helper()
		text, err := w.Capture(t.Context(), p.Ref(), c)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	eventually(t, func() (string, bool) { s := read(Capture{}); return s, strings.Contains(s, "no 1 2 %0") })
	for name, c := range map[string]struct {
		Capture
		has, hasNot string
	}{
		"screen":            {Capture{}, "line 100\nred\n", "line 50\n"},
		"some history":      {Capture{History: 20}, "line 50\n", "line 1\n"},
		"all history":       {Capture{History: -1}, "line 1\nline 2\n", "\x1b"},
		"joined":            {Capture{Joined: true}, strings.Repeat("0", 249) + "7", "\x1b"},
		"broken":            {Capture{}, strings.Repeat("0", 200) + "\n", strings.Repeat("0", 201)},
		"colours":           {Capture{Colours: true}, "\x1b[31mred", "line 50\n"},
		"no second screen":  {Capture{Normal: true}, "line 100\nred\n", "line 50\n"},
		"looks like an end": {Capture{}, "no 1 2 %0\n", "\nok\n"},
	} {
		if got := read(c.Capture); !strings.Contains(got, c.has) || strings.Contains(got, c.hasNot) {
			t.Errorf("%s: got %q, want %q in it and not %q", name, got, c.has, c.hasNot)
		}
	}
	q := w.new("alt", "sh", "-c", `echo below; printf '\033[?1049h'; echo above; exec cat`)
	q = w.until(q.ID, "the other screen", func(p Pane) bool { return p.Alternate && p.Command == "cat" })
	for normal, has := range map[bool]string{false: "above", true: "below"} {
		if got, err := w.Capture(t.Context(), q.Ref(), Capture{Normal: normal}); err != nil || strings.TrimSpace(got) != has {
			t.Errorf("normal screen %t: got %q, %v, want %q", normal, got, err, has)
		}
	}
}
