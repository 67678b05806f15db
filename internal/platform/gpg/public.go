package gpg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
)

// A PublicKey is what its owner gives to others.
type PublicKey struct {
	Fingerprint string   // of the primary key
	Users       []string // as its owner names them, best first
}

// Look reads public keys from data, and imports none of them. It fails with an *Error, also when there is no key in the data.
func (p Program) Look(ctx context.Context, data []byte) ([]PublicKey, error) {
	a, err := p.run(ctx, call{op: "look at keys", args: []string{"--with-colons", "--fixed-list-mode", "--show-keys"}, stdin: data, max: maxList, plain: true})
	keys := publicKeys(a.out)
	switch {
	case err == nil && a.exit != 0:
		err = fmt.Errorf("exit status %d", a.exit)
	case err == nil && len(keys) == 0:
		err = errors.New("there is no public key in what came")
	}
	if err != nil {
		return nil, &Error{Op: "look at keys", Said: a.said, Err: err}
	}
	return keys, nil
}

// publicKeys reads the listing with colons: a record "pub" begins a key, the next "fpr" is its fingerprint, and each "uid" a name of its owner.
func publicKeys(list []byte) (keys []PublicKey) {
	primary := false
	for line := range bytes.Lines(list) {
		f := strings.Split(strings.TrimRight(string(line), "\r\n"), ":")
		switch {
		case f[0] == "pub":
			primary = true
		case f[0] == "fpr" && len(f) > 9 && primary && isFingerprint(f[9]):
			keys, primary = append(keys, PublicKey{Fingerprint: f[9]}), false
		case f[0] == "uid" && len(f) > 9 && len(keys) > 0 && !primary:
			last := &keys[len(keys)-1]
			last.Users = append(last.Users, unescapeList(f[9]))
		}
	}
	return keys
}

// unescapeList is a name as the listing has it, in which \x3a is a colon.
func unescapeList(s string) string { return strings.ReplaceAll(s, `\x3a`, ":") }

// Import puts public keys into the ring, without the signatures of others. It fails with an *Error.
func (p Program) Import(ctx context.Context, data []byte) error {
	a, err := p.run(ctx, call{op: "import", args: []string{"--import-options", "import-minimal", "--import"}, stdin: data, max: maxList, plain: true})
	if err == nil && a.exit != 0 {
		err = fmt.Errorf("exit status %d", a.exit)
	}
	if err != nil {
		return &Error{Op: "import", Said: a.said, Err: err}
	}
	return nil
}

// Has tells whether the ring has a public key.
func (p Program) Has(ctx context.Context, fingerprint string) bool {
	if !isFingerprint(fingerprint) {
		return false
	}
	a, err := p.run(ctx, call{op: "list keys", args: []string{"--with-colons", "--no-auto-check-trustdb", "--list-keys", fingerprint}, max: maxList, plain: true})
	return err == nil && a.exit == 0
}
