package web

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"time"

	"tutti/internal/app"
	"tutti/internal/attention/approval"
	"tutti/internal/attention/overview"
	"tutti/internal/attention/todo"
	"tutti/internal/comms/machines"
	"tutti/internal/core/termsafe"
	"tutti/internal/faces/tui"
)

// An Agent is one agent of the user, as the terminal screen has it.
type Agent = tui.Agent

// A Snapshot is what the pages show.
type Snapshot struct {
	tui.Snapshot

	threads  []thread
	problems []overview.BusProblem
}

// Of is a snapshot of the terminal screen, nil after a failed look, as the pages show it.
func Of(seen *tui.Snapshot, err error) *Snapshot {
	s := &Snapshot{Snapshot: tui.Snapshot{At: time.Now()}}
	if seen != nil {
		s.Snapshot = *seen
	}
	if err != nil {
		s.Notes = append(s.Notes, err.Error())
	}
	return s
}

// A Wait is one thing that waits for the user, with its actions.
type Wait = tui.Wait

// readThreads adds the conversations on the buses.
func (s *Server) readThreads(ctx context.Context, snap *Snapshot) {
	snap.problems = s.Buses(func(w *app.World) error {
		some, err := threadsOn(ctx, w)
		snap.threads = append(snap.threads, some...)
		return err
	})
	slices.SortFunc(snap.threads, newestFirst)
	snap.threads = snap.threads[:min(len(snap.threads), maxThreads)]
}

// now is the overview: what waits for the user, the agents, the threads.
func (s *Server) now(_ context.Context, snap *Snapshot, v *visit) []node {
	var out []node
	for _, n := range snap.Notes {
		out = append(out, el("p.bad", peer(n)))
	}
	return append(out, waitsList(snap, v), agentsTable(snap, v), threadsList(snap, v))
}

// waitsList has what waits for the user, each thing with its actions.
func waitsList(snap *Snapshot, v *visit) node {
	if len(snap.Waits) == 0 {
		return el("section", el("h2", txt("Waits for you")), el("p.quiet", txt("Nothing waits for you.")))
	}
	var items []node
	for i := range snap.Waits {
		w := &snap.Waits[i]
		id := short("wait", w.ID)
		head := []node{peer(w.Text)}
		if w.Change != "" {
			head = append(head, el("pre", changeLines(w.Change)...).with("tabindex", "0", "role", "region", "aria-label", "What the agent asks to write"))
		}
		if !w.Since.IsZero() {
			head = append(head, el("p", since(w.Since), txt(" ago")))
		}
		var acts []node
		if a := snap.agent(w.Agent); a != nil && a.Session != "" {
			acts = append(acts, el("a.button", txt("Look at its screen")).with("href", screenOf(a)))
		}
		if v.who.Cannot == "" {
			for n := range w.Actions {
				if !w.Actions[n].Terminal {
					acts = append(acts, actionForm(id, w, &w.Actions[n]))
				}
			}
		}
		if w.Command != "" && !slices.ContainsFunc(w.Actions, func(a todo.Action) bool { return !a.Terminal }) {
			acts = append(acts, el("p", txt("in a terminal: "), el("code", word(w.Command))))
		}
		items = append(items, el("li", append(head, el("div.actions", acts...))...).keyed(id))
	}
	return el("section", el("h2", txt("Waits for you")), el("ul.items", items...))
}

// changeLines are the lines of a change, coloured as they are in a terminal.
func changeLines(text string) (out []node) {
	tags := map[byte]string{'-': "span.s1", '+': "span.s2", ' ': "span"}
	for _, line := range approval.ChangeLines(text) {
		out = append(out, el(tags[line.Sign], txt(line.Text)), txt("\n"))
	}
	return out
}

func actionForm(id string, w *Wait, a *todo.Action) node {
	hide := []node{hidden("kind", "item"), hidden("item", short("wait", w.ID)), hidden("action", a.ID)}
	if a.Input == "" {
		return form("do", append(hide, button("", a.Label))...)
	}
	id += "-" + termsafe.Clean(a.ID)
	return form("ask", append(hide, field(id, "text", a.Input, true), button("", a.Label))...)
}

