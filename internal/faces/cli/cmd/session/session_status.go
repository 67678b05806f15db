package session

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/app/full"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/platform/tmux"
	"tutti/internal/platform/truepath"
	"tutti/internal/sessions/job"
	"tutti/internal/sessions/monitor"
	"tutti/internal/sessions/observe"
	"tutti/internal/sessions/registry"
)

type sessionStatusOptions struct {
	inFolder
	Session string
}

// sessionStatus shows what has become of the sessions. It writes nothing.
func sessionStatus(ctx context.Context, c *kit.Call, s *sessions, opt *sessionStatusOptions) error {
	name, err := sessionName(c, opt.Session)
	if err != nil {
		return err
	}
	if s, err = s.withSession(ctx, name); err != nil {
		return err
	}
	var parts []Part
	if name != "" {
		rows, problems, err := s.rows(ctx)
		if err == nil {
			rows, err = s.only(rows, problems, name)
		}
		if err != nil {
			return err
		}
		parts = []Part{{sessions: s, Rows: rows, Problems: problems}}
	} else if parts, err = s.Parts(ctx, false); err != nil {
		return err
	}
	o, err := s.Observer()
	if err != nil {
		return err
	}
	o.Job = StatesOfJobs(parts)
	if name != "" || !s.alone() && s.missing() {
		o.Workspace = "" // others were not asked for, or there is no registry that could miss one
	}
	var rows []registry.Row
	var from []*Part // of each row
	for i := range parts {
		p := &parts[i]
		p.SayProblems(p.Problems)
		rows = append(rows, p.Rows...)
		for range p.Rows {
			from = append(from, p)
		}
	}
	rep := o.Status(ctx, rows)
	for i, p := range from {
		if !p.Far && rep.Sessions[i].State == observe.Alive {
			full.NoteRegistry(p.c.App, p.Path)
		}
	}
	answer := ""
	if name != "" {
		answer = s.lastAnswer(&rep.Sessions[0])
	}
	if c.JSON {
		v := s.report(rep, parts, from)
		if name != "" {
			v.Answer = &answer
		}
		c.Result(v)
		return nil
	}
	s.sayReport(rep, parts)
	if answer != "" {
		c.Line("")
		c.Line(kit.Clean("last answer of " + name + ":"))
		for line := range strings.Lines(answer) {
			c.Line("  " + kit.Clean(strings.TrimSuffix(line, "\n")))
		}
	}
	return nil
}

// maxAnswer is how much of the last answer is shown, in bytes.
const maxAnswer = 8 << 10

// lastAnswer is what the agent of a session said last, "" where its transcript does not show that. Of a long one it is the end.
func (s *sessions) lastAnswer(f *observe.Found) string {
	d, ok := driver.Kind(f.Kind)
	home, err := s.c.App.Home()
	if !ok || err != nil || f.Row == nil {
		return ""
	}
	site := driver.Site{Home: home, Dir: truepath.Of(f.Row.Pane.Cwd), Env: os.Getenv}
	text, _ := observe.LastAnswer(d, site, cmp.Or(f.Conversation, f.Row.Conversation()))
	if cut := len(text) - maxAnswer; cut > 0 {
		text = "… " + strings.ToValidUTF8(text[cut:], "")
	}
	return text
}

// StatesOfJobs tells the states of jobs of several registries.
func StatesOfJobs(parts []Part) func(id string) string {
	var all []func(id string) string
	for i := range parts {
		all = append(all, parts[i].jobState())
	}
	return func(id string) string {
		for _, state := range all {
			if word := state(id); word != "" {
				return word
			}
		}
		return ""
	}
}

// Observer looks at sessions.
func (s *sessions) Observer() (*observe.Observer, error) {
	home, err := s.c.App.Home()
	if err != nil {
		return nil, err
	}
	o := &observe.Observer{Home: home, Env: os.Getenv, Workspace: s.Workspace(), Job: s.jobState()}
	if server := s.server(); server != "" {
		o.Servers = []string{server}
	}
	return o, nil
}

// Workspace is the folder that the registry belongs to, or where the user stands when it lies elsewhere.
func (s *sessions) Workspace() string { return registry.Workspace(s.Path, s.dir) }

// jobState tells the states of jobs.
func (s *sessions) jobState() func(id string) string {
	return func(id string) string {
		book, _, err := job.At(s.Workspace())
		if err != nil {
			return ""
		}
		j, err := book.Get(id)
		if err != nil {
			return ""
		}
		return string(j.Status)
	}
}

// only is the row of one session.
func (s *sessions) only(rows []registry.Row, problems []registry.Problem, name string) ([]registry.Row, error) {
	for i := range rows {
		if rows[i].Name == name {
			return rows[i : i+1], nil
		}
	}
	for _, p := range problems {
		if p.Name == name {
			return nil, kit.Refuse("", "%s: its row cannot be used: %s", name, p.String())
		}
	}
	return nil, kit.Refuse(`"tutti session list" shows them`, "%s: there is no such session in %s", name, s.c.App.Shown(s.Path))
}

