package session

import (
	"cmp"
	"context"
	"strings"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/attention/hookmark"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/lifecycle"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

// An explanation is what "tutti session explain --json" prints.
type explanation struct {
	Name  string `json:"name"`
	Agent string `json:"agent"`
	Found string `json:"found"` // alive, dead, absent, other or unknown
	Does  string `json:"does"`  // "": not known
	From  string `json:"from"`  // program, screen, tmux or system
	Sure  bool   `json:"sure"`  // false: it is read from the screen
	Asks  string `json:"asks,omitempty"`
	Since string `json:"since,omitempty"`
	// Screen is what the rules for the screen of this agent CLI find; missing where there are none.
	Screen *screenView `json:"screen,omitempty"`
	Lines  []string    `json:"lines"` // the last lines of the screen that are not empty
	Hooks  *hooksView  `json:"hooks,omitempty"`
}

type screenView struct {
	Rules     string `json:"rules"` // of which agent CLI
	Does      string `json:"does"`
	Dialog    string `json:"dialog,omitempty"`
	Prompt    bool   `json:"prompt"` // there is a line where its user types
	Typed     string `json:"typed,omitempty"`
	Note      string `json:"note,omitempty"`
	BrokenOff bool   `json:"brokenOff,omitempty"`
	Sure      bool   `json:"sure"`
	Title     string `json:"title,omitempty"`
	Rule      string `json:"rule,omitempty"` // that decided: "claude: busy \"esc to interrupt\""; missing when none matched
}

type hooksView struct {
	Build        string `json:"build"`
	Conversation string `json:"conversation,omitempty"`
	Denies       bool   `json:"denies"`
	At           string `json:"at"` // when a hook last had something new to say
	// Events are those at which a hook was seen. Last is the last one that began or ended a turn or asked the user, at LastAt.
	Events []string `json:"events,omitempty"`
	Last   string   `json:"last,omitempty"`
	LastAt string   `json:"lastAt,omitempty"`
}

// shownLines is how many lines of the screen are shown: the rules look at no more above the line where the user types.
const shownLines = 20

type sessionExplainOptions struct {
	inServer
	Session string
}

// sessionExplain tells why a state is reported.
func sessionExplain(ctx context.Context, c *kit.Call, s *sessions, opt *sessionExplainOptions) error {
	r, err := s.meant(ctx, opt.Session)
	if err != nil {
		return err
	}
	o, err := s.Observer()
	if err != nil {
		return err
	}
	f := &o.Status(ctx, []registry.Row{*r}).Sessions[0]
	v := explanation{
		Name: r.Name, Agent: r.Kind(), Found: f.State.String(), Does: f.Doing.Word, From: f.Doing.From, Sure: f.Doing.Word != "" && !f.Doing.Guess,
		Asks: f.Doing.Asks, Lines: []string{},
	}
	if !f.Doing.Since.IsZero() {
		v.Since = f.Doing.Since.UTC().Format(kit.JSONTime)
	}
	if p, err := lifecycle.Capture(ctx, r, 0); err == nil {
		v.look(r.Kind(), p.Lines, f.Pane.Title)
	}
	v.hooks(c, f.Process)
	if c.JSON {
		c.Result(v)
		return nil
	}
	v.show(c)
	return nil
}

// look applies the rules for screens, and keeps the lines that they saw.
func (v *explanation) look(kind string, lines []string, title string) {
	for _, line := range lines {
		if strings.TrimSpace(line) != "" {
			v.Lines = append(v.Lines, kit.Clean(strings.ReplaceAll(line, "\t", "        ")))
		}
	}
	v.Lines = v.Lines[max(0, len(v.Lines)-shownLines):]
	d, ok := driver.Kind(kind)
	if !ok || d.Life.Screen == nil {
		return
	}
	seen := d.Life.Screen(strings.Join(lines, "\n"), title)
	v.Screen = &screenView{
		Rules: d.Title, Does: observe.Word(seen.Doing), Dialog: seen.Dialog, Prompt: seen.Prompt, Typed: kit.Clean(seen.Typed), Note: seen.Note,
		BrokenOff: seen.BrokenOff, Sure: !seen.Guess, Title: kit.Clean(title),
	}
	if seen.Rule != "" {
		v.Screen.Rule = d.Name + ": " + kit.Clean(seen.Rule)
	}
}

// hooks adds what hooks of the first process of the session, or of one below it, have recorded.
func (v *explanation) hooks(c *kit.Call, first proc.ID) {
	state, err := c.App.StateDir()
	if err != nil || first.PID == 0 {
		return
	}
	marks, err := hookmark.All(state)
	if err != nil {
		return
	}
	all, _ := proc.List() // without it no hook is found
	for _, p := range proc.Tree(all, first) {
		for _, m := range marks {
			if m.ID() == p.ID {
				v.Hooks = &hooksView{
					Build: m.Build, Conversation: m.Conversation, Denies: m.Denies, At: m.At.UTC().Format(time.RFC3339), Last: kit.Clean(m.Last),
				}
				if m.Events != "" {
					v.Hooks.Events = strings.Split(kit.Clean(m.Events), ",")
				}
				if m.Last != "" {
					v.Hooks.LastAt = m.LastAt.Format(time.RFC3339)
				}
				return
			}
		}
	}
}

func (v *explanation) show(c *kit.Call) {
	yes := map[bool]string{true: "yes", false: "no"}
	does := v.Does
	switch {
	case does == "":
		does = "not known"
	case v.From == "program":
		does += ": " + v.Agent + " says so itself"
	case v.From == "screen":
		does += ": it looks like it on the screen, which is a guess"
	case v.From != "":
		does += ": " + v.From + " says so"
	}
	if v.Asks != "" {
		does += "; it asks " + v.Asks
	}
	rows := [][]string{{kit.Clean(v.Name), v.Found}, {"does", kit.Clean(does)}}
	if v.Since != "" {
		rows = append(rows, []string{"since", v.Since})
	}
	if s := v.Screen; s != nil {
		text := s.Does
		if text == "" {
			text = "nothing that is known"
		}
		rows = append(rows, []string{"screen", "the rules for " + s.Rules + " find: " + text + "; sure: " + yes[s.Sure]}, []string{"", "rule: " + cmp.Or(s.Rule, "none matched")},
			[]string{"", "line where its user types: " + yes[s.Prompt]})
		for _, one := range [][2]string{{"what stands there", s.Typed}, {"dialog", s.Dialog}, {"note", s.Note}, {"title of the pane", s.Title}} {
			if one[1] != "" {
				rows = append(rows, []string{"", one[0] + ": " + kit.Clean(one[1])})
			}
		}
		if s.BrokenOff {
			rows = append(rows, []string{"", "its user has broken off the last turn"})
		}
	} else {
		rows = append(rows, []string{"screen", "no rules for the screen of " + kit.Clean(v.Agent)})
	}
	if h := v.Hooks; h != nil {
		rows = append(rows, []string{"hooks", "seen in this process, last change " + h.At + "; a hook before every tool: " + yes[h.Denies]})
		if len(h.Events) > 0 {
			rows = append(rows, []string{"", "events: " + strings.Join(h.Events, ", ")})
		}
		if h.Last != "" {
			rows = append(rows, []string{"", "the last that began or ended a turn, or asked: " + h.Last + ", " + h.LastAt})
		}
	} else {
		rows = append(rows, []string{"hooks", "none was seen in this process"})
	}
	c.Facts(rows)
	if len(v.Lines) > 0 {
		c.Line("")
		for _, line := range v.Lines {
			c.Line("  | " + line)
		}
	}
}
