package trust

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"tutti/internal/bus/envelope"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/filelock"
)

const (
	// maxPins bounds what is read of the file: some 20,000 agents.
	maxPins = 4 << 20
	// compactAt is the size from which a write leaves out lines that say nothing any more.
	compactAt = 256 << 10
	// maxDamaged is how many damaged lines are named.
	maxDamaged = 20

	pinsPerm   fs.FileMode = 0o600
	folderPerm fs.FileMode = 0o700
	lockName               = ".pins.lock"
)

// ErrPinned reports that an agent has another pin already.
var ErrPinned = errors.New("another key is pinned")

// ErrName reports a name that can look like another one: no key is pinned for it.
var ErrName = errors.New("the name has characters that no address has")

// How a key came to be pinned.
const (
	FirstContact = "first contact" // it was the first that an envelope of the agent verified under
	ByPerson     = "person"        // a person said so
)

// A Pin is the key that an agent is accepted with.
type Pin struct {
	Instance address.Instance // canonical
	Key      signature.Public
	At       time.Time
	By       string // FirstContact or ByPerson
	// Registration is the hash of the registration that the person accepted with the key; "": none was.
	Registration string
	// Roles are those that the user gave the agent beside the ones of its registration.
	Roles string // separated by spaces
}

// Pins is one user's memory of keys: a file of lines, of which the last one on an agent counts.
//
//	{"instance":"claude:api:3f2a9c01b7de","key":"16x7bq…","by":"first contact","at":"2026-03-01T10:04:00.000Z"}
//	{"instance":"claude:api:3f2a9c01b7de","by":"person","at":"2026-03-01T10:05:00.000Z","registration":"sha256:…"}
//	{"instance":"claude:api:3f2a9c01b7de","forgotten":true,"at":"2026-03-02T09:00:00.000Z"}
//
// The second one names no key: the user made that registration, and its roles and scopes count.
//
// It is read when it is first asked for, and again when it has changed. Programs of ours that write at the same time queue
// on a lock. All methods are safe for concurrent use.
//
// The file has a limit. When it is full, keys that were only met are forgotten (see dropStrangers), so that strangers who send from
// ever new names cannot keep a person from trusting a key.
type Pins struct {
	// Registered returns the agents that are registered, canonical: their pins are forgotten last. nil: none are. It is set before the
	// first call.
	Registered func() map[address.Instance]bool

	path string

	mu      sync.Mutex // guards the rest; held while the file is read or written, never while calling out
	read    bool
	seen    atomicfile.Info
	all     map[address.Instance]Pin
	ever    map[address.Instance][]Pin // all, also where another one came after
	made    map[address.Instance]Pin   // registrations that the user made, without a key
	lines   int
	damaged []string
	err     error
}

// OpenPins returns the pins in the file at path, which need not exist. Nothing is read yet.
func OpenPins(path string) *Pins { return &Pins{path: path} }

// Get returns the keys that are pinned for an agent, and false when there are none. When the pins cannot be read there are
// none either, and Err says why: nothing may be pinned, or called verified, then.
func (p *Pins) Get(i address.Instance) ([]signature.Public, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refresh()
	pin, ok := p.all[i.Canonical()]
	if !ok {
		return nil, false
	}
	return []signature.Public{pin.Key}, true
}

// All returns all pins, ordered by agent.
func (p *Pins) All() []Pin {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refresh()
	return p.sorted()
}

func (p *Pins) sorted() []Pin {
	all := make([]Pin, 0, len(p.all))
	for _, pin := range p.all {
		all = append(all, pin)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Instance < all[j].Instance })
	return all
}

// Bound returns the keys that a person has ever said to be those of an agent or person, since the last time that they were forgotten. What
// was signed under an earlier one of them remains theirs.
func (p *Pins) Bound(i address.Instance) (all []signature.Public) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refresh()
	for _, pin := range p.ever[i.Canonical()] {
		if pin.By == ByPerson {
			all = append(all, pin.Key)
		}
	}
	return all
}

// A Keeper is a Memory that takes a first contact, too.
type Keeper interface {
	Memory
	Pin(i address.Instance, key signature.Public, now time.Time) error
}

// Ever is the memory of all keys that were pinned since the agent was last forgotten, the latest at the end. What was signed long ago, as
// an agreement is, was signed under the key of that time.
func (p *Pins) Ever() Keeper { return ever{p} }

type ever struct{ *Pins }

// Get returns the keys that were ever pinned for an agent.
func (e ever) Get(i address.Instance) (all []signature.Public, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refresh()
	now := e.all[i.Canonical()]
	for _, pin := range e.Pins.ever[i.Canonical()] {
		if pin.Key != now.Key {
			all = append(all, pin.Key)
		}
	}
	if _, ok = e.all[i.Canonical()]; ok {
		all = append(all, now.Key)
	}
	return all, ok
}

// ByPersons is the memory of those keys alone: what was only met counts for nothing in it.
func (p *Pins) ByPersons() Memory { return bound{p} }

type bound struct{ *Pins }

