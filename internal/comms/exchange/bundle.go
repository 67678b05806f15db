package exchange

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tutti/internal/comms/protocol"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/filelock"
	"tutti/internal/platform/smallfile"
)

// A Cause says why a message was not delivered.
type Cause string

// The causes of bundles.
const (
	CauseSending     Cause = "sending"     // a delivery is under way, or was killed
	CauseHalted      Cause = "halted"      // the halt switch was on
	CauseUnreachable Cause = "unreachable" // all tries have failed
	CauseRefused     Cause = "refused"     // the other machine does not take it: trying again changes nothing by itself
	CauseInterrupted Cause = "interrupted" // the sender was asked to stop
)

// A Bundle is a signed message that was not delivered, in a folder of its own with the files message.org, message.org.asc and send.json, and its artifact below artifacts. It is
// delivered later with the same bytes under the same name, so that a receiver sees at most one message.
type Bundle struct {
	ID          string // name of the folder: that of the message without .org, and a number if that was taken
	Destination string // address as it was resolved
	From        string // slug of the sender
	Project     string // path of the sending project, "" when it was none
	Name        string
	SHA256      string
	Key         string // that signed, "" unsigned
	Tries       int
	LastError   string
	FirstTry    time.Time // zero: none yet
	LastTry     time.Time
	Cause       Cause
}

// A BundleError reports a bundle that cannot be used.
type BundleError struct {
	ID  string
	Err error
}

func (e *BundleError) Error() string { return fmt.Sprintf("bundle %s: %v", e.ID, e.Err) }
func (e *BundleError) Unwrap() error { return e.Err }

// ErrInHand reports a bundle that another process is delivering.
var ErrInHand = errors.New("is being delivered by another process")

const (
	bundleFolder    = "failed-sends"
	bundleText      = "message.org"
	bundleSignature = bundleText + signatureEnd
	bundleRecord    = "send.json"
	bundleLock      = ".lock"
	recordLimit     = 64 << 10 // bytes of send.json, which has some hundred
)

// Bundles lists what waits in failed-sends, oldest first. A folder there that is not a bundle is a *BundleError in the second
// result.
func (o *Service) Bundles() ([]Bundle, []error) {
	entries, err := smallfile.ReadDir(o.StatePath(bundleFolder), smallfile.Follow)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []error{err}
	}
	var all []Bundle
	var errs []error
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || !e.IsDir() {
			continue
		}
		b, err := o.Bundle(e.Name())
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b Bundle) int { return strings.Compare(a.ID, b.ID) })
	return all, errs
}

// BundleCount is how many bundles wait. It reads no more than the names.
func (o *Service) BundleCount() int {
	entries, _ := smallfile.ReadDir(o.StatePath(bundleFolder), smallfile.Follow)
	n := 0
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			n++
		}
	}
	return n
}

// Bundle reads one bundle by its ID or by the path of its folder. A missing one is fs.ErrNotExist.
func (o *Service) Bundle(id string) (Bundle, error) {
	d, id, err := o.openBundle(id)
	if err != nil {
		return Bundle{}, err
	}
	defer d.Close()
	return readBundle(d, id)
}

func (o *Service) openBundle(id string) (*atomicfile.Dir, string, error) {
	if rest, ok := strings.CutPrefix(filepath.Clean(id), o.StatePath(bundleFolder)+"/"); ok {
		id = rest
	}
	id = strings.TrimSuffix(id, "/")
	fail := func(err error) (*atomicfile.Dir, string, error) { return nil, id, &BundleError{id, err} }
	if !fs.ValidPath(id) || strings.ContainsAny(id, "/\x00") || strings.HasPrefix(id, ".") {
		return fail(errors.New("is not a bundle name"))
	}
	top, err := atomicfile.OpenDir(o.StatePath(bundleFolder))
	if err != nil {
		return fail(err)
	}
	defer top.Close()
	d, err := top.Sub(id)
	if err != nil {
		return fail(err)
	}
	return d, id, nil
}

