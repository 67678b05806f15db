package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/attention/approval"
	"tutti/internal/core/canonjson"
)

// besideStep is how often a hook looks that waits beside a dialog.
const besideStep = 200 * time.Millisecond

// beside waits while a dialog is open, and denies the tool when a halt comes: the hook at Use has run before the dialog, so that the
// user's yes would run the tool. Meanwhile the user may answer from elsewhere. It ends without a word when the dialog was answered.
func (e *event) beside(ctx context.Context) (err error) {
	if !e.call.Event.Beside || e.o.Dialog == nil {
		return nil
	}
	w, q, err := e.ask()
	if w != nil {
		defer func() { err = errors.Join(err, w.Close()) }()
	}
	tick := time.NewTicker(besideStep)
	defer tick.Stop()
	for e.o.Dialog() {
		if why, must := e.refused(); must {
			return errors.Join(err, e.deny(why))
		}
		if w != nil {
			if a, ok := w.Answered(); ok {
				return errors.Join(err, w.Taken(a, e.o.Now()), e.decide(q, a))
			}
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
	return err
}

// ask keeps the request of this dialog, so that the user can answer it from elsewhere. q is nil for an approval, and otherwise the one
// question that the agent asks.
func (e *event) ask() (w *approval.Pending, q *question, err error) {
	r, ok := e.asker()
	if !ok {
		return nil, nil, nil
	}
	unseen := false // what the tool writes
	r.Tool, r.About, r.At = e.call.Tool, aboutTool(e.call.Tool, e.call.Input), e.now.UTC()
	if c := changeOf(e.call.Tool, e.call.Input, e.call.Dir); c != nil {
		r.About, r.Change = c.about(), c.text()
		unseen = len(c.lines) == 0
	}
	switch {
	case e.call.Tool == askTool:
		if q = questionOf(e.call.Input); q == nil {
			return nil, nil, nil // several questions, or several answers: only its own dialog can take them
		}
		r.About = q.Question
		for n, o := range q.Options {
			r.Options = append(r.Options, approval.Option{ID: strconv.Itoa(n + 1), Label: o.Label})
		}
	case e.call.Tool == planTool:
		return nil, nil, nil // a bare yes is not taken by every version
	default:
		if !unseen { // what is not seen is not approved
			r.Options = append(r.Options, approval.Option{ID: approval.Allow, Label: "Yes"})
		}
		if !unseen && len(e.call.Rules) > len("[]") {
			r.Options = append(r.Options, approval.Option{ID: approval.Always, Label: alwaysLabel(e.call.Rules)})
		}
		r.Options = append(r.Options, approval.Option{ID: approval.Deny, Label: "No"})
	}
	w, err = approval.Ask(e.o.State, r)
	if err != nil {
		return nil, nil, fmt.Errorf("keep the request: %w", err)
	}
	return w, q, nil
}

// asker is a request that says who asks.
func (e *event) asker() (r approval.Request, ok bool) {
	if e.o.State == "" || e.o.Process == nil {
		return r, false
	}
	id, ok := e.o.Process()
	if !ok {
		return r, false
	}
	r = approval.Request{CLI: e.o.Driver.Name, PID: id.PID, Start: id.Start, Boot: id.Boot, Conversation: e.call.Conversation, Dir: e.call.Dir}
	if e.load() {
		r.Instance = string(e.was.Instance)
	}
	return r, true
}

// detached leaves a process behind that waits while the dialog is open. What a subagent asks, its own thread has, which is not named.
func (e *event) detached() error {
	if !e.call.Event.Detached || e.o.Detach == nil || e.call.Helper {
		return nil
	}
	r, ok := e.asker()
	if !ok {
		return nil
	}
	return e.o.Detach(r)
}

// alwaysLabel says what the rules grant that the agent CLI suggests.
func alwaysLabel(rules []byte) string {
	var all []struct {
		Type        string
		Mode        string
		Directories []string
		Rules       []struct{ ToolName, RuleContent string }
	}
	if json.Unmarshal(rules, &all) != nil {
		return "Yes, and take the rules that it suggests"
	}
	var grants []string
	for _, r := range all {
		switch r.Type {
		case "setMode":
			grants = append(grants, "switch to the mode "+r.Mode)
		case "addDirectories":
			grants = append(grants, "allow the folder "+strings.Join(r.Directories, ", "))
		default:
			for _, one := range r.Rules {
				text := one.ToolName
				if one.RuleContent != "" {
					text += "(" + one.RuleContent + ")"
				}
				grants = append(grants, "always allow "+text)
			}
		}
	}
	return "Yes, and " + strings.Join(grants, "; ")
}

// The tools of Claude Code whose dialogs are other than a yes or no.
const (
	askTool  = "AskUserQuestion"
	planTool = "ExitPlanMode"
)

// aboutTool is what a tool is to do, in one text: its command, its file, its address, or all of its arguments. Of the tool of an MCP
// server any argument may count.
func aboutTool(tool string, input []byte) string {
	if strings.HasPrefix(tool, "mcp__") {
		return string(input)
	}
	in := membersOf(input)
	for _, name := range []string{"command", "file_path", "url", "query"} {
		text := in.text(name)
		if text == "" {
			continue
		}
		if string(in["dangerouslyDisableSandbox"]) == "true" {
			text = "outside the sandbox: " + text // in front: a screen may cut the end
		}
		return text
	}
	return string(input)
}

// A question is one that has one answer of several.
type question struct {
	Question string `json:"question"`
	Multi    bool   `json:"multiSelect"`
	Options  []struct {
		Label string `json:"label"`
	} `json:"options"`

	all json.RawMessage // the list with the question, as it came
}

// questionOf reads the only question of a dialog; nil where there are more, or it takes several answers.
func questionOf(input []byte) *question {
	all, _ := canonjson.Get(input, "questions")
	var qs []question
	if json.Unmarshal(all, &qs) != nil || len(qs) != 1 || qs[0].Multi || len(qs[0].Options) == 0 || len(qs[0].Options) > approval.MaxOptions {
		return nil
	}
	qs[0].all = all
	return &qs[0]
}

// decide gives the agent CLI what the user decided.
func (e *event) decide(q *question, a approval.Answer) error {
	var out driver.Answer
	switch {
	case q != nil:
		n, err := strconv.Atoi(a.Option)
		if err != nil || n < 1 || n > len(q.Options) {
			return fmt.Errorf("no answer %q", a.Option)
		}
		var input, answers canonjson.Object
		answers.Str(q.Question, q.Options[n-1].Label)
		input.Raw("questions", q.all)
		input.Raw("answers", answers.Bytes())
		out = e.call.Event.Allow(input.Bytes(), nil)
	case a.Option == approval.Allow:
		out = e.call.Event.Allow(nil, nil)
	case a.Option == approval.Always:
		out = e.call.Event.Allow(nil, e.call.Rules)
	default:
		why := a.Text
		if why == "" {
			why = "Your user said no."
		}
		out = e.call.Event.Refuse(why)
	}
	e.said = true
	if _, err := e.o.Out.Write(out.Out); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}
