package bus

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tutti/internal/app"
	"tutti/internal/bus/keyring"
	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/platform/atomicfile"
)

type keysGenerateOptions struct {
	Instance, Out string
	Force         bool
}

// A generatedKey is a new key pair.
type generatedKey struct {
	OK             bool   `json:"ok"`
	Instance       string `json:"instance"` // the agent
	PrivateKeyPath string `json:"privateKeyPath"`
	PublicKeyPath  string `json:"publicKeyPath"`
	PublicKeyPEM   string `json:"publicKeyPem"`
}

// runKeysGenerate creates a key pair and prints its path. It registers nothing.
func runKeysGenerate(ctx context.Context, c *kit.Call, opt *keysGenerateOptions) error {
	who, made, err := generate(ctx, c, opt)
	if errors.Is(err, keyring.ErrKeyExists) {
		return &kit.Fault{Code: kit.ExitState, Err: err, Next: "--force replaces it; messages signed with the old one can then not be told from forged ones"}
	}
	if err != nil {
		return err
	}
	public := made.Key.Public()
	if c.JSON {
		c.Result(generatedKey{true, string(who), made.Private, made.Public, public.PEM()})
		return nil
	}
	c.Facts([][]string{
		{"key of", string(who)},
		{"fingerprint", public.Short()},
		{"private", c.App.Shown(made.Private)},
		{"public", c.App.Shown(made.Public)},
	})
	c.Printf("%s\n", kit.Clean("tutti keys add --instance "+app.QuoteArg(string(who))+" --public-key "+app.QuoteArg(made.Public)+"   # registers it"))
	return nil
}

// generate creates the key pair of the named agent, or of the one that speaks here. For a named agent it creates a missing bus,
// because the first key of an agent may come before everything else.
func generate(ctx context.Context, c *kit.Call, opt *keysGenerateOptions) (who address.Instance, made keyring.KeyFiles, err error) {
	out, named := opt.Out, opt.Instance != ""
	if named {
		who = address.Instance(opt.Instance)
		if _, _, err := address.KeyFiles(string(who)); err != nil {
			return "", made, kit.Usagef("--instance: %s", kit.Clean(err.Error()))
		}
		if out != "" {
			made, err = generateIn(out, who, opt.Force)
			return who, made, err
		}
	} else if c.Under == kit.H2A {
		return "", made, c.Missing(&opt.Instance)
	}
	open := func(ctx context.Context) (*app.World, error) { return makeWorld(ctx, c) }
	if !named {
		open = func(context.Context) (*app.World, error) { return c.World(app.Writing) }
	}
	w, err := open(ctx)
	if err != nil {
		return "", made, err
	}
	defer w.Close()
	if named && c.Under != kit.H2A && strings.Count(string(who), ":") == 1 {
		if all, err := w.Registry.Channel(ctx, string(who)); err == nil && len(all) > 0 && !slices.Contains(all, who) {
			return "", made, kit.BadState("give the whole id: "+strings.Join(address.Texts(all), " "), "--instance: %s is the short name of an agent, and a key is made for a whole id", kit.Name(who))
		}
	}
	if who, err = c.Subject(ctx, w, opt.Instance); err != nil {
		return "", made, err
	}
	if _, err := w.Registry.Registered(ctx, who); err == nil || w.Ring.Has(who) { // otherwise the key is for a new agent
		if err := c.InName(ctx, w, who); err != nil {
			return "", made, err
		}
	}
	if out == "" && w.Ring.Has(who) {
		if err := PersonOnly(c, who, "keys generate"); err != nil {
			return "", made, err
		}
	}
	if out != "" {
		made, err = generateIn(out, who, opt.Force)
	} else {
		made, err = w.Ring.Generate(who, opt.Force)
	}
	return who, made, err
}

// generateIn creates a key pair in the given folder, under the names that the keyring would give.
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
		return keyring.KeyFiles{}, kit.FailWith(keyring.ErrKeyExists, made.Private)
	}
	if err == nil {
		err = d.Replace(public, []byte(made.Key.Public().PEM()), 0o644, true)
	}
	return made, err
}
