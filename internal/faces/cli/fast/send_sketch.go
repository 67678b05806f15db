package fast

import (
	"errors"
	"strings"

	"tutti/internal/app"
	"tutti/internal/comms/draft"
	"tutti/internal/comms/exchange"
	"tutti/internal/comms/protocol"
	"tutti/internal/core/termsafe"
	"tutti/internal/faces/cli/kit"
)

// sketchOf is the text of send as a message that is to be made of it.
func sketchOf(c *kit.Call, opt *sendOptions, o *exchange.Service, l *exchange.Draft) *draft.Sketch {
	return &draft.Sketch{
		Office: o, Project: l.Project, Survey: c.App.OverviewOptions(o, l.Project), Self: l.Sender, To: l.Destination,
		Said: draft.Draft{
			Conversation: opt.Conversation, Type: protocol.Type(opt.Type), Title: opt.Title, Sequence: opt.Sequence,
			ReleaseStatus: opt.ReleaseStatus, Response: opt.Response, Body: string(l.Text),
		},
		Warn: func(text string) { c.Warn("%s", kit.Clean(text)) },
	}
}

// sketchFault adds the line to type to the refusal of a text of which something cannot be known.
func sketchFault(c *kit.Call, opt *sendOptions, err error) error {
	lacks, ok := errors.AsType[*draft.MissingError](err)
	if !ok {
		return err
	}
	text := c.Args[1]
	if !strings.HasPrefix(text, "@") && text != "-" {
		text = app.QuoteArg(kit.Clean(termsafe.Head(text, draft.MaxTitle)))
		if len(c.Args[1]) > draft.MaxTitle || strings.Contains(c.Args[1], "\n") {
			text = "..."
		}
	}
	line := "tutti send " + app.QuoteArg(kit.Clean(c.Args[0])) + " " + text
	for _, flag := range []any{&opt.From, &opt.Conversation, &opt.Type, &opt.Title, &opt.ReleaseStatus, &opt.Response, &opt.Sequence} {
		switch f := c.FlagName(flag); {
		case f == draft.MemberReleaseStatus && lacks.Member == draft.MemberType:
			// a release was refused
		case f == lacks.Member:
			line += " --" + f + " " + app.QuoteArg(lacks.Likely)
		case c.IsSet(flag):
			line += " --" + f + " " + app.QuoteArg(kit.Clean(c.Text(f)))
		}
	}
	return kit.UsageHint(line, "send: %s", lacks.What)
}