// Get returns the keys that a person has said to be those of an agent.
func (b bound) Get(i address.Instance) ([]signature.Public, bool) {
	all := b.Bound(i)
	return all, len(all) > 0
}

// Err returns why the pins could not be read.
func (p *Pins) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refresh()
	return p.err
}

// Damaged names lines of the file that are not records, and were skipped: an agent may have lost its pin with one.
func (p *Pins) Damaged() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refresh()
	return slices.Clone(p.damaged)
}

// Pin remembers the key of an agent that has none yet. Pinning the same key again is not an error; another one is ErrPinned.
func (p *Pins) Pin(i address.Instance, key signature.Public, now time.Time) error {
	return p.PinAll([]Contact{{i, key}}, now)
}

// A Contact is an agent and the first key that it was met with.
type Contact struct {
	Instance address.Instance
	Key      signature.Public
}

// PinAll is Pin for several agents, in one write. The errors of some keep none of the others from being pinned.
func (p *Pins) PinAll(all []Contact, now time.Time) error {
	if len(all) == 0 {
		return nil
	}
	var errs []error
	err := p.change("pin keys", func() (add []byte, err error) {
		errs = nil
		met := map[address.Instance]signature.Public{}
		for _, c := range all {
			i := c.Instance.Canonical()
			old, known := met[i]
			if pin, ok := p.all[i]; ok {
				old, known = pin.Key, true
			}
			switch {
			case !address.WellFormed(string(c.Instance)):
				err = ErrName
			case known && old == c.Key:
				continue
			case known:
				err = fmt.Errorf("%w: %s, not %s", ErrPinned, old.Short(), c.Key.Short())
			default:
				met[i], err = c.Key, nil
				add = append(add, line(Pin{Instance: i, Key: c.Key, At: now, By: FirstContact})...)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("pin key of %s: %w", address.Shown(string(c.Instance)), err))
			}
		}
		return add, nil
	})
	return errors.Join(append(errs, err)...)
}

// Trust makes key the pin of an agent, whatever it was. It is for the word of a person, who has accepted no registration by it.
func (p *Pins) Trust(i address.Instance, key signature.Public, now time.Time) error {
	return p.Accept(i, key, "", now)
}

// Accept is Trust for a person who was shown the registration of the agent as well: its roles and scopes count from now on. The
// registration is named by its hash; "" leaves the one that was accepted before.
func (p *Pins) Accept(i address.Instance, key signature.Public, registration string, now time.Time) error {
	return p.change("trust key of "+address.Shown(string(i)), func() ([]byte, error) {
		if !address.WellFormed(string(i)) {
			return nil, ErrName
		}
		old, ok := p.all[i.Canonical()]
		if registration == "" {
			registration = old.Registration
		}
		if ok && old.Key == key && old.By == ByPerson && old.Registration == registration {
			return nil, nil
		}
		return line(Pin{i.Canonical(), key, now, ByPerson, registration, old.Roles}), nil
	})
}

// GiveRole remembers a role that the user gave an agent, and its key with it as a person's word.
func (p *Pins) GiveRole(i address.Instance, key signature.Public, role string, now time.Time) error {
	return p.change("give "+address.Shown(string(i))+" the role "+role, func() ([]byte, error) {
		if !address.WellFormed(string(i)) {
			return nil, ErrName
		}
		old, ok := p.all[i.Canonical()]
		if ok && old.Key != key {
			return nil, fmt.Errorf("%w: %s, not %s", ErrPinned, old.Key.Short(), key.Short())
		}
		if slices.Contains(strings.Fields(old.Roles), role) && old.By == ByPerson {
			return nil, nil
		}
		return line(Pin{i.Canonical(), key, now, ByPerson, old.Registration, strings.TrimSpace(old.Roles + " " + role)}), nil
	})
}

// Given returns the roles that the user gave an agent.
func (p *Pins) Given(i address.Instance) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refresh()
	return strings.Fields(p.all[i.Canonical()].Roles)
}

// Forget removes the pin of an agent: its next signed envelope has a new key. It reports whether there was one.
func (p *Pins) Forget(i address.Instance, now time.Time) (was bool, err error) {
	err = p.change("forget key of "+string(i), func() ([]byte, error) {
		_, made := p.made[i.Canonical()]
		if _, was = p.all[i.Canonical()]; !was && !made {
			return nil, nil
		}
		was = true
		var o canonjson.Object
		o.Str("instance", string(i.Canonical()))
		o.Bool("forgotten", true)
		o.Str("at", envelope.Stamp(now))
		return append(o.Bytes(), '\n'), nil
	})
	return was, err
}

func line(pin Pin) []byte {
	var o canonjson.Object
	o.Str("instance", string(pin.Instance))
	o.Str("key", base64.StdEncoding.EncodeToString(pin.Key[:]))
	o.Str("by", pin.By)
	o.Str("at", envelope.Stamp(pin.At))
	o.Opt("registration", pin.Registration)
	o.Opt("roles", pin.Roles)
	return append(o.Bytes(), '\n')
}

