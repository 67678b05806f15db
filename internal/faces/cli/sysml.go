package cli

import (
	"context"
	"io"
	"os"
	"strings"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/signature"
	"tutti/internal/governance/sysml"
	"tutti/internal/remote/fetch"
)

func runSysMLVerify(ctx context.Context, c *Call) error {
	if c.value("public-key") == "" {
		return c.missing("public-key")
	}
	raw, _, err := c.given(ctx)
	if err != nil {
		return err
	}
	if err := canonjson.Check(raw); err != nil {
		return refuse("", "the envelope: %s", Clean(err.Error()))
	}
	q := sysml.Question{Envelope: raw, By: address.Instance(c.value("by")), Content: c.isSet("content-integrity"), Base: c.value("api-base")}
	if q.Key, err = c.verifyingKey(); err != nil {
		return err
	}
	token, err := c.bearer(ctx)
	if err != nil {
		return err
	}
	q.Get = (&fetch.Client{Token: token}).Get
	r := sysml.Verify(ctx, q)
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.json {
		c.emit(r.JSON())
	} else {
		c.showVerified(&r)
	}
	if !r.OK {
		return &fault{code: exitState} // it is said
	}
	return nil
}

// verifyingKey reads --public-key.
func (c *Call) verifyingKey() (key signature.Public, err error) {
	path := c.value("public-key")
	f, err := os.Open(path)
	if err != nil {
		return key, refuse("", "read the public key: %s", Clean(err.Error()))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	if err == nil {
		key, err = signature.ParsePublic(string(text))
	}
	if err != nil {
		return key, refuse("", "%s: is no Ed25519 public key in PEM form", Clean(path))
	}
	return key, nil
}

// bearer reads --auth. A token goes only where the user has said, never where an envelope says.
func (c *Call) bearer(ctx context.Context) (string, error) {
	if c.value("auth") == "" {
		return "", nil
	}
	if c.value("api-base") == "" {
		return "", usageHint("--api-base https://HOST/PATH names the repository that may have the token",
			"--auth: a token does not go to an address that the envelope names")
	}
	text, err := c.content(ctx, c.value("auth"))
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", usagef("--auth: it is no token: letters, digits and marks without a blank are meant")
	}
	return token, nil
}

func (c *Call) showVerified(r *sysml.Result) {
	word, code := "it holds", green
	if !r.OK {
		word, code = "it does not hold: "+r.Reason, red
	}
	c.line(c.paint(code, Clean(word)))
	if r.Ref == nil {
		return
	}
	rows := [][]string{{"  project", r.Ref.Project}, {"  commit", r.Ref.Commit}}
	if r.Ref.Element != "" {
		rows = append(rows, []string{"  element", r.Ref.Element})
	}
	rows = append(rows, []string{"  signature", yesNo(r.Signed, "fits the key", "does not fit the key")})
	if r.Looked {
		rows = append(rows, []string{"  content", yesNo(r.Verified, "is what was signed", "is not shown to be what was signed")})
	} else if r.OK {
		rows = append(rows, []string{"  content", "not looked at; --content-integrity does"})
	}
	c.facts(rows)
}

func yesNo(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}
