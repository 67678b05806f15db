package instruct

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"tutti/internal/bus/envelope"
	"tutti/internal/bus/registry"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/remote"
)

// The reasons that are known here beside those of package remote.
const (
	MissingLine   remote.Reason = "missing-line"
	WrongTarget   remote.Reason = "target-mismatch"
	NotRegistered remote.Reason = "missing-registration"
	Unauthorized  remote.Reason = "unauthorized"
	InjectFailed  remote.Reason = "inject-failed"
	TooOften      remote.Reason = "rate-limited"
	NewKey        remote.Reason = "new-key"     // no person has said that the key is the signer's
	KeyChanged    remote.Reason = "key-changed" // another key is pinned
)

// MaxInstruction is the longest instruction, in bytes: more belongs in a file that it names.
const MaxInstruction = 16 << 10

// A Gate decides which instructions are let through.
type Gate struct {
	Registry *registry.Registry
	// Pins are what the user trusts: an instruction needs a key that a person has bound, and a role one that a person has accepted.
	// nil: what the registry says is enough, as h2a specifies it.
	Pins  *trust.Pins
	Guard *remote.Guard
	Rates *remote.Rates // what one signer may do; nil: as much as it likes
	Now   func() time.Time
}

// Authorize reports whether one agent may give another one instructions: "" if so. A role alone, or that it conducts by
// election, gives no such right. One that is only mirrored here has none at all, not even where a registration names it as
// conductor: its identity, scopes and key are the claims of the pusher.
func (g *Gate) Authorize(ctx context.Context, from, to address.Instance) (remote.Reason, error) {
	var both [2]*registry.Registration
	for n, who := range []address.Instance{from, to} {
		reg, err := g.Registry.Registered(ctx, who)
		if err == nil {
			err = g.Registry.Standing(ctx, who)
		}
		if errors.Is(err, registry.ErrNotRegistered) || errors.Is(err, registry.ErrGone) {
			return NotRegistered, nil
		}
		if err != nil {
			return "", err
		}
		both[n] = reg
	}
	if both[0].Mirrored() {
		return Unauthorized, nil
	}
	return authority(both[0], both[1], g.Pins == nil || g.Pins.Accepted(from, both[0].Hash())), nil
}

// Bound tells whether a key is that of an agent by the word of a person, who has bound it or one that has proven it: "" if so.
func (g *Gate) Bound(ctx context.Context, from address.Instance, key signature.Public) (remote.Reason, error) {
	if g.Pins == nil {
		return "", nil
	}
	keys, err := trust.KeysOf(ctx, g.Registry, g.Pins.ByPersons(), from)
	if err != nil {
		return "", err
	}
	if len(keys.Pins) > 0 && keys.Believed(key) {
		return "", nil
	}
	if pinned, has := g.Pins.Get(from); has && !slices.Contains(pinned, key) {
		return KeyChanged, nil
	}
	return NewKey, nil
}

// authority is the reason why one registration gives no right over the other. The roles of the first count if they are accepted.
func authority(from, to *registry.Registration, accepted bool) remote.Reason {
	who := from.Instance.Canonical()
	is := func(named string) bool { return named != "" && address.Instance(named).Canonical() == who }
	switch {
	case who == to.Instance.Canonical(), is(to.Conductor), is(to.Principal):
		return ""
	case accepted && (slices.Contains(from.Roles, registry.Principal) || slices.Contains(from.Roles, registry.Executif)):
		if slices.ContainsFunc(from.Scopes, func(s string) bool { return slices.Contains(to.Scopes, s) }) {
			return ""
		}
	}
	return Unauthorized
}

// Pass judges a text that is given to an agent, and marks it as taken when nothing speaks against it. The line counts in every case
// where the reason is not that it is none.
func (g *Gate) Pass(ctx context.Context, text string, to address.Instance) (Line, remote.Reason, error) {
	l, reason, err := g.proven(ctx, text, to)
	if err != nil || reason != "" {
		return l, reason, err
	}
	claim, seen, err := g.Guard.Claim(ctx, l.thing())
	if err != nil {
		return l, "", err
	}
	defer claim.End()
	if seen {
		return l, remote.Replayed, nil
	}
	reason, err = g.take(ctx, &l, claim)
	return l, reason, err
}

