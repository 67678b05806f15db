package agree

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/full"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/keyring"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/agreement"
	"tutti/internal/governance/declaration"
	"tutti/internal/governance/journal"
	"tutti/internal/governance/negotiation"
)

// A deal is one negotiation on an open bus, as a verb works on it.
type deal struct {
	*kit.Call
	w   *app.World // nil: there is no bus, and the verb only looks
	bus *agreement.Bus
	id  string
	now time.Time
}

// openDeal opens the bus for a verb about one negotiation, named by the first argument, or by a flag under h2a and for verbs without
// arguments. The caller closes it.
func openDeal(c *kit.Call, mode app.Mode, flag *string) (*deal, error) {
	id := c.Arg(0)
	if c.Under == kit.H2A || c.Verb.MaxArgs == 0 {
		if id = *flag; id == "" {
			return nil, c.Missing(flag)
		}
	}
	d, err := dealOf(c, mode, id)
	if err == nil && d.w == nil && c.Verb.Name != "negotiate journal" {
		err = dealFault(c, &negotiation.NotFoundError{ID: id})
	}
	return d, err
}

// An idOption is the flag by which h2a names a negotiation.
type idOption struct{ ID string }

func (o *idOption) negotiation() *string { return &o.ID }

// An argumentOption is for verbs that h2a does not have: the negotiation is always the first argument.
type argumentOption struct{}

func (*argumentOption) negotiation() *string { return nil }

// onDeal returns the options of a verb about one negotiation.
func onDeal[T any, P interface {
	*T
	negotiation() *string
}](mode app.Mode, run func(context.Context, *deal, P) error) *kit.Options {
	return kit.WithFlags(func(ctx context.Context, c *kit.Call, opt *T) error {
		d, err := openDeal(c, mode, P(opt).negotiation())
		if err != nil {
			return err
		}
		defer d.close()
		return run(ctx, d, opt)
	})
}

// dealOf is like openDeal, for a negotiation whose id is known, or not yet ("").
func dealOf(c *kit.Call, mode app.Mode, id string) (*deal, error) {
	if err := address.Check(id); id != "" && err != nil {
		return nil, kit.Usagef("the id of the negotiation: %s", kit.Clean(err.Error()))
	}
	d := &deal{Call: c, id: id, now: time.Now()}
	var err error
	if mode == app.Reading {
		d.w, err = c.Reads()
	} else {
		d.w, err = c.World(c.WriteMode())
	}
	if err != nil {
		return nil, err
	}
	if d.w != nil {
		if d.bus = full.Agreements(d.w); c.Under == kit.H2A {
			d.bus.Pins, d.bus.Seen, d.bus.AnySubject = nil, nil, true // there the registry decides whose key it is, as specified
		}
	}
	return d, nil
}

func (d *deal) close() {
	if d.w != nil {
		d.w.Close()
	}
}

// An entryOptions is the flags that identify an entry of a journal.
type entryOptions struct{ EventID, CausationID, CorrelationID string }

func (o *entryOptions) act(by address.Instance) negotiation.Act {
	return negotiation.Act{By: by, EventID: o.EventID, CausationID: o.CausationID, CorrelationID: o.CorrelationID}
}

// An actorOptions is the flags by which an agent acts in a negotiation.
type actorOptions struct {
	entryOptions
	Instance, PrivateKey string
}

// An actOptions is the flags of verbs that change a negotiation.
type actOptions struct {
	idOption
	actorOptions
	Mandate string
}

// act returns who acts, with the key to sign with. Without a key it refuses an entry that must be signed; any other entry is then not
// sealed, like those of existing programs.
func (d *deal) act(ctx context.Context, opt *actorOptions, must bool) (negotiation.Act, error) {
	who, err := d.Actor(ctx, d.w, opt.Instance)
	if err != nil {
		return negotiation.Act{}, err
	}
	a := opt.act(who)
	switch {
	case opt.PrivateKey != "":
		if d.w.Ring.Has(who) {
			d.Warn("--private-key: the key of %s lies here and would have been used without it", kit.Name(who))
		} else {
			d.Warn("--private-key: a key in a file of one's own is less safe than one that tutti keeps (tutti keys generate)")
		}
		a.Key, err = keyArgument(d.Call, opt.PrivateKey)
	case must && d.Under == kit.H2A:
		err = d.Missing(&opt.PrivateKey)
	default:
		a.Key, err = d.sealKey(ctx, who, must)
	}
	return a, err
}

