package bus

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/registry"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/core/signature"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/platform/smallfile"
)

type keyOptions struct{ Instance, PublicKey string }

// runKeysAdd registers a further key of an agent.
func runKeysAdd(ctx context.Context, c *kit.Call, opt *keyOptions) error {
	w, err := c.World(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	who, pem, err := readKeyArgs(ctx, c, opt, w)
	if err != nil {
		return err
	}
	public, err := signature.ParsePublic(pem)
	if err != nil {
		return kit.UsageHint(`"tutti keys generate" makes a pair; give the file that ends in .pub.pem`, "%s: %s", kit.Clean(opt.PublicKey), kit.Clean(err.Error()))
	}
	now := time.Now()
	var proof *signature.Object
	said := !IsPerson(who) || kit.FactsOf(c.App).Attended() // otherwise any process could have written it
	if said {
		if proof, err = addProof(ctx, w, who, public, now); err != nil {
			return err
		}
	}
	if err := w.Registry.AddKey(ctx, who, pem, proof, now); err != nil {
		return c.RegistryFault(err)
	}
	if !said {
		c.Warn("this is not a terminal: no answer of %s counts under the key %s until a person confirms it (tutti keys trust)", kit.Name(who), public.Short())
	} else if err := addedKey(ctx, w, who, public, proof != nil); err != nil {
		return err
	}
	if err := warnUnproven(ctx, c, w, who, public); err != nil {
		return err
	}
	return keysChanged(ctx, c, w, who, "added", public.Short())
}

// warnUnproven warns if an added key of an agent does not count.
func warnUnproven(ctx context.Context, c *kit.Call, w *app.World, who address.Instance, public signature.Public) error {
	if IsPerson(who) || c.Under == kit.H2A {
		return nil
	}
	known, err := trust.KeysOf(ctx, w.Registry, w.Pins, who)
	if err == nil && !known.Believed(public) {
		c.Warn("no active key of %s lies here to prove the key %s with: readers do not accept what it signs before each of them types tutti keys trust %s",
			kit.Name(who), public.Short(), kit.Clean(app.QuoteArg(string(who))))
	}
	return err
}

// addProof signs the event that adds a key with the agent's key on this machine, if that one is active: readers then see that the
// agent itself added it. Without such a key there is no proof, and existing programs do not ask for one.
func addProof(ctx context.Context, w *app.World, who address.Instance, public signature.Public, now time.Time) (*signature.Object, error) {
	keys, err := w.Registry.Keys(ctx, who)
	if err != nil || !w.Ring.Has(who) {
		return nil, err
	}
	own, err := w.Ring.Load(who)
	if err != nil {
		return nil, err
	}
	for _, active := range keys.Active {
		if active != own.Public() {
			continue
		}
		event, err := canonjson.Canonical(registry.AddedEvent(keys.ID, public, now))
		if err != nil {
			return nil, err
		}
		proof := own.Object(string(who), event)
		return &proof, nil
	}
	return nil, nil
}

type keysRevokeOptions struct {
	keyOptions
	Yes bool
}

// runKeysRevoke revokes a key.
func runKeysRevoke(ctx context.Context, c *kit.Call, opt *keysRevokeOptions) error {
	w, err := c.World(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	who, pem, err := readKeyArgs(ctx, c, &opt.keyOptions, w)
	if err == nil {
		err = PersonOnly(c, who, "keys revoke")
	}
	if err != nil {
		return err
	}
	if c.Under == kit.Tutti {
		if err := c.Confirm(opt.Yes, "Revoke the key "+shortOf(pem)+" of "+kit.Name(who)+" for good?", "nothing was changed: a revoked key never becomes active again", "add --yes"); err != nil {
			return err
		}
	}
	if err := w.Registry.Revoke(ctx, who, pem, revocation(ctx, c, w, who, pem), time.Now()); err != nil {
		if errors.Is(err, registry.ErrNotRegistered) {
			err = kit.FailWith(registry.ErrKeyNotActive, string(who)+" is not registered")
		}
		return c.RegistryFault(err)
	}
	if err := revokedKey(ctx, w, who, pem); err != nil {
		return err
	}
	short := ""
	if public, err := signature.ParsePublic(pem); err == nil {
		short = public.Short()
	}
	return keysChanged(ctx, c, w, who, "revoked", short)
}

// readKeyArgs returns the agent, and the text of the key.
func readKeyArgs(ctx context.Context, c *kit.Call, opt *keyOptions, w *app.World) (who address.Instance, pem string, err error) {
	if who, err = c.Actor(ctx, w, opt.Instance); err != nil {
		return "", "", err
	}
	if opt.PublicKey == "" {
		return "", "", c.Missing(&opt.PublicKey)
	}
	pem, err = readKey(c, opt.PublicKey)
	return who, pem, err
}

// readKey reads the text of a public key.
func readKey(c *kit.Call, path string) (pem string, err error) {
	f, err := kit.OpenNamed(path)
	if err == nil {
		defer f.Close()
		var data []byte
		if data, err = io.ReadAll(io.LimitReader(f, 64<<10)); err == nil {
			return string(data), nil
		}
	}
	if c.Under == kit.H2A {
		return "", kit.Usagef("%s", err)
	}
	return "", kit.FailIO("", err, "read the public key")
}

// keysChanged prints what was done to a key, and how many keys are active now.
func keysChanged(ctx context.Context, c *kit.Call, w *app.World, who address.Instance, word, short string) error {
	keys, err := w.Registry.Keys(ctx, who)
	if err != nil {
		return err
	}
	if c.JSON {
		v := changedKeys{OK: true, Instance: string(who), Keys: len(keys.PEM)}
		if word == "revoked" {
			v.Status = word
		}
		c.Result(v)
		return nil
	}
	c.Printf("%s: key %s of %s; %s\n", word, short, kit.Name(who), kit.Plural(len(keys.PEM), "active key"))
	return nil
}

type keysListOptions struct{ Instance string }

// runKeysList lists the registered keys of one agent, or the private keys and pins of this user.
func runKeysList(ctx context.Context, c *kit.Call, opt *keysListOptions) error {
	if opt.Instance == "" && c.Under == kit.H2A {
		return c.Missing(&opt.Instance)
	}
	w, err := c.World(app.Reading)
	if err != nil {
		return err
	}
	defer w.Close()
	if opt.Instance == "" {
		return listOwnKeys(ctx, c, w)
	}
	who, err := c.Meant(ctx, w, opt.Instance)
	if err != nil {
		return err
	}
	keys, err := w.Registry.Keys(ctx, who)
	if err != nil {
		return err
	}
	if c.JSON {
		c.Result(render.List(keys.PEM))
		return nil
	}
	all, err := w.Registry.MirrorKeys(ctx, who)
	if err != nil {
		return err
	}
	if len(all.PEM)+len(all.Gone) == 0 {
		c.Nothing(kit.Name(who) + " has no key here")
		return nil
	}
	pinned, _ := w.Pins.Get(who)
	known := trust.By(keys, pinned)
	var rows [][]string
	for _, pem := range keys.PEM {
		rows = append(rows, []string{shortOf(pem), "active", keyWord(pem, known)})
	}
	for _, pem := range keys.Gone {
		rows = append(rows, []string{shortOf(pem), "revoked", keyWord(pem, known)})
	}
	for _, pem := range all.PEM {
		if !slices.Contains(keys.PEM, pem) { // a mirror brought it, so it proves nothing here
			rows = append(rows, []string{shortOf(pem), "mirrored", ""})
		}
	}
	c.Rows(rows)
	return nil
}

// shortOf returns the fingerprint that people compare. A recorded text need not be a key.
func shortOf(pem string) string {
	public, err := signature.ParsePublic(pem)
	if err != nil {
		return "no key"
	}
	return public.Short()
}

// keyWord says why this user believes that a key is the agent's own, or that nothing proves it.
func keyWord(pem string, known trust.Keys) string {
	public, err := signature.ParsePublic(pem)
	switch {
	case err != nil:
		return ""
	case slices.Contains(known.Pins, public):
		return "pinned"
	case !known.Believed(public):
		return "unproven"
	case len(known.Pins) > 0:
		return "proven by the pinned key"
	}
	return ""
}

// An ownKey is one private key file of this bus.
type ownKey struct {
	file     string
	instance address.Instance // "" if no agent is registered under that name
	short    string
}

// ownKeys lists the private keys of the bus. The name of a file lacks letters of the id, so the ids come from the registry.
func ownKeys(ctx context.Context, w *app.World) ([]ownKey, error) {
	entries, err := smallfile.ReadDir(filepath.Join(w.Root.Path, "keys"), smallfile.NoLinks)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	var own []ownKey
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".key.pem"); ok && e.Name()[0] != '.' {
			at[name] = len(own)
			own = append(own, ownKey{file: filepath.Join(w.Root.Path, "keys", e.Name())})
		}
	}
	if len(own) == 0 {
		return nil, nil
	}
	for reg, err := range w.Registry.All(ctx) {
		if err != nil {
			continue // a bad line names no agent
		}
		name, err := address.KeyName(string(reg.Instance))
		if n, ok := at[name]; err == nil && ok && own[n].instance == "" {
			own[n].instance = reg.Instance
			if public, err := w.Ring.Public(reg.Instance); err == nil {
				own[n].short = public.Short()
			}
		}
	}
	return own, nil
}

