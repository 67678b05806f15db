package govern

import (
	"context"
	"time"

	"tutti/internal/app"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/trust"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/governance/nhi"
)

// A verified is what --json says of an attestation.
type verified struct {
	OK     bool   `json:"ok"`
	By     string `json:"by"`
	At     string `json:"at"`
	Word   string `json:"word"` // a trust.Word
	Reason string `json:"reason,omitempty"`
}

// runNHIVerify verifies the signature of an attestation.
func runNHIVerify(ctx context.Context, c *kit.Call) error {
	raw, err := kit.Within(ctx, func() ([]byte, error) {
		if c.Arg(0) == "-" {
			return c.Body("-")
		}
		return c.Body("@" + c.Arg(0))
	})
	if err != nil {
		return kit.FailIO("", err, "read the attestation")
	}
	w, err := c.World(app.Reading)
	if err != nil {
		return err
	}
	defer w.Close()
	e, err := envelope.Parse(raw)
	if err != nil {
		return kit.BadState("", "not valid: %s", kit.Clean(err.Error()))
	}
	office, err := w.MailService()
	if err != nil {
		return err
	}
	v, err := office.Judge(ctx, e.Actor.Instance, e)
	if err != nil {
		return err
	}
	out := verified{By: string(e.Actor.Instance), At: e.CreatedAt, Word: v.Word.String(), Reason: v.Detail}
	switch {
	case e.Kind() != nhi.AttestationKind:
		out.Reason = "it is not an attestation"
	case v.Gone:
		out.Reason = "the agent that signed it was taken out of service"
	default:
		out.OK = v.Word == trust.Verified || v.Word == trust.NewKey
	}
	if at, ok := envelope.ParseTime(e.CreatedAt); out.OK && ok && time.Until(at) > 0 {
		out.OK, out.Reason = false, "it is dated ahead"
	}
	switch {
	case c.JSON:
		c.Result(out)
	case out.OK:
		c.Line("valid: signed by " + kit.Clean(out.By) + " at " + kit.Clean(out.At) + " (" + out.Word + ")")
	}
	if out.OK {
		return nil
	}
	reason := out.Word
	if out.Reason != "" {
		reason += ": " + kit.Clean(out.Reason)
	}
	return kit.BadState("", "not valid: %s", reason)
}
