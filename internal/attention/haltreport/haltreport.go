// Package haltreport tells what the halt switch does to each agent CLI on this machine.
//
// It promises:
//
//   - [Look] names every agent CLI process of this user once, also those that tutti never met, with one of the states below.
//   - An agent counts as stopped only on evidence: its all-tools hook was seen in that very process, of this build or of the one that
//     acknowledged this halt there, or its turn was interrupted. What a settings file says is not evidence.
//   - It waits only as long as an agent that can still acknowledge has not done so, and never longer than asked.
//
// It changes nothing and ends nothing. Which processes are agent CLIs is left to package agentproc, and what hooks record to package
// hookmark.
package haltreport

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/attention/hookmark"
	"tutti/internal/attention/overview"
	"tutti/internal/core/address"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/smallfile"
	"tutti/internal/sessions/agentproc"
)

// A State is what a halt does to an agent.
type State string

// The states. The first three mean that the agent stands still.
const (
	Acknowledged State = "acknowledged"
	Denied       State = "denied"      // at its next tool call
	Interrupted  State = "interrupted" // its turn was ended through the background server of its CLI
	Older        State = "older_hooks" // hooks of an older build, or as one has installed them
	Unproven     State = "unproven"    // hooks are installed, and none that denies was seen in it
	Unreviewed   State = "unreviewed"  // its CLI does not run the hook before tools until its user has reviewed it
	NoHooks      State = "no_hooks"
	NotStopped   State = "not_stopped" // hooks do not stop this version of this CLI
	Elsewhere    State = "elsewhere"   // another home or pid namespace
)

// An Agent is one line of the report.
type Agent struct {
	Name     string `json:"name"` // short: "api"; of an agent in a session the name of that
	CLI      string `json:"cli"`
	Version  string `json:"version,omitempty"`
	PID      int    `json:"pid"`
	TTY      string `json:"tty,omitempty"`
	Dir      string `json:"dir,omitempty"`
	Instance string `json:"instance,omitempty"`
	Server   bool   `json:"server,omitempty"` // the background server of the CLI, without a screen
	State    State  `json:"state"`
	// Interrupted: the turn was ended and its background commands were, too.
	Interrupted bool `json:"interrupted,omitempty"`
	// Text is the state in words.
	Text string `json:"text"`
}

// Stops tells whether the agent stands still.
func (a *Agent) Stops() bool {
	return a.State == Acknowledged || a.State == Denied || a.State == Interrupted
}

// HaltState is the state as the screens show it.
func (a *Agent) HaltState() overview.HaltState {
	switch {
	case a.Stops():
		return overview.HaltStops
	case a.State == Elsewhere:
		return overview.HaltElsewhere
	case a.State == Unproven:
		return overview.HaltUnconfirmed
	}
	return overview.HaltMissed
}

// Of returns the line of an agent: of its process, else of its id. Nil: there is none.
func (r *Report) Of(pid int, instance string) *Agent {
	if r == nil {
		return nil
	}
	at := slices.IndexFunc(r.Agents, func(a Agent) bool { return pid != 0 && a.PID == pid })
	if at < 0 {
		at = slices.IndexFunc(r.Agents, func(a Agent) bool { return instance != "" && a.Instance == instance })
	}
	if at < 0 {
		return nil
	}
	return &r.Agents[at]
}

// A Report is what a halt reached.
type Report struct {
	Agents []Agent `json:"agents"`
	// Counts of the agents: those that stop at once, those that only --kill stops, and those that this switch does not reach.
	Stop      int `json:"stop"`
	Kill      int `json:"needKill"`
	Elsewhere int `json:"elsewhere"`
	// Problems are what could not be asked, in words.
	Problems []string `json:"problems,omitempty"`
}

// Options say what is looked at. All but Wait, Interrupt, Unreviewed, Called and Find are needed.
type Options struct {
	Home  string // of the user
	State string // folder of this user's state
	Build string // of this program
	Epoch uint64 // the halt that counts, see halt.Memory; 0: not known
	// Wait is how long agents may take to acknowledge.
	Wait time.Duration
	// Interrupt ends the turns that a background server runs. Nil: nothing is interrupted.
	Interrupt func(ctx context.Context, server agentproc.Agent) error
	// Unreviewed tells whether the CLI of an agent waits for its user's review of the hook before tools. Nil: none does.
	Unreviewed func(a *agentproc.Agent) bool
	// Called is the name of the session in which an agent runs, "" for none. Nil: none is known.
	Called func(a *agentproc.Agent) string
	// Find finds the agents; nil: agentproc.Find.
	Find func(home string) ([]agentproc.Agent, error)
}

// glance is how often marks are read while agents may still acknowledge.
const glance = 25 * time.Millisecond