// actFor is act under a mandate, if one is given.
func (d *deal) actFor(ctx context.Context, opt *actOptions, must bool) (negotiation.Act, error) {
	a, err := d.act(ctx, &opt.actorOptions, must)
	a.Mandate = opt.Mandate
	return a, err
}

// sealKey returns the key of an agent that is on this machine, nil if an entry without a seal will do.
func (d *deal) sealKey(ctx context.Context, who address.Instance, must bool) (*signature.Private, error) {
	if who.Canonical().Host() == identity.Human {
		s, err := d.w.Identity.Speak(ctx, kit.FactsOf(d.App), identity.Ask{As: string(who), Peek: true}, d.now)
		if err != nil || s.Via == identity.Unattended {
			if !must && err == nil {
				return nil, nil
			}
			return nil, kit.Refuse("type it in a terminal of your own, or name the key: --private-key FILE",
				"not signed: a person's key signs only at a terminal, and this is not one")
		}
	}
	key, err := d.w.Ring.Load(who)
	if errors.Is(err, keyring.ErrNoKey) {
		if !must {
			return nil, nil
		}
		return nil, kit.Refuse("--private-key FILE names it, or tutti keys generate --instance "+app.QuoteArg(string(who))+" makes one",
			"there is no private key of %s to sign with", kit.Name(who))
	}
	if err != nil || must {
		return key, err
	}
	keys, err := d.w.Registry.Keys(ctx, who)
	if err != nil || !slices.Contains(keys.Active, key.Public()) {
		return nil, err // a seal by it would not count, and an agent that seals its entries is refused without one
	}
	return key, nil
}

// keyArgument is like KeyFile, with exit status 3 if the file cannot be read.
func keyArgument(c *kit.Call, path string) (*signature.Private, error) {
	key, err := c.KeyFile(path)
	var f *kit.Fault
	if errors.As(err, &f) {
		f.Code = kit.ExitIO
	}
	return key, err
}

// document reads an argument that holds JSON. Under tutti an argument that is not a JSON object names a file.
func document(ctx context.Context, c *kit.Call, arg, what string) ([]byte, error) {
	if c.Under != kit.H2A {
		arg = kit.FileArg(arg)
	}
	raw, err := kit.Within(ctx, func() ([]byte, error) { return c.Body(arg) })
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, kit.FailIO("a file, the JSON itself, or - for standard input", err, "read %s", what)
	case err != nil:
		return nil, err
	case !canonjson.Valid(raw):
		return nil, kit.Refuse("", "%s is not valid JSON: %s", what, whyNoJSON(raw))
	}
	return raw, c.Exact(raw, what)
}

func whyNoJSON(raw []byte) string {
	if err := canonjson.Check(raw); err != nil {
		return kit.Clean(err.Error())
	}
	return "it cannot be read"
}

// artifact reads the artifact that the second argument names, or the flag under h2a. It returns it with its hash; of a hash, only that.
func (d *deal) artifact(ctx context.Context, flag *string) (raw []byte, hash string, err error) {
	arg := d.Arg(1)
	if d.Under == kit.H2A {
		if arg = *flag; arg == "" {
			return nil, "", d.Missing(flag)
		}
	}
	if arg == "" || declaration.IsHash(arg) {
		return nil, arg, nil
	}
	if raw, err = document(ctx, d.Call, arg, "the artifact"); err != nil {
		return nil, "", err
	}
	hash, err = negotiation.HashOf(raw)
	if err != nil {
		err = kit.Refuse("", "the artifact cannot be signed: %s", kit.Clean(err.Error()))
	}
	return raw, hash, err
}

// stateWords occur in the refusals that existing programs report with exit status 2.
var stateWords = []string{"no offer/counter event matches", "is not registered", "was revoked", "fails verification", "not active", "may not attest"}

