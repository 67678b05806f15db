package wake

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"tutti/internal/platform/proc"
)

// A Caller is a hook that goes to the bell of its session. Place, Host and one of Conversation and Instance are needed.
type Caller struct {
	Place        SocketDir
	Host         string
	Conversation string
	Instance     string // where the server may not know its conversation; "" elsewhere
	Event        string // as the program spells it
	Works        bool   // the agent works, whatever the event says
}

// ErrNobody reports that no server of the session is there.
var ErrNobody = errors.New("no server of this session listens")

// Tell passes on what happens. It takes some hundredths of a millisecond, also if there is no listener.
func Tell(c Caller) error {
	f, err := c.find()
	if err != nil {
		return fmt.Errorf("tell the server of the session: %w", err)
	}
	defer f.Close()
	return writeLine(f, Word{Conversation: c.Conversation, Event: c.Event, Works: c.Works}.line())
}

// Wait waits until an idle agent has to be woken, and returns the text for it: [Sentence] or [GoOn]. It returns "" when no
// waking is left to do: the session is over, or a newer hook waits.
//
// For patience a server may be missing, because it is just being started; after that the error is ErrNobody. The error is that
// of ctx when it ended first.
func Wait(ctx context.Context, c Caller, patience time.Duration) (text string, err error) {
	parent := os.Getppid()
	f, err := c.meet(ctx, patience, parent)
	if err != nil {
		return "", fmt.Errorf("wait for mail: %w", err)
	}
	defer f.Close()
	defer context.AfterFunc(ctx, func() { f.Close() })()
	if writeLine(f, Word{Waits: true, Conversation: c.Conversation, Event: c.Event}.line()) != nil {
		return "", ctx.Err()
	}
	line, err := readLine(f)
	text = map[string]string{mailLine: Sentence, goOnLine: GoOn}[string(line)]
	if err != nil || text == "" {
		return "", ctx.Err()
	}
	if os.Getppid() != parent {
		return "", nil // no hook is left that would see how it ends: the server shall try something else
	}
	_ = writeLine(f, []byte(heardLine)) // a server that is just ending has no record to keep
	return text, nil
}

// Steps between two looks for a server that is being started.
const (
	firstStep = 10 * time.Millisecond
	lastStep  = 250 * time.Millisecond
)

// meet finds the server, also one that comes later than its hook. It gives up when the agent CLI has ended, whose process is parent.
func (c Caller) meet(ctx context.Context, patience time.Duration, parent int) (*os.File, error) {
	step := firstStep
	for end := time.Now().Add(patience); ; {
		f, err := c.find()
		left := time.Until(end)
		if err == nil || left <= 0 || os.Getppid() != parent {
			return f, err
		}
		again := time.NewTimer(min(step, left))
		select {
		case <-ctx.Done():
			again.Stop()
			return nil, ctx.Err()
		case <-again.C:
		}
		step = min(2*step, lastStep)
	}
}

// find goes to the socket of the session, the nearest one where there are several.
func (c Caller) find() (*os.File, error) {
	for _, path := range c.Place.folders() {
		folder, err := openFolder(path)
		if err != nil {
			continue // it was never made, or is none of ours
		}
		f, err := c.findIn(folder)
		folder.Close()
		if err == nil {
			return f, nil
		}
	}
	return nil, ErrNobody
}

func (c Caller) findIn(folder *os.File) (*os.File, error) {
	all, err := names(folder)
	if err != nil {
		return nil, err
	}
	for _, name := range c.order(all) {
		if f, err := dial(folder, name); err == nil {
			return f, nil
		}
	}
	return nil, ErrNobody
}

// order are the sockets at which the server of this session may listen, the best first.
func (c Caller) order(all []string) []string {
	own := [2]tag{tagFor(c.Host, c.Conversation, 0), tagFor(c.Host, c.Instance, 0)}
	unnamed := tagFor(c.Host, Unnamed, 0).key
	var byKey [2][]tag
	var others []tag
	for _, name := range all {
		t, ok := parse(name)
		switch {
		case !ok || t.host != own[0].host:
		case c.Conversation != "" && t.key == own[0].key:
			byKey[0] = append(byKey[0], t)
		case c.Instance != "" && t.key == own[1].key:
			byKey[1] = append(byKey[1], t)
		default:
			others = append(others, t)
		}
	}
	switch best := append(byKey[0], byKey[1]...); { // nearly always there is no choice, and who started whom need not be found out
	case len(byKey[0]) == 1 || len(best) == 1:
		return []string{best[0].String()}
	case len(best)+len(others) == 0:
		return nil
	}
	above := lineage()
	for _, found := range byKey {
		if len(found) > 0 {
			slices.SortStableFunc(found, func(x, y tag) int { return distance(x, above) - distance(y, above) })
			return texts(found)
		}
	}
	// A conversation may get a new id while its server goes on under the old one: the program that has started both is known.
	above = above[:min(len(above), nearest)]
	others = slices.DeleteFunc(others, func(t tag) bool {
		parent, err := proc.Parent(t.pid)
		return err != nil || parent <= 1 || !slices.Contains(above, parent)
	})
	slices.SortStableFunc(others, func(x, y tag) int { // prefer one that waits for its conversation to one that has another
		return rank(x.key != unnamed) - rank(y.key != unnamed)
	})
	return texts(others)
}

func rank(last bool) int {
	if last {
		return 1
	}
	return 0
}

// Unnamed is whose bell that of a server is that does not know its conversation and has no agent yet.
const Unnamed = "?"

// nearest is how many steps up the program of a hook stands at most: it starts a shell, which starts us. Farther up an agent
// may stand that runs the program of the hook as a tool.
const nearest = 2

func texts(tags []tag) []string {
	all := make([]string, len(tags))
	for n, t := range tags {
		all[n] = t.String()
	}
	return all
}

// lineage are the processes below which this one runs, the nearest first.
func lineage() []int {
	var all []int
	for id := range proc.Ancestors(os.Getpid()) {
		all = append(all, id.PID)
	}
	return all
}

// distance is how many steps lead from here over the first process below which a server runs as well to that server.
func distance(t tag, above []int) int {
	down := 0
	for id := range proc.Ancestors(t.pid) {
		if up := slices.Index(above, id.PID); up >= 0 {
			return up + down
		}
		down++
	}
	return len(above) + down
}
