package govern

import (
	"context"
	"strings"

	"tutti/internal/core/address"
	"tutti/internal/core/canonjson"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/sysml"
	"tutti/internal/remote/fetch"
)

type sysmlOptions struct {
	JSON, PublicKey, By, APIBase, Auth string
	ContentIntegrity                   bool
}

func runSysMLVerify(ctx context.Context, c *kit.Call, opt *sysmlOptions) error {
	if opt.PublicKey == "" {
		return c.Missing(&opt.PublicKey)
	}
	raw, _, err := c.Given(ctx, opt.JSON)
	if err != nil {
		return err
	}
	if err := canonjson.Check(raw); err != nil {
		return kit.Refuse("", "the envelope: %s", kit.Clean(err.Error()))
	}
	q := sysml.Question{Envelope: raw, By: address.Instance(opt.By), Content: opt.ContentIntegrity, Base: opt.APIBase}
	if q.Key, err = kit.PublicKeyFile(opt.PublicKey); err != nil {
		return &kit.Fault{Code: kit.ExitUsage, Err: err, Msg: "read the public key"}
	}
	token, err := bearer(ctx, c, opt)
	if err != nil {
		return err
	}
	q.Get = (&fetch.Client{Token: token, Loopback: q.Base != ""}).Get
	r := sysml.Verify(ctx, q)
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.JSON {
		c.Result(r.View())
	} else {
		showVerified(c, &r)
	}
	if !r.OK {
		return &kit.Fault{Code: kit.ExitState} // the result says so
	}
	return nil
}

// bearer reads --auth. A token goes only to the address of --api-base, never to one that an envelope names.
func bearer(ctx context.Context, c *kit.Call, opt *sysmlOptions) (string, error) {
	if opt.Auth == "" {
		return "", nil
	}
	if opt.APIBase == "" {
		return "", kit.UsageHint("--api-base https://HOST/PATH names the repository that may have the token",
			"--auth: a token does not go to an address that the envelope names")
	}
	text, err := c.Content(ctx, opt.Auth)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", kit.Usagef("--auth: invalid token: use letters, digits and marks, without blanks")
	}
	return token, nil
}

func showVerified(c *kit.Call, r *sysml.Result) {
	word, code := "it holds", kit.Green
	if !r.OK {
		word, code = "it does not hold: "+r.Reason, kit.Red
	}
	c.Line(c.Paint(code, kit.Clean(word)))
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
	c.Facts(rows)
}

func yesNo(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}
