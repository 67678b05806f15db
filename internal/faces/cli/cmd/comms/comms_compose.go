package comms

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"tutti/internal/app"
	"tutti/internal/comms/draft"
	"tutti/internal/comms/exchange"
	"tutti/internal/comms/protocol"
	"tutti/internal/faces/cli/kit"
)

// A composer makes a draft: from flags, and from answers if a user sits at the terminal.
type composer struct {
	c      *kit.Call
	opt    *commsComposeOptions
	office *exchange.Service
	answer *bufio.Reader // nil: it asks nothing
	thread exchange.Thread
	self   string
	now    time.Time

	draft draft.Draft
}

// A question asks for one value.
type question struct {
	flag  any      // the field of the flag that answers it
	given string   // the value of that
	ask   string   // what the person is asked
	usual string   // the answer to an empty line; "": there is none
	words []string // the only answers, when there are such
	wrong func(answer string) string
}

// maxAnswers is how often a question is asked until an answer can be taken.
const maxAnswers = 5

type commsComposeOptions struct {
	Out, Conversation, Title, Type, ReleaseStatus, Response, Tools, Body, From string
	Sequence, InReplyTo                                                        int
}

// runCommsCompose writes a draft that send takes as it is.
func runCommsCompose(ctx context.Context, c *kit.Call, opt *commsComposeOptions) error {
	o, set, err := c.CommsService()
	if err != nil {
		return kit.GeneralFault(err)
	}
	m := &composer{c: c, opt: opt, office: o, now: time.Now()}
	if kit.Columns(os.Stdin) > 0 && c.ErrColumns > 0 {
		m.answer = bufio.NewReader(c.In)
	}
	self, project, err := o.Sender(opt.From, os.Getenv("CROSS_AGENT_FROM"), c.App.WorkDir(), set.Sender)
	if err != nil {
		return kit.GeneralFault(err)
	}
	m.self = self
	if err := m.header(ctx, project); err != nil {
		return err
	}
	if err := m.finish(); err != nil {
		return err
	}
	return m.deliver()
}

// header finds out what the header says.
func (m *composer) header(ctx context.Context, project exchange.Project) (err error) {
	d := &m.draft
	if d.Conversation, err = m.value(question{flag: &m.opt.Conversation, given: m.opt.Conversation, ask: "conversation (small letters, digits, hyphens)", wrong: draft.BadConversation}); err != nil {
		return err
	}
	m.thread, err = m.office.Thread(ctx, project, d.Conversation)
	if err != nil {
		m.c.Warn("the conversation could not be read as a whole: %s", kit.Clean(err.Error()))
	}
	if d.Title, err = m.value(question{flag: &m.opt.Title, given: m.opt.Title, ask: "title", wrong: draft.BadLine}); err != nil {
		return err
	}
	kind, err := m.value(question{flag: &m.opt.Type, given: m.opt.Type, ask: "type", usual: string(draft.UsualType(&m.thread)), words: protocol.TypeWords()})
	if err != nil {
		return err
	}
	sequence, err := m.value(question{flag: &m.opt.Sequence, given: strconv.Itoa(m.opt.Sequence), ask: "sequence", usual: strconv.Itoa(max(1, m.thread.State.NextSequence)), wrong: draft.BadSequence})
	if err != nil {
		return err
	}
	d.Type, d.Timestamp = protocol.Type(kind), protocol.TimeOfSend
	d.Sequence, _ = strconv.Atoi(sequence)
	return m.more()
}

// more adds what only some messages have.
func (m *composer) more() (err error) {
	d := &m.draft
	if d.Type == protocol.Release {
		d.ReleaseStatus, err = m.value(question{flag: &m.opt.ReleaseStatus, given: m.opt.ReleaseStatus, ask: "release status", usual: protocol.ReleasedComplete, words: protocol.ReleaseStatuses()})
		if err != nil {
			return err
		}
	}
	if d.Type == protocol.Request && (m.thread.State.PushbackOpen || m.c.IsSet(&m.opt.Response)) {
		words := []string{protocol.Revise, protocol.Insist}
		d.Response, err = m.value(question{flag: &m.opt.Response, given: m.opt.Response, ask: "the pushback is answered by", usual: protocol.Revise, words: words})
		if err != nil {
			return err
		}
	}
	if m.c.IsSet(&m.opt.InReplyTo) {
		d.InReplyTo = strconv.Itoa(m.opt.InReplyTo)
	}
	if m.opt.Tools != "" {
		if wrong := draft.BadLine(m.opt.Tools); wrong != "" {
			return kit.Usagef("--tools: %s", wrong)
		}
		d.Tools = m.opt.Tools
	}
	return nil
}

