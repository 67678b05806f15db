package cli

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/canonjson"
	"tutti/internal/job"
	"tutti/internal/store"
)

// A waitItem is one thing that waits for who looks.
type waitItem struct {
	kind    string // escalation, held, comms, complete, permission, job, blockage
	id      string
	from    string
	about   string
	at      time.Time // since when; zero: not known
	command string    // what to type
}

// maxWaiting is how many are kept of each kind: the rest is behind the commands of those.
const maxWaiting = 100

// waitsOn adds something that waits.
func (v *statusView) waitsOn(i waitItem) {
	n := 0
	for _, o := range v.waiting {
		if o.kind == i.kind {
			n++
		}
	}
	if n < maxWaiting {
		v.waiting = append(v.waiting, i)
	}
}

// waitingKinds are those of which something may lie in a bus that waits for somebody.
var waitingKinds = [...]store.Kind{store.Escalation, store.Blockage, store.Negotiation, store.Quarantine}

// mayWait tells whether there may be something that waits for somebody, on the bus or among the jobs of this folder. The light program
// looks no further: most have none, and what is found there only the heavy one can read.
func (c *Call) mayWait(root *app.Root) bool {
	for _, k := range waitingKinds {
		top, _, _ := strings.Cut(k.Spec().Path, "/")
		if anyIn(filepath.Join(root.Path, top)) {
			return true
		}
	}
	s, err := c.sessionsHere(c.opener)
	if err != nil {
		return false
	}
	b, _, err := job.At(s.workspace())
	return err == nil && anyIn(b.Dir())
}

func anyIn(dir string) bool {
	d, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer d.Close()
	names, _ := d.Readdirnames(1)
	return len(names) > 0
}

// meetAsking adds the sessions whose program asks its user something. An agent cannot answer for a person.
func (v *statusView) meetAsking(person func() bool) {
	for i := range v.sessions {
		l := &v.sessions[i]
		if l.asks != "" && person() {
			v.waitsOn(waitItem{
				kind: "permission", id: l.row.Name, from: l.row.Instance, about: l.row.Name + " asks " + l.asks,
				command: "tutti session attach " + app.QuoteArg(l.row.Name),
			})
		}
	}
}

func (v *statusView) waitingJSON() []byte {
	var all list
	for _, w := range v.waiting {
		var o canonjson.Object
		o.Str("kind", w.kind)
		o.Str("id", w.id)
		o.Opt("from", w.from)
		o.Str("about", w.about)
		if !w.at.IsZero() {
			o.Str("at", w.at.UTC().Format(jsonTime))
		}
		o.Str("command", w.command)
		all.obj(&o)
	}
	return all.bytes()
}

// waitingShown is how many of them the screen names.
const waitingShown = 10

// sayWaiting prints what waits for who looks, each with what to type. Nothing is said where nothing does.
func (c *Call) sayWaiting(v *statusView) {
	if v.blind != nil {
		c.prose(c.paint(bold, "wait ")+" ", 6, "what waits for you cannot be looked at: "+Clean(v.blind.Error()))
	}
	if len(v.waiting) == 0 {
		return
	}
	things := " things wait on you"
	if len(v.waiting) == 1 {
		things = " thing waits on you"
	}
	c.line(c.paint(bold, "wait ") + " " + strconv.Itoa(len(v.waiting)) + things)
	for n, w := range v.waiting {
		if n == waitingShown {
			c.line("       and " + strconv.Itoa(len(v.waiting)-n) + " more: tutti status --json")
			break
		}
		head := "      " + w.kind
		if w.from != "" {
			head += "  " + Clean(w.from)
		}
		if !w.at.IsZero() {
			head += "  " + ago(max(0, time.Since(w.at)))
		}
		c.line(head)
		c.prose("        ", 8, Truncate(Clean(w.about), 2*textShown))
		c.line("        → " + Clean(w.command))
	}
}
