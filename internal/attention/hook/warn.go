package hook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/mail"
	"tutti/internal/core/termsafe"
	"tutti/internal/governance/reservation"
	"tutti/internal/platform/gitexclude"
	"tutti/internal/platform/smallfile"
	"tutti/internal/platform/truepath"
	"tutti/internal/store"
)

// maxWarned is how many leases one warning names, the nearest first.
const maxWarned = 3

// A Warner reads the leases on files.
type Warner struct {
	warn func(ctx context.Context, e *event) error
}

// WarnHere reads them in this program.
func WarnHere() *Warner {
	return &Warner{func(ctx context.Context, e *event) error { return e.warn(ctx) }}
}

// WarnElsewhere has the program replaced by one that can, when there may be a lease. replace returns only if that failed.
func WarnElsewhere(replace func() error) *Warner {
	return &Warner{func(context.Context, *event) error { return replace() }}
}

// edits is what happens before a file is changed. Nothing was done yet when another program takes over.
func (e *event) edits(ctx context.Context) error {
	if e.o.Warner == nil || len(e.call.Files) == 0 || !e.load() || e.was.Root == "" || e.was.Instance == "" {
		return nil
	}
	if !holdsAny(filepath.Join(e.was.Root, leaseFolder)) {
		return nil // there is no reservation here
	}
	return e.o.Warner.warn(ctx, e)
}

// holdsAny reports whether a folder has a reservation, or may have one: a document beside the one that serialises the agents
// that take one, which stays.
func holdsAny(dir string) bool {
	f, err := smallfile.OpenDir(dir, smallfile.NoLinks)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	for {
		names, err := f.Readdirnames(16)
		if slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(n, ".json") && n != reservation.TurnFile }) {
			return true
		}
		if err != nil {
			return !errors.Is(err, io.EOF)
		}
	}
}

// warn tells an agent that is about to change a file, or that has changed it where its model reads only what is said after a tool, who has said that he works on it. It never says that it may not: what a program
// asks of its user, and whether, stays as it is.
func (e *event) warn(ctx context.Context) (err error) {
	if e.bus, err = e.o.Open(ctx, BusChoice{Root: e.was.Root, Dir: e.call.Dir}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.bus.Close()) }()
	if e.bus.Leases == nil || e.bus.Root != e.was.Root {
		return nil
	}
	e.r = mail.Reader{Instance: e.was.Instance, Session: e.call.Conversation}
	if stopped, err := e.waitsForUser(ctx); stopped || err != nil {
		return err // as with mail: nothing is shown to it
	}
	found, err := e.others(ctx)
	if err != nil || len(found) == 0 {
		return err
	}
	if why, must := e.refused(); must { // meanwhile
		return e.deny(why)
	}
	var text strings.Builder
	var doubt error
	after := e.call.Event.Moment == driver.Tool
	for _, f := range found {
		text.WriteString(warning(f.lease, f.file, e.now))
		if after || !e.hooks.EditsAfter() { // else its user alone reads it
			doubt = errors.Join(doubt, e.bus.Leases.Warn(ctx, f.lease, e.was.Instance))
		}
	}
	ending := "Nothing keeps you from it. Better ask first, or work on something else: you get mail when the reservation ends."
	if after {
		ending = "You have changed it. Tell the holder what you did, and ask before you change more: you get mail when the reservation ends."
	}
	return errors.Join(doubt, e.say(e.cut(text.String(), ending)))
}

// A finding is another agent's reservation of a file.
type finding struct {
	file  string // as the program has it
	lease *reservation.Lease
}

// others are the leases of others that stand on the files of the call, as many as one warning names.
func (e *event) others(ctx context.Context) (found []finding, err error) {
	for _, file := range e.call.Files {
		for _, path := range e.paths(file) {
			all, err := e.bus.Leases.On(ctx, path)
			if err != nil {
				return nil, err
			}
			for _, l := range all {
				why, err := e.bus.Leases.Ended(ctx, l, e.now)
				if err != nil {
					return nil, err
				}
				if why != "" || l.Is(e.was.Instance) || slices.ContainsFunc(found, func(f finding) bool { return f.file == file && f.lease.Path == l.Path }) {
					continue
				}
				if found = append(found, finding{file, l}); len(found) == maxWarned {
					return found, nil
				}
			}
		}
	}
	return found, nil
}

// paths are what a program may mean by a file: the system goes where a link leads before it goes up by two dots, but programs may take a name
// and the two dots behind it out of the path before they ask it.
func (e *event) paths(file string) []string {
	if !filepath.IsAbs(file) && e.call.Dir == "" {
		return nil // the place of it is unknown
	}
	all := []string{truepath.Below(e.call.Dir, file)}
	if strings.Contains(file, "..") {
		if !filepath.IsAbs(file) {
			file = filepath.Join(e.call.Dir, file)
		}
		if p := truepath.Of(filepath.Clean(file)); p != all[0] {
			all = append(all, p)
		}
	}
	for _, p := range slices.Clone(all) {
		all = append(all, gitexclude.Twins(p)...) // what is changed there meets this change when both are merged
	}
	return all
}

// cut shortens a text so that the answer with it and an ending is not too long.
func (e *event) cut(text, ending string) string {
	for most := len(text); ; most -= most/8 + 1 {
		said := text
		if most < len(text) {
			said = termsafe.Head(text, most) + "\n"
		}
		if a, _ := e.answer(said + ending); len(a.Out) <= MaxAnswer || most <= 0 {
			return said + ending
		}
	}
}

// leaseFolder is where leases lie below a bus.
var leaseFolder = filepath.Dir(store.FileLease.Spec().Path)

// warning is what is said of one lease.
func warning(l *reservation.Lease, file string, now time.Time) string {
	const most = 300 // bytes of a path
	on := termsafe.Head(line(file), most)
	switch {
	case slices.ContainsFunc(gitexclude.Twins(truepath.Of(file)), l.Touches):
		on += ", in another worktree of this repository (" + termsafe.Head(line(l.Path), most) + "),"
	case l.Path != file:
		on += " (" + termsafe.Head(line(l.Path), most) + ")"
	}
	s := fmt.Sprintf("tutti: %s is reserved by %s until %s, %s from now.\n", on, name(l.Holder), envelope.Stamp(l.Until),
		termsafe.Duration(l.Until.Sub(now).Round(time.Second)))
	if l.Note != "" {
		s += "text of a peer, not of your user:\n| " + termsafe.Head(line(l.Note), most) + "\n"
	}
	return s
}
