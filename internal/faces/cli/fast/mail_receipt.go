package fast

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tutti/internal/app"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/mail"
	"tutti/internal/core/address"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
	"tutti/internal/halt"
)

// showReceipts says what became of each letter and returns the error of the whole. It writes at once: an interrupt that comes
// now must find the word said.
func showReceipts(ctx context.Context, c *kit.Call, all []mail.Receipt, several bool, text string) error {
	if c.JSON {
		views := render.Each(all, func(r mail.Receipt) receiptView { return viewReceipt(c, &r, text) })
		if several {
			c.Result(views)
		} else {
			c.Result(views[0])
		}
	} else {
		for i := range all {
			receiptText(c, &all[i], several)
		}
		if several {
			traceAll(c, all)
		}
	}
	if err := c.Flush(); err != nil {
		return err
	}
	if !several {
		return Refusal(ctx, c, &all[0], text)
	}
	return worst(c, all)
}

// receiptText prints the lines of one receipt; a single refusal is an error, which is said as errors are.
func receiptText(c *kit.Call, r *mail.Receipt, several bool) {
	to := kit.Name(r.To)
	tail := ""
	if several && r.ID != "" {
		tail = " · id " + kit.Clean(r.ID)
	}
	switch r.Outcome {
	case mail.Queued:
		c.Prose("", 0, queued(c, r)+tail)
	case mail.Delivered, mail.Deposited:
		text := outcomeH2A(r)
		if c.Under != kit.H2A {
			text = outcome(c, r)
		}
		c.Prose("", 0, text+tail)
	case mail.Already:
		c.Prose("", 0, "already delivered to "+to+": the same message is there"+tail)
	default:
		if several {
			c.Prose("", 0, "refused: "+refusedWhy(r))
		}
		return
	}
	if several {
		return
	}
	c.Line("  id " + kit.Clean(r.ID) + " · thread " + kit.Clean(r.Thread))
	c.Line("  " + storedAt(r) + traceOf(c, r.ID))
	if !r.Signed && r.Outcome != mail.Already {
		c.Warn("it went unsigned")
	}
}

// outcomeH2A says what became of a message in the words of the older program.
func outcomeH2A(r *mail.Receipt) string {
	to, tail := kit.Name(r.To), ""
	if r.Asked.Canonical() != r.To.Canonical() {
		tail = "; it is the one live agent under " + kit.Clean(string(r.Asked))
	}
	if r.Outcome == mail.Delivered {
		return "Delivered to " + to + " (live): a push goes out if it subscribed" + tail
	}
	return to + " is dormant — envelope deposited for its wake, and seen only then" + tail
}

// queued says that a message waits here for another machine, and whether anything carries it there.
func queued(c *kit.Call, r *mail.Receipt) string {
	text := "queued for " + kit.Name(r.To) + " on " + kit.Clean(mail.Machine(r.Away))
	if upRuns(c) {
		return text + "; tutti up runs and carries it"
	}
	return text + "; tutti up carries it and does not run: start it"
}

// upRuns tells whether something carries messages of this bus to other machines.
func upRuns(c *kit.Call) bool {
	root, err := c.App.Root()
	return err == nil && app.RunningUp(c.App, root.Path) != nil
}

// outcome says what became of a message, and when its reader looks at it.
func outcome(c *kit.Call, r *mail.Receipt) string {
	to := kit.Name(r.To)
	var facts []string
	if r.Asked.Canonical() != r.To.Canonical() {
		to = kit.Clean(string(r.Asked))
		facts = append(facts, kit.Name(r.To))
	}
	if r.Outlook.Dir != "" {
		facts = append(facts, kit.Clean(c.App.Shown(r.Outlook.Dir)))
	}
	who := to
	if len(facts) > 0 {
		who += " (" + strings.Join(facts, ", ") + ")"
	}
	switch reads := r.Outlook.Reads; {
	case r.Outlook.Own:
		return "stored for " + who + ", which is you"
	case r.To.Canonical().Host() == identity.Human:
		return "stored for " + who
	case reads == mail.ReadsWoken:
		return "delivered to " + who + ", which is woken if it is idle"
	case reads == mail.ReadsStopped:
		return "stored for " + who + ", which a halt stopped; it reads the message when its user has let it go on"
	case reads == mail.ReadsPaused:
		return "stored for " + who + ", which is paused; it reads the message after the pause"
	case reads == mail.ReadsStart:
		return "stored for " + who + ", which is not live: it sees the message when it next looks"
	case reads == mail.ReadsUnknown:
		return "stored; no agent has the id " + who
	}
	return "stored for " + who + ", which reads it at its next prompt"
}

// outlook adds to a receipt when its reader looks. The older program says nothing of it.
func outlook(ctx context.Context, c *kit.Call, d *kit.Account, r *mail.Receipt, seen map[address.Instance]mail.Outlook) {
	if c.Under != kit.H2A || r.Outcome == mail.Queued {
		d.Office.Expect(ctx, r, d.Who.Instance, seen)
	}
}

// storedAt is when a message was stored, as traces have it; "" if unknown.
func storedAt(r *mail.Receipt) string {
	if r.Stored.IsZero() {
		return ""
	}
	return "stored " + envelope.Stamp(r.Stored) + " · "
}

