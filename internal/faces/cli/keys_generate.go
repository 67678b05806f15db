package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tutti/internal/app"
	"tutti/internal/bus/keyring"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/platform/atomicfile"
)

// runKeysGenerate makes a key pair and tells where it lies. It registers nothing.
func runKeysGenerate(ctx context.Context, c *Call) error {
	who, made, err := c.generate(ctx)
	if errors.Is(err, keyring.ErrKeyExists) {
		return &fault{code: exitState, err: err, hint: "--force replaces it; messages signed with the old one can then not be told from forged ones"}
	}
	if err != nil {
		return err
	}
	public := made.Key.Public()
	if c.json {
		var o canonjson.Object
		o.Bool("ok", true)
		o.Str("instance", string(who))
		o.Str("privateKeyPath", made.Private)
		o.Str("publicKeyPath", made.Public)
		o.Str("publicKeyPem", public.PEM())
		c.emit(o.Bytes())
		return nil
	}
	c.facts([][]string{
		{"key of", string(who)},
		{"fingerprint", public.Short()},
		{"private", c.App.Shown(made.Private)},
		{"public", c.App.Shown(made.Public)},
	})
	c.printf("%s\n", Clean("tutti keys add --instance "+app.QuoteArg(string(who))+" --public-key "+app.QuoteArg(made.Public)+"   # registers it"))
	return nil
}

// generate makes the key pair of whoever is named, or speaks here. For one who is named a bus is made when there is none: the
// first key of an agent may come before everything else.
func (c *Call) generate(ctx context.Context) (who address.Instance, made keyring.KeyFiles, err error) {
	out, named := c.value("out"), c.value("instance") != ""
	if named {
		who = address.Instance(c.value("instance"))
		if _, _, err := address.KeyFiles(string(who)); err != nil {
			return "", made, usagef("--instance: %s", Clean(err.Error()))
		}
		if out != "" {
			made, err = generateIn(out, who, c.on("force"))
			return who, made, err
		}
	} else if c.under == H2A {
		return "", made, c.missing("instance")
	}
	open := func(ctx context.Context) (*app.World, error) { return c.makeWorld(ctx) }
	if !named {
		open = func(context.Context) (*app.World, error) { return c.world(app.Writing) }
	}
	w, err := open(ctx)
	if err != nil {
		return "", made, err
	}
	defer w.Close()
	if who, err = c.subject(ctx, w); err != nil {
		return "", made, err
	}
	if out == "" && w.Ring.Has(who) {
		if err := c.personOnly(who, "keys generate"); err != nil {
			return "", made, err
		}
	}
	if out != "" {
		made, err = generateIn(out, who, c.on("force"))
	} else {
		made, err = w.Ring.Generate(who, c.on("force"))
	}
	return who, made, err
}

// generateIn makes a key pair in a folder of the user's choice, under the names that the keyring would give.
func generateIn(dir string, who address.Instance, force bool) (keyring.KeyFiles, error) {
	private, public, err := address.KeyFiles(string(who))
	if err != nil {
		return keyring.KeyFiles{}, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return keyring.KeyFiles{}, err
	}
	d, err := atomicfile.OpenDir(dir)
	if err != nil {
		return keyring.KeyFiles{}, err
	}
	defer d.Close()
	made := keyring.KeyFiles{Private: filepath.Join(dir, private), Public: filepath.Join(dir, public), Key: signature.Generate()}
	write := d.Create
	if force {
		write = d.Replace
	}
	err = write(private, made.Key.PEM(), 0o600, true)
	if errors.Is(err, fs.ErrExist) {
		return keyring.KeyFiles{}, failWith(keyring.ErrKeyExists, made.Private)
	}
	if err == nil {
		err = d.Replace(public, []byte(made.Key.Public().PEM()), 0o644, true)
	}
	return made, err
}