// Look reports what the switch reached, and returns the agents themselves. Turns are interrupted beside the wait.
func Look(ctx context.Context, o Options) (*Report, []agentproc.Agent, error) {
	find := o.Find
	if find == nil {
		find = agentproc.Find
	}
	all, err := find(o.Home)
	if err != nil {
		return nil, nil, err
	}
	ctx, stop := context.WithTimeout(ctx, o.Wait)
	defer stop()
	r := &Report{Agents: []Agent{}}
	done := o.interrupt(ctx, all)
	var marks []hookmark.Mark
	for {
		if marks, err = hookmark.All(o.State); err != nil {
			r.Problems = append(r.Problems, err.Error())
			break
		}
		if !o.pending(all, marks) {
			break
		}
		select {
		case <-time.After(glance):
			continue
		case <-ctx.Done():
		}
		break
	}
	ended := map[proc.ID]bool{}
	for range cap(done) {
		i := <-done
		if i.err != nil {
			r.Problems = append(r.Problems, "codex background server, pid "+strconv.Itoa(i.server.PID)+": not interrupted: "+i.err.Error())
		}
		ended[i.server] = i.err == nil
	}
	served := map[proc.ID]bool{}
	for _, a := range all {
		served[a.Served] = true
	}
	for _, a := range all {
		if a.Updater() || a.Server && served[a.Process] {
			continue // its screens stand for it
		}
		r.add(o.judge(&a, marks, ended))
	}
	return r, all, nil
}

type interruption struct {
	server proc.ID
	err    error
}

// interrupt ends the turns of all background servers, each beside the others. The channel has room for all answers.
func (o *Options) interrupt(ctx context.Context, all []agentproc.Agent) chan interruption {
	var servers []agentproc.Agent
	for _, a := range all {
		if a.Server && !a.Updater() && !a.Elsewhere && o.Interrupt != nil {
			servers = append(servers, a)
		}
	}
	done := make(chan interruption, len(servers))
	for _, s := range servers {
		go func() { done <- interruption{s.Process, o.Interrupt(ctx, s)} }()
	}
	return done
}

// acked tells whether a process acknowledged the halt that counts.
func (o *Options) acked(m *hookmark.Mark) bool { return o.Epoch > 0 && m.Acked == o.Epoch }

// markOf is the mark of an agent, the one that tells most where several of its processes have one.
func (o *Options) markOf(a *agentproc.Agent, marks []hookmark.Mark) (m hookmark.Mark, ok bool) {
	tells := func(m *hookmark.Mark) (n int) {
		if o.acked(m) {
			n += 2
		}
		if m.Denies {
			n++
		}
		return n
	}
	for _, one := range marks {
		if a.Has(one.ID()) && (!ok || tells(&one) > tells(&m)) {
			m, ok = one, true
		}
	}
	return m, ok
}

// pending tells whether an agent that could acknowledge has not done so: a hook of this build was seen in it.
func (o *Options) pending(all []agentproc.Agent, marks []hookmark.Mark) bool {
	for i := range all {
		if m, ok := o.markOf(&all[i], marks); ok && !all[i].Elsewhere && m.Build == o.Build && !o.acked(&m) {
			return true
		}
	}
	return false
}

func (o *Options) judge(a *agentproc.Agent, marks []hookmark.Mark, ended map[proc.ID]bool) Agent {
	m, marked := o.markOf(a, marks)
	out := Agent{
		CLI: a.CLI, Version: a.Version, PID: a.Process.PID, TTY: a.TTY, Dir: a.Dir, Instance: m.Instance, Server: a.Server,
		Interrupted: ended[a.Process] || ended[a.Served],
	}
	if o.Called != nil {
		out.Name = o.Called(a)
	}
	out.Name = cmp.Or(out.Name, name(a, m.Instance))
	switch {
	case a.Elsewhere:
		out.State = Elsewhere
	case marked && m.Denies && o.acked(&m):
		out.State = Acknowledged
	case unhookable(a):
		out.State = NotStopped
	case marked && m.Build == o.Build && m.Denies:
		out.State = Denied
	case out.Interrupted:
		out.State = Interrupted
	default:
		out.State = o.unseen(a, marked)
	}
	out.Text = out.words(marked && m.Build == o.Build && m.Denies)
	switch {
	case out.State == Older && o.acked(&m):
		out.Text = "told of the halt, only edits are denied; run tutti host setup"
	case out.State == Unproven && marked:
		out.Text = "no tool call seen yet: needs --kill"
	}
	return out
}

// unseen is the state of an agent in which no hook that denies was seen. marked: another hook of ours was.
func (o *Options) unseen(a *agentproc.Agent, marked bool) State {
	any, denies := o.installed(a)
	switch {
	case denies && o.Unreviewed != nil && o.Unreviewed(a):
		return Unreviewed
	case marked && !denies: // of another build, or called by settings that another build wrote
		return Older
	case marked || any:
		return Unproven
	}
	return NoHooks
}

// name is what people call the agent: the label of its address, else its folder.
func name(a *agentproc.Agent, instance string) string {
	if label := address.Instance(instance).Label(); instance != "" && label != "" {
		return label
	}
	if base := filepath.Base(strings.TrimSuffix(a.Dir, " (deleted)")); a.Dir != "" && base != "/" {
		return base
	}
	return a.CLI
}

