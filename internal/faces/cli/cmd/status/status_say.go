package status

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/snapshot"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/cmd/session"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
)

// sayStatus prints the screen: the answer, the table, what waits, and what can be done next.
func sayStatus(c *kit.Call, v *snapshot.View, long bool) {
	waits := v.Waits()
	text := kit.Clean(answer(v, len(waits), besides(c, v, long)))
	if v.Halted.Halted {
		c.Line(c.Paint(kit.Red, kit.Folded(kit.Clean(haltedText(&v.Halted, time.Now()))+" "+text, 0, c.Columns)))
	} else {
		c.Prose("", 0, text)
	}
	sayAgents(c, v, long)
	if long {
		sayDetails(c, v)
	} else if notable(v.Letters) {
		c.Line("")
		sayLetters(c, v.Letters)
	}
	sayPauses(c, v, long)
	sayProblems(c, v)
	sayWaits(c, v, waits, long)
	if n := len(v.Asleep()); len(v.Rows) == 0 && n > 0 {
		v.Hints = append(v.Hints, `"tutti discover --all" lists agents that are not live`)
	}
	if len(v.Hints) > 0 {
		c.Line("")
	}
	for _, h := range v.Hints {
		c.Line("→ " + kit.Folded(kit.Clean(h), 2, c.Columns))
	}
}

// knownShown is how many agents that are not live are named at most: "tutti discover --all" lists them all.
const knownShown = 3

// answer is what goes on, in one sentence, with what else is to be said in it.
func answer(v *snapshot.View, things int, more string) string {
	place := ""
	if v.Here != "" {
		place = " in this folder"
	}
	asleep := v.Asleep()
	if len(v.Rows) == 0 && len(asleep) == 0 && things == 0 && v.Blind == nil && more == "" && !v.Halted.Halted {
		return "No agents" + place + ". " + session.StartHint()
	}
	live := 0
	for i := range v.Rows {
		if v.Rows[i].Live {
			live++
		}
	}
	text := "No agents live" + place
	if live > 0 {
		text = kit.Plural(live, "agent") + " live" + place
	} else if len(asleep) > 0 {
		text += ", " + strconv.Itoa(len(asleep)) + " known"
		if len(asleep) <= knownShown {
			text += " (" + strings.Join(asleep, ", ") + ")"
		}
	}
	switch {
	case things > 1:
		text += ", " + strconv.Itoa(things) + " things wait for you"
	case things == 1:
		text += ", 1 thing waits for you"
	case v.Blind != nil:
		text += ", it is not known what waits for you"
	default:
		text += ", nothing waits for you"
	}
	return text + more + "."
}

// haltedText says who halted, when and why.
func haltedText(s *halt.State, now time.Time) string {
	if s.Unreadable {
		return "Halted, because the halt switch cannot be read (" + cmp.Or(s.Problem, "unknown cause") + ")."
	}
	text := "Halted"
	if s.By != "" {
		text += " by " + s.By
	}
	if !s.Since.IsZero() {
		text += " at " + kit.Clock(s.Since, now)
	}
	if s.Reason != "" {
		text += " (" + s.Reason + ")"
	}
	return text + "."
}

// besides is what is paused and what could not be read, as an end of the answer.
func besides(c *kit.Call, v *snapshot.View, long bool) (text string) {
	switch all := v.Pauses; len(all) {
	case 0:
	case 1:
		text = "; " + c.App.Shown(pauseFor(v, all[0], long).What()) + " is paused"
	default:
		text = "; " + strconv.Itoa(len(all)) + " pauses"
	}
	switch n := len(v.Problems); n {
	case 0:
	case 1:
		text += "; 1 place could not be read"
	default:
		text += "; " + strconv.Itoa(n) + " places could not be read"
	}
	return text
}

// pauseFor is a pause with its agent as people call it.
func pauseFor(v *snapshot.View, p halt.Pause, long bool) *halt.Pause {
	if p.Agent != "" && !long {
		p.Agent = v.Called(address.Instance(p.Agent))
	}
	return &p
}

// sayAgents prints the table of agents.
func sayAgents(c *kit.Call, v *snapshot.View, long bool) {
	if len(v.Rows) == 0 {
		return
	}
	c.Line("")
	rows := [][]string{{"AGENT", "CLI", "FOLDER", "DOING", "SINCE", "UNREAD"}}
	for i := range v.Rows {
		r := &v.Rows[i]
		doing, since := doingText(v, r)
		age, unread := "-", ""
		if !since.IsZero() {
			age = strings.TrimSuffix(kit.Ago(max(0, time.Since(since))), " ago")
		}
		if r.Unread > 0 {
			unread = strconv.Itoa(r.Unread)
		}
		if r.More {
			unread += "+"
		}
		rows = append(rows, []string{kit.Clean(r.Agent), kit.Clean(cmp.Or(r.CLI, "-")), kit.Clean(place(c, r)), kit.Clean(cmp.Or(doing, "-")), age, unread})
	}
	var g kit.Grid
	for _, row := range fitted(rows, c.Columns) {
		g.Add(row...)
		for i, cell := range row[:len(row)-1] { // also those wider than columns are elsewhere: this table is read as a whole
			g.Widths[i] = max(g.Widths[i], kit.Width(cell))
		}
	}
	for n, row := range g.Rows {
		c.TableRow(row, g.Widths, false)
		if long && n > 0 {
			c.Prose("    ", 4, kit.Clean(details(c, &v.Rows[n-1])))
		}
	}
}

