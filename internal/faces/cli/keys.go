package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/registry"
	"tutti/internal/bus/trust"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
)

// runKeysAdd registers a further key of an agent.
func runKeysAdd(ctx context.Context, c *Call) error {
	w, err := c.world(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	who, pem, err := c.keyArgs(ctx, w)
	if err != nil {
		return err
	}
	public, err := signature.ParsePublic(pem)
	if err != nil {
		return usageHint(`"tutti keys generate" makes a pair; the file that ends in .pub.pem is meant`, "%s: %s", Clean(c.text("public-key")), Clean(err.Error()))
	}
	now := time.Now()
	var proof *signature.Object
	said := !isPerson(who) || factsOf(c.App).Attended() // else it is a line as anybody could write it
	if said {
		if proof, err = addProof(ctx, w, who, public, now); err != nil {
			return err
		}
	}
	if err := w.Registry.AddKey(ctx, who, pem, proof, now); err != nil {
		return c.registryFault(err)
	}
	if !said {
		c.warn("nobody is at this terminal: no answer of %s counts under the key %s until a person says so (tutti keys trust)", Clean(string(who)), public.Short())
	} else if err := addedKey(w, who, public, proof != nil); err != nil {
		return err
	}
	return c.keysChanged(ctx, w, who, "added", public.Short())
}

// addProof signs the event that adds a key with the key that the agent has here, if that one is active: readers then see
// that the agent itself added it. Without such a key there is no proof, and the existing programs ask for none.
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

// runKeysRevoke takes a key out of use.
func runKeysRevoke(ctx context.Context, c *Call) error {
	w, err := c.world(app.Writing)
	if err != nil {
		return err
	}
	defer w.Close()
	who, pem, err := c.keyArgs(ctx, w)
	if err == nil {
		err = c.personOnly(who, "keys revoke")
	}
	if err != nil {
		return err
	}
	if c.under == Tutti {
		if err := c.confirm("Revoke the key "+shortOf(pem)+" of "+Clean(string(who))+" for good?", "nothing was changed: a revoked key never becomes active again", "add --yes"); err != nil {
			return err
		}
	}
	if err := w.Registry.Revoke(ctx, who, pem, c.revocation(ctx, w, who, pem), time.Now()); err != nil {
		if errors.Is(err, registry.ErrNotRegistered) {
			err = failWith(registry.ErrKeyNotActive, string(who)+" is not registered")
		}
		return c.registryFault(err)
	}
	if err := revokedKey(ctx, w, who, pem); err != nil {
		return err
	}
	short := ""
	if public, err := signature.ParsePublic(pem); err == nil {
		short = public.Short()
	}
	return c.keysChanged(ctx, w, who, "revoked", short)
}

// keyArgs reads whose key is meant, and its text.
func (c *Call) keyArgs(ctx context.Context, w *app.World) (who address.Instance, pem string, err error) {
	if who, err = c.subject(ctx, w); err != nil {
		return "", "", err
	}
	path := c.value("public-key")
	if path == "" {
		return "", "", c.missing("public-key")
	}
	pem, err = c.readKey(path)
	return who, pem, err
}

// readKey reads the text of a public key.
func (c *Call) readKey(path string) (pem string, err error) {
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		var data []byte
		if data, err = io.ReadAll(io.LimitReader(f, 64<<10)); err == nil {
			return string(data), nil
		}
	}
	if c.under == H2A {
		return "", usagef("%s", err)
	}
	return "", failIO("", err, "read the public key")
}

// keysChanged says what became of a key, and how many are active now.
func (c *Call) keysChanged(ctx context.Context, w *app.World, who address.Instance, word, short string) error {
	keys, err := w.Registry.Keys(ctx, who)
	if err != nil {
		return err
	}
	if c.json {
		var o canonjson.Object
		o.Bool("ok", true)
		o.Str("instance", string(who))
		if word == "revoked" {
			o.Str("status", word)
		}
		o.Int("keys", int64(len(keys.PEM)))
		c.emit(o.Bytes())
		return nil
	}
	c.printf("%s: key %s of %s; %s\n", word, short, Clean(string(who)), plural(len(keys.PEM), "active key"))
	return nil
}