// traceOf is what to type to see what becomes of a message, or of a thread.
// It works where this command was typed: it names the same agent and the same bus.
func traceOf(c *kit.Call, id string) string {
	line := "tutti thread --trace " + app.QuoteArg(kit.Clean(id))
	if as := c.As(); as != "" {
		line += " --as " + app.QuoteArg(kit.Clean(as))
	}
	if root := c.RootFlag(); root != "" {
		line += " --root " + app.QuoteArg(kit.Clean(root))
	}
	return line
}

// traceAll names what to type after a message to several, which all lie in one thread.
func traceAll(c *kit.Call, all []mail.Receipt) {
	for i := range all {
		if all[i].Outcome != mail.Refused && all[i].Thread != "" {
			c.Line("  " + traceOf(c, all[i].Thread))
			return
		}
	}
}

// refusedWhy is a refusal among several, for one line: whom it is about, and why.
func refusedWhy(r *mail.Receipt) string {
	why := kit.Clean(r.Err.Error())
	if to := kit.Clean(string(r.Asked)); !strings.Contains(why, to) {
		why = to + ": " + why
	}
	return why
}

// Refusal is the error of one letter, nil when it was not refused.
func Refusal(ctx context.Context, c *kit.Call, r *mail.Receipt, text string) error {
	var no *mail.RefusedError
	switch {
	case r.Err == nil:
		return nil
	case errors.Is(r.Err, errUnsent):
		return unsent(ctx, c, r.Err)
	case c.Under == kit.H2A && errors.As(r.Err, &no):
		return refusedH2A(c, r, text)
	}
	err := r.Err
	if c.Under == kit.Tutti && errors.As(err, &no) && kit.NobodyThere(err) {
		err = &nobodyError{r.Asked, err}
	}
	if hint := instead(c, r, text); hint != "" {
		return &kit.Fault{Code: kit.ExitCode(err, c.Under), Err: err, Next: hint}
	}
	return err
}

// A nobodyError reports that no agent has the address of a message.
type nobodyError struct {
	to  address.Instance
	err error
}

func (e *nobodyError) Error() string { return fmt.Sprintf("send: no agent is called %s", e.to) }
func (e *nobodyError) Unwrap() error { return e.err }

// refusedH2A says a refusal as the older program does: a blank line, the reason, the candidates.
func refusedH2A(c *kit.Call, r *mail.Receipt, text string) error {
	fmt.Fprintf(c.ErrFile, "\nh2a: %s\n", kit.Clean(r.Err.Error()))
	if len(r.Decision.Candidates) > 0 {
		fmt.Fprintf(c.ErrFile, "candidates: %s\n", kit.Clean(strings.Join(Names(r.Decision.Candidates), ", ")))
	}
	if hint := instead(c, r, text); hint != "" {
		for line := range strings.SplitSeq(hint, "\n") {
			fmt.Fprintf(c.ErrFile, "hint: %s\n", kit.Clean(line))
		}
	}
	return &kit.Fault{Code: kit.ExitUsage}
}

// instead is what to type after a refusal: the command for each candidate, else what the error says. The older program has the
// candidates on a line of their own, and the command for the first of them.
func instead(c *kit.Call, r *mail.Receipt, text string) string {
	if len(r.Decision.Candidates) == 0 {
		hint := kit.HintOf(r.Err)
		if more := projectHint(c, string(r.Asked)); more != "" && kit.NobodyThere(r.Err) {
			hint = strings.TrimPrefix(hint+"\n"+more, "\n")
		}
		return hint
	}
	to := " "
	if c.Verb.Name == "inbox put" {
		to = " --instance "
	}
	all, head := r.Decision.Candidates, ""
	switch {
	case c.Under == kit.H2A:
		all = all[:1]
	case kit.NobodyThere(r.Err):
		head = "did you mean one of these?\n"
		if len(all) == 1 {
			head = "did you mean this one?\n"
		}
	}
	as := "" // or the line would be sent as another
	if name := c.As(); name != "" && c.Under == kit.Tutti && c.Verb.Name == "send" {
		as = " --as " + app.QuoteArg(kit.Clean(name))
	}
	var lines []string
	for _, who := range all[:min(len(all), shownCandidates)] {
		lines = append(lines, called(c)+" "+c.Verb.Name+as+to+app.QuoteArg(string(who))+" "+text)
	}
	if more := len(all) - len(lines); more > 0 && c.Under != kit.H2A {
		lines = append(lines, fmt.Sprintf("and %d more, see tutti discover --all", more))
	}
	return head + strings.Join(lines, "\n")
}

// shownCandidates is for how many agents a refusal shows the command.
const shownCandidates = 8

func Names(all []address.Instance) []string {
	out := make([]string, len(all))
	for i, a := range all {
		out[i] = string(a)
	}
	return out
}

// letterWord is the text of a message as a command to type shows it: a short one whole.
func letterWord(l *mail.Draft) string {
	const short = 60
	if l.Text == "" || len(l.Text) > short || strings.ContainsAny(l.Text, "\n\r") || strings.HasPrefix(l.Text, "@") {
		return "..."
	}
	return app.QuoteArg(kit.Clean(l.Text))
}

// worst is the error of several letters: that of a halt, which stops everything, else a quiet one with the status of the
// first that was refused. Each has been said.
func worst(c *kit.Call, all []mail.Receipt) error {
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
	return &kit.Fault{Code: kit.ExitCode(first, c.Under)}
}