// leastColumn is the width below which a column is not shortened.
const leastColumn = 12

// fitted leaves columns out that say nothing, then shortens folders and what agents do, where a terminal is too narrow for the table.
// Of a folder the end stays.
func fitted(rows [][]string, columns int) [][]string {
	rows = session.Narrowed(rows, columns, "")
	for _, head := range [...]string{"FOLDER", "DOING"} {
		over, i := session.TableWidth(rows)-columns, slices.Index(rows[0], head)
		if columns == 0 || over <= 0 || i < 0 {
			continue
		}
		widest := 0
		for _, row := range rows {
			widest = max(widest, kit.Width(row[i]))
		}
		room := max(widest-over, leastColumn)
		for _, row := range rows {
			if kit.Width(row[i]) <= room {
				continue
			}
			if head == "DOING" {
				row[i] = kit.Truncate(row[i], room)
				continue
			}
			rest := []rune(row[i])
			for len(rest) > 0 && kit.Width(string(rest)) >= room {
				rest = rest[1:]
			}
			row[i] = "…" + string(rest)
		}
	}
	return rows
}

// place is the folder of an agent; of one on another machine, with the name of that.
func place(c *kit.Call, r *snapshot.Agent) string {
	if r.Mirrored {
		return cmp.Or(r.Machine, "another machine") + ":" + r.Folder
	}
	return cmp.Or(c.App.Shown(r.Folder), "-")
}

// details are what --long adds to a row: address, bus, tmux server, transcript and job.
func details(c *kit.Call, r *snapshot.Agent) string {
	parts := []string{cmp.Or(string(r.Instance), "not on a bus")}
	switch {
	case r.Bus != "":
		parts = append(parts, "bus "+c.App.Shown(r.Bus))
	case r.Instance != "":
		parts[0] += " (not live)"
	}
	if l := r.Tmux; l != nil {
		parts = append(parts, "tmux -L "+r.Server)
		if id := l.Row.Conversation(); id != "" {
			parts = append(parts, "transcript "+id)
		}
		if l.Row.Job != "" {
			parts = append(parts, strings.TrimSpace("job "+l.Row.Job+" "+l.Job))
		}
	}
	if r.Branch != "" {
		parts = append(parts, "branch "+r.Branch)
	}
	if r.Tokens > 0 {
		parts = append(parts, "context of "+strconv.FormatInt(r.Tokens, 10)+" tokens")
	}
	if r.Blocked != "" {
		parts = append(parts, "blocked: "+r.Blocked)
	}
	if len(r.Reserved) > 0 {
		parts = append(parts, kit.Plural(len(r.Reserved), "reservation"))
	}
	return strings.Join(parts, ", ")
}

// sayPauses prints the pauses, and what ended since the user looked last. Only the user is shown how to end a pause.
func sayPauses(c *kit.Call, v *snapshot.View, long bool) {
	if len(v.Pauses) > 0 {
		c.Line("")
		c.Line("Paused")
	}
	user := c.UserReads()
	for _, p := range v.Pauses {
		c.Prose("  ", 2, kit.Clean(c.PauseText(*pauseFor(v, p, long))))
		if user && p.Agent != "" {
			c.Line("    tutti unpause " + app.QuoteArg(p.Agent))
		} else if user && p.Folder != "" {
			c.Line("    tutti unpause " + snapshot.PathArg(c.App, p.Folder))
		}
	}
	if !v.Halted.Halted { // under the next halt, how an earlier one ended is not news
		c.SayLifts(v.Lifts, v.LiftsEnd)
	}
}

// sayProblems names what could not be read: the rest of the screen may lack agents or mail.
func sayProblems(c *kit.Call, v *snapshot.View) {
	if len(v.Problems) == 0 && v.Bad == 0 {
		return
	}
	c.Line("")
	c.Line(c.Paint(kit.Red, "Not read"))
	for _, p := range v.Problems {
		what := "bus " + c.App.Shown(p.Bus)
		if p.Agent != "" {
			what = "mail of " + v.Called(p.Agent)
		}
		c.Prose("  ", 2, kit.Clean(what+": "+p.Error))
	}
	if v.Bad > 0 {
		c.Prose("  ", 2, kit.Plural(v.Bad, "file")+` in your mailbox: "tutti doctor" names them`)
	}
}