// runKeysList lists the registered keys of one agent, or what this user has: private keys and pins.
func runKeysList(ctx context.Context, c *Call) error {
	if c.value("instance") == "" && c.under == H2A {
		return c.missing("instance")
	}
	w, err := c.world(app.Reading)
	if err != nil {
		return err
	}
	defer w.Close()
	if c.value("instance") == "" {
		return c.listOwnKeys(ctx, w)
	}
	who, err := c.meant(ctx, w, c.value("instance"))
	if err != nil {
		return err
	}
	keys, err := w.Registry.Keys(ctx, who)
	if err != nil {
		return err
	}
	if c.json {
		var l list
		for _, pem := range keys.PEM {
			l.str(pem)
		}
		c.emit(l.bytes())
		return nil
	}
	all, err := w.Registry.MirrorKeys(ctx, who)
	if err != nil {
		return err
	}
	if len(all.PEM)+len(all.Gone) == 0 {
		c.nothing(Clean(string(who)) + " has no key here")
		return nil
	}
	pinned, _ := w.Pins.Get(who)
	var rows [][]string
	for _, pem := range keys.PEM {
		rows = append(rows, []string{shortOf(pem), "active", pinWord(pem, pinned)})
	}
	for _, pem := range keys.Gone {
		rows = append(rows, []string{shortOf(pem), "revoked", pinWord(pem, pinned)})
	}
	for _, pem := range all.PEM {
		if !slices.Contains(keys.PEM, pem) { // it came with a mirror, and proves nothing here
			rows = append(rows, []string{shortOf(pem), "mirrored", pinWord(pem, pinned)})
		}
	}
	c.table(rows)
	return nil
}

// shortOf is the fingerprint that people compare; a recorded text need not be a key.
func shortOf(pem string) string {
	public, err := signature.ParsePublic(pem)
	if err != nil {
		return "no key"
	}
	return public.Short()
}

func pinWord(pem string, pinned []signature.Public) string {
	public, err := signature.ParsePublic(pem)
	for _, p := range pinned {
		if err == nil && p == public {
			return "pinned"
		}
	}
	return ""
}

// An ownKey is one private key file of this bus.
type ownKey struct {
	file     string
	instance address.Instance // "" when nobody is registered under that name
	short    string
}

// ownKeys lists the private keys of the bus. The name of a file loses letters of the id, so the ids are asked of the
// registry.
func ownKeys(ctx context.Context, w *app.World) ([]ownKey, error) {
	entries, err := os.ReadDir(filepath.Join(w.Root.Path, "keys"))
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
			continue // a bad line names nobody
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

func (c *Call) listOwnKeys(ctx context.Context, w *app.World) error {
	own, err := ownKeys(ctx, w)
	if err != nil {
		return err
	}
	if err := w.Pins.Err(); err != nil {
		c.warn("%s", Clean(err.Error()))
	}
	pins := w.Pins.All()
	if c.json {
		c.emit(keysJSON(own, pins))
		return nil
	}
	if len(own)+len(pins) == 0 {
		c.nothing("no key of yours, and none pinned")
		return nil
	}
	if len(own) > 0 {
		c.line(c.paint(bold, "your keys"))
		var rows [][]string
		for _, k := range own {
			name := string(k.instance)
			if name == "" {
				name = filepath.Base(k.file) + " (nobody is registered under it)"
			}
			rows = append(rows, []string{"  " + k.short, name})
		}
		c.table(rows)
	}
	if len(pins) > 0 {
		c.line(c.paint(bold, "pinned keys of others"))
		var rows [][]string
		for _, p := range pins {
			rows = append(rows, []string{"  " + p.Key.Short(), string(p.Instance), p.By, ago(time.Since(p.At))})
		}
		c.table(rows)
	}
	return nil
}

func keysJSON(own []ownKey, pins []trust.Pin) []byte {
	var mine, theirs list
	for _, k := range own {
		var o canonjson.Object
		o.Opt("instance", string(k.instance))
		o.Opt("fingerprint", k.short)
		o.Str("privateKeyPath", k.file)
		mine.obj(&o)
	}
	for _, p := range pins {
		var o canonjson.Object
		o.Str("instance", string(p.Instance))
		o.Str("fingerprint", p.Key.Short())
		o.Str("by", p.By)
		o.Str("at", p.At.UTC().Format(jsonTime))
		theirs.obj(&o)
	}
	var all canonjson.Object
	all.Raw("keys", mine.bytes())
	all.Raw("pins", theirs.bytes())
	return all.Bytes()
}
