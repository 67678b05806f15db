package exchange

import (
	"context"
	"errors"
	"fmt"

	"tutti/internal/comms/machines"
	"tutti/internal/platform/gpg"
)

// keyScript prints the public key by which the other machine signs: the one that its user has named, else the first secret key that
// can sign.
const keyScript = `
command -v gpg >/dev/null 2>&1 || exit 0
` + signingKey + `
[ -n "$sign" ] && gpg --batch --no-tty --armor --export-options export-minimal --export -- "$sign" 2>/dev/null
exit 0
`

// signingKey sets sign to the key that the machine signs with, in the order that Choose has: "" when there is none. A ring that is not there is
// not made.
const signingKey = `
sign=
if [ -d "${GNUPGHOME:-$HOME/.gnupg}" ]; then
	sign=$GPG_USER
	if [ -z "$sign" ] && [ "$(git config gpg.format 2>/dev/null || echo openpgp)" = openpgp ]; then sign=$(git config user.signingkey 2>/dev/null); fi
	if [ -z "$sign" ]; then
		sign=$(gpg --batch --no-tty --with-colons --list-secret-keys 2>/dev/null |
			awk -F: '$1 == "sec" { ok = $2 !~ /[reidn]/ && $12 ~ /S/ } $1 == "fpr" { if (ok) { print $10; exit } ok = 0 }')
	fi
fi
`

// A MachineKey is the public key by which another machine signs messages.
type MachineKey struct {
	Machine string // as peers.toml calls it
	Keys    []gpg.PublicKey
	Known   bool // all are in the ring
	data    []byte
}

// ErrNoSigningKey says that a machine has no key to sign with.
var ErrNoSigningKey = errors.New("has no gpg key that can sign")

// An UnknownMachineError reports a name that the list of machines does not have.
type UnknownMachineError struct {
	Name, List string
	Near       []string // names that are like it
}

func (e *UnknownMachineError) Error() string { return fmt.Sprintf("no machine is called %q", e.Name) }

// Hint says what to type, or where machines are listed.
func (e *UnknownMachineError) Hint() string {
	if len(e.Near) > 0 {
		return "did you mean " + e.Near[0] + "?"
	}
	return "machines are listed in " + e.List
}

// FetchKey gets the public key by which another machine signs, over ssh. Nothing is imported. The error is an *UnknownMachineError, an *ssh.Error or
// a *gpg.Error, or says that the machine has no key.
func (o *Service) FetchKey(ctx context.Context, machine string) (MachineKey, error) {
	k := MachineKey{Machine: machine}
	peers, err := o.peers()
	if err != nil {
		return k, err
	}
	w, err := machines.Resolve(machine+".any", machines.Local{Hostname: o.Host}, peers, false)
	var nowhere *machines.AddressError
	if errors.As(err, &nowhere) {
		return k, &UnknownMachineError{Name: machine, List: o.Shown(o.PeersPath()), Near: nowhere.Near}
	}
	if err != nil {
		return k, err
	}
	if w.Local {
		return k, fmt.Errorf("%s is this machine: its projects share your ring", machine)
	}
	k.Machine = w.Peer.Name
	out, err := o.ssh().Run(ctx, w.Peer, keyScript, nil)
	if err != nil {
		return k, err
	}
	if len(out.Stdout) == 0 {
		return k, fmt.Errorf("%s %w", k.Machine, ErrNoSigningKey)
	}
	k.data = out.Stdout
	if k.Keys, err = o.GPG.Look(ctx, k.data); err != nil {
		return k, err
	}
	k.Known = true
	for _, key := range k.Keys {
		k.Known = k.Known && o.GPG.Has(ctx, key.Fingerprint)
	}
	return k, nil
}

// ImportKey puts a key that was fetched into the ring.
func (o *Service) ImportKey(ctx context.Context, k MachineKey) error {
	return o.GPG.Import(ctx, k.data)
}

// keyAdvice says which public keys are missing between this machine and the one that a message went to, with the command for each.
func (o *Service) keyAdvice(ctx context.Context, peer string, res remoteResult, s *Sent) {
	if s.Key != "" && res.stranger {
		s.Advice = append(s.Advice, fmt.Sprintf("%s does not have your public key, so that it refuses this message; there: tutti comms trust %s", peer, o.Machine()))
	}
	if res.signs != "" && !o.GPG.Has(ctx, res.signs) {
		s.Advice = append(s.Advice, fmt.Sprintf("you do not have the public key of %s, so that its answers are refused; here: tutti comms trust %s", peer, peer))
	}
}