// dealFault gives a refusal by the rules of negotiations its exit status and its hint.
func dealFault(c *kit.Call, err error) error {
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
	f := &kit.Fault{Code: kit.ExitUsage, Msg: err.Error()}
	switch {
	case errors.As(err, &absent):
		f.Code = kit.ExitState
		if c.Under != kit.H2A {
			f.Msg = absent.Error()
		}
		f.Next = "tutti negotiate list   # shows those that there are; tutti help negotiate open says how one begins"
	case errors.As(err, &refused):
		f.Msg, f.Next = strings.TrimSuffix(f.Msg, "; "+refused.Hint), refused.Hint
		if slices.ContainsFunc(stateWords, func(w string) bool { return strings.Contains(f.Msg, w) }) {
			f.Code = kit.ExitState
		}
	case errors.As(err, &payload):
	case errors.As(err, &stale):
		f.Code = kit.ExitState
		if c.Under != kit.H2A {
			f.Msg, f.Next = strings.Replace(f.Msg, stale.Error(), stale.What(), 1), withFile(c, stale.Rebase())
			f.Next += "   # after a look at tutti negotiate diff " + app.QuoteArg(stale.ID)
		}
	case errors.As(err, &broken):
		f.Code, f.Next = kit.ExitState, "tutti negotiate verify "+app.QuoteArg(broken.Negotiation)+"   # says more"
	case errors.As(err, &artifact), errors.Is(err, negotiation.ErrOpen),
		errors.Is(err, negotiation.ErrStabilized), errors.Is(err, negotiation.ErrQuorum), errors.Is(err, negotiation.ErrTerms), errors.Is(err, journal.ErrBusy):
		f.Code = kit.ExitState
	default:
		return c.RegistryFault(err)
	}
	switch {
	case c.Under == kit.H2A:
		f.Next = ""
	case f.Next == negotiation.MendHint:
		f.Next = `"tutti ` + c.Verb.Name + ` --example engagement" prints a valid one, and other kinds likewise; --force offers this one anyway, and the entry records that`
	}
	return f
}

// withFile puts the file of the second argument in place of the word FILE in a command.
func withFile(c *kit.Call, command string) string {
	if file := c.Arg(1); file != "" && file != "-" && !strings.HasPrefix(strings.TrimSpace(file), "{") {
		return strings.Replace(command, " FILE ", " "+app.QuoteArg(file)+" ", 1)
	}
	return command
}

// steps returns the next commands, for people.
func steps(all []negotiation.Step) []string {
	var out []string
	for _, s := range all {
		command := s.Command
		if s.Note != "" {
			command += "   # " + s.Note
		}
		out = append(out, kit.Clean(command))
	}
	return out
}

// maxSteps is how many next commands are shown: there can be one for each agent that has not signed.
const maxSteps = 3

func (d *deal) next(all []negotiation.Step) {
	lines := steps(all)
	for n, s := range lines {
		if n == maxSteps {
			d.Line("       and " + kit.Plural(len(lines)-n, "other"))
			break
		}
		head := "next:  "
		if n > 0 {
			head = "       "
		}
		d.Line(head + s)
	}
}

// said prints the result of an act: the entry for programs, a line and the next command for people.
func (d *deal) said(ctx context.Context, e *journal.Entry, what string) error {
	if d.JSON {
		d.EmitSigned(e.Raw)
		return nil
	}
	d.Line(kit.Clean(what) + " (entry " + strconv.Itoa(e.Sequence) + " of " + kit.Clean(d.id) + ")")
	s, err := d.bus.Negotiations().Status(ctx, d.id, time.Now())
	if err != nil {
		return nil // the act is done; the state is extra
	}
	d.Line("state: " + stateWord(d.Call, s.State))
	d.next(s.Next)
	return nil
}

// stateWord returns a state in its colour.
func stateWord(c *kit.Call, s negotiation.State) string {
	switch {
	case s == negotiation.Stabilized:
		return c.Paint(kit.Green, string(s))
	case s.Terminal():
		return c.Paint(kit.Red, string(s))
	}
	return c.Paint(kit.Bold, kit.Clean(string(s)))
}

// shortHash returns as much of a hash as people compare.
func shortHash(hash string) string {
	const digits = 12
	if declaration.IsHash(hash) {
		return hash[:len("sha256:")+digits] + "…"
	}
	return kit.Clean(kit.Truncate(hash, 2*digits))
}