// proven tells whether a text is a line for an agent that was signed by whom it names, and is fresh.
func (g *Gate) proven(ctx context.Context, text string, to address.Instance) (Line, remote.Reason, error) {
	l, ok := Parse(text)
	if !ok || !l.fit() {
		return l, remote.Malformed, nil
	}
	if l.To != string(to) {
		return l, WrongTarget, nil
	}
	keys, err := g.Registry.Keys(ctx, address.Instance(l.From))
	switch {
	case err != nil:
		return l, "", err
	case len(keys.Active) == 0:
		return l, remote.NoKey, nil
	}
	key, ok := l.VerifiedBy(keys.Active)
	if !ok || g.Pins != nil && !address.WellFormed(l.From) {
		return l, remote.BadSignature, nil
	}
	if reason, err := g.Bound(ctx, address.Instance(l.From), key); err != nil || reason != "" {
		return l, reason, err
	}
	return l, remote.Fresh(l.At, g.Now()), nil
}

// take marks a line as taken when its sender may give it.
func (g *Gate) take(ctx context.Context, l *Line, claim *remote.Claim) (remote.Reason, error) {
	if reason, err := g.Authorize(ctx, address.Instance(l.From), address.Instance(l.To)); err != nil || reason != "" {
		return reason, err
	}
	if g.Rates != nil { // last: an overheard line uses up no agent's share
		if _, ok := g.Rates.Take(address.Instance(l.From), len(l.String()), g.Now()); !ok {
			return TooOften, nil
		}
	}
	first, err := claim.Take(context.WithoutCancel(ctx))
	if err == nil && !first {
		return remote.Replayed, nil
	}
	return "", err
}

// fit tells whether what a line names can be what it says: addresses, a nonce that makes a name, and an instruction without keys.
func (l *Line) fit() bool {
	return word(l.From) && word(l.To) && word(l.Nonce) && word(l.At) && address.Check(l.id()) == nil &&
		strings.TrimSpace(l.Instruction) != "" && len(l.Instruction) <= MaxInstruction && utf8.ValidString(l.Instruction) && !strings.ContainsFunc(l.Instruction, isKey)
}

// word tells whether a text can stand between two blanks of a line.
func word(s string) bool {
	return s != "" && address.Check(s) == nil && !strings.ContainsFunc(s, func(r rune) bool { return r == ']' || unicode.IsSpace(r) || unicode.IsControl(r) })
}

// isKey tells whether a character is a key to a terminal rather than text.
func isKey(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// A FormError reports what is wrong with a new instruction.
type FormError struct{ Why string }

func (e *FormError) Error() string { return "the instruction: " + e.Why }

// Write makes the signed line of an instruction. at is when it is made; nonce "" mints one.
func Write(from, to address.Instance, instruction, nonce, at string, key *signature.Private, now time.Time) (*Line, error) {
	if nonce == "" {
		var b [12]byte
		rand.Read(b[:]) // ends the program rather than return an error
		nonce = hex.EncodeToString(b[:])
	}
	if at == "" {
		at = envelope.Stamp(now)
	}
	l := &Line{From: string(from), To: string(to), Nonce: nonce, At: at, Instruction: instruction}
	switch {
	case strings.TrimSpace(instruction) == "":
		return nil, &FormError{"it is empty"}
	case len(instruction) > MaxInstruction:
		return nil, &FormError{fmt.Sprintf("it has %d bytes, at most %d are given: send the name of a file instead", len(instruction), MaxInstruction)}
	case strings.ContainsFunc(instruction, unicode.IsControl):
		return nil, &FormError{"it has control characters or more than one line in it: to a terminal they are keys"}
	case !l.fit():
		return nil, &FormError{"sender, recipient, nonce or time cannot stand in a line: no blank, no ] and no control character is allowed in them"}
	}
	return l, l.Sign(key)
}