// sayReport shows a report to people.
func (s *sessions) sayReport(rep *observe.Report, parts []Part) {
	c := s.c
	if len(rep.Sessions) == 0 {
		s.sayNoSessions(parts)
	} else {
		rows := [][]string{{"SESSION", "STATUS", "FOUND", "DOES", "CMD", "FOLDER", "RESUME", "JOB", "DRIFT"}}
		for i := range rep.Sessions {
			rows = append(rows, s.reportRow(&rep.Sessions[i]))
		}
		c.Rows(Narrowed(rows, c.Columns, s.c.App.Shown(s.Workspace())))
	}
	letters := ""
	for i := range rep.Sessions {
		f := &rep.Sessions[i]
		letters += f.Drift
		for _, text := range remarksOf(f) {
			c.Prose(kit.Clean(f.Name)+": ", kit.Width(kit.Clean(f.Name))+2, kit.Clean(text))
		}
	}
	for _, d := range observe.Drifts {
		if strings.Contains(letters, d.Letter) {
			c.Prose(d.Letter+"  ", 3, d.Means)
		}
	}
	for _, b := range rep.Background {
		c.Prose("", 0, title(b.Agent)+" keeps a server in the background, process "+strconv.Itoa(b.Process.PID)+": stopping a session does not end it")
	}
	if !s.missing() {
		c.Prose("", 0, monitorText(s.Path, rep.At))
	}
}

// Narrowed leaves columns out that say nothing where a terminal is too narrow for all: those without an entry, and the folder when it is
// that of the registry in every row. The first and the last column stay.
func Narrowed(rows [][]string, columns int, folder string) [][]string {
	for _, empty := range [...]string{"-", kit.Clean(folder)} {
		if columns == 0 || TableWidth(rows) <= columns {
			break
		}
		for i := len(rows[0]) - 2; i > 0; i-- {
			if slices.ContainsFunc(rows[1:], func(row []string) bool { return row[i] != empty }) {
				continue
			}
			for n := range rows {
				rows[n] = slices.Delete(rows[n], i, i+1)
			}
		}
	}
	return rows
}

// TableWidth is how wide a table is: every column as wide as its widest cell, two blanks between them.
func TableWidth(rows [][]string) (all int) {
	for i := range rows[0] {
		widest := 0
		for _, row := range rows {
			widest = max(widest, kit.Width(kit.Clean(row[i])))
		}
		all += widest + 2
	}
	return all - 2
}

// reportRow is a session in the columns of the table.
func (s *sessions) reportRow(f *observe.Found) []string {
	status, folder, resume, work := "none", f.Pane.Path, "-", "-"
	found := observe.FoundWord(f.Row, f.Observation)
	if r := f.Row; r != nil {
		status, folder = string(r.Status), cmp.Or(r.Pane.Cwd, folder)
		if id := r.Conversation(); id != "" {
			resume = short(id) + [...]string{"", ", missing", ""}[f.OnDisk]
		}
		if r.Job != "" {
			work = strings.TrimSpace(r.Job + " " + f.Job)
		}
	}
	return []string{
		f.Name, status, found, doesWord(f), cmp.Or(f.Pane.Command, "-"), s.c.App.Shown(cmp.Or(folder, "-")), resume, work, cmp.Or(f.Drift, "-"),
	}
}

// short is the beginning of an id, by which people tell them apart.
func short(id string) string {
	const most = 8
	if len(id) > most {
		return id[:most]
	}
	return id
}

// doesWord says what an agent does; a guess has a question mark.
func doesWord(f *observe.Found) string {
	if f.Row != nil && f.Row.Status != registry.Running && f.Doing.Word == observe.Gone {
		return "-"
	}
	word := f.Doing.Word
	if word == "" {
		return "-"
	}
	if f.Doing.Guess {
		word += "?"
	}
	return word
}

// remarksOf are what people should know of a session beside the table.
func remarksOf(f *observe.Found) (all []string) {
	if f.Doing.Asks != "" {
		all = append(all, "asks: "+f.Doing.Asks)
	}
	if f.Doing.Note != "" {
		all = append(all, f.Doing.Note)
	}
	if f.State == observe.Dead && f.Pane.Dead {
		all = append(all, endedText(f.Pane))
	}
	if len(f.Skips) > 0 {
		all = append(all, "was started with "+strings.Join(f.Skips, " ")+": it asks before nothing")
	}
	if f.Err != nil {
		all = append(all, f.Err.Error())
	}
	return append(all, f.Remarks...)
}

// endedText says how the program of a pane ended.
func endedText(p tmux.Pane) string {
	switch {
	case p.Signal > 0:
		return "its program was ended by signal " + strconv.Itoa(p.Signal)
	case p.Status >= 0:
		return "its program ended with status " + strconv.Itoa(p.Status)
	}
	return "its program has ended"
}

// title is what a kind of program is called.
func title(kind string) string {
	if d, ok := driver.Kind(kind); ok {
		return d.Title
	}
	return kind
}

// monitorText says whether a monitor keeps the registry up to date.
func monitorText(reg string, now time.Time) string {
	b, ok := monitor.ReadBeat(reg)
	switch {
	case !ok:
		return `nothing keeps these rows up to date; "tutti session monitor" would`
	case !b.Process.Alive():
		return `the monitor has ended; its last look was ` + kit.Ago(max(0, now.Sub(b.At))) + `: "tutti session monitor" starts one`
	}
	return "monitor: process " + strconv.Itoa(b.Process.PID) + ", last look " + kit.Ago(max(0, now.Sub(b.At)))
}
