package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tutti/internal/address"
	"tutti/internal/app"
	"tutti/internal/canonjson"
	"tutti/internal/envelope"
	"tutti/internal/halt"
	"tutti/internal/peers"
	"tutti/internal/post"
)

// errUnsent is what an interrupt leaves of a recipient whose turn had not come.
var errUnsent = errors.New("interrupted, nothing was sent")

// runSend sends to one recipient, to several, to a scope, or a batch; or to a project.
func runSend(ctx context.Context, c *Call) error {
	if c.isSet("batch") {
		return runBatch(ctx, c)
	}
	if project, err := c.toProject(); err != nil {
		return err
	} else if project {
		if c.comms == nil {
			return c.toHeavy()
		}
		return c.comms.send(ctx, c)
	}
	to, letter, err := c.letter(ctx)
	if err != nil {
		return c.unsent(ctx, err)
	}
	d, err := c.speaker(ctx)
	if err != nil {
		return c.unsent(ctx, err)
	}
	defer d.Close()
	if scope := c.value("scope"); scope != "" {
		if to, err = d.inScope(ctx, scope); err != nil {
			return c.unsent(ctx, err)
		}
	}
	letter.From = d.who
	if len(to) > 1 && letter.Thread == "" {
		letter.Thread = string(address.NewThread(d.now)) // one conversation, whoever answers
	}
	receipts := make([]post.Receipt, 0, len(to))
	for _, p := range to {
		l := letter
		l.To = p
		receipts = append(receipts, c.sendOne(ctx, d, &l))
	}
	if c.duration("wait", 0) > 0 && receipts[0].Outcome != post.Refused {
		if c.isSet("until") {
			return c.awaitStep(ctx, d, &receipts[0])
		}
		return c.await(ctx, d, &receipts[0])
	}
	return c.receipts(ctx, receipts, len(to) > 1 || c.isSet("scope"), letterWord(&letter))
}

// sendsOne tells whether all there is to do is to store one message that is in the arguments.
func sendsOne(c *Call) bool {
	for _, flag := range [...]string{"batch", "scope", "wait", "timeout"} {
		if c.isSet(flag) {
			return false
		}
	}
	elsewhere := func(arg string) bool { return arg == "-" || strings.HasPrefix(arg, "@") }
	return addresseeOf(c.arg(0)) != projectAddress && !strings.Contains(c.arg(0), ",") && !elsewhere(c.arg(1)) && !elsewhere(c.value("body"))
}

// letter reads what is to be sent from the command line, and to whom. Recipients of a scope are found later.
func (c *Call) letter(ctx context.Context) (to []address.Instance, l post.Letter, err error) {
	words := c.Args
	if c.value("scope") == "" {
		if len(words) == 0 {
			return nil, l, usageHint(`"tutti discover" lists who is there; then: tutti send ID "TEXT"`, "%s: to whom?", c.Verb.Name)
		}
		if to, err = recipients(words[0]); err != nil {
			return nil, l, err
		}
		words = words[1:]
	}
	switch {
	case len(words) > 1:
		return nil, l, usagef("%s: either recipients or --scope, not both", c.Verb.Name)
	case len(to) != 1 && c.value("id") != "":
		return nil, l, usagef("--id names one message, and several recipients get one each")
	case len(to) != 1 && c.duration("wait", 0) > 0:
		return nil, l, usagef("--wait waits for the answer of one recipient")
	case c.isSet("until") && c.duration("wait", 0) == 0:
		return nil, l, usageHint("tutti send ID TEXT --wait 60s --until shown", "--until: for how long?")
	}
	l = post.Letter{ID: c.value("id"), Thread: c.value("thread"), ReplyTo: c.value("reply-to"), Deposit: c.on("deposit")}
	return to, l, c.say(ctx, &l, words)
}