// unhookable tells whether no hook of ours stops this CLI in this version.
func unhookable(a *agentproc.Agent) bool {
	major, _, _ := strings.Cut(a.Version, ".")
	n, err := strconv.Atoi(major)
	return a.CLI == "agy" || a.CLI == "hermes" || a.CLI == "opencode" && err == nil && n >= 2
}

// maxSettings bounds a settings file that is read, in bytes.
const maxSettings = 4 << 20

// installed tells whether the user's settings of a CLI name any hook of ours, and whether they name the one that denies every tool.
func (o *Options) installed(a *agentproc.Agent) (any, denies bool) {
	d, ok := driver.Get(a.CLI)
	if !ok {
		return false, false
	}
	f, ok := d.Hooks.File(driver.User)
	if !ok {
		return false, false
	}
	path := f.Path(driver.Site{Home: o.Home, Env: a.Getenv})
	raw, _, err := smallfile.Read(path, maxSettings, smallfile.Follow)
	if err != nil {
		return false, false
	}
	for _, e := range d.Hooks.Events {
		if e.Moment == driver.Use {
			denies = denies || strings.Contains(string(raw), " hook "+a.CLI+" "+e.Name+" --all-tools")
		}
	}
	return strings.Contains(string(raw), " hook "+a.CLI+" "), denies
}

func (a *Agent) where() string {
	if a.TTY != "" {
		return "pid " + strconv.Itoa(a.PID) + " on " + a.TTY
	}
	return "pid " + strconv.Itoa(a.PID)
}

// words is the state in words; denies: a hook that denies was seen in it.
func (a *Agent) words(denies bool) string {
	text := map[State]string{
		Acknowledged: "acknowledged",
		Denied:       "denied at its next tool call",
		Interrupted:  "turn interrupted, no hook seen",
		Older:        "older hooks deny only edits; run tutti host setup",
		Unproven:     "no hook seen yet, " + a.where() + ": needs --kill",
		Unreviewed:   "waits for your review of its hooks: needs --kill",
		NoHooks:      "has no hooks, " + a.where() + ": needs --kill",
		NotStopped:   "no hook stops it, " + a.where() + ": needs --kill",
		Elsewhere:    "other home or container: not reached",
	}[a.State]
	if a.Interrupted && denies {
		text += "; its turn was interrupted"
	}
	return text
}

func (r *Report) add(a Agent) {
	switch {
	case a.State == Elsewhere:
		r.Elsewhere++
	case a.Stops():
		r.Stop++
	default:
		r.Kill++
	}
	r.Agents = append(r.Agents, a)
}

// First is the first line: the answer.
func (r *Report) First() string {
	total := r.Stop + r.Kill
	text := "Halted. "
	switch {
	case total == 0:
		text += "Sends and tool calls are refused; no agent CLI of yours runs here"
	case r.Kill == 0 && total == 1:
		text += "The only agent stops at once"
	case r.Kill == 0:
		text += "All " + strconv.Itoa(total) + " agents stop at once"
	default:
		text += strconv.Itoa(r.Stop) + " of " + count(total, "agent", "agents") + " " + verb(r.Stop, "stops", "stop") + " at once, " +
			strconv.Itoa(r.Kill) + " " + verb(r.Kill, "needs", "need") + " --kill"
	}
	if r.Elsewhere > 0 {
		text += "; the switch does not reach " + strconv.Itoa(r.Elsewhere) + " under another home or in a container"
	}
	return text + "."
}

func count(n int, one, many string) string { return strconv.Itoa(n) + " " + verb(n, one, many) }

func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// maxElsewhere is how many agents under another home are named: on a machine with many users they would hide one's own.
const maxElsewhere = 3

// Lines are the agents, in columns: those that the switch reaches come first. Agents of one name have their process in the line.
func (r *Report) Lines() []string {
	var names, clis int
	called := map[string]int{}
	cli := func(a *Agent) string { return strings.TrimSpace(a.CLI + " " + a.Version) }
	for i := range r.Agents {
		names, clis = max(names, len(r.Agents[i].Name)), max(clis, len(cli(&r.Agents[i])))
		called[r.Agents[i].Name]++
	}
	var out, elsewhere []string
	for i := range r.Agents {
		a := &r.Agents[i]
		text := cmp.Or(a.Text, string(a.State))
		if called[a.Name] > 1 && !strings.Contains(text, a.where()) {
			text += ", " + a.where()
		}
		line := "  " + pad(a.Name, names) + "   " + pad(cli(a), clis) + "   " + text
		if a.State == Elsewhere {
			elsewhere = append(elsewhere, line)
		} else {
			out = append(out, line)
		}
	}
	if more := len(elsewhere) - maxElsewhere; more > 0 {
		elsewhere = append(elsewhere[:maxElsewhere], "  and "+strconv.Itoa(more)+" more that are not reached")
	}
	return append(out, elsewhere...)
}

func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-len(s))) }
