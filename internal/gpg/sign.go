package gpg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxKey bounds the name of a key. A user id, which is the longest of them, has at most 2048 bytes.
const maxKey = 2048

// signArgs come before the key. A signature over text instead of bytes (textmode in gpg.conf) would also fit other line ends.
var signArgs = []string{"--no-textmode", "--disable-dirmngr", "--no-auto-key-locate", "--armor", "--detach-sign"}

// The first and the last line of a signature in armour.
const (
	armourBegin = "-----BEGIN PGP SIGNATURE-----"
	armourEnd   = "-----END PGP SIGNATURE-----\n"
)

// Sign returns a detached signature over the data, in armour, made with the secret key that the name means to gpg: a fingerprint, a
// key id or part of a user id. The agent may ask the person for the pass phrase, as long as the limit allows. It fails with an *Error.
func (p Program) Sign(ctx context.Context, key string, data []byte) ([]byte, error) {
	s := p.Begin(ctx, key)
	s.Take(data)
	return s.End()
}

// A Signature is being made: gpg has begun, reads its ring and waits for the data. It takes the data, and then End has to be called;
// without data, Drop.
type Signature struct {
	key   string
	whole chan []byte
	call  *running
	err   error
}

// Begin starts the making of a signature of data that is not there yet. What [Program.Sign] would fail with is told by End.
func (p Program) Begin(ctx context.Context, key string) *Signature {
	s := &Signature{key: key, whole: make(chan []byte, 1)}
	switch {
	case strings.TrimSpace(key) == "":
		s.err = ErrNoKey
		return s
	case len(key) > maxKey || strings.ContainsAny(key, "\x00\n\r"):
		s.err = errors.New("no key can have that name")
		return s
	}
	args := append(signArgs[:len(signArgs):len(signArgs)], "--local-user="+key)
	s.call, s.err = p.start(ctx, call{op: "sign", args: args, waits: true, max: MaxSignature, end: armourEnd, whole: s.whole})
	return s
}

// Take hands over what is to be signed. It may not be changed until End has returned.
func (s *Signature) Take(data []byte) {
	if s.call != nil {
		s.call.stdin.say(data)
	}
}

// Drop ends gpg before it was given anything, and waits until it has ended.
func (s *Signature) Drop() {
	if s.call == nil {
		return
	}
	s.call.child.kill() // before it could take the end of its input for the end of the data
	s.call.stdin.close()
	_, _ = s.call.wait() // killed
}

// Early waits for the text of the signature and returns it as soon as gpg has printed it, nil if there will be none. Gpg takes a tenth of its
// time to end after that. Whether the signature is one is told by End alone.
func (s *Signature) Early() []byte {
	if s.err != nil {
		return nil
	}
	select {
	case text := <-s.whole:
		return text
	case <-s.call.ended:
		return nil // what was printed is told by End at once
	}
}

// End waits for the signature.
func (s *Signature) End() ([]byte, error) {
	fail := func(err error, said string) ([]byte, error) {
		return nil, &Error{Op: "sign", Key: s.key, Said: said, Err: err}
	}
	if s.err != nil {
		return fail(s.err, "")
	}
	a, err := s.call.wait()
	outcome := readSigning(a.status)
	switch {
	case err != nil && outcome.asking && errors.Is(err, context.DeadlineExceeded):
		return fail(ErrLocked, a.said) // the question was asked, and nobody answered
	case err != nil:
		return fail(err, a.said)
	case a.exit != 0 || outcome.made == 0:
		return fail(outcome.reason(a.exit), a.said)
	case outcome.made > 1:
		return fail(fmt.Errorf("gpg made %d signatures, and a message has one: is there a local-user in gpg.conf?", outcome.made), a.said)
	case !bytes.HasPrefix(a.out, []byte(armourBegin)):
		return fail(errors.New("gpg printed no signature in armour"), a.said)
	}
	return a.out, nil
}

// A signing is what the status lines say about making a signature.
type signing struct {
	made    int
	asking  bool // the agent has begun to ask the person
	locked  bool // and got no pass phrase, or a wrong one
	noKey   bool
	because string
}

// Errors of the agent and of pinentry, the program that asks, as numbers of libgpg-error: source in the upper bits (4 is the agent,
// 5 pinentry), code in the lower ones. The list is in gpg-error.h and does not change.
const (
	sourceAgent    = 4
	sourcePinentry = 5
)

// meansLocked tells the codes of the agent that come from the question for the pass phrase: a bad one, time over, no pinentry,
// the person said no, none given, no to everything.
func meansLocked(code uint64) bool {
	switch code {
	case 11, 62, 85, 99, 177, 198:
		return true
	}
	return false
}

func readSigning(status []byte) (s signing) {
	for line := range bytes.Lines(status) {
		word, rest := cutStatus(line)
		switch word {
		case "SIG_CREATED":
			s.made++
		case "PINENTRY_LAUNCHED":
			s.asking = true
		case "MISSING_PASSPHRASE", "BAD_PASSPHRASE":
			s.locked = true
		case "INV_SGNR":
			s.refused(rest)
		case "NO_SECKEY":
			s.noKey = true
		case "FAILURE":
			s.failure(rest)
		}
	}
	return s
}

// refused takes "REASON KEY": why a key cannot sign.
func (s *signing) refused(rest string) {
	switch reason, _, _ := strings.Cut(rest, " "); reason {
	case "1", "9": // not found, no secret key
		s.noKey = true
	case "2":
		s.because = "the name fits several keys"
	case "4":
		s.because = "the key was revoked"
	case "5":
		s.because = "the key has expired"
	case "13":
		s.because = "the key is disabled"
	default:
		s.because = "the key cannot sign"
	}
}

// failure takes "WHERE NUMBER".
func (s *signing) failure(rest string) {
	where, number, _ := strings.Cut(rest, " ")
	n, err := strconv.ParseUint(number, 10, 32)
	if err != nil || where != "sign" {
		return
	}
	source, code := n>>24&0x7f, n&0xffff
	switch {
	case code == 54: // unusable secret key; the line before says "no secret key" all the same
		s.because = "the key has expired, was revoked, or is not made for signing"
	case source == sourcePinentry, source == sourceAgent && meansLocked(code):
		s.locked = true
	case code == 17: // no secret key
		s.noKey = true
	}
}

func (s signing) reason(exit int) error {
	switch {
	case s.locked:
		return ErrLocked
	case s.because != "":
		return errors.New(s.because)
	case s.noKey:
		return ErrNoKey
	}
	return fmt.Errorf("exit status %d", exit)
}