// say puts what is to be said into a letter: the text, when there is one among the words, kind and body.
func (c *Call) say(ctx context.Context, l *post.Letter, words []string) (err error) {
	l.Kind = c.value("kind")
	if b := c.value("body"); b != "" {
		if b == "-" && len(words) > 0 && words[0] == "-" {
			return usagef("text and body cannot both come from standard input")
		}
		if l.Body, err = c.object(ctx, b); err != nil {
			return err
		}
	}
	switch {
	case len(words) > 0:
		l.Text, err = c.words(ctx, words[0])
		return err
	case l.Body == nil:
		return usageHint("put the text behind it, in quotes; - reads it from standard input, @FILE from a file", "%s: what is to be said?", c.Verb.Name)
	}
	return nil
}

// object reads the JSON object of --body.
func (c *Call) object(ctx context.Context, arg string) ([]byte, error) {
	data, err := c.content(ctx, arg)
	switch {
	case err != nil:
		return nil, err
	case !canonjson.Valid(data) || !canonjson.IsObject(data):
		return nil, usageHint(`write it like {"kind":"status","done":true}`, "--body: it is no JSON object")
	case len(data) > envelope.MaxBody:
		return nil, tooLong(len(data))
	}
	return data, nil
}

// recipients reads a list of addresses; one that is in it twice counts once.
func recipients(list string) (to []address.Instance, err error) {
	for one := range strings.SplitSeq(list, ",") {
		one = strings.TrimSpace(one)
		if one == "" {
			return nil, usageHint(`"tutti discover" lists who is there`, "an empty recipient in %q", Clean(list))
		}
		if err := address.Check(one); err != nil {
			return nil, usagef("%s", Clean(err.Error()))
		}
		if i := address.Instance(one); !slices.ContainsFunc(to, func(o address.Instance) bool { return o.Canonical() == i.Canonical() }) {
			to = append(to, i)
		}
	}
	return to, nil
}

// inScope are the live agents of a scope but the speaker.
func (d *desk) inScope(ctx context.Context, scope string) (to []address.Instance, err error) {
	rows, err := d.Book.Discover(ctx, peers.Filter{Scope: scope}, d.now)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if r.Instance.Canonical() != d.who.Instance.Canonical() && !slices.Contains(to, r.Instance) {
			to = append(to, r.Instance)
		}
	}
	if len(to) == 0 {
		return nil, refuse(`"tutti discover" lists who is live, with their scopes`, "no other agent of %s is live", Clean(scope))
	}
	return to, nil
}

// sendOne sends one letter. What became of it is in the receipt, whatever happened.
func (c *Call) sendOne(ctx context.Context, d *desk, l *post.Letter) post.Receipt {
	asked := l.To
	if ctx.Err() != nil {
		return post.Receipt{Outcome: post.Refused, Asked: asked, To: asked, Err: errUnsent}
	}
	r, err := d.again(ctx, l)
	if err == nil && r.Outcome == "" {
		r, err = d.office.Send(ctx, *l)
		err = d.sameAgain(ctx, l, &r, err)
	}
	r.Asked = asked
	d.office.Recall(ctx, &r)
	if err != nil {
		r.Outcome, r.Err = post.Refused, err
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			r.Err = errUnsent
		}
		c.guess(ctx, d, &r)
	}
	return r
}

// unsent says what an interrupt or --timeout meant when it came before anything was sent. The caller of a verb is silent
// about both.
func (c *Call) unsent(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		fmt.Fprintf(c.errFile, "%s: %s %s: %v\n", c.prefix(), c.errPaint(red, "error:"), post.Refused, errUnsent)
	}
	return err
}

// receipts says what became of each letter and returns the error of the whole. It writes at once: an interrupt that comes
// now must find the word said.
func (c *Call) receipts(ctx context.Context, all []post.Receipt, several bool, text string) error {
	if c.json {
		var l list
		for i := range all {
			l.raw(c.receiptJSON(&all[i], text, nil))
		}
		if several {
			c.emit(l.bytes())
		} else {
			c.emit(c.receiptJSON(&all[0], text, nil))
		}
	} else {
		for i := range all {
			c.receiptText(&all[i], several)
		}
		if several {
			c.traceAll(all)
		}
	}
	if err := c.flush(); err != nil {
		return err
	}
	if !several {
		return c.refusal(ctx, &all[0], text)
	}
	return c.worst(all)
}