// value returns what a flag says, or the answer of the person at the terminal, or what is usual.
func (m *composer) value(q question) (string, error) {
	if m.c.IsSet(q.flag) {
		if wrong := q.refuses(q.given); wrong != "" {
			return "", kit.Usagef("--%s: %s", m.c.FlagName(q.flag), wrong)
		}
		return q.given, nil
	}
	if m.answer == nil {
		if q.usual == "" {
			return "", m.c.Missing(q.flag)
		}
		return q.usual, nil
	}
	prompt := q.ask
	if len(q.words) > 0 {
		prompt += " (" + strings.Join(q.words, ", ") + ")"
	}
	if q.usual != "" {
		prompt += " [" + q.usual + "]"
	}
	for range maxAnswers {
		fmt.Fprint(m.c.ErrFile, prompt+": ")
		line, err := m.answer.ReadString('\n')
		if line = strings.TrimSpace(line); line == "" && err == nil {
			line = q.usual
		}
		wrong := q.refuses(line)
		switch {
		case err != nil && line == "":
			fmt.Fprintln(m.c.ErrFile)
			return "", kit.Usagef("compose: no answer")
		case wrong == "":
			return line, nil
		}
		fmt.Fprintln(m.c.ErrFile, wrong)
	}
	return "", kit.Usagef("compose: no answer that can be taken")
}

// refuses says what is wrong with an answer, "" when nothing is.
func (q *question) refuses(answer string) string {
	switch {
	case len(q.words) > 0 && !slices.Contains(q.words, answer):
		return fmt.Sprintf("%q is none of %s", kit.Clean(answer), strings.Join(q.words, ", "))
	case q.wrong != nil:
		return q.wrong(answer)
	}
	return ""
}

// finish adds the body and checks the draft.
func (m *composer) finish() error {
	if m.c.IsSet(&m.opt.Body) {
		given, err := m.c.Body(m.opt.Body)
		if err != nil {
			return kit.FailIO("", err, "")
		}
		m.draft.Body = string(given)
	}
	switch code, err := m.draft.Check(&m.thread.State, m.self, m.now); {
	case err != nil:
		return kit.Usagef("compose: %s", kit.Clean(err.Error()))
	case code == protocol.CodeCapReached:
		return kit.Refuse("--type escalate, with both positions: the user decides", "compose: it was pushed back and insisted often enough")
	case code == protocol.WarnReleaseByReceiver:
		return kit.Refuse("--type complete says that the work is done", "compose: only the project that made the request releases it")
	case code != "":
		m.c.Warn("%s", protocol.SendWarning(code))
	}
	return nil
}

// deliver writes the draft where it was asked for.
func (m *composer) deliver() error {
	c, text := m.c, m.draft.Text()
	path := m.opt.Out
	if path == "" && m.answer != nil {
		var err error
		usual := m.draft.Conversation + "-" + strconv.Itoa(m.draft.Sequence) + ".org"
		if path, err = m.value(question{flag: &m.opt.Out, given: m.opt.Out, ask: "file", usual: usual, wrong: draft.BadLine}); err != nil {
			return err
		}
	}
	switch {
	case path == "" && c.JSON:
		c.Result(draft.Printed{Draft: string(text)})
		return nil
	case path == "":
		c.Out = append(c.Out, text...)
		return nil
	}
	if err := writeNew(path, text); errors.Is(err, fs.ErrExist) {
		return kit.BadState("--out names another file", "compose: %s is there already", kit.Clean(path))
	} else if err != nil {
		return kit.FailIO("", err, "compose")
	}
	if c.JSON {
		c.Result(draft.Written{Path: path, Conversation: m.draft.Conversation, Type: m.draft.Type, Sequence: m.draft.Sequence})
		return nil
	}
	c.Line(kit.Clean(path))
	if haltedNow() {
		c.Warn("everything is halted: it can be sent when your user has lifted the halt")
	}
	to := "MACHINE.PROJECT"
	if partner := m.thread.Partner; partner != "" {
		to = "MACHINE." + partner
		if p, ok := m.office.BySlug(partner); ok {
			to = "local." + p.Name
		}
	}
	before, from := "next", ""
	if !c.IsSet(&m.opt.Body) {
		before = "write its body, then"
	}
	if c.IsSet(&m.opt.From) {
		from = " --from " + m.self
	}
	c.Remark("%s: tutti comms send %s %s%s", before, kit.Clean(to), kit.Clean(app.QuoteArg(path)), kit.Clean(from))
	return nil
}

// writeNew makes a file that was not there.
func writeNew(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
