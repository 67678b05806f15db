// Package gpg signs and judges bytes with the GnuPG program of this user, and brings public keys into the keyring.
//
// What it promises: the keyring, the agent, expiry and revocation are those of the gpg that people type, because it is that
// gpg which answers. Signing and verifying start one process each and no shell; bytes travel through pipes, so that what was
// judged is what the caller holds and not a file that may have changed since. A signature is judged by the status lines
// ([Judge]) and never by the exit status, which is 0 for keys that have expired or were revoked. Verifying changes no key and no
// trust, starts no agent and never goes to the network, whatever gpg.conf says: a key that is not in the ring is unknown. Only
// [Program.Import] changes the ring, and [Program.Look] shows beforehand what it would bring.
//
// What it leaves to others: whether the holder of the key is the one whose name the message has, and what is done when
// nothing can be judged (there is no answer that means "take it unverified").
//
// A process is killed when its context ends or its time is over, and none is left behind; an agent that signing has started stays,
// because it is the user's. Everything here is safe for concurrent use. Texts that come from keys and from gpg may hold
// anything but line ends: who shows them has to clean them. It needs GnuPG 2.1 or later; what is said here about its status lines was
// measured with 2.2.40.
package gpg

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// A Program is the gpg to call. The zero Program is the one on PATH, with our environment and [DefaultLimit].
type Program struct {
	Path  string        // "": gpg on PATH
	Env   []string      // of the process, as "NAME=value"; nil: ours. GNUPGHOME in it names the home folder of gpg
	Limit time.Duration // of one call; 0: DefaultLimit
}

// DefaultLimit is how long one call may take. Signing takes milliseconds, or as long as a person needs to type a pass phrase.
const DefaultLimit = 60 * time.Second

const (
	// MaxSignature bounds a signature, in bytes. One of an RSA key of 16,384 bits has less than 3 KiB in armour; the rest is
	// room for comments and notations.
	MaxSignature = 64 << 10
	maxStatus    = 64 << 10 // status lines of one call: a signature makes about ten of them
	maxList      = 4 << 20  // listing of the secret keys: about 2 KiB a key
	maxSaid      = 4 << 10  // of what gpg says on its standard error
)

// Errors that callers tell apart.
var (
	ErrMissing = errors.New("gpg is not installed: no program of that name on PATH")
	ErrLocked  = errors.New("the key needs its pass phrase, and there is no terminal to ask for it")
	ErrNoKey   = errors.New("no secret key to sign with")
)

// An Error is a call of gpg that did not do what it was called for. It wraps ErrMissing, ErrLocked or ErrNoKey where that is the
// reason, and the cause of the context where that ended the call.
type Error struct {
	Op   string // "sign", "verify", "list secret keys"
	Key  string // that was to sign
	Said string // the last line that gpg wrote on its standard error
	Err  error
}

func (e *Error) Error() string {
	text := "gpg " + e.Op
	if e.Key != "" {
		text += " with key " + e.Key
	}
	text += ": " + e.Err.Error()
	if e.Said != "" {
		text += fmt.Sprintf(" (gpg says %q)", e.Said)
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// Hint says what to type.
func (e *Error) Hint() string {
	switch {
	case errors.Is(e.Err, ErrLocked):
		return "unlock the key in the agent once, in a terminal: export GPG_TTY=$(tty); echo | gpg --sign --local-user '" +
			strings.ReplaceAll(e.Key, "'", `'\''`) + "' >/dev/null"
	case errors.Is(e.Err, ErrNoKey) && e.Key == "":
		return "make a key with \"gpg --quick-generate-key\", or name one with --key, GPG_USER or git config user.signingkey"
	case errors.Is(e.Err, ErrNoKey):
		return "\"gpg --list-secret-keys\" shows the keys that can sign"
	case errors.Is(e.Err, ErrMissing):
		return "install GnuPG (on Debian: apt-get install gnupg)"
	}
	return ""
}

func (p Program) path() (string, error) {
	name := p.Path
	if name == "" {
		name = "gpg"
	}
	path, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrNotFound) {
		err = ErrMissing
	}
	return path, err
}

func (p Program) limit() time.Duration {
	if p.Limit > 0 {
		return p.Limit
	}
	return DefaultLimit
}

// environ is the environment of a call. A plain one speaks English, whatever the user's language: its words are read by
// programs, and the files with the translations need not be opened. Where a person may be asked something, the language is theirs.
func (p Program) environ(plain bool) []string {
	env := p.Env
	if env == nil {
		env = os.Environ() // a copy
	} else {
		env = lastOfEach(env)
	}
	if plain {
		env = slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "LC_ALL=") || strings.HasPrefix(v, "LANGUAGE=") })
		env = append(env, "LC_ALL=C", "LANGUAGE=")
	}
	return env
}

// lastOfEach leaves of several values of one name the last: programs take the first.
func lastOfEach(env []string) []string {
	at := make(map[string]int, len(env))
	kept := make([]string, 0, len(env))
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		if i, ok := at[name]; ok {
			kept[i] = v
			continue
		}
		at[name] = len(kept)
		kept = append(kept, v)
	}
	return kept
}