// receiptText prints the lines of one receipt; a single refusal is an error, which is said as errors are.
func (c *Call) receiptText(r *post.Receipt, several bool) {
	to, tail := Clean(string(r.To)), ""
	if (r.Outcome == post.Delivered || r.Outcome == post.Deposited) && r.Asked.Canonical() != r.To.Canonical() {
		tail = "; it is the one live agent under " + Clean(string(r.Asked))
	}
	if several && r.ID != "" {
		tail += " · id " + Clean(r.ID)
	}
	switch r.Outcome {
	case post.Delivered:
		c.prose("", 0, "Delivered to "+to+" (live): a push goes out if it subscribed"+tail)
	case post.Deposited:
		c.prose("", 0, to+" is dormant — envelope deposited for its wake, and seen only then"+tail)
	case post.Already:
		c.prose("", 0, "already delivered to "+to+": the same message is there"+tail)
	default:
		if several {
			c.prose("", 0, "refused: "+refusedWhy(r))
		}
		return
	}
	if several {
		return
	}
	c.line("  id " + Clean(r.ID) + " · thread " + Clean(r.Thread))
	c.line("  " + storedAt(r) + traceOf(r.ID))
	if !r.Signed && r.Outcome != post.Already {
		c.warn("it went unsigned")
	}
}

// storedAt is when a message was stored, as traces have it; "" when nobody knows.
func storedAt(r *post.Receipt) string {
	if r.Stored.IsZero() {
		return ""
	}
	return "stored " + envelope.Stamp(r.Stored) + " · "
}

// traceOf is what to type to see what becomes of a message, or of a thread.
func traceOf(id string) string { return "tutti thread --trace " + app.QuoteArg(Clean(id)) }

// traceAll names what to type after a message to several, which all lie in one thread.
func (c *Call) traceAll(all []post.Receipt) {
	for i := range all {
		if all[i].Outcome != post.Refused && all[i].Thread != "" {
			c.line("  " + traceOf(all[i].Thread))
			return
		}
	}
}

// refusedWhy is a refusal among several, for one line: whom it is about, and why.
func refusedWhy(r *post.Receipt) string {
	why := Clean(r.Err.Error())
	if to := Clean(string(r.Asked)); !strings.Contains(why, to) {
		why = to + ": " + why
	}
	return why
}

// receiptJSON is one receipt for programs; answer is what --wait brought, nil for nothing.
func (c *Call) receiptJSON(r *post.Receipt, text string, answer []byte) []byte {
	var o canonjson.Object
	o.Bool("ok", r.Outcome != post.Refused)
	o.Opt("id", r.ID)
	o.Opt("thread", r.Thread)
	o.Str("to", string(r.To))
	if r.Asked != r.To {
		o.Str("asked", string(r.Asked))
	}
	o.Str("outcome", string(r.Outcome))
	o.Bool("live", r.Live > 0)
	o.Int("freshSessions", int64(r.Live))
	o.Bool("signed", r.Signed)
	if !r.Stored.IsZero() {
		o.Str("stored", envelope.Stamp(r.Stored))
	}
	o.Opt("resolution", string(r.Decision.Kind))
	if r.Err != nil {
		o.Str("reason", r.Err.Error())
		if len(r.Decision.Candidates) > 0 {
			o.Strs("candidates", names(r.Decision.Candidates))
		}
		o.Opt("hint", c.instead(r, text))
	} else {
		o.Opt("reason", r.Decision.Reason)
	}
	if answer != nil {
		o.Raw("answer", answer)
	}
	return o.Bytes()
}

