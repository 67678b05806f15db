package lifecycle

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tutti/internal/platform/proc"
)

// A typist is a program that shows what is typed, as Claude Code does: in a box between two lines, a long paste as one word. What is
// submitted it writes to the file "submitted". Its habits:
//
//	trust       first it asks whether the folder is trusted; Enter means yes, and writes the file "approved"
//	slow        it shows nothing for a while
//	deaf        the first Enter is lost
//	late        and so is the first paste
//	mute        no Enter is taken at all
//	odd         what is typed is shown where no line is known
//	reports     it writes what it does into a file, as Claude Code does, and begins to work a while after the file "go" is there; "/clear"
//	            gives it another conversation and no work
//	talks       when something is submitted it ends with status 3
type typist struct {
	*badAgent
	draft string
	asks  bool
	deaf  bool
	late  bool
	// escaped: Escape was pressed, and empties the draft when it is pressed again
	escaped      bool
	conversation string
}

func (y *typist) run() {
	if mode, err := unix.IoctlGetTermios(0, getTermios); err == nil {
		mode.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG
		mode.Iflag &^= unix.ICRNL
		_ = unix.IoctlSetTermios(0, setTermios, mode)
	}
	if y.has("print-env") {
		y.write("environ", strings.Join(os.Environ(), "\x00"))
	}
	y.write("arguments", strings.Join(os.Args[1:], "\x00"))
	if y.has("slow") {
		time.Sleep(700 * time.Millisecond)
	}
	y.asks, y.deaf, y.late = y.has("trust"), y.has("deaf"), y.has("late")
	y.conversation = talkA
	y.report("idle", time.Now().Add(-time.Hour))
	fmt.Print("\x1b[?2004h\x1b]2;✳ ready\x07")
	y.draw()
	y.listen()
}

// listen reads keys; a paste comes in brackets, and its line feeds as carriage returns.
func (y *typist) listen() {
	var in []byte
	buf := make([]byte, 64<<10)
	for {
		n, err := os.Stdin.Read(buf)
		if err != nil || n == 0 {
			return
		}
		in = append(in, buf[:n]...)
		for len(in) > 0 {
			if bytes.HasPrefix(in, []byte("\x1b[200~")) {
				text, rest, whole := bytes.Cut(in[6:], []byte("\x1b[201~"))
				if !whole {
					break
				}
				if !y.late {
					y.draft += strings.ReplaceAll(string(text), "\r", "\n")
				}
				y.late = false
				in = rest
				continue
			}
			y.key(in[0])
			in = in[1:]
		}
		y.draw()
	}
}

func (y *typist) key(b byte) {
	switch {
	case b == '\r' && y.asks:
		y.asks = false
		y.write("approved", "yes")
	case b == '\r' && y.has("mute"):
	case b == 0x1b && y.draft == "": // it opens a list of what was said before
		y.write("rewound", "yes")
	case b == 0x1b && y.escaped:
		y.draft, y.escaped = "", false
	case b == 0x1b:
		y.escaped = true
	case b == '\r' && y.deaf:
		y.deaf = false
	case b == '\r':
		y.write("submitted", y.draft)
		if y.draft == "/clear" {
			y.conversation = talkB
			y.report("idle", time.Now().Add(-time.Hour))
		} else {
			go y.work()
		}
		y.draft = ""
		if y.has("talks") {
			os.Exit(3)
		}
	case !y.asks:
		y.draft += string(rune(b))
	}
}

// report writes what it does.
func (y *typist) report(status string, since time.Time) {
	if !y.has("reports") {
		return
	}
	self := proc.Self()
	dir := filepath.Join(os.Getenv("HOME"), ".claude", "sessions")
	_ = os.MkdirAll(dir, 0o700)
	text := fmt.Sprintf(`{"pid":%d,"procStart":"%d","status":%q,"statusUpdatedAt":%d,"sessionId":%q}`, self.PID, self.Start, status, since.UnixMilli(), y.conversation)
	name := filepath.Join(dir, fmt.Sprintf("%d.json", self.PID))
	_ = os.WriteFile(name+".new", []byte(text), 0o600)
	_ = os.Rename(name+".new", name)
}

// work begins when it may.
func (y *typist) work() {
	for y.has("reports") {
		if _, err := os.Stat(filepath.Join(os.Getenv(dirVariable), "go")); err == nil {
			time.Sleep(300 * time.Millisecond) // far longer than a look takes
			y.write("working", "yes")
			y.report("busy", time.Now())
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (y *typist) draw() {
	lines := []string{"", "● Ready."}
	if y.asks {
		lines = []string{
			strings.Repeat("─", 80), " Accessing workspace:", "", " /srv/api", "", " Quick safety check: do you trust this folder?", "",
			" ❯ 1. Yes, I trust this folder", "   2. No, exit", "", " Enter to confirm · Esc to cancel",
		}
	} else {
		shown := y.draft
		if len(shown) > 800 || strings.Count(shown, "\n") > 2 {
			shown = fmt.Sprintf("[Pasted text #1 +%d lines]", strings.Count(shown, "\n"))
		}
		const wide = 150 // it breaks lines itself
		var broken []string
		for _, l := range strings.Split(shown, "\n") {
			for ; len(l) > wide; l = l[wide:] {
				broken = append(broken, l[:wide])
			}
			broken = append(broken, l)
		}
		shown = strings.Join(broken, "\n")
		rule := strings.Repeat("─", 80)
		if y.has("odd") && y.draft != "" {
			rule = "~~~~"
		}
		lines = append(lines, rule, "❯ "+strings.ReplaceAll(shown, "\n", "\n  "), rule, "  ? for shortcuts")
	}
	fmt.Print("\x1b[2J\x1b[H" + strings.ReplaceAll(strings.Join(lines, "\n"), "\n", "\r\n"))
}
