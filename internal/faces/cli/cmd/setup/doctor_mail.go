package setup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/keyring"
	"tutti/internal/bus/presence"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/cmd/bus"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/smallfile"
	"tutti/internal/store"
)

// A mailboxFinding is a mailbox whose name cannot be that of an agent.
type mailboxFinding struct {
	Name  string `json:"name"` // of the folder
	Path  string `json:"path"`
	Class string `json:"class"`
	Mail  int    `json:"mail"` // documents in it
}

// A strayBus is a bus below a folder that was searched.
type strayBus struct {
	Path      string `json:"path"`
	Instances int    `json:"instances"`
}

// The classes of such mailboxes, as reports name them.
const (
	hostless = "hostlessDirs"
	phantom  = "phantomThreeSegment"
	orphan   = "orphan"
)

// knownHosts are the hosts of agents. Mailboxes of hosts that a registration names count as known, too.
var knownHosts = [...]string{"claude", "codex", "gemini", "agy", "remote", "agent", "hermes", "opencode"}

// A registered set is what is known of the agents of a bus: the hosts and the last parts of ids, in lower case, and the mailbox
// folders that they read.
type registered struct{ hosts, tails, reads map[string]bool }

// classify returns the class of a mailbox folder, "" when its name is fine. A subagent is judged by its parent.
func classify(name string, reg registered) string {
	parent, _, _ := strings.Cut(name, "~")
	parts := strings.Split(parent, "__")
	host := parts[0]
	known := reg.hosts[strings.ToLower(host)]
	for _, h := range knownHosts {
		known = known || h == host
	}
	switch {
	case !known:
		return hostless
	case len(parts) != 3 || host == "remote":
		return ""
	case !isHex12(parts[2]):
		return phantom
	case len(reg.tails) > 0 && !reg.tails[strings.ToLower(parts[2])]:
		return orphan // without a readable registry no mailbox is called that
	}
	return ""
}