// refusal is the error of one letter, nil when it was not refused.
func (c *Call) refusal(ctx context.Context, r *post.Receipt, text string) error {
	var no *post.RefusedError
	switch {
	case r.Err == nil:
		return nil
	case errors.Is(r.Err, errUnsent):
		return c.unsent(ctx, r.Err)
	case c.under == H2A && errors.As(r.Err, &no):
		return c.refusedH2A(r, text)
	}
	if hint := c.instead(r, text); hint != "" {
		return &fault{code: exitCode(r.Err, c.under), err: r.Err, hint: hint}
	}
	return r.Err
}

// refusedH2A says a refusal as the older program does: a blank line, the reason, the candidates.
func (c *Call) refusedH2A(r *post.Receipt, text string) error {
	fmt.Fprintf(c.errFile, "\nh2a: %s\n", Clean(r.Err.Error()))
	if len(r.Decision.Candidates) > 0 {
		fmt.Fprintf(c.errFile, "candidates: %s\n", Clean(strings.Join(names(r.Decision.Candidates), ", ")))
	}
	if hint := c.instead(r, text); hint != "" {
		for line := range strings.SplitSeq(hint, "\n") {
			fmt.Fprintf(c.errFile, "hint: %s\n", Clean(line))
		}
	}
	return &fault{code: exitUsage}
}

// instead is what to type after a refusal: the candidates and the command for the first of them, else what the error says.
func (c *Call) instead(r *post.Receipt, text string) string {
	if len(r.Decision.Candidates) == 0 {
		hint := hintOf(r.Err)
		if more := c.projectHint(string(r.Asked)); more != "" && nobodyThere(r.Err) {
			hint = strings.TrimPrefix(hint+"\n"+more, "\n")
		}
		return hint
	}
	hint := ""
	if c.under != H2A { // that names them on a line of its own
		hint = "candidates: " + strings.Join(names(r.Decision.Candidates), ", ") + "\n"
	}
	return hint + c.called() + " " + c.Verb.Name + " " + app.QuoteArg(string(r.Decision.Candidates[0])) + " " + text
}

func names(all []address.Instance) []string {
	out := make([]string, len(all))
	for i, a := range all {
		out[i] = string(a)
	}
	return out
}

// letterWord is the text of a letter as it stands in a command to type: a short one whole.
func letterWord(l *post.Letter) string {
	const short = 60
	if l.Text == "" || len(l.Text) > short || strings.ContainsAny(l.Text, "\n\r") || strings.HasPrefix(l.Text, "@") {
		return "..."
	}
	return app.QuoteArg(Clean(l.Text))
}

// worst is the error of several letters: that of a halt, which stops everything, else a quiet one with the status of the
// first that was refused. Each has been said.
func (c *Call) worst(all []post.Receipt) error {
	var first error
	for i := range all {
		var halted *halt.Error
		if errors.As(all[i].Err, &halted) {
			return all[i].Err
		}
		if first == nil {
			first = all[i].Err
		}
	}
	if first == nil {
		return nil
	}
	return &fault{code: exitCode(first, c.under)}
}

// await waits for the answer to a letter that was sent, and shows it. The word on the letter itself is said before.
func (c *Call) await(ctx context.Context, d *desk, r *post.Receipt) error {
	if !c.json {
		c.receiptText(r, false)
		if err := c.flush(); err != nil {
			return err
		}
	}
	item, err := c.answer(ctx, d, r)
	if c.json {
		var answer []byte
		if item != nil {
			answer = itemJSON(item)
		}
		c.emit(c.receiptJSON(r, "", answer))
	} else if item != nil {
		c.line("")
		c.show(item, time.Now(), maxShownBody)
	}
	if e := c.flush(); e != nil || err != nil {
		return errors.Join(err, e)
	}
	return d.office.Shown(ctx, d.reader(), &post.Taken{Items: []post.Item{*item}})
}
