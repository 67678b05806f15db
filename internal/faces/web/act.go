package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"
)

// maxForm is the most bytes of a form.
const maxForm = 64 << 10

// actTime is how long a verb may take. A prompt waits until the session is ready.
const actTime = 90 * time.Second

// A Command is a verb of tutti with its arguments, and what it reads from standard input.
type Command struct {
	Args  []string
	Input string
	Dir   string // in which it runs; "": where the server was started
}

// An Answer is what a verb said, and whether it did what was asked.
type Answer struct {
	OK   bool   `json:"ok"`
	Text string `json:"text"`
}

var (
	errUnknown = errors.New("this page does not know this action")
	errGone    = errors.New("what you answered is no longer there: load the page again")
	errSure    = errors.New("the box was not ticked, so nothing was done")
	errEmpty   = errors.New("the text is empty, so nothing was done")
)

// act does what a form asks. It runs the verb that a terminal would run, which checks again whether it may.
func (s *Server) act(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		s.answer(w, r, http.StatusBadRequest, Answer{Text: "the form cannot be read: " + err.Error()})
		return
	}
	if who := visitorOf(r.Context()); who.Cannot != "" {
		s.answer(w, r, http.StatusForbidden, Answer{Text: "This page only shows: " + who.Cannot})
		return
	}
	c, err := s.command(r.Context(), r.PostForm.Get)
	if err != nil {
		s.answer(w, r, http.StatusBadRequest, Answer{Text: err.Error()})
		return
	}
	// The verb goes on when the browser goes away: a verb that is cut off may leave its work half done.
	ctx, stop := context.WithTimeout(context.WithoutCancel(r.Context()), actTime)
	defer stop()
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(actTime + writeTime))
	a, err := s.Run(ctx, c)
	if err != nil {
		a = Answer{Text: "could not start: " + err.Error()}
	}
	s.tell("page: tutti " + strings.Join(c.Args, " ") + ": " + firstLine(a.Text))
	s.answer(w, r, http.StatusOK, a)
}

// command is the verb for a form. Texts of the form are arguments behind "--" or standard input: none is taken for a flag.
func (s *Server) command(ctx context.Context, value func(string) string) (c Command, err error) {
	switch value("kind") {
	case "halt":
		c.Args = []string{"halt"}
		if why := oneLine(value("reason")); why != "" {
			c.Args = append(c.Args, "--", why)
		}
	case "lift":
		if value("sure") != "yes" {
			return c, errSure
		}
		c.Args = []string{"resume"}
	case "item":
		return s.itemCommand(ctx, value)
	case "prompt":
		return s.promptCommand(ctx, value)
	default:
		return c, errUnknown
	}
	return c, nil
}

// itemCommand is the verb of an action that something which waits offers. The action is taken from the newest snapshot, never from the form.
func (s *Server) itemCommand(ctx context.Context, value func(string) string) (c Command, err error) {
	snap, err := s.hub.wait(ctx)
	if err != nil {
		return c, err
	}
	for i := range snap.Waits {
		w := &snap.Waits[i]
		if short("wait", w.ID) != value("item") {
			continue
		}
		for n := range w.Actions {
			a := &w.Actions[n]
			if a.ID != value("action") || a.Terminal {
				continue
			}
			c.Args = slices.Clone(a.Args)
			if a.Input != "" {
				text := oneLine(value("text"))
				if text == "" {
					return c, errEmpty
				}
				c.Args = append(c.Args, text)
			}
			return c, nil
		}
	}
	return c, errGone
}

// promptCommand types a prompt into the session of an agent.
func (s *Server) promptCommand(ctx context.Context, value func(string) string) (c Command, err error) {
	text := strings.TrimSpace(value("text"))
	if text == "" {
		return c, errEmpty
	}
	snap, err := s.hub.wait(ctx)
	if err != nil {
		return c, err
	}
	for i := range snap.Agents {
		a := &snap.Agents[i]
		if a.Session != "" && short("agent", a.Key()) == value("agent") {
			c.Args = []string{"session", "send"}
			if a.Registry != "" {
				c.Args = append(c.Args, "--registry", a.Registry)
			}
			c.Args, c.Input = append(c.Args, "--", a.Session, "-"), text
			return c, nil
		}
	}
	return c, errGone
}

// answer sends the result of a form: to the script as JSON, else as a page.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, status int, a Answer) {
	if r.Header.Get("Accept") == "application/json" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(a)
		return
	}
	title := "Done"
	if !a.OK {
		title = "Not done"
	}
	notice(w, status, title, a.Text)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
