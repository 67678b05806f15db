package server

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tutti/internal/bus/keyring"
	"tutti/internal/bus/mail"
	"tutti/internal/bus/mailbox"
	"tutti/internal/bus/members"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/core/termsafe"
	"tutti/internal/faces/mcp/wire"
	"tutti/internal/governance/agreement"
	"tutti/internal/halt"
)

// A call is one call of one tool.
type call struct {
	*server
	*bus
	tool  string
	args  *wire.Args
	noBus error          // why there is no bus
	sent  []func() error // what is done when the client has the answer
}

// deals are the agreements of the bus. To the tools of h2a the registry says whose a key is, as specified; the others ask the pins of the user.
func (c *call) deals() *agreement.Bus {
	if !strings.HasPrefix(c.tool, "h2a_") {
		return c.agree
	}
	specified := *c.agree
	specified.Pins, specified.Seen, specified.AnySubject = nil, nil, true
	return &specified
}

// whenSent puts on record what the client has got, when it has got it. What fails then is logged: the answer is out.
func (c *call) whenSent(f func() error) { c.sent = append(c.sent, f) }

// afterwards does what was left for when the client has the answer.
func (c *call) afterwards() {
	for _, f := range c.sent {
		if err := f(); err != nil {
			c.log(c.tool + ": " + withHint(err))
		}
	}
}

// A refusal is an error with what to do instead.
type refusal struct{ text, hint string }

func (e *refusal) Error() string { return e.text }
func (e *refusal) Hint() string  { return e.hint }

// refuse is a refusal of this tool.
func (c *call) refuse(hint, format string, args ...any) error {
	return &refusal{c.tool + ": " + fmt.Sprintf(format, args...), hint}
}

// missing reports an argument that a tool cannot do without. The text is that of existing programs.
func (c *call) missing(arg string) error { return c.refuse("", "missing '%s'", arg) }

// complete refuses a call that lacks a text or an object that its tool needs. The other kinds of arguments are the tool's to check, and so is
// the private key, which older tools must be given and may be empty.
func (c *call) complete(t *tool) error {
	for _, p := range t.props {
		if !p.needed || p.name == "privateKeyPem" {
			continue
		}
		raw, text := c.raw(p.name), c.text(p.name)
		if p.name == "text" || p.name == "reason" {
			text = strings.TrimSpace(text) // it has to say something
		}
		isText := p.schema == aString || strings.HasPrefix(p.schema, strings.TrimSuffix(aString, "}")+`,"description"`)
		switch {
		case p.name == "to" && raw != nil && canonjson.Kind(raw) != canonjson.TypeString:
			return c.refuse("write HOST:LABEL, or the full id as tutti_peers shows it", "'to' must be a string, not %s", termsafe.Cut(string(raw), maxWord))
		case isText && text == "", p.schema == anObject && raw == nil:
			return c.missing(p.name)
		}
	}
	return nil
}

// raw is an argument as it was spelled, nil when there is none, or null.
func (c *call) raw(name string) []byte {
	v, ok := canonjson.Get(c.args.Raw, name)
	if !ok || canonjson.IsNull(v) {
		return nil
	}
	return v
}

// text is a string, "" when there is none.
func (c *call) text(name string) string {
	s, _ := canonjson.String(c.raw(name))
	return s
}

// need is a string that has to be there.
func (c *call) need(name string) (string, error) {
	s := c.text(name)
	if s == "" {
		return "", c.missing(name)
	}
	return s, nil
}

// number is a number, also one that a model has put in quotes; otherwise when there is none.
func (c *call) number(name string, otherwise float64) float64 {
	raw := c.raw(name)
	if n, ok := canonjson.Float(raw); ok {
		return n
	}
	if s, ok := canonjson.String(raw); ok {
		if n, err := strconv.ParseFloat(s, 64); err == nil {
			return n
		}
	}
	return otherwise
}

// count is a whole number that is not negative, most at the most.
func (c *call) count(name string, otherwise, most int) int {
	n := c.number(name, float64(otherwise))
	if !(n >= 0) {
		return otherwise
	}
	return int(min(n, float64(most)))
}

// maxWait is the longest that a call waits: clients give up after a minute.
const maxWait = 50 * time.Second

// wait is how long the call may wait, in seconds.
func (c *call) wait() time.Duration {
	n := c.number("wait", 0)
	if !(n > 0) {
		return 0
	}
	return time.Duration(min(n, maxWait.Seconds()) * float64(time.Second))
}

// An effect is what a tool does to the bus, which says what halt means to it.
type effect uint8

