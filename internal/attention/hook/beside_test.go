package hook

import (
	"bytes"
	"encoding/json"
	"testing"

	"tutti/internal/attention/approval"
	"tutti/internal/platform/proc"
)

// answered runs a hook beside a dialog that stays open until the request is answered, and returns what the hook prints.
func (g *rig) answered(tool, toolInput, rules, option, text string) (r approval.Request, out string) {
	g.t.Helper()
	in := `{"session_id":"c1","cwd":"/nowhere","hook_event_name":"PermissionRequest","tool_name":"` + tool + `","tool_input":` + toolInput
	if rules != "" {
		in += `,"permission_suggestions":` + rules
	}
	var b bytes.Buffer
	o := g.options("claude", "PermissionRequest", in+"}", &b)
	o.Process = func() (proc.ID, bool) { return proc.Self(), true }
	looks := 0
	o.Dialog = func() bool {
		if looks++; looks == 2 && option != "" {
			all, err := approval.List(o.State)
			if err != nil || len(all) != 1 {
				g.t.Fatalf("%+v, %v", all, err)
			}
			r = all[0]
			if err := approval.Give(o.State, r.ID, approval.Answer{Option: option, Text: text, By: "ana", Face: "shell"}); err != nil {
				g.t.Fatal(err)
			}
		}
		return looks < 10
	}
	if err := Run(g.t.Context(), o); err != nil {
		g.t.Fatal(err)
	}
	if all, err := approval.List(o.State); err != nil || len(all) != 0 {
		g.t.Errorf("afterwards %+v, %v", all, err)
	}
	return r, b.String()
}

// TestAnswerReachesAgentCLI: the answer of the user reaches the agent CLI in the form that it takes, and is kept.
func TestAnswerReachesAgentCLI(t *testing.T) {
	t.Parallel()
	const rules = `[{"type":"addRules","rules":[{"toolName":"Bash"}],"behavior":"allow","destination":"localSettings"}]`
	const asks = `{"questions":[{"question":"Which one?","header":"h","multiSelect":false,"options":[{"label":"red"},{"label":"blue"}]}]}`
	const two = `{"questions":[{"question":"a","options":[{"label":"x"}]},{"question":"b","options":[{"label":"y"}]}]}`
	decided := func(behavior string) string {
		return `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":` + behavior + "}}}\n"
	}
	for name, c := range map[string]struct{ tool, input, rules, option, text, about, want string }{
		"yes":         {"Bash", `{"command":"touch a"}`, rules, approval.Allow, "", "touch a", decided(`"allow"`)},
		"always":      {"Bash", `{"command":"touch a"}`, rules, approval.Always, "", "touch a", decided(`"allow","updatedPermissions":` + rules)},
		"no":          {"Write", `{"file_path":"/a/b"}`, "", approval.Deny, "", "/a/b (what it writes is not known)", decided(`"deny","message":"Your user said no."`)},
		"no, because": {"Write", `{"file_path":"/a/b","content":"x\\ry"}`, "", approval.Deny, "use \"c\"", "/a/b (+1 -0)", decided(`"deny","message":"use \"c\""`)},
		"other tool":  {"mcp__x__y", `{"z":1}`, "", approval.Allow, "", `{"z":1}`, decided(`"allow"`)},
		"a question": {
			"AskUserQuestion", asks, "", "2", "", "Which one?",
			decided(`"allow","updatedInput":{"questions":[{"question":"Which one?","header":"h","multiSelect":false,"options":[{"label":"red"},{"label":"blue"}]}],"answers":{"Which one?":"blue"}}`),
		},
		"two questions": {"AskUserQuestion", two, "", "", "", "", ""},
		"a plan":        {"ExitPlanMode", `{"plan":"x"}`, "", "", "", "", ""},
		"at its dialog": {"Bash", `{"command":"touch a"}`, "", "", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t)
			r, out := g.answered(c.tool, c.input, c.rules, c.option, c.text)
			if out != c.want || r.About != c.about {
				t.Errorf("about %q, answer %s\nwant %q, %s", r.About, out, c.about, c.want)
			}
			if out != "" && !json.Valid([]byte(out)) {
				t.Errorf("not JSON: %s", out)
			}
			kept, err := approval.Decisions(g.statedir(), 10)
			if err != nil || len(kept) != min(1, len(c.want)) {
				t.Errorf("kept %+v, %v", kept, err)
			}
		})
	}
}

// TestAlwaysOptionNamesItsScope: the option names the rule, the mode or the folder.
func TestAlwaysOptionNamesItsScope(t *testing.T) {
	t.Parallel()
	for rules, want := range map[string]string{
		`[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"touch:*"}]}]`: "Yes, and always allow Bash(touch:*)",
		`[{"type":"setMode","mode":"acceptEdits"}]`:                                   "Yes, and switch to the mode acceptEdits",
		`[{"type":"addDirectories","directories":["/x"]}]`:                            "Yes, and allow the folder /x",
		`{}`: "Yes, and take the rules that it suggests",
	} {
		if got := alwaysLabel([]byte(rules)); got != want {
			t.Errorf("%s: %q, want %q", rules, got, want)
		}
	}
}

// TestDetachedProcess: the hook of Codex leaves a process behind that knows who asks, and says nothing. What a subagent asks is left to the dialog.
func TestDetachedProcess(t *testing.T) {
	t.Parallel()
	for more, want := range map[string]int{"": 1, `,"agent_id":"a1"`: 0} {
		g := newRig(t)
		var b bytes.Buffer
		o := g.options("codex", "PermissionRequest", `{"session_id":"c1","cwd":"/nowhere","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"ls"}`+more+"}", &b)
		o.Process = func() (proc.ID, bool) { return proc.Self(), true }
		var all []approval.Request
		o.Detach = func(r approval.Request) error {
			all = append(all, r)
			return nil
		}
		if err := Run(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if len(all) != want || b.Len() > 0 || want == 1 && (all[0].Conversation != "c1" || all[0].PID != proc.Self().PID || all[0].CLI != "codex") {
			t.Errorf("%q: %+v, printed %q", more, all, b.String())
		}
	}
}
