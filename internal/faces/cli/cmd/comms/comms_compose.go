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
	"tutti/internal/comms/exchange"
	"tutti/internal/comms/protocol"
	"tutti/internal/core/canonjson"
	"tutti/internal/core/orgfile"
	"tutti/internal/faces/cli/kit"
)

// A composer makes a draft: from flags, and from answers where somebody sits at the terminal.
type composer struct {
	c      *kit.Call
	opt    *commsComposeOptions
	office *exchange.Service
	answer *bufio.Reader // nil: nobody is asked
	thread exchange.Thread
	self   string
	now    time.Time

	id, title, kind string
	sequence        int
	lines           []string // of the header
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
	text, err := m.text()
	if err != nil {
		return err
	}
	return m.deliver(text)
}

// header finds out what the header says.
func (m *composer) header(ctx context.Context, project exchange.Project) (err error) {
	if m.id, err = m.value(question{flag: &m.opt.Conversation, given: m.opt.Conversation, ask: "conversation (small letters, digits, hyphens)", wrong: func(s string) string {
		if !protocol.Slug(s) {
			return fmt.Sprintf("invalid conversation name %q: use small letters, digits and single hyphens, at most %d", kit.Clean(s), protocol.MaxSlug)
		}
		return ""
	}}); err != nil {
		return err
	}
	m.thread, err = m.office.Thread(ctx, project, m.id)
	if err != nil {
		m.c.Warn("the conversation could not be read as a whole: %s", kit.Clean(err.Error()))
	}
	if m.title, err = m.value(question{flag: &m.opt.Title, given: m.opt.Title, ask: "title", wrong: oneLineOnly}); err != nil {
		return err
	}
	kinds := make([]string, 0, len(protocol.Types()))
	for _, t := range protocol.Types() {
		kinds = append(kinds, string(t))
	}
	if m.kind, err = m.value(question{flag: &m.opt.Type, given: m.opt.Type, ask: "type", usual: m.usualType(), words: kinds}); err != nil {
		return err
	}
	sequence, err := m.value(question{flag: &m.opt.Sequence, given: strconv.Itoa(m.opt.Sequence), ask: "sequence", usual: strconv.Itoa(max(1, m.thread.State.NextSequence)), wrong: func(s string) string {
		if n, err := strconv.Atoi(s); err != nil || n < 1 {
			return "a sequence is a number from 1 on"
		}
		return ""
	}})
	if err != nil {
		return err
	}
	m.sequence, _ = strconv.Atoi(sequence)
	m.lines = append(m.lines,
		"TITLE: "+m.title, "CONVERSATION_ID: "+m.id, "MESSAGE_TYPE: "+m.kind, "SEQUENCE: "+sequence,
		"TIMESTAMP: "+protocol.TimeOfSend, "PROTOCOL_VERSION: "+protocol.Version)
	return m.more()
}

// more adds what only some messages have.
func (m *composer) more() error {
	if m.kind == string(protocol.Release) {
		status, err := m.value(question{flag: &m.opt.ReleaseStatus, given: m.opt.ReleaseStatus, ask: "release status", usual: protocol.ReleasedComplete, words: protocol.ReleaseStatuses()})
		if err != nil {
			return err
		}
		m.lines = append(m.lines, "RELEASE_STATUS: "+status)
	}
	if m.kind == string(protocol.Request) && (m.thread.State.PushbackOpen || m.c.IsSet(&m.opt.Response)) {
		words := []string{protocol.Revise, protocol.Insist}
		response, err := m.value(question{flag: &m.opt.Response, given: m.opt.Response, ask: "the pushback is answered by", usual: protocol.Revise, words: words})
		if err != nil {
			return err
		}
		m.lines = append(m.lines, "PUSHBACK_RESPONSE: "+response)
	}
	if m.c.IsSet(&m.opt.InReplyTo) {
		m.lines = append(m.lines, orgfile.InReplyTo+": "+strconv.Itoa(m.opt.InReplyTo))
	}
	if m.opt.Tools != "" {
		if wrong := oneLineOnly(m.opt.Tools); wrong != "" {
			return kit.Usagef("--tools: %s", wrong)
		}
		m.lines = append(m.lines, orgfile.RequiresTools+": "+m.opt.Tools)
	}
	return nil
}

// oneLineOnly says what is wrong with a text that has to stand in a header.
func oneLineOnly(s string) string {
	switch {
	case strings.TrimSpace(s) == "":
		return "it is empty"
	case strings.ContainsAny(s, "\r\n\x00"):
		return "it has to stand on one line"
	case len(s) > orgfile.MaxValue:
		return fmt.Sprintf("it has %d bytes, and %d are the most", len(s), orgfile.MaxValue)
	}
	return ""
}

// usualType is what comes next most often: a request opens, and what follows reports.
func (m *composer) usualType() string {
	if len(m.thread.Messages) == 0 || m.thread.State.Terminal {
		return string(protocol.Request)
	}
	return string(protocol.Progress)
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

// text is the draft. It was checked as send will check it, but for what only the time of sending tells.
func (m *composer) text() ([]byte, error) {
	body := []byte("\n")
	if m.c.IsSet(&m.opt.Body) {
		given, err := m.c.Body(m.opt.Body)
		if err != nil {
			return nil, kit.FailIO("", err, "")
		}
		body = append(body, given...)
		if len(given) > 0 && given[len(given)-1] != '\n' {
			body = append(body, '\n')
		}
	}
	var text []byte
	for _, line := range m.lines {
		text = append(text, "#+"+line+"\n"...)
	}
	text = append(text, body...)
	stamped, _ := protocol.Timed(text, m.now)
	h, err := orgfile.Parse(stamped)
	if err != nil {
		return nil, kit.Usagef("compose: %s", kit.Clean(err.Error()))
	}
	message, problems, _ := protocol.Read(h)
	if len(problems) > 0 {
		return nil, kit.Usagef("compose: %s", kit.Clean(problems[0].Detail))
	}
	if m.sequence == 1 && message.Type != protocol.Request {
		return nil, kit.Usagef("compose: sequence 1 is always a request")
	}
	switch code := m.thread.State.Refuses(m.self, message.Type, message.Response); code {
	case "":
	case protocol.CodeCapReached:
		return nil, kit.Refuse("--type escalate, with both positions: the user decides", "compose: it was pushed back and insisted often enough")
	case protocol.WarnReleaseByReceiver:
		return nil, kit.Refuse("--type complete says that the work is done", "compose: only the project that made the request releases it")
	default:
		m.c.Warn("%s", protocol.SendWarning(code))
	}
	return text, nil
}

// deliver writes the draft where it was asked for.
func (m *composer) deliver(text []byte) error {
	c := m.c
	path := m.opt.Out
	if path == "" && m.answer != nil {
		var err error
		usual := m.id + "-" + strconv.Itoa(m.sequence) + ".org"
		if path, err = m.value(question{flag: &m.opt.Out, given: m.opt.Out, ask: "file", usual: usual, wrong: oneLineOnly}); err != nil {
			return err
		}
	}
	switch {
	case path == "" && c.JSON:
		var o canonjson.Object
		o.Str("draft", string(text))
		c.Emit(o.Bytes())
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
		var o canonjson.Object
		o.Str("path", path)
		o.Str("conversation_id", m.id)
		o.Str("message_type", m.kind)
		o.Int("sequence", int64(m.sequence))
		c.Emit(o.Bytes())
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
