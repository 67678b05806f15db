package fast

import (
	"context"
	"errors"
	"strings"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/protocol"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
)

type recvOptions struct {
	NoVerify, NoDedup, NoLedger, Strict bool
	ProtocolVersion, Claim              string
}

// runCommsRecv judges one message. Its exit status is the decision, and no fault of this machine has one of those numbers.
func runCommsRecv(ctx context.Context, c *kit.Call, opt *recvOptions) error {
	o, set, err := c.CommsService()
	if err != nil {
		return kit.InternalFault(err)
	}
	if c.IsSet(&opt.ProtocolVersion) && opt.ProtocolVersion == "" {
		return kit.Usagef("--protocol-version: it is empty")
	}
	path := kit.Absolute(c.App.WorkDir(), c.Arg(0))
	j, err := o.Receive(ctx, path, exchange.ReceiveOptions{
		NoVerify: opt.NoVerify, NoDedup: opt.NoDedup, NoLedger: opt.NoLedger, Strict: opt.Strict,
		Version: opt.ProtocolVersion, SkewMax: set.Skew, Claim: opt.Claim,
	})
	var halted *halt.Error
	if errors.As(err, &halted) || err != nil && !errors.Is(err, exchange.ErrLedger) {
		return kit.InternalFault(err)
	}
	for _, note := range j.Notes {
		c.Warn("%s", kit.Clean(note))
	}
	if c.JSON {
		c.Result(j.View())
	} else {
		keyLines(c, "", render.JSON(j.View()))
	}
	if err != nil {
		return kit.InternalFault(err)
	}
	if code := j.Exit(); code != protocol.ExitProcess {
		return &kit.Fault{Code: code} // all is said
	}
	return nil
}

// keyLines prints a JSON object as lines "name: value". What is empty is left out, and the members of an object within are named
// by both names.
func keyLines(c *kit.Call, prefix string, object []byte) {
	for name, raw := range canonjson.Members(object) {
		text := ""
		switch raw[0] {
		case '{':
			keyLines(c, prefix+name+".", raw)
			continue
		case '[':
			words, _ := canonjson.Strings(raw)
			text = strings.Join(words, ", ")
		case '"':
			text, _ = canonjson.String(raw)
		case 'n': // null
		default:
			text = string(raw)
		}
		if text != "" {
			c.Line(prefix + name + ": " + kit.Clean(text))
		}
	}
}
