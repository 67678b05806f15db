package exchange

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"tutti/internal/comms/protocol"
	"tutti/internal/platform/atomicfile"
	"tutti/internal/platform/filelock"
	"tutti/internal/platform/gpg"
)

// A SignedMessage is a message as it goes out.
type SignedMessage struct {
	Name      string // of the text: "….org"
	Message   []byte
	Signature []byte // nil: unsigned, which a receiver rejects
	Artifact  *Artifact
}

// A TakenError reports that other bytes have the name already. They are left as they are.
type TakenError struct{ Path string }

func (e *TakenError) Error() string {
	return fmt.Sprintf("%s is there already, with other bytes", e.Path)
}

// Temporary names: ".tmp." as the protocol has it, 16 random hex digits, a dot, and the name that the file will get.
const (
	tempStart  = protocol.TempPrefix
	tempDigits = 16
)

// leftAfter is the age at which a temporary file of ours is abandoned: no delivery takes an hour.
const leftAfter = time.Hour

// deliverTime is how long a delivery waits for another one into the same mailbox, which takes milliseconds.
const deliverTime = 10 * time.Second

// signatureLimit is the largest signature that is read, in bytes.
const signatureLimit = gpg.MaxSignature

// Deliver puts a message into the mailbox: both files are written and synced under temporary names, the signature gets its
// name, between is asked (it looks at the halt switch), and the text gets its name. Already tells that the same bytes were
// there. When nil comes back, both survive a power cut. Other bytes under the name are a *TakenError; the error of between
// comes back as it is, and then the signature is alone, which no reader takes for a message.
func (b *Mailbox) Deliver(ctx context.Context, p SignedMessage, between func() error) (already bool, err error) {
	if p.Artifact != nil { // before the text, so that who reads that finds it
		if err := putArtifact(b.dir, p.Artifact); err != nil {
			return false, err
		}
	}
	s := staging{box: b, parcel: p}
	defer s.clear()
	if err := s.stage(); err != nil {
		return false, fmt.Errorf("write %s: %w", p.Name, err)
	}
	unlock, err := b.lock(ctx)
	if err != nil {
		return false, err
	}
	already, err = s.publish(between)
	unlock()
	if err != nil {
		return false, err
	}
	if err := b.dir.Sync(); err != nil {
		return false, fmt.Errorf("deliver %s: %w", p.Name, err)
	}
	return already, nil
}

// lock keeps other deliveries of this user out, because the signature of one must not come under the text of another: without it
// two messages that get one name in one second could end so. Writers that are not ours, and those of other machines, do not know it.
func (b *Mailbox) lock(ctx context.Context) (unlock func(), err error) {
	path, err := b.office.makeState("ledger")
	if err != nil {
		return nil, err
	}
	d, err := atomicfile.OpenDir(path)
	if err != nil {
		return nil, err
	}
	l, err := filelock.Acquire(ctx, d.FD(), path, filelock.Options{Kernel: b.Project.Key() + ".lock", Timeout: deliverTime})
	if err != nil {
		d.Close()
		return nil, fmt.Errorf("deliver to %s: %w", b.Project.Name, err)
	}
	return func() {
		_ = l.Release() // a kernel lock alone: closing it is all
		d.Close()
	}, nil
}

// A staging is a parcel on its way into a mailbox.
type staging struct {
	box       *Mailbox
	parcel    SignedMessage
	text, sig string // temporary names, "" when there is none (any more)
}

func (s *staging) stage() (err error) {
	if s.parcel.Signature != nil {
		if s.sig, err = s.box.stage(s.parcel.Name+signatureEnd, s.parcel.Signature); err != nil {
			return err
		}
	}
	s.text, err = s.box.stage(s.parcel.Name, s.parcel.Message)
	return err
}

func (b *Mailbox) stage(name string, data []byte) (string, error) {
	var digits [tempDigits / 2]byte
	_, _ = rand.Read(digits[:]) // never fails
	tmp := tempStart + hex.EncodeToString(digits[:]) + "." + name
	return tmp, b.dir.StageAs(tmp, data, 0o600, true)
}

// clear removes what has not got its name.
func (s *staging) clear() {
	for _, tmp := range []string{s.sig, s.text} {
		if tmp != "" {
			s.box.dir.Remove(tmp)
		}
	}
}