var bundleKeys = []string{
	"destination", "name", "sha256", "key", "tries", "last_error", "first_try", "last_try", "cause", "from", "project",
}

func readBundle(d *atomicfile.Dir, id string) (Bundle, error) {
	f, err := readOnce(d, bundleRecord, recordLimit)
	if err != nil {
		return Bundle{}, &BundleError{id, err}
	}
	v := make([][]byte, len(bundleKeys))
	if !canonjson.Pick(f.data, bundleKeys, v) {
		return Bundle{}, &BundleError{id, errors.New(bundleRecord + " is damaged")}
	}
	b := Bundle{
		ID: id, Destination: text(v[0]), Name: text(v[1]), SHA256: text(v[2]), Key: text(v[3]), Tries: number(v[4]),
		LastError: text(v[5]), Cause: Cause(text(v[8])), From: text(v[9]), Project: text(v[10]),
	}
	b.FirstTry, _ = time.Parse(time.RFC3339, text(v[6]))
	b.LastTry, _ = time.Parse(time.RFC3339, text(v[7]))
	if protocol.Classify(b.Name, false) != protocol.MessageEntry || b.Destination == "" {
		return Bundle{}, &BundleError{id, errors.New(bundleRecord + " names no message or no destination")}
	}
	return b, nil
}

// A held is a bundle that this process delivers or changes; no other process does meanwhile.
type held struct {
	Bundle
	parcel SignedMessage
	office *Service
	dir    *atomicfile.Dir
	lock   *filelock.Lock
	fresh  bool // it was made by this send
}

// keep stores a message as a bundle, whole or not at all, and holds it. A bundle of the same message to the same place is used again.
func (o *Service) keep(ctx context.Context, b Bundle, p SignedMessage) (*held, error) {
	path, err := o.makeState(bundleFolder)
	if err != nil {
		return nil, err
	}
	top, err := atomicfile.OpenDir(path)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	o.sweepBundles()
	for range 3 {
		h, err := o.keepIn(ctx, top, b, p)
		if !errors.Is(err, fs.ErrNotExist) {
			return h, err
		}
		// Another process has delivered and removed it while we waited for it. A new one finds the message there.
	}
	return nil, fmt.Errorf("keep %s: %w", p.Name, fs.ErrNotExist)
}

func (o *Service) keepIn(ctx context.Context, top *atomicfile.Dir, b Bundle, p SignedMessage) (*held, error) {
	stem := strings.TrimSuffix(p.Name, ".org")
	for n := 1; n <= 100; n++ { // as many messages of one name and second there are not
		b.ID = stem
		if n > 1 {
			b.ID += "-" + strconv.Itoa(n)
		}
		err := writeBundle(top, b, p)
		if err == nil {
			h, err := o.hold(ctx, b.ID)
			if err == nil {
				h.fresh = true
			}
			return h, err
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("keep %s: %w", p.Name, err)
		}
		if old, err := o.Bundle(b.ID); err == nil && old.SHA256 == b.SHA256 && old.Destination == b.Destination {
			return o.hold(ctx, b.ID)
		}
	}
	return nil, fmt.Errorf("keep %s: %w", p.Name, fs.ErrExist)
}

// sweepBundles removes files that dead senders have left half made or half removed, when they are old enough to be abandoned.
func (o *Service) sweepBundles() {
	entries, _ := smallfile.ReadDir(o.StatePath(bundleFolder), smallfile.Follow)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tempStart) {
			continue
		}
		if st, err := e.Info(); err == nil && o.now().Sub(st.ModTime()) > leftAfter {
			_ = os.RemoveAll(filepath.Join(o.StatePath(bundleFolder), e.Name())) // it stays hidden
		}
	}
}