// short makes an id for an element of a text that may have any characters.
func short(kind, text string) string {
	sum := sha256.Sum256([]byte(text))
	return kind + "-" + hex.EncodeToString(sum[:8])
}

func (s *Snapshot) agent(key string) *Agent {
	for i := range s.Agents {
		if key != "" && s.Agents[i].Key() == key {
			return &s.Agents[i]
		}
	}
	return nil
}

func screenOf(a *Agent) string { return href("/screen", "agent", short("agent", a.Key())) }

// classes are the colours of activities; the word is beside them.
var classes = map[string]string{"working": "span.good", "waiting": "span.wait", "limited": "span.wait"}

func agentsTable(snap *Snapshot, v *visit) node {
	var rows []node
	for i := range snap.Agents {
		a := &snap.Agents[i]
		id := short("agent", a.Key())
		what := []node{txt(" " + a.Machine)}
		if a.Folder != "" {
			what = []node{word(v.shown(a.Folder))}
		}
		if a.Branch != "" {
			what = append(what, txt(" · "), word(a.Branch))
		}
		more := []node{}
		if a.Session != "" {
			more = append(more, el("a.button", txt("Screen")).with("aria-label", "screen of "+a.Agent).with("href", href("/screen", "agent", id)))
		}
		unread := strconv.Itoa(a.Unread)
		if a.More {
			unread += " or more"
		}
		rows = append(rows, el("tr", name(a.Agent), cell("CLI", word(a.CLI)), cell("folder", what...), cell("doing", doing(a)...),
			cell("unread", txt(unread)), cell("screen", more...)).keyed(id))
	}
	return table("Agents", "There are none. Start one with \"tutti session create\", or run an agent CLI that is connected.", rows, "agent", "CLI", "folder", "doing", "unread", "screen")
}

// doing is the activity of an agent, and since when.
func doing(a *Agent) (out []node) {
	text := cmp.Or(a.Doing, a.Unknown())
	if a.Guess && a.Doing != "" {
		text += " (a guess from its screen)"
	}
	out = []node{el(cmp.Or(classes[a.Doing], "span"), word(text))}
	if !a.Since.IsZero() {
		out = append(out, txt(" "), since(a.Since))
	}
	switch {
	case a.Halted:
		out = append(out, txt(", "), el("strong.bad", txt(a.HaltWords())))
	case a.Paused:
		out = append(out, txt(", "), el("strong.wait", txt("paused")))
	case a.Stopped:
		out = append(out, txt(", "), el("strong.wait", txt("stopped by the halt")))
	}
	if a.Until != "" {
		out = append(out, txt(" until "), word(a.Until))
	}
	if a.Asks != "" {
		out = append(out, txt(" "), peer(a.Asks))
	}
	if a.Blocked != "" {
		out = append(out, txt(" blocked: "), peer(a.Blocked))
	}
	return out
}

// machinesPage lists the agents by machine, and the machines that are known by ssh.
func (s *Server) machinesPage(_ context.Context, snap *Snapshot, _ *visit) []node {
	count := map[string]int{}
	var names []string
	for i := range snap.Agents {
		m := snap.Agents[i].Machine
		if count[m]++; count[m] == 1 {
			names = append(names, m)
		}
	}
	slices.Sort(names)
	var rows []node
	for _, m := range names {
		rows = append(rows, el("tr", name(cmp.Or(m, "this machine")), cell("agents", txt(strconv.Itoa(count[m])))))
	}
	out := []node{table("Machines with agents that are known here", "There are none.", rows, "machine", "agents")}
	peers, err := machines.ReadPeers(s.Peers)
	if err != nil {
		return append(out, el("p.bad", peer(err.Error())))
	}
	rows = nil
	for _, h := range peers.List {
		rows = append(rows, el("tr", name(h.Name), cell("ssh", word(h.Typed()))))
	}
	return append(out, table("Machines of tutti comms", "There are none: \"tutti comms peer add\" adds one.", rows, "machine", "ssh"))
}