// publish gives the files their names, under the lock.
func (s *staging) publish(between func() error) (already bool, err error) {
	there, err := s.there()
	if err != nil {
		return false, err
	}
	if there {
		return true, s.publishMissingSignature()
	}
	own, err := s.publishSignature()
	if err != nil {
		return false, err
	}
	if err := between(); err != nil {
		return false, err
	}
	d := s.box.dir
	err = d.Publish(s.text, d, s.parcel.Name)
	if errors.Is(err, fs.ErrExist) { // a writer that knows no lock, since we looked
		s.text = ""
		if already, err = s.there(); err != nil {
			return false, err
		}
	}
	if err != nil {
		return false, fmt.Errorf("deliver %s: %w", s.parcel.Name, err)
	}
	s.text = ""
	return already, s.keepSignature(own)
}

// there tells whether the message is in the mailbox already, with the same bytes.
func (s *staging) there() (bool, error) {
	f, err := readOnce(s.box.dir, s.parcel.Name, len(s.parcel.Message))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.Is(err, errTooLarge) || errors.Is(err, errNotRegular) || err == nil && !bytes.Equal(f.data, s.parcel.Message):
		return false, &TakenError{s.box.Path() + "/" + s.parcel.Name}
	case err != nil:
		return false, fmt.Errorf("deliver %s: %w", s.parcel.Name, err)
	}
	return true, nil
}

// publishSignature gives the signature its name and returns what the system knows of it. A signature without a text is left
// over from a broken send: it is replaced, or removed for a message that has none.
func (s *staging) publishSignature() (own atomicfile.Info, err error) {
	d, name := s.box.dir, s.parcel.Name+signatureEnd
	if s.sig == "" {
		if err := d.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return own, fmt.Errorf("deliver %s: %w", s.parcel.Name, err)
		}
		return own, nil
	}
	if own, err = d.Stat(s.sig); err == nil {
		err = d.Rename(s.sig, d, name, true)
	}
	if err != nil {
		return own, fmt.Errorf("deliver %s: %w", name, err)
	}
	s.sig = ""
	return own, nil
}

// publishMissingSignature completes a stored message that has no signature.
func (s *staging) publishMissingSignature() error {
	if s.sig == "" {
		return nil
	}
	d := s.box.dir
	name := s.parcel.Name + signatureEnd
	err := d.Publish(s.sig, d, name)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("deliver %s: %w", s.parcel.Name, err)
	}
	s.sig = ""
	if err == nil {
		return nil
	}
	if _, err := readOnce(d, name, signatureLimit); errors.Is(err, errNotRegular) {
		return &MailboxError{s.box.Path(), "has something in the place of " + name + " that is not a plain file"}
	}
	return nil
}

// keepSignature looks, once the text is there, whether the signature beside it is still ours, and puts it back if not: a writer that
// knows no lock, on another machine say, may have had the same name in the same second.
func (s *staging) keepSignature(own atomicfile.Info) error {
	if s.parcel.Signature == nil {
		return nil
	}
	d, name := s.box.dir, s.parcel.Name+signatureEnd
	if now, err := d.Stat(name); err == nil && now.Dev == own.Dev && now.Ino == own.Ino {
		return nil
	}
	if f, err := readOnce(d, name, signatureLimit); err == nil && bytes.Equal(f.data, s.parcel.Signature) {
		return nil
	}
	tmp, err := s.box.stage(name, s.parcel.Signature)
	if err == nil {
		s.sig = tmp
		_, err = s.publishSignature()
	}
	return err
}

// Sweep removes temporary files of ours that are more than an hour old, and says how many. Those of other programs stay.
func (b *Mailbox) Sweep() (n int, err error) {
	names, err := b.dir.Names()
	if err != nil {
		return 0, fmt.Errorf("sweep mailbox of %s: %w", b.Project.Name, err)
	}
	before := b.office.now().Add(-leftAfter).UnixNano()
	for _, name := range names {
		if !ourTemp(name) {
			continue
		}
		info, err := b.dir.Stat(name)
		if err != nil || !info.Regular() || int(info.UID) != os.Geteuid() || info.Mtime >= before {
			continue
		}
		switch err := b.dir.Remove(name); {
		case err == nil:
			n++
		case !errors.Is(err, fs.ErrNotExist):
			return n, err
		}
	}
	return n, nil
}

// ourTemp tells the temporary names that stage makes from those of other programs.
func ourTemp(name string) bool {
	rest, ok := strings.CutPrefix(name, tempStart)
	if !ok || len(rest) < tempDigits+1 || rest[tempDigits] != '.' {
		return false
	}
	if _, err := hex.DecodeString(rest[:tempDigits]); err != nil {
		return false
	}
	kind := protocol.Classify(rest[tempDigits+1:], false)
	return kind == protocol.MessageEntry || kind == protocol.SignatureEntry
}
