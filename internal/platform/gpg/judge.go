package gpg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Why a signature is not taken. A valid one has the empty code.
const (
	CodeInvalid     = "signature_invalid"     // it does not fit the bytes, there is none, or there are several
	CodeExpired     = "signature_expired"     // the signature itself has an end, and it is past
	CodeKeyExpired  = "signature_key_expired" // the key had an end, and it is past
	CodeKeyRevoked  = "signature_key_revoked" // its owner has taken the key back
	CodeUnknownKey  = "signature_unknown_key" // the key is not in the ring
	CodeUnavailable = "verifier_unavailable"  // gpg could not be asked
)

// A Verdict says what a signature is worth.
type Verdict struct {
	Valid       bool
	Code        string // why not; one of the Code constants, "" when valid
	Fingerprint string // of the primary key: 40 or 64 hexadecimal digits in capitals; "" when unknown
	Key         string // that signed: fingerprint of the subkey or primary key, or its 16-digit id when that is all that is known
	User        string // first user id of the key, as its owner wrote it: may hold control characters
	Detail      string // for people: what is wrong; "" when valid

	text bool // made over text, whose line ends may be others
}

// textDetail refuses a signature that fits several files. What was signed is the text with CR LF as its line ends: the same text with LF and
// with any mixture has the same signature and another hash, so that a copy with other ones would not be seen to be one. Of all of them
// only the one without a CR is taken.
const textDetail = "the signature is one over text, and the message has a CR: it would fit other line ends, too; sign it without textmode"

// statusPrefix begins each status line.
const statusPrefix = "[GNUPG:] "

// verifyArgs keep gpg from starting an agent and from the network. Who trusts whom does not enter the verdict, and "always" keeps the
// trust database out of it: it need not exist, is not locked, and nothing is written to it. None of them makes gpg
// faster or slower: of its 3.5 ms, one is for its libraries, and two for checking the key's own signatures. Never
// --lock-never: the gpg that reads a keyring also tidies it up, every few hours.
var verifyArgs = []string{
	"--quiet", "--armor", "--trust-model=always", "--no-random-seed-file", "--no-autostart", "--disable-dirmngr", "--no-auto-key-retrieve", "--no-auto-key-locate",
	"--enable-special-filenames", "--verify", "--", fileFD, "-",
}

// Verify judges a detached signature over the data. The verdict is complete in any case; the error is not nil exactly when its code
// is CodeUnavailable, and says why gpg could not be asked: it is an *Error.
func (p Program) Verify(ctx context.Context, asc, data []byte) (Verdict, error) {
	switch {
	case len(asc) > MaxSignature:
		return Verdict{Code: CodeInvalid, Detail: fmt.Sprintf("the signature has %d bytes, at most %d are read", len(asc), MaxSignature)}, nil
	case len(asc) == 0:
		return Verdict{Code: CodeInvalid, Detail: "the signature is empty"}, nil
	}
	if data == nil {
		data = []byte{}
	}
	a, err := p.run(ctx, call{op: "verify", args: verifyArgs, stdin: data, file: asc, plain: true})
	v := Judge(a.status)
	if v.Valid && v.text && bytes.IndexByte(data, '\r') >= 0 {
		v.Valid, v.Code, v.Detail = false, CodeInvalid, textDetail
	}
	if err == nil && unable(a, v) {
		err = errUnable
	}
	if err != nil {
		e := &Error{Op: "verify", Said: a.said, Err: err}
		return Verdict{Code: CodeUnavailable, Detail: e.Error()}, e
	}
	if v.Code == CodeInvalid && a.said != "" {
		v.Detail += fmt.Sprintf(" (gpg says %q)", a.said)
	}
	return v, nil
}

var errUnable = errors.New("gpg cannot read its keyring")

// unable tells a gpg that could not look from one that looked and found nothing: without its keyring, every key is unknown.
func unable(a answer, v Verdict) bool {
	if v.Code != CodeUnknownKey && v.Code != CodeInvalid {
		return false
	}
	for line := range bytes.Lines(a.status) {
		word, rest := cutStatus(line)
		if word == "ERROR" && (strings.HasPrefix(rest, "add_keyblock_resource") || strings.HasPrefix(rest, "keydb")) {
			return true
		}
	}
	return a.exit != 0 && strings.HasPrefix(a.said, "Fatal")
}

// Judge reads the status lines of one verification. A signature is valid when there is exactly one, it fits, it was made
// over a document, and neither it nor its key has expired or was revoked.
func Judge(status []byte) Verdict {
	var s signs
	for line := range bytes.Lines(status) {
		if word, rest := cutStatus(line); word != "" {
			s.take(word, rest)
		}
	}
	v := Verdict{Key: s.key, Fingerprint: s.primary, User: s.user, text: s.class == "01"}
	v.Code, v.Detail = s.fault()
	v.Valid = v.Code == ""
	return v
}

