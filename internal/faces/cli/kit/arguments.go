package kit

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/app/config"
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/core/termsafe"
)

// BadName refuses what cannot be the name of an agent, nil for one that can be.
func BadName(verb, name string) error {
	switch {
	case len(name) > config.MaxName:
		return UsageHint("a shorter one; the id that is made of a name has no more than its beginning anyway",
			"%s: a name has at most %d bytes, this one has %d", verb, config.MaxName, len(name))
	case Clean(name) != name:
		return UsageHint("leave them out", "%s: the name holds characters that no terminal shows", verb)
	}
	return nil
}

// AbsoluteRoot is a bus as it can be named anywhere.
func AbsoluteRoot(root string) string {
	if root == "" || strings.Contains(root, "://") {
		return root
	}
	if abs, err := filepath.Abs(root); err == nil {
		return abs
	}
	return root
}

// QuoteForShell keeps "~" outside the quotes, where the shell expands it.
func QuoteForShell(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return `"$HOME/` + inQuotes.Replace(rest) + `"`
	}
	return `"` + inQuotes.Replace(path) + `"`
}

// inQuotes has the shell take each character between double quotes as it is.
var inQuotes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`")

// FirstInPath returns where the shell finds a program, "" for nowhere.
func FirstInPath(name string) string {
	for _, p := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(p, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// Given reads the envelope that a verb is given: by --json under h2a, else as a word. signed: it carries signatures, and must
// stay as it is.
func (c *Call) Given(ctx context.Context, byFlag string) (raw []byte, signed bool, err error) {
	arg := c.Arg(0)
	if c.Under == H2A {
		if arg = byFlag; arg == "" {
			return nil, false, c.Missing("json")
		}
	}
	if arg == "" {
		return nil, false, UsageHint("usage: "+c.Usage(), "%s: which envelope?", c.Verb.Name)
	}
	if raw, err = c.Content(ctx, arg); err != nil {
		return nil, false, err
	}
	if !canonjson.Valid(raw) {
		hint := ""
		if c.Verb.Flag(c.Under, "to") >= 0 {
			hint = "without --to a whole envelope is given; --to ID says whom a text is for"
		}
		return nil, false, Refuse(hint, "the envelope is not valid JSON")
	}
	list, ok := canonjson.Get(raw, "signatures")
	if ok && canonjson.Kind(list) == canonjson.TypeArray {
		for range canonjson.Elements(list) {
			return raw, true, nil
		}
	}
	if err := c.Exact(raw, "the envelope"); err != nil {
		return nil, false, err
	}
	return raw, ok && canonjson.Kind(list) != canonjson.TypeArray && !canonjson.IsNull(list), nil
}

// Exact refuses JSON that is to be signed and has a number that no double has: its signature would fit other numbers as well. h2a takes it, as
// specified.
func (c *Call) Exact(raw []byte, what string) error {
	written, signed, ok := canonjson.Inexact(raw)
	if !ok || c.Under != Tutti {
		return nil
	}
	return Refuse(`put it in quotes: "`+Clean(termsafe.Cut(written, 40))+`"`, "%s: the number %s would be signed as %s", what, Clean(termsafe.Cut(written, 40)), signed)
}

// Taken makes an id that is taken exit status 2.
func Taken(err error) error {
	var t *mailbox.TakenIDError
	if errors.As(err, &t) {
		return &Fault{Code: ExitState, Err: err, Next: "give the message an id of its own; what is there is not changed"}
	}
	return err
}

// KeyFile reads a private key. What it holds is never shown.
func (c *Call) KeyFile(path string) (*signature.Private, error) {
	f, err := OpenNamed(path)
	if err != nil {
		return nil, Refuse("", "read the private key: %s", Clean(err.Error()))
	}
	defer f.Close()
	if at, err := f.Stat(); err == nil && at.Mode().Perm()&0o077 != 0 {
		c.Warn("others can read %s, and may know this key: make a new one", Clean(path))
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxKeyFile))
	if err != nil {
		return nil, Refuse("", "read the private key: %s", Clean(err.Error()))
	}
	key, err := signature.ParsePrivate(text)
	if err != nil {
		return nil, Refuse("", "%s: not an Ed25519 private key in PEM form", Clean(path))
	}
	return key, nil
}

// PublicKeyFile reads a public key.
func PublicKeyFile(path string) (key signature.Public, err error) {
	f, err := OpenNamed(path)
	if err != nil {
		return key, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxKeyFile))
	if err != nil {
		return key, err
	}
	if key, err = signature.ParsePublic(string(text)); err != nil {
		return key, Refuse("", "%s: not an Ed25519 public key in PEM form", Clean(path))
	}
	return key, nil
}

// MaxKeyFile bounds a key file; a key takes about 120 bytes.
const MaxKeyFile = 64 << 10

// FileArg is an argument for Body that names a file without "@" before it, unless it is a JSON object.
func FileArg(arg string) string {
	if arg != "-" && !strings.HasPrefix(arg, "@") && !strings.HasPrefix(strings.TrimSpace(arg), "{") {
		return "@" + arg
	}
	return arg
}

// Checked is an address that was given. One's own agents may be named by host and label.
func (c *Call) Checked(ctx context.Context, w *app.World, i string) (address.Instance, error) {
	if err := address.Check(i); err != nil {
		return "", Usagef("%s", Clean(err.Error()))
	}
	return c.Meant(ctx, w, i)
}

// Split takes a list with commas apart; empty words do not count.
func Split(list string) []string {
	words := []string{}
	for w := range strings.SplitSeq(list, ",") {
		if w = strings.TrimSpace(w); w != "" {
			words = append(words, w)
		}
	}
	return words
}

// HostNames are the programs that package driver knows.
var HostNames = []string{"claude", "codex", "gemini", "opencode", "agy", "hermes"}

// ProfileWords are the profiles, as completion and help name them; a test holds them to be those that there are.
var ProfileWords = []string{"A_ENTERPRISE", "B_ECOSYSTEM", "C_GOVERNMENT_CITIZEN", "D_SAFE"}

// ModelTopics are what "model show" knows beside the profiles and the patterns.
var ModelTopics = []string{"grid", "vocabulary", "invariants", "form"}

// Age reads a flag that takes a number of days, as in 90d, or a duration.
func (c *Call) Age(flag any, otherwise time.Duration) (time.Duration, error) {
	name := c.FlagName(flag)
	text := c.Text(name)
	if text == "" {
		return otherwise, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	} else if d, err := time.ParseDuration(text); err == nil {
		return d, nil
	}
	return 0, UsageHint("an age is written as 90d or 48h", "--%s %s: not an age", name, Clean(text))
}