func listOwnKeys(ctx context.Context, c *kit.Call, w *app.World) error {
	own, err := ownKeys(ctx, w)
	if err != nil {
		return err
	}
	if err := w.Pins.Err(); err != nil {
		c.Warn("%s", kit.Clean(err.Error()))
	}
	pins := w.Pins.All()
	if c.JSON {
		c.Result(keysOf(own, pins))
		return nil
	}
	if len(own)+len(pins) == 0 {
		c.Nothing("no key of yours, and none pinned")
		return nil
	}
	if len(own) > 0 {
		c.Line(c.Paint(kit.Bold, "your keys"))
		var rows [][]string
		for _, k := range own {
			name := kit.Name(k.instance)
			if name == "" {
				name = filepath.Base(k.file) + " (no agent is registered under it)"
			}
			rows = append(rows, []string{"  " + k.short, name})
		}
		c.Rows(rows)
	}
	if len(pins) > 0 {
		c.Line(c.Paint(kit.Bold, "pinned keys of others"))
		var rows [][]string
		for _, p := range pins {
			rows = append(rows, []string{"  " + p.Key.Short(), kit.Name(p.Instance), p.By, kit.Ago(time.Since(p.At))})
		}
		c.Rows(rows)
	}
	return nil
}

// A keyList is the private keys of this user, and the keys pinned for others.
type keyList struct {
	Keys []privateKey `json:"keys"`
	Pins []pin        `json:"pins"`
}

// A privateKey is a key of one of this user's agents.
type privateKey struct {
	Instance    string `json:"instance,omitempty"` // absent where no agent is registered with it
	Fingerprint string `json:"fingerprint,omitempty"`
	Path        string `json:"privateKeyPath"`
}

// A pin is a key that this user trusts for an agent.
type pin struct {
	Instance    string `json:"instance"`
	Fingerprint string `json:"fingerprint"`
	By          string `json:"by"` // how it was pinned
	At          string `json:"at"`
}

// A changedKeys is an agent with the number of its active keys.
type changedKeys struct {
	OK       bool   `json:"ok"`
	Instance string `json:"instance"`
	Status   string `json:"status,omitempty"` // revoked
	Keys     int    `json:"keys"`             // active ones
}

func keysOf(own []ownKey, pins []trust.Pin) keyList {
	return keyList{
		render.Each(own, func(k ownKey) privateKey { return privateKey{string(k.instance), k.short, k.file} }),
		render.Each(pins, func(p trust.Pin) pin {
			return pin{string(p.Instance), p.Key.Short(), p.By, p.At.UTC().Format(kit.JSONTime)}
		}),
	}
}
