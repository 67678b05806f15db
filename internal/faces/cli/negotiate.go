package cli

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/keyring"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/governance/agreement"
	"tutti/internal/governance/declaration"
	"tutti/internal/governance/journal"
	"tutti/internal/governance/negotiation"
)

// A deal is one negotiation on an open bus, as a verb works on it.
type deal struct {
	*Call
	w   *app.World // nil: there is no bus, and the verb only looks
	bus *agreement.Bus
	id  string
	now time.Time
}

// deal opens the bus for a verb about one negotiation. The caller closes it.
func (c *Call) deal(mode app.Mode) (*deal, error) {
	id := c.arg(0)
	switch {
	case c.Verb.flag(c.under, "negotiation") >= 0:
		if id = c.value("negotiation"); id == "" {
			return nil, c.missing("negotiation")
		}
	case c.under == H2A:
		if id = c.value("id"); id == "" {
			return nil, c.missing("id")
		}
	}
	d, err := c.dealOf(mode, id)
	if err == nil && d.w == nil && c.Verb.Name != "negotiate journal" {
		err = c.dealFault(&negotiation.NotFoundError{ID: id})
	}
	return d, err
}

// dealOf is deal where the id is known or comes later ("").
func (c *Call) dealOf(mode app.Mode, id string) (*deal, error) {
	if err := address.Check(id); id != "" && err != nil {
		return nil, usagef("the id of the negotiation: %s", Clean(err.Error()))
	}
	d := &deal{Call: c, id: id, now: time.Now()}
	var err error
	switch {
	case mode == app.Reading:
		d.w, err = c.reads()
	case c.under == H2A:
		d.w, err = c.world(app.Creating)
	default:
		d.w, err = c.world(mode)
	}
	if err != nil {
		return nil, err
	}
	if d.w != nil {
		d.bus = d.w.Agreements()
	}
	return d, nil
}

func (d *deal) close() {
	if d.w != nil {
		d.w.Close()
	}
}

// act is who acts, with the key that is to be signed with. Who must sign and has no key is refused; any other entry goes without a
// seal then, as those of existing programs do.
func (d *deal) act(ctx context.Context, must bool) (negotiation.Act, error) {
	who, err := d.subject(ctx, d.w)
	if err != nil {
		return negotiation.Act{}, err
	}
	a := negotiation.Act{
		By: who, Mandate: d.value("mandate"), EventID: d.value("event-id"),
		CausationID: d.value("causation-id"), CorrelationID: d.value("correlation-id"),
	}
	a.Key, err = d.sealKey(ctx, who, must)
	return a, err
}

func (d *deal) sealKey(ctx context.Context, who address.Instance, must bool) (*signature.Private, error) {
	path := d.value("private-key")
	if path == "" && must && d.under == H2A {
		return nil, d.missing("private-key")
	}
	if path != "" {
		if d.w.Ring.Has(who) {
			d.warn("--private-key: the key of %s lies here and would have been used without it", Clean(string(who)))
		} else {
			d.warn("--private-key: a key in a file of one's own is less safe than one that tutti keeps (tutti keys generate)")
		}
		return d.keyArgument(path)
	}
	if who.Canonical().Host() == identity.Human {
		s, err := d.w.Identity.Speak(ctx, factsOf(d.App), identity.Ask{As: string(who), Peek: true}, d.now)
		if err != nil || s.Via != "" {
			if !must && err == nil {
				return nil, nil
			}
			return nil, refuse("type it in a terminal of your own, or name the key: --private-key FILE",
				"not signed: the key of a person signs at a terminal, and nobody is at this one")
		}
	}
	key, err := d.w.Ring.Load(who)
	if errors.Is(err, keyring.ErrNoKey) {
		if !must {
			return nil, nil
		}
		return nil, refuse("--private-key FILE names it, or tutti keys generate --instance "+app.QuoteArg(string(who))+" makes one",
			"there is no private key of %s to sign with", Clean(string(who)))
	}
	if err != nil || must {
		return key, err
	}
	keys, err := d.w.Registry.Keys(ctx, who)
	if err != nil || !slices.Contains(keys.Active, key.Public()) {
		return nil, err // it would count for nothing, and whose entries have a seal is refused without one
	}
	return key, nil
}

// keyArgument is keyFile with exit status 3 for what cannot be read.
func (c *Call) keyArgument(path string) (*signature.Private, error) {
	key, err := c.keyFile(path)
	var f *fault
	if errors.As(err, &f) {
		f.code = exitIO
	}
	return key, err
}

// document reads an argument that holds JSON. Under tutti a word that is no JSON object is a file.
func (c *Call) document(ctx context.Context, arg, what string) ([]byte, error) {
	if c.under != H2A && arg != "-" && !strings.HasPrefix(arg, "@") && !strings.HasPrefix(strings.TrimSpace(arg), "{") {
		arg = "@" + arg
	}
	raw, err := within(ctx, func() ([]byte, error) { return c.body(arg) })
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, failIO("a file, the JSON itself, or - for standard input", err, "read %s", what)
	case err != nil:
		return nil, err
	case !canonjson.Valid(raw):
		return nil, refuse("", "%s is no JSON: %s", what, whyNoJSON(raw))
	}
	return raw, nil
}

func whyNoJSON(raw []byte) string {
	if err := canonjson.Check(raw); err != nil {
		return Clean(err.Error())
	}
	return "it cannot be read"
}