// change adds the line that decide returns, judged on the file as it is under the lock. No line means no change.
func (p *Pins) change(what string, decide func() ([]byte, error)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.locked(decide); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func (p *Pins) locked(decide func() ([]byte, error)) error {
	folder := filepath.Dir(p.path)
	if err := os.MkdirAll(folder, folderPerm); err != nil {
		return err
	}
	dir, err := atomicfile.OpenDir(folder)
	if err != nil {
		return err
	}
	defer dir.Close()
	lock, err := filelock.Acquire(context.Background(), dir.FD(), folder, filelock.Options{Kernel: lockName})
	if err != nil {
		return err
	}
	defer func() { _ = lock.Release() }() // the pins are written: a lock that cannot be given back ends with the process
	p.refresh()
	if p.err != nil {
		return p.err
	}
	add, err := decide()
	if err != nil || add == nil {
		return err
	}
	p.read = false // whatever happens now, look again
	return p.write(dir, add)
}

// write adds a line and syncs it. A large file of which most lines are superseded is written anew, unless lines of it are
// damaged: these are for a person to look at.
func (p *Pins) write(dir *atomicfile.Dir, add []byte) error {
	name := filepath.Base(p.path)
	full := p.seen.Size+int64(len(add)) > maxPins
	if p.seen.Size > compactAt && (full || p.lines > 2*p.needed()) && len(p.damaged) == 0 {
		if full {
			p.dropStrangers()
		}
		var data []byte
		for _, pin := range p.sorted() {
			for _, earlier := range p.ever[pin.Instance] {
				if earlier.Key != pin.Key || earlier.By != pin.By {
					data = append(data, line(earlier)...)
				}
			}
			data = append(data, line(pin)...)
		}
		for _, i := range slices.Sorted(maps.Keys(p.made)) {
			data = append(data, acceptance(p.made[i])...)
		}
		if data = append(data, add...); len(data) <= maxPins {
			return dir.Replace(name, data, pinsPerm, true)
		}
	}
	if p.seen.Size+int64(len(add)) > maxPins {
		return fmt.Errorf("%s is full: it has %d bytes", p.path, p.seen.Size)
	}
	f, info, made, err := dir.Append(name, maxPins)
	if err != nil {
		return err
	}
	defer f.Close()
	if info.Size > 0 {
		var last [1]byte
		if _, err := f.Pread(last[:], info.Size-1); err != nil {
			return err
		}
		if last[0] != '\n' { // a crash cut the last line off: it ends here, and is reported as damaged
			add = append([]byte{'\n'}, add...)
		}
	}
	if _, err := f.Append(add); err != nil {
		return err
	}
	if err := f.Sync(); err != nil || !made {
		return err
	}
	return dir.Sync()
}

// dropStrangers forgets half of the agents whose key was only met, those that were met longest ago, first those that are not
// registered. What a person said stays.
func (p *Pins) dropStrangers() {
	var met []Pin
	for i, pin := range p.all {
		if pin.By != ByPerson && !slices.ContainsFunc(p.ever[i], func(e Pin) bool { return e.By == ByPerson }) {
			met = append(met, pin)
		}
	}
	registered := map[address.Instance]bool{}
	if p.Registered != nil {
		registered = p.Registered()
	}
	sort.Slice(met, func(i, j int) bool {
		if a, b := registered[met[i].Instance], registered[met[j].Instance]; a != b {
			return b
		}
		return met[i].At.Before(met[j].At)
	})
	for _, pin := range met[:(len(met)+1)/2] {
		delete(p.all, pin.Instance)
		delete(p.ever, pin.Instance)
	}
}

// needed is how many lines say something.
func (p *Pins) needed() int {
	n := len(p.all) + len(p.made)
	for _, some := range p.ever {
		n += len(some)
	}
	return n
}

// refresh reads the file if it is not the one that was read last.
func (p *Pins) refresh() {
	dir, err := atomicfile.OpenDir(filepath.Dir(p.path))
	if err != nil {
		p.fail(err)
		return
	}
	defer dir.Close()
	name := filepath.Base(p.path)
	if now, err := dir.Stat(name); p.read && err == nil && now == p.seen {
		return
	}
	data, info, err := dir.Read(name, maxPins)
	if err == nil && info.Mode&0o022 != 0 {
		err = fmt.Errorf("others may write %s: type chmod 600 '%s'", p.path, p.path)
	}
	if err == nil && int(info.UID) != os.Geteuid() {
		err = fmt.Errorf("%s belongs to user %d", p.path, info.UID)
	}
	if err != nil {
		p.fail(err)
		return
	}
	p.parse(data)
	p.read, p.seen, p.err = !info.Unstable, info, nil
}

// fail forgets what was known: a missing file has no pins, and one that cannot be trusted gives none.
func (p *Pins) fail(err error) {
	p.read, p.seen, p.all, p.ever, p.made, p.lines, p.damaged, p.err = false, atomicfile.Info{}, nil, nil, nil, 0, nil, nil
	if !errors.Is(err, fs.ErrNotExist) {
		p.err = fmt.Errorf("read pins: %w", err)
	}
}
