package status

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/cmd/session"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
)

// sayStatus prints the screen: the answer, the table, what waits, and what can be done next.
func sayStatus(c *kit.Call, opt *statusOptions, v *statusView) {
	waits := waits(c, opt, v)
	text := kit.Clean(v.answer(len(waits), besides(c, v)))
	if v.halted.Halted {
		c.Line(c.Paint(kit.Red, kit.Clean(haltedText(&v.halted, time.Now()))+" "+text))
	} else {
		c.Prose("", 0, text)
	}
	sayAgents(c, v)
	if v.long {
		sayDetails(c, v)
	} else if v.letters.notable() {
		c.Line("")
		sayLetters(c, v.letters)
	}
	sayPauses(c, v)
	sayProblems(c, v)
	sayWaits(c, v, waits)
	if n := len(v.asleep()); len(v.rows) == 0 && n > 0 {
		v.hints = append(v.hints, `"tutti discover --all" lists agents that are not live`)
	}
	if len(v.hints) > 0 {
		c.Line("")
	}
	for _, h := range v.hints {
		c.Line("→ " + kit.Clean(h))
	}
}

// knownShown is how many agents that are not live are named at most: "tutti discover --all" lists them all.
const knownShown = 3

// answer is what goes on, in one sentence, with what else is to be said in it.
func (v *statusView) answer(things int, more string) string {
	place := ""
	if v.here != "" {
		place = " in this folder"
	}
	asleep := v.asleep()
	if len(v.rows) == 0 && len(asleep) == 0 && things == 0 && v.blind == nil && more == "" && !v.halted.Halted {
		return "No agents" + place + ". " + session.StartHint()
	}
	live := 0
	for i := range v.rows {
		if v.rows[i].Live {
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
	case v.blind != nil:
		text += ", it is not known what waits for you"
	default:
		text += ", nothing waits for you"
	}
	return text + more + "."
}

// asleep are the agents on all buses that are not live, in order. Of one folder that is not known.
func (v *statusView) asleep() (all []string) {
	for i := range v.buses {
		if v.here == "" {
			all = append(all, v.buses[i].asleep...)
		}
	}
	slices.Sort(all)
	return all
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
func besides(c *kit.Call, v *statusView) (text string) {
	switch all := v.news.Pauses; len(all) {
	case 0:
	case 1:
		text = "; " + c.App.Shown(v.pauseFor(all[0]).What()) + " is paused"
	default:
		text = "; " + strconv.Itoa(len(all)) + " pauses"
	}
	switch n := len(v.problems); n {
	case 0:
	case 1:
		text += "; 1 place could not be read"
	default:
		text += "; " + strconv.Itoa(n) + " places could not be read"
	}
	return text
}

// pauseFor is a pause with its agent as people call it.
func (v *statusView) pauseFor(p halt.Pause) *halt.Pause {
	if p.Agent != "" && !v.long {
		p.Agent = v.called(address.Instance(p.Agent))
	}
	return &p
}

// sayAgents prints the table of agents.
func sayAgents(c *kit.Call, v *statusView) {
	if len(v.rows) == 0 {
		return
	}
	c.Line("")
	rows := [][]string{{"AGENT", "CLI", "FOLDER", "DOING", "SINCE", "UNREAD"}}
	for i := range v.rows {
		r := &v.rows[i]
		doing, since := v.doing(r)
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
	}
	for n, row := range g.Rows {
		c.TableRow(row, g.Widths, false)
		if v.long && n > 0 {
			c.Prose("    ", 4, kit.Clean(details(c, &v.rows[n-1])))
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
func place(c *kit.Call, r *agentRow) string {
	if r.Mirrored {
		return cmp.Or(r.Machine, "another machine") + ":" + r.Folder
	}
	return cmp.Or(c.App.Shown(r.Folder), "-")
}

// details are what --long adds to a row: address, bus, tmux server, transcript and job.
func details(c *kit.Call, r *agentRow) string {
	parts := []string{cmp.Or(string(r.Instance), "not on a bus")}
	switch {
	case r.Bus != "":
		parts = append(parts, "bus "+c.App.Shown(r.Bus))
	case r.Instance != "":
		parts[0] += " (not live)"
	}
	if l := r.session; l != nil {
		parts = append(parts, "tmux -L "+r.Server)
		if id := l.row.Conversation(); id != "" {
			parts = append(parts, "transcript "+id)
		}
		if l.row.Job != "" {
			parts = append(parts, strings.TrimSpace("job "+l.row.Job+" "+l.job))
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
func sayPauses(c *kit.Call, v *statusView) {
	if len(v.news.Pauses) > 0 {
		c.Line("")
		c.Line("Paused")
	}
	user := c.UserReads()
	for _, p := range v.news.Pauses {
		c.Prose("  ", 2, kit.Clean(c.PauseText(*v.pauseFor(p))))
		if user && p.Agent != "" {
			c.Line("    tutti unpause " + app.QuoteArg(p.Agent))
		} else if user && p.Folder != "" {
			c.Line("    tutti unpause " + pathArg(c, p.Folder))
		}
	}
	c.SayLifts(v.news)
}

// sayProblems names what could not be read: the rest of the screen may lack agents or mail.
func sayProblems(c *kit.Call, v *statusView) {
	if len(v.problems) == 0 && v.bad == 0 {
		return
	}
	c.Line("")
	c.Line(c.Paint(kit.Red, "Not read"))
	for _, p := range v.problems {
		what := "bus " + c.App.Shown(p.Bus)
		if p.Agent != "" {
			what = "mail of " + v.called(p.Agent)
		}
		c.Prose("  ", 2, kit.Clean(what+": "+p.Error))
	}
	if v.bad > 0 {
		c.Prose("  ", 2, kit.Plural(v.bad, "file")+` in your mailbox: "tutti doctor" names them`)
	}
}
