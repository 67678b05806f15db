package cli

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
	"tutti/internal/bus/mailbox"
	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
)

// badName refuses what cannot be the name of an agent, nil for one that can be.
func badName(verb, name string) error {
	switch {
	case len(name) > app.MaxName:
		return usageHint("a shorter one; the id that is made of a name has no more than its beginning anyway",
			"%s: a name has at most %d bytes, this one has %d", verb, app.MaxName, len(name))
	case Clean(name) != name:
		return usageHint("leave them out", "%s: the name holds characters that no terminal shows", verb)
	}
	return nil
}

// absoluteRoot is a bus as it can be named anywhere.
func absoluteRoot(root string) string {
	if root == "" || strings.Contains(root, "://") {
		return root
	}
	if abs, err := filepath.Abs(root); err == nil {
		return abs
	}
	return root
}

// quoteForShell keeps "~" outside the quotes, where the shell expands it.
func quoteForShell(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return `"$HOME/` + rest + `"`
	}
	return `"` + path + `"`
}

// firstInPath returns where the shell finds a program, "" for nowhere.
func firstInPath(name string) string {
	for _, p := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(p, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// given reads the envelope that a verb is given: by --json under h2a, else as a word. signed: it carries signatures, and must
// stay as it is.
func (c *Call) given(ctx context.Context) (raw []byte, signed bool, err error) {
	arg := c.arg(0)
	if c.under == H2A {
		if arg = c.value("json"); arg == "" {
			return nil, false, c.missing("json")
		}
	}
	if arg == "" {
		return nil, false, usageHint("usage: "+c.usage(), "%s: which envelope?", c.Verb.Name)
	}
	if raw, err = c.content(ctx, arg); err != nil {
		return nil, false, err
	}
	if !canonjson.Valid(raw) {
		hint := ""
		if c.Verb.flag(c.under, "to") >= 0 {
			hint = "without --to a whole envelope is given; --to ID says whom a text is for"
		}
		return nil, false, refuse(hint, "the envelope is no JSON")
	}
	list, ok := canonjson.Get(raw, "signatures")
	if ok && canonjson.Kind(list) == canonjson.TypeArray {
		for range canonjson.Elements(list) {
			return raw, true, nil
		}
	}
	return raw, ok && canonjson.Kind(list) != canonjson.TypeArray && !canonjson.IsNull(list), nil
}

// taken makes an id that is taken exit status 2.
func taken(err error) error {
	var t *mailbox.TakenIDError
	if errors.As(err, &t) {
		return &fault{code: exitState, err: err, hint: "give the message an id of its own; what is there is not changed"}
	}
	return err
}

// keyFile reads a private key. What it holds is never shown.
func (c *Call) keyFile(path string) (*signature.Private, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, refuse("", "read the private key: %s", Clean(err.Error()))
	}
	defer f.Close()
	if at, err := f.Stat(); err == nil && at.Mode().Perm()&0o077 != 0 {
		c.warn("others can read %s; chmod 600 ends that", Clean(path))
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return nil, refuse("", "read the private key: %s", Clean(err.Error()))
	}
	key, err := signature.ParsePrivate(text)
	if err != nil {
		return nil, refuse("", "%s: is no Ed25519 private key in PEM form", Clean(path))
	}
	return key, nil
}

// maxKeyFile bounds a key file; a key takes about 120 bytes.
const maxKeyFile = 64 << 10

// flagIf is the value of a flag that the verb may not have.
func (c *Call) flagIf(name string) string {
	if c.Verb.flag(c.under, name) < 0 {
		return ""
	}
	return c.value(name)
}

// checked is an address that was given. One's own agents may be named by host and label.
func (c *Call) checked(ctx context.Context, w *app.World, i string) (address.Instance, error) {
	if err := address.Check(i); err != nil {
		return "", usagef("%s", Clean(err.Error()))
	}
	return c.meant(ctx, w, i)
}

// split takes a list with commas apart; empty words do not count.
func split(list string) []string {
	words := []string{}
	for w := range strings.SplitSeq(list, ",") {
		if w = strings.TrimSpace(w); w != "" {
			words = append(words, w)
		}
	}
	return words
}

// hostNames are the programs that package driver knows.
var hostNames = []string{"claude", "codex", "gemini", "opencode", "agy", "hermes"}

// profileWords are the profiles, as completion and help name them; a test holds them to be those that there are.
var profileWords = []string{"A_ENTERPRISE", "B_ECOSYSTEM", "C_GOVERNMENT_CITIZEN", "D_SAFE"}

// modelTopics are what "model show" knows beside the profiles and the patterns.
var modelTopics = []string{"grid", "vocabulary", "invariants", "form"}

// age reads a flag that takes a number of days, as in 90d, or a duration.
func (c *Call) age(name string, otherwise time.Duration) (time.Duration, error) {
	text := c.text(name)
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
	return 0, usageHint("an age is written as 90d or 48h", "--%s %s: is no age", name, Clean(text))
}
