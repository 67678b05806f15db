package protocol

import (
	"cmp"
	"strings"
	"time"
)

// An Item is a file of a mailbox as far as it matters for what waits there.
type Item struct {
	Name         string
	Conversation string
	Type         Type
	Time         time.Time
	Unreadable   bool // its header does not say to which conversation it belongs, or when it was written
	Unsigned     bool // it has no signature file
}

// Item returns the message as an item. One of another version is as good as any if it says these two.
func (m *Message) Item(name string) Item {
	return Item{Name: name, Conversation: m.Conversation, Type: m.Type, Time: m.Time, Unreadable: m.Conversation == "" || m.Time.IsZero()}
}

// Unread is what waits in a mailbox. Numbers are places in the list that was given.
type Unread struct {
	Pending    []int // in the order of the list
	Unreadable []int // the unreadable ones among them: one warning a project
	Latest     int   // the latest of Pending; -1: nothing waits
}

// Pending returns what waits: of each conversation the messages that are strictly later than its latest release, and all
// if it has none. A file that cannot be read waits. Releases are those that lie elsewhere, by conversation with the time
// of the latest: the ones that this project wrote lie in the mailbox of the other. Without them what an originator got
// would wait for ever.
//
// A release that [Receive] would refuse for what can be seen from here ends nothing, and waits: one without a signature,
// one whose name has another time, and one from more than FutureMax after now. So does one that is taken with a warning, from
// more than FutureWarned after now: until its time has come it would hide all that is written. A zero now judges no future.
func Pending(items []Item, releases map[string]time.Time, now time.Time) Unread {
	latest := make(map[string]time.Time, len(releases))
	for c, t := range releases {
		latest[c] = t
	}
	for i := range items {
		it := &items[i]
		if it.Type != Release || !it.holds(now) {
			continue
		}
		if t, had := latest[it.Conversation]; !had || it.Time.After(t) {
			latest[it.Conversation] = it.Time
		}
	}
	w := Unread{Latest: -1}
	for i := range items {
		it := &items[i]
		if it.Unreadable {
			w.Unreadable = append(w.Unreadable, i)
		} else if t, released := latest[it.Conversation]; released && !it.Time.After(t) {
			continue
		}
		w.Pending = append(w.Pending, i)
		if w.Latest < 0 || cmp.Or(it.when().Compare(items[w.Latest].when()), strings.Compare(it.Name, items[w.Latest].Name)) > 0 {
			w.Latest = i
		}
	}
	return w
}

// holds reports whether the time of a message may be relied on.
func (it *Item) holds(now time.Time) bool {
	if it.Unreadable || it.Unsigned || it.Type == Release && !Ends(it.Time, now) {
		return false
	}
	n, _, ok := splitName(it.Name)
	return !ok || skewOf(n.Stamp, it.Time) <= SkewMax
}

// tooLate reports whether a message is dated so far after now that it is refused.
func tooLate(at, now time.Time) bool { return !now.IsZero() && at.Sub(now) > FutureMax }

// Ends reports whether a release may end a conversation now, by its time.
func Ends(at, now time.Time) bool { return now.IsZero() || at.Sub(now) <= FutureWarned }

// when is the time of a message, or that of its name where it has none that can be read.
func (it *Item) when() time.Time {
	if !it.Unreadable {
		return it.Time
	}
	n, _, _ := splitName(it.Name)
	return n.Stamp
}

// CompareProjects orders projects for people: those with something that waits first, then by name.
func CompareProjects(a string, aPending int, b string, bPending int) int {
	if (aPending > 0) != (bPending > 0) {
		if aPending > 0 {
			return -1
		}
		return 1
	}
	return strings.Compare(a, b)
}
