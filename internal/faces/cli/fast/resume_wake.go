package fast

import (
	"strconv"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/attention/hookmark"
	"tutti/internal/attention/wake"
	"tutti/internal/core/address"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/observe"
)

// Times for the servers of agents to answer. A wake may look at a pane for some seconds.
const (
	heldTime = 500 * time.Millisecond
	wakeTime = 10 * time.Second
)

// A StoppedAgent is an agent that a halt stopped.
type StoppedAgent struct {
	Instance string `json:"instance"`
	Unread   int    `json:"unread"`
	Context  int64  `json:"contextTokens,omitempty"` // that its model reads again when it is woken; 0: not known
	Woken    string `json:"woken,omitempty"`
}

// release says how many agents wait for their user after a halt, and with --wake lets them go on.
func release(c *kit.Call, wakes, was bool) (all []StoppedAgent) {
	there := wake.Release(bells(c), wake.Word{Ask: true}, heldTime)
	held, alone := stopped(there), []hookmark.Mark(nil)
	if was {
		alone = unconnected(marks(c), there)
	}
	sayUnconnected(c, alone)
	if len(held) == 0 {
		if !c.JSON && (was || wakes) && len(alone) == 0 {
			c.Line("- No agent waits to continue.")
		}
		return nil
	}
	for _, h := range held {
		all = append(all, StoppedAgent{Instance: h.Instance, Unread: h.Unread})
	}
	if !c.JSON {
		c.Prose("- ", 2, waitText(held))
	}
	if wakes {
		wakeAll(c, held, all)
		return all
	}
	if c.JSON {
		return all
	}
	c.Prose("- ", 2, `Type "go on" there, or wake them: "tutti resume --wake", "tutti resume --session AGENT".`)
	for _, v := range all {
		c.Line("  " + kit.Clean(v.Instance) + "  " + strconv.Itoa(v.Unread) + " unread")
	}
	return all
}

// wakeAll says what waking costs, wakes the agents, and says which could not be woken. all are the views of held.
func wakeAll(c *kit.Call, held []wake.Released, all []StoppedAgent) {
	marks := marks(c)
	for i := range all {
		all[i].Context = contextSize(c, held[i], marks)
	}
	if !c.JSON {
		c.Prose("- ", 2, "Waking them makes each model read its whole context again:")
		for _, v := range all {
			c.Line("  " + kit.Clean(v.Instance) + "  " + sizeText(v.Context))
		}
		_ = c.Flush()
	}
	woken, answered := map[string]string{}, map[string]bool{}
	for _, h := range wake.Release(bells(c), wake.Word{GoOn: true}, wakeTime) {
		answered[h.Instance] = true
		if h.Woken != "" {
			woken[h.Instance] = h.Woken
		}
	}
	asleep := 0
	for i := range all {
		v := &all[i]
		v.Woken = woken[v.Instance]
		text := "woken"
		switch {
		case v.Woken != "":
		case answered[v.Instance]:
			asleep++
			text = "not woken: prompt it yourself; none of its hooks waits, and tutti can type nothing there"
		default:
			asleep++
			text = "not woken: its server did not answer"
		}
		if !c.JSON {
			c.Line("  " + kit.Clean(v.Instance) + "  " + kit.Clean(text))
		}
	}
	if asleep > 0 && !c.JSON {
		c.Prose("- ", 2, strconv.Itoa(asleep)+" of "+strconv.Itoa(len(all))+" could not be woken and will go on at the next prompt that you type there.")
	}
}

// marks are those that hooks left for the agent CLI processes; without them some sizes are not known.
func marks(c *kit.Call) []hookmark.Mark {
	state, err := c.App.StateDir()
	if err != nil {
		return nil
	}
	all, err := hookmark.All(state)
	if err != nil {
		c.Remark("what hooks noted cannot be read: %s", kit.Clean(err.Error()))
	}
	return all
}

// contextSize is how many tokens an agent reads again, 0 where that is not known.
func contextSize(c *kit.Call, h wake.Released, marks []hookmark.Mark) int64 {
	d, ok := driver.Get(address.Instance(h.Instance).Host())
	home, err := c.App.Home()
	if !ok || err != nil {
		return 0
	}
	p, talk := driver.Site{Home: home}, h.Conversation
	for _, m := range marks {
		if m.CLI == d.Name && (talk != "" && m.Conversation == talk || talk == "" && m.Instance == h.Instance) {
			talk, p.Dir = m.Conversation, m.Dir
			p.Env = func(name string) string {
				value, _, _ := proc.Getenv(m.PID, name)
				return value
			}
			break
		}
	}
	used, _ := observe.Usage(d, p, talk)
	return used.Tokens
}

// sizeText is the size of a context for people.
func sizeText(tokens int64) string {
	switch {
	case tokens <= 0:
		return "size unknown"
	case tokens < 1000:
		return strconv.FormatInt(tokens, 10) + " tokens"
	}
	return "about " + strconv.FormatInt((tokens+500)/1000, 10) + ",000 tokens"
}

// waitText says how many wait.
func waitText(held []wake.Released) string {
	mail := 0
	for _, h := range held {
		if h.Unread > 0 {
			mail++
		}
	}
	text := strconv.Itoa(len(held)) + " agents stay stopped until you tell them to go on"
	if len(held) == 1 {
		text = "1 agent stays stopped until you tell it to go on"
	}
	if mail > 0 {
		text += ", " + strconv.Itoa(mail) + " with unread mail"
	}
	return text + "."
}

// stopped are the agents that a halt stopped, each once.
func stopped(all []wake.Released) (held []wake.Released) {
	seen := map[string]bool{}
	for _, h := range all {
		if h.Stopped && !seen[h.Instance] && address.Check(h.Instance) == nil {
			seen[h.Instance] = true
			held = append(held, h)
		}
	}
	return held
}

// wakeOne wakes an agent that its user has let go on.
func wakeOne(c *kit.Call, instance string) {
	for _, h := range wake.Release(bells(c), wake.Word{GoOn: true, Instance: instance}, wakeTime) {
		if h.Woken != "" {
			c.Remark("%s goes on: it was woken", kit.Clean(instance))
			return
		}
	}
	c.Remark("%s goes on: at its next step it is shown what has come", kit.Clean(instance))
}
