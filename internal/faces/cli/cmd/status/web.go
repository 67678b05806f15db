package status

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"

	"tutti/internal/app"
	"tutti/internal/attention/overview"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/faces/tui"
	"tutti/internal/faces/web"
)

type webOptions struct {
	Port   int
	NoOpen bool
}

// A webLink is what tutti web --json prints when it is ready, and again for each new link.
type webLink struct {
	URL      string `json:"url"` // lets one browser in, once
	Port     int    `json:"port"`
	ReadOnly bool   `json:"readOnly"`
	Why      string `json:"why,omitempty"` // the page only shows
}

// WebVerbs are the verbs of the web page.
var WebVerbs = []kit.Verb{{
	Name: "web", Under: kit.Tutti, Group: kit.GroupBus, Halt: kit.Stays, Waits: true, Opts: kit.WithFlags(runWeb), Result: webLink{},
	Short: "show your agents and what waits for you in a browser",
	Flags: []kit.Flag{
		{Name: "port", Kind: kit.Count, Value: "n", Default: "0, any free port", Help: "the port on 127.0.0.1"},
		{Name: "no-open", Kind: kit.Switch, Help: "print the link and start no browser"},
	},
	Does: `Serves one page on 127.0.0.1 until you interrupt it, and prints a link. The link lets one browser in, once, within
ten minutes. At a terminal it also opens your browser; press Enter for another link.

The page shows the halt switch, what waits for you, your agents and their threads, and changes as they do. You can halt
all agents, lift the halt, answer what waits, and prompt sessions. Each action runs the verb that you would type, and a
line for it is printed here.

Below an agent CLI the link leads to a page that only shows.`,
	Wont: "It listens on no other address: from another machine, use ssh -L. It loads nothing from other servers.",
	Examples: `$ tutti web
$ tutti web --port 8080 --no-open`,
	Exit: "0 its terminal was closed; 1 wrong usage; 3 the port is in use; 130 interrupted",
	See:  "status, halt, resume, session send",
}}

func runWeb(ctx context.Context, c *kit.Call, opt *webOptions) error {
	if opt.Port > 65535 {
		return kit.Usagef("--port %d: must be between 0 and 65535", opt.Port)
	}
	out := &webTeller{c: c}
	s, err := listen(c, opt.Port, out.line)
	if err != nil {
		return err
	}
	link := out.link(s)
	if in, ok := c.In.(*os.File); ok && kit.Columns(in) > 0 {
		if !opt.NoOpen && !c.JSON {
			openBrowser(ctx, link)
		}
		go atEnter(in, func() { out.link(s) })
	}
	if err := s.Serve(ctx); err != nil {
		return kit.FailIO("", err, "web")
	}
	return ctx.Err()
}

// Page returns what serves the page beside other work at a terminal, until ctx ends; say gets the links and what the page does. It is
// nil where the settings do not ask for it, and where no terminal can show the links to the user alone.
func Page(c *kit.Call) func(ctx context.Context, say func(line string)) error {
	in, isFile := c.In.(*os.File)
	f, err := c.App.Settings()
	if err != nil || !isFile || kit.Columns(in) == 0 || c.Columns == 0 {
		return nil
	}
	set, err := f.Screen()
	if err != nil || !set.Web {
		return nil
	}
	presses := make(chan struct{})
	go atEnter(in, func() { presses <- struct{}{} })
	return func(ctx context.Context, say func(line string)) error {
		s, err := listen(c, set.Port, say)
		if err != nil {
			return err
		}
		link := func() {
			cannot := ""
			if _, err := c.ForUser("act on the web page"); err != nil {
				cannot = err.Error()
			}
			say(s.Link(cannot) + " works once, within ten minutes; Enter makes another link")
		}
		link()
		go func() {
			for {
				select {
				case <-presses:
					link()
				case <-ctx.Done():
					return
				}
			}
		}()
		return s.Serve(ctx)
	}
}

// atEnter calls pressed for each line that is typed.
func atEnter(in *os.File, pressed func()) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		pressed()
	}
}

// listen makes the server of the page. tell shows a line where it runs.
func listen(c *kit.Call, port int, tell func(line string)) (*web.Server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, kit.FailIO(kit.InstallHint, err, "find our own program")
	}
	top := &topView{c: c}
	folder, _ := os.Getwd()
	peers := ""
	if o, err := fast.HaltOffice(c); err == nil {
		peers = o.PeersPath()
	}
	s, err := web.Listen(web.Config{
		Follow: func(ctx context.Context, changed func(*web.Snapshot)) error {
			top.follow(ctx, func(s *tui.Snapshot, err error) { changed(web.Of(s, err)) })
			return nil
		},
		Screen: top.screen, Buses: func(f func(*app.World) error) []overview.BusProblem { return c.App.Worlds(f) },
		Folder: folder, Shown: c.App.Shown, Peers: peers, Run: runSelf(self), Tell: tell,
	}, port)
	if err != nil {
		return nil, kit.FailIO("", err, "web")
	}
	return s, nil
}

// A webTeller prints links and lines, one at a time.
type webTeller struct {
	c  *kit.Call
	mu sync.Mutex
}

// link makes a link and prints it. What its page may do is decided now: below an agent CLI it only shows.
func (t *webTeller) link(s *web.Server) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := webLink{Port: s.Port()}
	if _, err := t.c.ForUser("act on the web page"); err != nil {
		v.ReadOnly, v.Why = true, err.Error()
	}
	v.URL = s.Link(v.Why)
	if t.c.JSON {
		t.c.ResultLine(v)
	} else {
		t.c.Line(v.URL)
		switch {
		case v.ReadOnly:
			t.c.Prose("", 0, "Its page only shows: "+kit.Clean(v.Why))
		default:
			t.c.Prose("", 0, "The link works once, within ten minutes. Enter makes another one, Ctrl-C ends the page.")
		}
	}
	_ = t.c.Flush()
	return v.URL
}

func (t *webTeller) line(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.c.Remark("%s", kit.Clean(text))
}

// runSelf runs verbs of this program as processes of their own.
func runSelf(self string) func(context.Context, web.Command) (web.Answer, error) {
	return func(ctx context.Context, v web.Command) (web.Answer, error) {
		cmd := exec.CommandContext(ctx, self, v.Args...)
		cmd.Args[0] = "tutti"
		cmd.Dir = v.Dir
		cmd.Env = append(os.Environ(), "NO_COLOR=1", "TUTTI_FACE=web")
		cmd.Stdin = strings.NewReader(v.Input)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		err := cmd.Run()
		a := web.Answer{OK: err == nil, Text: kit.CleanBlock(strings.TrimSpace(said.String()))}
		if _, ended := errors.AsType[*exec.ExitError](err); ended || err == nil {
			return a, nil
		}
		return a, err
	}
}

// openBrowser shows the link in the user's browser, if there is a desktop. It waits for nothing: the link is printed, too.
func openBrowser(ctx context.Context, link string) {
	if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return
	}
	if program, err := exec.LookPath("xdg-open"); err == nil {
		cmd := exec.CommandContext(ctx, program, link)
		if cmd.Start() == nil {
			go func() { _ = cmd.Wait() }()
		}
	}
}