func writeBundle(top *atomicfile.Dir, b Bundle, p SignedMessage) (err error) {
	if _, err := top.Stat(b.ID); err == nil {
		return fs.ErrExist
	}
	var digits [tempDigits / 2]byte
	_, _ = rand.Read(digits[:]) // never fails
	tmp := tempStart + hex.EncodeToString(digits[:])
	d, err := top.MakeSub(tmp, 0o700)
	if err != nil {
		return err
	}
	defer func() {
		d.Close()
		if err != nil {
			_ = os.RemoveAll(filepath.Join(top.Path(), tmp))
		}
	}()
	if err := d.Create(bundleText, p.Message, 0o600, true); err != nil {
		return err
	}
	if p.Signature != nil {
		if err := d.Create(bundleSignature, p.Signature, 0o600, true); err != nil {
			return err
		}
	}
	if p.Artifact != nil {
		if err := putArtifact(d, p.Artifact); err != nil {
			return err
		}
	}
	if err := d.Create(bundleRecord, render.JSON(b.View()), 0o600, true); err != nil {
		return err
	}
	if err := top.Rename(tmp, top, b.ID, false); err != nil {
		return err
	}
	return top.Sync()
}

// holdTime is how long to wait for a bundle that another process holds. Who delivers it has it for longer; but a program that
// was started when the last one let go keeps a copy of the lock for some milliseconds, until it has become that program.
const holdTime = time.Second

// hold opens a bundle for delivery. ErrInHand: another process has it. A message that is not the one that was kept is an error.
func (o *Service) hold(ctx context.Context, id string) (h *held, err error) {
	d, id, err := o.openBundle(id)
	if err != nil {
		return nil, err
	}
	h = &held{office: o, dir: d}
	h.lock, err = filelock.Acquire(ctx, d.FD(), d.Path(), filelock.Options{Kernel: bundleLock, Timeout: holdTime})
	if err != nil {
		d.Close()
		var busy *filelock.HeldError
		if errors.As(err, &busy) {
			err = ErrInHand
		}
		return nil, &BundleError{id, err}
	}
	if err := h.load(id); err != nil {
		h.release()
		return nil, err
	}
	return h, nil
}

func (h *held) load(id string) (err error) {
	if h.Bundle, err = readBundle(h.dir, id); err != nil {
		return err
	}
	message, err := readOnce(h.dir, bundleText, h.office.maxMessage())
	if err != nil {
		return &BundleError{id, err}
	}
	if hashOf(message.data) != h.SHA256 {
		return &BundleError{id, errors.New(bundleText + " is not the message that was kept")}
	}
	h.parcel = SignedMessage{Name: h.Name, Message: message.data}
	signature, err := readOnce(h.dir, bundleSignature, signatureLimit)
	if err != nil && (!errors.Is(err, fs.ErrNotExist) || h.Key != "") {
		return &BundleError{id, err}
	}
	h.parcel.Signature = signature.data
	if h.parcel.Artifact, err = keptArtifact(h.dir); err != nil {
		return &BundleError{id, err}
	}
	return nil
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// note writes down how a try has ended.
func (h *held) note(cause Cause, tries int, err error) error {
	now := h.office.now()
	h.Cause, h.Tries = cause, h.Tries+tries
	if tries > 0 {
		if h.LastTry = now; h.FirstTry.IsZero() {
			h.FirstTry = now
		}
	}
	if err != nil {
		h.LastError = err.Error()
	}
	return h.dir.Replace(bundleRecord, render.JSON(h.View()), 0o600, true)
}

// release lets others have the bundle.
func (h *held) release() {
	_ = h.lock.Release() // a kernel lock alone: closing it is all
	h.dir.Close()
}

// drop removes the bundle: its message is delivered. It is hidden first, so that no process meets half a bundle.
func (h *held) drop() error {
	defer h.release()
	top, err := atomicfile.OpenDir(h.office.StatePath(bundleFolder))
	if err != nil {
		return err
	}
	defer top.Close()
	hidden := tempStart + "done-" + h.ID
	err = top.Rename(h.ID, top, hidden, false)
	if errors.Is(err, fs.ErrExist) { // a process has died while it removed an earlier one
		if err = os.RemoveAll(filepath.Join(top.Path(), hidden)); err == nil {
			err = top.Rename(h.ID, top, hidden, false)
		}
	}
	if err != nil {
		return &BundleError{h.ID, err}
	}
	return os.RemoveAll(filepath.Join(top.Path(), hidden))
}
