package tui

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"tutti/internal/faces/cli/kit"
)

// A tree is what the screen reads of a worktree in the list of tutti.
type tree struct {
	Path, Branch, Session, Locked, Error string
	Ahead, Behind, Changed, Untracked    int
	Main                                 bool
	UsedBy                               []string `json:"used_by"`
}

// treesMsg is the list of worktrees of the repository of a folder.
type treesMsg struct {
	dir string
	all []tree
}

// worktrees lists the worktrees of the selected agent's repository.
func (m *Model) worktrees() tea.Cmd {
	a := m.current()
	if a == nil {
		return nil
	}
	dir := existing(a.Folder)
	if dir == "" {
		m.say("the folder of "+kit.Clean(a.Agent)+" is not there", true)
		return nil
	}
	return func() tea.Msg {
		out, said, err := m.ofTrees(call{args: []string{"worktree", "list", "--json"}, dir: dir})
		msg := treesMsg{dir: dir}
		if err == nil {
			err = json.Unmarshal([]byte(out), &msg.all)
		}
		if err != nil {
			return failedMsg(cmp.Or(firstLine(said), "worktree list: "+err.Error()))
		}
		return msg
	}
}

// failedMsg is why something could not be shown.
type failedMsg string

func (m *Model) ofTrees(c call) (out, said string, err error) {
	ctx, stop := context.WithTimeout(m.ctx, 10*time.Second)
	defer stop()
	return m.o.tutti(ctx, c)
}

// chooseTree asks for one of the worktrees.
func (m *Model) chooseTree(msg treesMsg) {
	all := msg.all[:min(len(msg.all), 9)]
	var list []choice
	for i := range all {
		list = append(list, choice{strconv.Itoa(i + 1), all[i].String()})
	}
	m.ask = &question{title: "Worktrees of " + kit.Clean(m.o.Shown(msg.dir)) + " (Esc leaves)", fields: []field{{choices: list}}, then: func(answer []string) tea.Cmd {
		n, _ := strconv.Atoi(answer[0])
		m.actOn(msg.dir, &all[n-1])
		return nil
	}}
}

// String is one line about a worktree.
func (t *tree) String() string {
	text := kit.Clean(cmp.Or(t.Branch, t.Path))
	if t.Session != "" {
		text += " (" + kit.Clean(t.Session) + ")"
	}
	if t.Ahead+t.Behind > 0 {
		text += fmt.Sprintf(" +%d -%d", t.Ahead, t.Behind)
	}
	if t.Changed+t.Untracked > 0 {
		text += fmt.Sprintf(", %d changed", t.Changed+t.Untracked)
	}
	if t.Error != "" {
		text += ", unknown"
	}
	if t.Locked != "" {
		text += ", locked"
	}
	if len(t.UsedBy) > 0 {
		text += ", in use"
	}
	return text
}

// actOn asks what to do with a worktree.
func (m *Model) actOn(dir string, t *tree) {
	list := []choice{{"d", "diff"}}
	if !t.Main && m.o.ReadOnly == "" {
		list = append(list, choice{"m", "merge"}, choice{"r", "rebase"}, choice{"x", "remove"})
	}
	verbs := map[string]string{"m": "merge", "r": "rebase", "x": "remove"}
	titles := map[string]string{
		"m": "Merge " + kit.Clean(t.Branch) + " into its base?",
		"r": "Rebase " + kit.Clean(t.Branch) + " onto its base?",
		"x": "Remove " + kit.Clean(m.o.Shown(t.Path)) + "? Its branch stays. It is refused if anything would be lost.",
	}
	m.ask = &question{title: t.String(), fields: []field{{choices: list}}, then: func(answer []string) tea.Cmd {
		if answer[0] == "d" {
			return m.treeDiff(dir, t.Path)
		}
		verb := verbs[answer[0]]
		m.confirm(titles[answer[0]], func() tea.Cmd {
			return m.run(call{what: verb + " " + kit.Clean(t.Branch), args: []string{"worktree", verb, t.Path}, dir: dir})
		})
		return nil
	}}
}

// treeDiff shows what a worktree changes.
func (m *Model) treeDiff(dir, path string) tea.Cmd {
	return func() tea.Msg {
		out, said, err := m.ofTrees(call{args: []string{"worktree", "diff", path}, dir: dir})
		if err != nil {
			return failedMsg(cmp.Or(firstLine(said), "worktree diff: "+err.Error()))
		}
		return pageMsg(textLines(cmp.Or(out, "no changes")))
	}
}
