// Package fswatch tells what changes in folders. It owns the one kernel watcher of the process.
//
// A [Sub] is a subscription to one folder. The folder need not exist: then the nearest folder above it
// that does is watched for the next step of the path to appear. When the folder, anything above it or
// a link on the way to it is moved, removed or made again, the subscription follows the path, not the
// folder that once lay there. Each time the folder has come, gone or been replaced the subscriber gets
// an event with [Self], and one with [Overflow] when events were lost; after both it must look at the
// folder itself. A subscriber that looks after [Watch] has returned, and then after each event, misses
// nothing.
//
// Events of one name that were not taken yet are merged into one: its bits say what happened, not how often or in which order,
// so that an event is a reason to look and never a fact to store. A subscriber that does not take its events blocks no other
// subscriber and costs bounded memory. Nothing wakes up while nothing happens: there is no timer behind a kernel watcher.
//
// The kernel grants a user few watchers (128 as a rule). Without one, [Watch] looks once a second and
// [Sub.Polled] says so. A file system that other machines write to, or one that is mounted over a
// folder on the way, is not reported by the kernel; who must notice that scans now and then besides.
// So must who cares for files that grow without ever being closed.
package fswatch

import (
	"errors"
	"strings"
	"time"
)

// An Op is a set of things that happened to a name, or to the watched folder.
type Op uint8

const (
	Created  Op = 1 << iota // the name appeared: made, linked or moved in
	Written                 // a writer has closed the file, or it was moved in whole
	Gone                    // the name was removed or moved away
	Self                    // the watched folder came, went or is another one now: look at all of it
	Overflow                // events were lost: look at all of it
)

// Rescan tells that the subscriber has to look at the whole folder.
func (o Op) Rescan() bool { return o&(Self|Overflow) != 0 }

// String lists the bits, as in "created|written".
func (o Op) String() string {
	var parts []string
	for i, word := range [...]string{"created", "written", "gone", "self", "overflow"} {
		if o&(1<<i) != 0 {
			parts = append(parts, word)
		}
	}
	return strings.Join(parts, "|")
}

// An Event says that something happened in a folder.
type Event struct {
	Path string // the folder, as the subscriber named it
	Name string // the entry in it; "" with Self and Overflow
	Op   Op
	Dir  bool // the entry is a folder itself
}

// Options narrow what a subscription reports. The zero value reports everything.
type Options struct {
	// Ops are the wanted ones of Created, Written and Gone; 0 stands for all three. Self and Overflow
	// always come.
	Ops Op
	// Names says which entries are of interest; nil: all. It is called by the reader of the kernel's
	// events for each of them and must be quick, must not block and must not call this package.
	Names func(name string) bool
	// Pending is how many different names may wait to be taken before all of them are replaced by one
	// Overflow; 0: 1024, about 100 KB.
	Pending int
}

// Visible is a filter for [Options.Names] that leaves out dot files, where writers prepare theirs.
func Visible(name string) bool { return !strings.HasPrefix(name, ".") }

// wants tells whether an event passes the options, and with which bits.
func (o *Options) wants(op Op, name string) Op {
	if o.Ops != 0 {
		op &= o.Ops
	}
	if op != 0 && o.Names != nil && !o.Names(name) {
		return 0
	}
	return op
}

// PollEvery is how often a folder is looked at when there is no kernel watcher.
const PollEvery = time.Second

// ErrNoWatcher is wrapped by the errors that say that the kernel grants no watcher, or no more watches.
var ErrNoWatcher = errors.New("no kernel watcher")

// errClosed is the answer of a watcher that was closed.
var errClosed = errors.New("watcher is closed")

// Watch subscribes to the folder path with the watcher of the process, or looks once a second when
// none is to be had; [Sub.Polled] tells which, and [Sub.Reason] why.
func Watch(path string, o Options) *Sub {
	w, err := Shared()
	if err == nil {
		var s *Sub
		if s, err = w.Add(path, o); err == nil {
			return s
		}
	}
	s := newSub(path, o)
	s.startPolling(PollEvery, err)
	return s
}

// Polling subscribes to the folder path by listing it every so often. Names that appear are reported
// as Created and Written, because a listing cannot tell. The first listing is done when it returns.
func Polling(path string, every time.Duration, o Options) *Sub {
	s := newSub(path, o)
	s.startPolling(every, nil)
	return s
}

// Notify returns a channel that delivers after anything that concerns the entry name of the folder
// dir: it appeared, was written, changed its mode or went, the folder or anything on the way to it
// came, went or was replaced, the folder's mode changed, or events were lost. One undelivered signal stands for many. The folder need not
// exist. The caller looks at the entry once after Notify has returned, and then after each signal.
//
// The channel serves one receiver. It is closed when the kernel's watcher is lost; from then on, and
// when err is not nil (look is nil then), the caller has to look by itself. stop ends the signals
// without closing the channel; it is never nil and may be called more than once.
func Notify(dir, name string) (look <-chan struct{}, stop func(), err error) {
	w, err := Shared()
	if err != nil {
		return nil, func() {}, err
	}
	return w.Notify(dir, name)
}