func isHex12(s string) bool {
	if len(s) != 12 {
		return false
	}
	for i := range len(s) {
		if c := s[i] | 0x20; (s[i] < '0' || s[i] > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func readRegistered(ctx context.Context, s store.Log) registered {
	reg := registered{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for line, err := range s.Read(ctx, store.Key{Kind: store.Instances}, "") {
		if err != nil {
			continue // a bad line names no agent
		}
		raw, _ := canonjson.Get(line.Data, "id")
		id, _ := canonjson.String(raw)
		reg.adds(id)
	}
	return reg
}

// knows adds the host and the last part of an id.
func (reg registered) knows(id string) {
	parent, _, _ := strings.Cut(id, "~")
	if i := strings.IndexByte(parent, ':'); i > 0 {
		reg.hosts[strings.ToLower(parent[:i])] = true
		reg.tails[strings.ToLower(parent[strings.LastIndexByte(parent, ':')+1:])] = true
	}
}

// checkMailboxes looks at the names of the mailboxes, and with --prune at what should become of the odd ones.
func checkMailboxes(ctx context.Context, c *kit.Call, opt *doctorOptions, r *report, s bus.Whole, root *app.Root) error {
	reg := readRegistered(ctx, s)
	if docs, ok := s.(store.Docs); ok { // a live agent reads its mailbox, registered or not
		unknown := len(reg.tails) == 0
		live, _ := presence.New(docs).Fresh(ctx, time.Now())
		for i := range live {
			reg.adds(string(live[i].Instance))
		}
		if unknown { // without a readable registry no mailbox is called an orphan
			clear(reg.tails)
		}
	}
	reg.addAliases(ctx, s)
	ring := keyring.Open(root.Path)
	var misread []string
	seen := map[string][]string{}
	classes := map[string][]string{}
	for name, err := range s.Owners(ctx, store.Inbox) {
		if err != nil {
			if c.Under != kit.Tutti {
				r.tell("mail", err.Error(), "look at it; nothing of ours follows it")
			}
			continue // see checkLetters
		}
		low := strings.ToLower(name)
		seen[low] = append(seen[low], name)
		class := classify(name, reg)
		parent, _, _ := strings.Cut(address.SegmentToAddress(name), "~")
		if class != "" && ring.Has(address.Instance(parent)) {
			class = "" // an agent that is not live and not registered can come back and read it
		}
		if class == "" || class == orphan {
			if reg.misread(name) {
				misread = append(misread, name)
			}
		}
		if class == "" {
			continue
		}
		classes[class] = append(classes[class], name)
		if opt.Prune {
			r.Prune = append(r.Prune, mailboxFinding{name, filepath.Join(root.Path, "inbox", name), class, countMail(ctx, s, name)})
		}
	}
	var doubles []string
	for _, names := range seen {
		if len(names) > 1 {
			sort.Strings(names)
			doubles = append(doubles, names...)
		}
	}
	both := "mail in both is read; nothing has to be done"
	if slices.ContainsFunc(doubles, func(name string) bool { return slices.Contains(misread, name) }) {
		both = "see below: no agent reads " + strings.Join(misread[:min(5, len(misread))], ", ")
	}
	hygiene(r, "caseDuplicates", doubles, "the same mailbox in two spellings", both)
	if c.Under == kit.Tutti {
		if err := checkLetters(ctx, c, r, s, root, misread); err != nil {
			return err
		}
	}
	hygiene(r, hostless, classes[hostless], "mailboxes without the name of a host", pruneHint)
	hygiene(r, phantom, classes[phantom], "mailboxes with an invalid id", pruneHint)
	slices.SortFunc(r.Prune, func(a, b mailboxFinding) int { return strings.Compare(a.Name, b.Name) })
	if opt.Apply {
		return quarantine(r, root)
	}
	return nil
}

const pruneHint = `"tutti doctor --prune" lists them and says what can be done`

func hygiene(r *report, kind string, names []string, text, hint string) {
	if len(names) == 0 {
		return
	}
	sort.Strings(names)
	examples := names[:min(5, len(names))]
	r.warn("mail", hint, warning{
		Type: "inboxHygiene", Kind: kind, Count: len(names), Examples: examples,
		Message: fmt.Sprintf("%d %s: %s", len(names), text, strings.Join(examples, ", ")),
	})
}

func countMail(ctx context.Context, s store.Reader, owner string) (n int) {
	for _, err := range s.List(ctx, store.Inbox, owner) {
		if err == nil {
			n++
		}
	}
	return n
}

// quarantine moves the mailboxes that were listed, whole and by one rename each, so that nothing in them is lost and a
// program that writes there at that moment writes into what was moved.
func quarantine(r *report, root *app.Root) error {
	if len(r.Prune) == 0 {
		return nil
	}
	d, err := atomicfile.OpenDir(root.Path)
	if err != nil {
		return kit.FailIO("", err, "prune")
	}
	defer d.Close()
	from, err := d.Sub("inbox")
	if err != nil {
		return kit.FailIO("", err, "prune")
	}
	defer from.Close()
	to, err := d.MakeSub("quarantine", 0o700)
	if err != nil {
		return kit.FailIO("", err, "prune")
	}
	defer to.Close()
	for len(r.Prune) > 0 {
		m := r.Prune[0]
		name := m.Name
		err := from.Rename(m.Name, to, name, false)
		for n := 2; errors.Is(err, fs.ErrExist) && n < 100; n++ {
			name = fmt.Sprintf("%s-%d", m.Name, n)
			err = from.Rename(m.Name, to, name, false)
		}
		if err != nil {
			return kit.FailIO("", err, "prune")
		}
		m.Path = filepath.Join(root.Path, "quarantine", name)
		r.Moved, r.Prune = append(r.Moved, m), r.Prune[1:]
	}
	return nil
}

func showPrune(c *kit.Call, opt *doctorOptions, r *report) {
	for _, m := range r.Moved {
		c.Printf("moved to quarantine: %s (%s)\n", kit.Clean(c.App.Shown(m.Path)), kit.Plural(m.Mail, "message"))
	}
	for _, m := range r.Prune {
		c.Printf("would go to quarantine: %s (%s, %s)\n", kit.Clean(c.App.Shown(m.Path)), m.Class, kit.Plural(m.Mail, "message"))
	}
	switch {
	case len(r.Prune) > 0:
		c.Line("nothing was changed; this moves them: " + "tutti doctor --prune --apply")
	case opt.Prune && len(r.Moved) == 0:
		c.Line("no mailbox to prune")
	}
}

// checkStray looks for buses one level below dir. They are named and never touched.
func checkStray(ctx context.Context, c *kit.Call, r *report, dir string, root *app.Root) {
	entries, err := smallfile.ReadDir(dir, smallfile.Follow)
	if err != nil {
		r.tell("scan", err.Error(), "name a folder that can be read")
		return
	}
	var buses []strayBus
	var found []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name(), ".h2a")
		if !app.IsBus(path) || app.SameFolder(path, root.Path) {
			continue
		}
		found = append(found, path)
		buses = append(buses, strayBus{path, countInstances(ctx, path)})
	}
	if len(found) == 0 {
		r.tell("scan", "no stray bus below "+dir, "")
		return
	}
	r.warn("scan", "each may hold keys and unread mail: look first (tutti store check --root PATH), then remove it by hand",
		warning{Type: "strayBuses", Buses: buses, Message: "stray buses: " + strings.Join(found, ", ")})
}