// cutStatus splits a status line into its keyword and what follows; the keyword is empty when it is none.
func cutStatus(line []byte) (word, rest string) {
	text, ok := strings.CutPrefix(strings.TrimRight(string(line), "\r\n"), statusPrefix)
	if !ok {
		return "", ""
	}
	word, rest, _ = strings.Cut(text, " ")
	return word, rest
}

// signs is what the status lines say, counted.
type signs struct {
	begun, good, valid, bad, failed, expired, keyExpired, keyRevoked int

	unknown            bool // the key is not in the ring
	plaintext          bool // what was given as a signature holds a text of its own
	class              string
	key, primary, user string
}

func (s *signs) take(word, rest string) {
	switch word {
	case "NEWSIG":
		s.begun++
	case "GOODSIG":
		s.good++
		s.name(rest)
	case "EXPSIG":
		s.expired++
		s.name(rest)
	case "EXPKEYSIG":
		s.keyExpired++
		s.name(rest)
	case "REVKEYSIG":
		s.keyRevoked++
		s.name(rest)
	case "BADSIG":
		s.bad++
		s.name(rest)
	case "ERRSIG":
		s.failed++
		s.errsig(strings.Fields(rest))
	case "NO_PUBKEY":
		s.unknown = true
	case "VALIDSIG":
		s.valid++
		s.validsig(strings.Fields(rest))
	case "PLAINTEXT":
		s.plaintext = true
	}
}

// name takes "KEYID USER". Only bytes that would end the line, and the sign itself, are written with percent signs.
func (s *signs) name(rest string) {
	key, user, _ := strings.Cut(rest, " ")
	s.user = strings.ToValidUTF8(unescape(user), "\uFFFD")
	if s.key == "" && isHex(key) {
		s.key = key
	}
}

// errsig takes "KEYID ALGO HASH CLASS TIME REASON [FINGERPRINT]". Reason 9 is a missing public key.
func (s *signs) errsig(f []string) {
	if len(f) > 0 && isHex(f[0]) {
		s.key = f[0]
	}
	if len(f) > 6 && isHex(f[6]) {
		s.key = f[6]
	}
	if len(f) > 5 && f[5] == "9" {
		s.unknown = true
	}
}

// validsig takes "FINGERPRINT DATE TIME END VERSION RESERVED ALGO HASH CLASS PRIMARY".
func (s *signs) validsig(f []string) {
	if len(f) < 10 || !isFingerprint(f[0]) || !isFingerprint(f[len(f)-1]) {
		return // then there is no fingerprint, which makes it invalid
	}
	s.key, s.class, s.primary = f[0], f[8], f[len(f)-1]
}

// fault says what is wrong, worst first: what may hide behind a second signature is not looked at.
func (s *signs) fault() (code, detail string) {
	switch {
	case s.begun > 1 || s.valid > 1 || s.good > 1:
		return CodeInvalid, "there is more than one signature"
	case s.plaintext:
		return CodeInvalid, "the file is not a detached signature: it holds a text of its own"
	case s.bad > 0:
		return CodeInvalid, "the signature does not fit the message: one of them was changed"
	case s.keyRevoked > 0:
		return CodeKeyRevoked, "key " + s.key + " was revoked"
	case s.keyExpired > 0:
		return CodeKeyExpired, "key " + s.key + " has expired"
	case s.expired > 0:
		return CodeExpired, "the signature has expired"
	case s.unknown:
		return CodeUnknownKey, "key " + s.key + " is not in the keyring: import it and judge the message again"
	case s.failed > 0:
		return CodeInvalid, "the signature could not be checked"
	case s.good == 0 && s.valid == 0:
		return CodeInvalid, "the file holds no detached signature"
	case s.good != 1 || s.valid != 1 || s.primary == "":
		return CodeInvalid, "gpg does not say clearly that the signature is good"
	case s.class != "00" && s.class != "01":
		return CodeInvalid, "the signature is not one over a document"
	}
	return "", ""
}

// unescape undoes %XX. What only looks like it stays as it is.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		if s[0] == '%' && len(s) > 2 {
			if n, err := strconv.ParseUint(s[1:3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				s = s[3:]
				continue
			}
		}
		b.WriteByte(s[0])
		s = s[1:]
	}
	return b.String()
}

func isFingerprint(s string) bool { return (len(s) == 40 || len(s) == 64) && isHex(s) }

func isHex(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return s != ""
}