const (
	reads effect = iota // goes on under halt and says so
	sets                // one's own things: likewise
	ends                // is never refused
	acts                // sends, or takes: refused under halt
)

// checkResult is called with each answer. Tests set it.
var checkResult = func(t *tool, result any) {}

// serve runs a tool and makes its result.
func (v *server) serve(ctx context.Context, t *tool, a *wire.Args) wire.Result {
	defer v.called(a.Meta)()
	c := &call{server: v, tool: t.name, args: a}
	o, err := v.run(ctx, t, c)
	if err != nil {
		return failed(err)
	}
	checkResult(t, o)
	raw := render.JSON(o)
	if state := halt.Read(); state.Halted && t.effect != acts {
		if with := canonjson.Set(raw, "halt", render.JSON(haltNoteOf(state))); wire.Fits(with) {
			raw = with
		}
	}
	return wire.Result{Object: raw, Sent: c.afterwards}
}

func (v *server) run(ctx context.Context, t *tool, c *call) (any, error) {
	select {
	case <-v.begun:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if t.effect == acts {
		if err := halt.Check(t.name); err != nil {
			return nil, err
		}
	}
	if v.o.autoOpen {
		if err := v.goesOver(ctx, v.sessionIn(c.args.Meta)); err != nil {
			v.log(withHint(err))
		}
		if err := v.connect(ctx, true); err != nil {
			v.log(withHint(err))
		}
	}
	b, err := v.world(ctx)
	if err == nil && t.effect != ends {
		err = b.astray()
	}
	if err != nil && !t.busless {
		return nil, err
	}
	c.bus, c.noBus = b, err
	if err := c.complete(t); err != nil {
		return nil, err
	}
	o, err := t.run(ctx, c)
	if err != nil {
		return nil, c.inDeal(err)
	}
	return o, nil
}

// A haltNote is added as "halt" to each answer while the halt is on.
type haltNote struct {
	Active bool   `json:"active"`
	Text   string `json:"text"`
	Why    string `json:"why"`
	Hint   string `json:"hint"`
}

// haltHint is what a model is to do during a halt.
const haltHint = "your user has stopped all agents: send nothing, and wait for your user"

func haltNoteOf(s halt.State) haltNote {
	return haltNote{true, halt.Refused, termsafe.Cut(s.Err("").Error(), maxWord), haltHint}
}

// A failure is the answer of a tool that could not do it.
type failure struct {
	Error      string   `json:"error"`
	Candidates []string `json:"candidates,omitempty"` // agents that may be meant
	Hint       string   `json:"hint,omitempty"`       // what to do instead
}

// maxError limits the text of an error, in bytes: it may quote text from elsewhere.
const maxError = 2000

// failed is the result of a tool that could not do it.
func failed(err error) wire.Result {
	lines := strings.Split(err.Error(), "\n")
	for n, line := range lines {
		lines[n] = printable(line) // it may quote what came with the call
	}
	text, hint := strings.Join(lines, "\n"), hintOf(err)
	if halted, ok := errors.AsType[*halt.Error](err); ok {
		text = "halt active: " + halted.Error()
		hint = haltHint
	}
	f := failure{Error: termsafe.Cut(text, maxError), Hint: termsafe.Cut(hint, maxError)}
	if refused, ok := errors.AsType[*mail.RefusedError](err); ok {
		f.Candidates = shortened(refused.Candidates)
	}
	return wire.Result{Object: render.JSON(f)}
}

// hintOf is what to do about an error, in calls of these tools where there is one; else what the error says itself.
func hintOf(err error) string {
	if refused, ok := errors.AsType[*mail.RefusedError](err); ok {
		switch refused.Why {
		case members.Ambiguous:
			return "write the full id of one of the candidates"
		case members.Malformed:
			return "write HOST:LABEL, or the full id as tutti_peers shows it"
		case members.NotHostQualified:
			return "write HOST:LABEL, or find the full id with tutti_peers"
		}
		return `tutti_peers {"all":true} lists who is known; look at the spelling, and whether both use the same bus`
	}
	if _, ok := errors.AsType[*mail.UnknownError](err); ok {
		return `tutti_peers {"all":true} lists who is known; a slip in the id is the most likely reason`
	}
	var h interface{ Hint() string }
	switch {
	case errors.As(err, &h):
		return h.Hint()
	case errors.Is(err, mailbox.ErrNoMessage):
		return "tutti_status says what waits; tutti_receive shows new mail with its ids"
	case errors.Is(err, keyring.ErrNoKey):
		return `the private key of this agent is not here: "tutti connect --host HOST" makes an agent with one, ` +
			`and mcp-serve --auto-open does so by itself`
	}
	return ""
}
