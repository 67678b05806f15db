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

// armourBegin is the first line of a signature in armour.
const armourBegin = "-----BEGIN PGP SIGNATURE-----"

// Sign returns a detached signature over the data, in armour, made with the secret key that the name means to gpg: a fingerprint, a
// key id or part of a user id. The agent may ask the person for the pass phrase, as long as the limit allows. It fails with an *Error.
func (p Program) Sign(ctx context.Context, key string, data []byte) ([]byte, error) {
	fail := func(err error, said string) ([]byte, error) {
		return nil, &Error{Op: "sign", Key: key, Said: said, Err: err}
	}
	switch {
	case strings.TrimSpace(key) == "":
		return fail(ErrNoKey, "")
	case len(key) > maxKey || strings.ContainsAny(key, "\x00\n\r"):
		return fail(errors.New("no key can have that name"), "")
	}
	args := append(signArgs[:len(signArgs):len(signArgs)], "--local-user="+key)
	a, err := p.run(ctx, call{op: "sign", args: args, stdin: data, max: MaxSignature})
	outcome := readSigning(a.status)
	switch {
	case err != nil && outcome.asking && errors.Is(err, context.DeadlineExceeded):
		return fail(ErrLocked, a.said) // the question was asked, and no answer came
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
