package cli

import (
	"context"
	"errors"
	"strings"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/protocol"
	"tutti/internal/core/canonjson"
	"tutti/internal/halt"
)

// runCommsRecv judges one message. Its exit status is the decision, and no fault of this machine has one of those numbers.
func runCommsRecv(ctx context.Context, c *Call) error {
	o, set, err := c.office()
	if err != nil {
		return internalFault(err)
	}
	version := c.text("protocol-version")
	if c.isSet("protocol-version") && version == "" {
		return usagef("--protocol-version: it is empty")
	}
	path := absolute(c.App.WorkDir(), c.arg(0))
	j, err := o.Receive(ctx, path, exchange.ReceiveOptions{
		NoVerify: c.on("no-verify"), NoDedup: c.on("no-dedup"), NoLedger: c.on("no-ledger"), Strict: c.on("strict"),
		Version: version, SkewMax: set.Skew, Claim: c.text("claim"),
	})
	var halted *halt.Error
	if errors.As(err, &halted) || err != nil && !errors.Is(err, exchange.ErrLedger) {
		return internalFault(err)
	}
	for _, note := range j.Notes {
		c.warn("%s", Clean(note))
	}
	if c.json {
		c.emit(j.JSON())
	} else {
		c.keyLines("", j.JSON())
	}
	if err != nil {
		return internalFault(err)
	}
	if code := j.Exit(); code != protocol.ExitProcess {
		return &fault{code: code} // all is said
	}
	return nil
}

// keyLines prints a JSON object as lines "name: value". What is empty is left out, and the members of an object within are named
// by both names.
func (c *Call) keyLines(prefix string, object []byte) {
	for name, raw := range canonjson.Members(object) {
		text := ""
		switch raw[0] {
		case '{':
			c.keyLines(prefix+name+".", raw)
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
			c.line(prefix + name + ": " + Clean(text))
		}
	}
}