// artifact reads the artifact that is meant, and returns it with its hash. A hash stands for itself.
func (d *deal) artifact(ctx context.Context) (raw []byte, hash string, err error) {
	arg := d.arg(1)
	if d.under == H2A {
		if arg = d.value("artifact"); arg == "" {
			return nil, "", d.missing("artifact")
		}
	}
	if arg == "" || declaration.IsHash(arg) {
		return nil, arg, nil
	}
	if raw, err = d.document(ctx, arg, "the artifact"); err != nil {
		return nil, "", err
	}
	hash, err = negotiation.HashOf(raw)
	if err != nil {
		err = refuse("", "the artifact cannot be signed: %s", Clean(err.Error()))
	}
	return raw, hash, err
}

// stateWords are those of refusals that existing programs report with exit status 2.
var stateWords = []string{"no offer/counter event matches", "is not registered", "was revoked", "fails verification", "not active", "may not attest"}

// dealFault gives what the rules of negotiations refuse its exit status, and the line to type.
func (c *Call) dealFault(err error) error {
	if err == nil {
		return nil
	}
	var (
		absent   *negotiation.NotFoundError
		refused  *negotiation.RefusedError
		stale    *negotiation.StaleError
		broken   *journal.Fault
		payload  *journal.PayloadError
		artifact *negotiation.ArtifactError
	)
	f := &fault{code: exitUsage, msg: err.Error()}
	switch {
	case errors.As(err, &absent):
		f.code = exitState
		if c.under != H2A {
			f.msg = absent.Error()
		}
		f.hint = "tutti negotiate list   # shows those that there are; tutti help negotiate open says how one begins"
	case errors.As(err, &refused):
		f.msg, f.hint = strings.TrimSuffix(f.msg, "; "+refused.Hint), refused.Hint
		if slices.ContainsFunc(stateWords, func(w string) bool { return strings.Contains(f.msg, w) }) {
			f.code = exitState
		}
	case errors.As(err, &payload):
	case errors.As(err, &stale):
		f.code = exitState
		if c.under != H2A {
			f.msg, f.hint = strings.Replace(f.msg, stale.Error(), stale.What(), 1), c.withFile(stale.Rebase())
			f.hint += "   # after a look at tutti negotiate diff " + app.QuoteArg(stale.ID)
		}
	case errors.As(err, &broken):
		f.code, f.hint = exitState, "tutti negotiate verify "+app.QuoteArg(broken.Negotiation)+"   # says more"
	case errors.As(err, &artifact), errors.Is(err, negotiation.ErrOpen),
		errors.Is(err, negotiation.ErrStabilized), errors.Is(err, negotiation.ErrQuorum), errors.Is(err, negotiation.ErrTerms), errors.Is(err, journal.ErrBusy):
		f.code = exitState
	default:
		return c.registryFault(err)
	}
	switch {
	case c.under == H2A:
		f.hint = ""
	case f.hint == negotiation.MendHint:
		f.hint = `"tutti ` + c.Verb.Name + ` --example engagement" prints a valid one, and other kinds likewise; --force offers this one anyway, and the entry records that`
	}
	return f
}

// withFile is a command with the file that was named instead of the word FILE.
func (c *Call) withFile(command string) string {
	if file := c.arg(1); file != "" && file != "-" && !strings.HasPrefix(strings.TrimSpace(file), "{") {
		return strings.Replace(command, " FILE ", " "+app.QuoteArg(file)+" ", 1)
	}
	return command
}

// steps are the next commands for people.
func steps(all []negotiation.Step) []string {
	var out []string
	for _, s := range all {
		command := s.Command
		if s.Note != "" {
			command += "   # " + s.Note
		}
		out = append(out, Clean(command))
	}
	return out
}

// maxSteps is how many next commands are shown: one for each who has not signed can be many.
const maxSteps = 3

// next shows what to type next.
func (d *deal) next(all []negotiation.Step) {
	lines := steps(all)
	for n, s := range lines {
		if n == maxSteps {
			d.line("       and " + plural(len(lines)-n, "other"))
			break
		}
		head := "next:  "
		if n > 0 {
			head = "       "
		}
		d.line(head + s)
	}
}

// said prints what came of an act: the entry for programs, a line and the next command for people.
func (d *deal) said(ctx context.Context, e *journal.Entry, what string) error {
	if d.json {
		d.emit(e.Raw)
		return nil
	}
	d.line(Clean(what) + " (entry " + itoa(e.Sequence) + " of " + Clean(d.id) + ")")
	s, err := d.bus.Negotiations().Status(ctx, d.id, time.Now())
	if err != nil {
		return nil // it is done; how things stand is beside the point
	}
	d.line("state: " + d.stateWord(s.State))
	d.next(s.Next)
	return nil
}

// stateWord is a state in its colour.
func (c *Call) stateWord(s negotiation.State) string {
	switch {
	case s == negotiation.Stabilized:
		return c.paint(green, string(s))
	case s.Terminal():
		return c.paint(red, string(s))
	}
	return c.paint(bold, Clean(string(s)))
}

// shortHash is a hash as people compare it.
func shortHash(hash string) string {
	const digits = 12
	if declaration.IsHash(hash) {
		return hash[:len("sha256:")+digits] + "…"
	}
	return Clean(Truncate(hash, 2*digits))
}
