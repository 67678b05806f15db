package session

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"tutti/internal/app/full"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/sessions/registry"
)

type sessionResumeOptions struct {
	inRegistry
	promptOptions
	Session, Conversation                               string
	All, Latest, RowConversation, Force, Wait, TrustRow bool
}

// sessionResume goes on with a conversation, or with all that were cut off.
func sessionResume(ctx context.Context, c *kit.Call, s *sessions, opt *sessionResumeOptions) error {
	name, err := sessionName(c, opt.Session)
	if err != nil {
		return err
	}
	q := lifecycle.ResumeRequest{
		Name: name, Conversation: opt.Conversation, Latest: opt.Latest, Force: opt.Force, Wait: opt.Wait, Ready: opt.Ready,
		Trust: opt.TrustRow, Unproven: opt.RowConversation,
	}
	for _, flag := range [...]*string{&opt.Session, &opt.Conversation, &opt.Prompt} {
		if c.IsSet(flag) && *flag == "" {
			return kit.Usagef("session resume: --%s is empty", c.FlagName(flag))
		}
	}
	if q.Prompt, err = sessionPrompt(c, &opt.promptOptions); err != nil {
		return err
	}
	switch {
	case opt.All && name != "":
		return kit.Usagef("session resume: --all and the name of a session do not go together")
	case opt.All && q.Conversation != "":
		return kit.Usagef("session resume: --all takes each session's own conversation, and --conversation names one")
	case opt.All && q.Latest:
		return kit.Usagef("session resume: --all takes each session's own conversation, and --latest may take another one")
	case opt.All && q.Trust:
		return kit.Usagef("session resume: --all and --trust-row do not go together: what a row runs is to be read first, one by one")
	case !opt.All:
		if q.Name, err = oneSession(c, opt.Session); err != nil {
			return err
		}
	}
	if !opt.All {
		if s, err = s.withSession(ctx, q.Name); err != nil {
			return err
		}
	}
	m, err := s.manager("session resume")
	if err != nil {
		return err
	}
	if opt.All {
		return s.resumeAll(ctx, m, q)
	}
	done, err := m.Resume(ctx, q)
	return s.resumed(done, err)
}

// resumed says what became of a session that was to go on; nil: it was not begun.
func (s *sessions) resumed(done *lifecycle.Resumed, err error) error {
	if done == nil {
		return s.notBegun(err)
	}
	return s.begun(&done.Row, done.Screen, err, func() {
		if s.c.JSON {
			s.c.Result(resumedOf(done, err))
		} else {
			s.sayResumed(done, err)
		}
	})
}

// begun ends a verb that starts the agent CLI of a session: it remembers the registry, prints what runs, and shows the last screen of an
// agent CLI that has ended.
func (s *sessions) begun(r *registry.Row, screen string, err error, say func()) error {
	if r.Status == registry.Running {
		full.NoteRegistry(s.c.App, s.Path)
	}
	say()
	s.sayLast(screen)
	return err
}

// notBegun returns why nothing was started.
func (s *sessions) notBegun(err error) error {
	if errors.Is(err, fs.ErrNotExist) && s.missing() {
		return s.noRegistry()
	}
	return err
}

// noRegistry returns the error for a missing registry. It names one of a folder above, but never uses it without being asked.
func (s *sessions) noRegistry() error {
	hint := `"tutti session create" makes it with the first session; use --registry FILE for another one`
	if above := s.above(); above != "" {
		hint = "--registry " + s.c.App.Shown(above) + " is the nearest one above"
	}
	return kit.Refuse(hint, "no session registry at %s", s.c.App.Shown(s.Path))
}

// above is the nearest registry of a folder above this one, "" where there is none or this one was named.
func (s *sessions) above() string {
	file := filepath.Join(filepath.Base(filepath.Dir(s.Path)), filepath.Base(s.Path))
	if filepath.Join(s.dir, file) != s.Path {
		return ""
	}
	for dir := filepath.Dir(s.dir); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if above := filepath.Join(dir, file); isFile(above) {
			return above
		}
	}
	return ""
}

func isFile(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// resumeAll takes up what was cut off. The first that could not be is what it ends with; what was left out does not count as a failure.
func (s *sessions) resumeAll(ctx context.Context, m *lifecycle.Manager, q lifecycle.ResumeRequest) error {
	all, err := m.ResumeAll(ctx, q)
	if errors.Is(err, fs.ErrNotExist) {
		return s.noRegistry()
	}
	if err != nil && len(all) == 0 {
		return err
	}
	c := s.c
	l := []resumed{}
	for _, done := range all {
		if c.JSON {
			l = append(l, resumedOf(done, done.Err))
			err = errors.Join(err, done.Err)
			continue
		}
		if left := done.Left; left != nil {
			c.Remark("%s is left out: %s", kit.Clean(done.Name), kit.Clean(left.Text+"; "+left.Next))
			continue
		}
		s.sayResumed(done, done.Err)
		s.sayLast(done.Screen)
		if done.Err != nil && err == nil {
			err = done.Err
		} else if done.Err != nil {
			c.Warn("%s", kit.Clean(done.Err.Error()))
		}
	}
	switch {
	case c.JSON:
		c.Result(l)
	case len(all) == 0:
		c.Remark("no session was cut off")
	}
	return err
}

// sayResumed says what goes on.
func (s *sessions) sayResumed(done *lifecycle.Resumed, err error) {
	c := s.c
	for _, one := range done.Candidates {
		c.Line(kit.Clean(one.String()))
	}
	switch {
	case done.Running:
		c.Printf("%s runs already (process %d)\n", kit.Clean(done.Name), done.Row.Pane.PID)
		c.Line("tutti session attach " + kit.Clean(done.Name))
	case err == nil || done.Pane.ID != "" && done.Screen == "":
		s.sayRuns(&done.Row, &done.Pane, done.Dialog)
		id := kit.Clean(done.Row.Conversation())
		switch {
		case done.Anew && id != "":
			c.Remark("its conversation %s had no message, so it starts empty", id)
		case !done.Anew:
			c.Remark("continues conversation %s (%s)", id, done.From())
		}
	}
}

func resumedOf(done *lifecycle.Resumed, err error) resumed {
	v := resumed{
		OK: err == nil && done.Left == nil, Name: done.Name, Running: done.Running, Anew: done.Anew, Found: done.Found, Looks: done.Looks,
		Dialog: done.Dialog, Prompted: done.Prompted, Screen: done.Screen,
	}
	if err != nil {
		text := err.Error()
		v.Error = &text
	}
	if done.Left != nil {
		v.Left = &done.Left.Text
	}
	if len(done.Row.Status) > 0 {
		v.Session = done.Row.JSON()
	}
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format("2006-01-02T15:04:05Z")
	}
	for _, one := range done.Candidates {
		v.Candidates = append(v.Candidates, candidate{one.ID, at(one.Began), at(one.Changed)})
	}
	return v
}

// A resumed is what became of a session that was to be resumed.
type resumed struct {
	OK         bool            `json:"ok"`
	Name       string          `json:"name"`
	Error      *string         `json:"error,omitempty"`
	Left       *string         `json:"left,omitempty"` // why it was left out
	Running    bool            `json:"running"`        // it ran already
	Anew       bool            `json:"anew"`           // with a new conversation
	Found      string          `json:"found,omitempty"`
	Session    json.RawMessage `json:"session,omitempty"`    // its row in the registry
	Candidates []candidate     `json:"candidates,omitempty"` // conversations that it could be
	Looks      []string        `json:"looks,omitempty"`      // where conversations were looked for
	Dialog     string          `json:"dialog,omitempty"`     // what its agent CLI asks
	Prompted   bool            `json:"prompted"`             // the prompt was typed
	Screen     string          `json:"screen,omitempty"`     // what it showed last
}

// A candidate is a conversation that a session could be.
type candidate struct {
	ID      string `json:"id"`
	Began   string `json:"began,omitempty"`
	Changed string `json:"changed,omitempty"`
}
