package comms

import (
	"context"
	"strconv"
	"strings"
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/overview"
	"tutti/internal/comms/poll"
	"tutti/internal/comms/protocol"
	"tutti/internal/faces/cli/kit"
)

type commsPollOptions struct {
	Project, Work, Claim  string
	Engage, All, NoLedger bool
	UserWrote             time.Duration
}

// runCommsPoll does what an agent does when it wakes to look for messages: the switch first, then the user, then the mailbox.
func runCommsPoll(ctx context.Context, c *kit.Call, opt *commsPollOptions) error {
	o, set, err := c.CommsService()
	if err != nil {
		return kit.GeneralFault(err)
	}
	project, err := c.ProjectHere(o, opt.Project)
	if err != nil {
		return err
	}
	look := pollOf(c, o, project)
	look.Skew, look.Work, look.Claim, look.Engage, look.All, look.NoLedger = set.Skew, opt.Work, opt.Claim, opt.Engage, opt.All, opt.NoLedger
	if c.IsSet(&opt.UserWrote) {
		look.UserWrote = &opt.UserWrote
	}
	found, off, err := poll.Look(ctx, o, look)
	switch {
	case off != nil:
		showOff(c, off)
		return err
	case err != nil:
		return kit.GeneralFault(err)
	case c.JSON:
		c.Result(found)
	default:
		showPoll(c, found)
	}
	return nil
}

// pollOf are the options of a poll of a project.
func pollOf(c *kit.Call, o *exchange.Service, project exchange.Project) poll.Options {
	return poll.Options{
		Project: project, Survey: c.App.OverviewOptions(o, project), Warn: func(text string) { c.Warn("%s", kit.Clean(text)) },
	}
}

// showOff says what an agent does that meets the switch, or finds it off again. The error of a halt follows.
func showOff(c *kit.Call, off *poll.Off) {
	if c.JSON {
		c.Result(off)
		return
	}
	c.Line(off.Remark)
	if off.Cleared {
		c.Prose("", 0, "nothing was looked at; once your user has said so: tutti comms poll --engage")
		return
	}
	c.Prose("", 0, `end each reply to your user with that line, plan no next poll, and tell them so; "tutti comms farewell" keeps a last progress "`+
		protocol.FarewellBody+`" for each open conversation`)
}

func showPoll(c *kit.Call, r *poll.Result) {
	if r.Deferred {
		c.Line("deferred: your user wrote a moment ago; until they write again, or " + r.Ends.Local().Format("15:04:05"))
		return
	}
	for i := range r.New {
		showNews(c, &r.New[i])
	}
	if len(r.New) == 0 {
		c.Line("nothing new; empty poll " + strconv.Itoa(r.Empty))
	}
	showOpen(c, r)
	if r.Silence {
		c.Prose("! ", 2, kit.Plural(r.Empty, "empty poll")+" in a row, about "+
			strconv.Itoa(int((time.Duration(r.Empty)*protocol.PollCadence).Minutes()))+" minutes: "+silence(r))
	}
	for _, e := range r.GaveUp {
		text := kit.Clean(e.Conversation) + " was completed more than a day ago and never released. "
		if e.Err != nil {
			c.Prose("! ", 2, text+"The last progress message could not be sent; the next poll tries again: "+kit.Clean(e.Err.Error()))
			continue
		}
		c.Prose("! ", 2, text+`tutti sent a last progress message to `+kit.Clean(e.To)+` and stops polling for it. Tell your user.`)
	}
	if r.Next != nil {
		c.Line("next poll in " + strconv.Itoa(*r.Next) + " s")
	} else {
		c.Line("no conversation waits for an agent: stop polling")
	}
}

// showOpen prints the open conversations that are not as the last poll showed them, and what is to be done about those of which nothing new
// was shown.
func showOpen(c *kit.Call, r *poll.Result) {
	same := 0
	for i := range r.Open {
		v := &r.Open[i]
		if !v.Changed {
			same++
			continue
		}
		shown, answered := false, false
		for n := range r.New {
			if one := &r.New[n]; one.Talk == v.Talk {
				shown, answered = true, answered || one.Answer != ""
			}
		}
		line := v.Line()
		if shown && line == v.StateLine {
			continue // the message has said so
		}
		c.Line(kit.Clean(line))
		if v.Answer != "" && !answered {
			showAnswer(c, v.Answer, v.Done)
		}
	}
	if same > 0 {
		c.Line(kit.Plural(same, "open conversation") + " as before; --all shows them")
	}
}

// silence says what the user has to know of many empty polls.
func silence(r *poll.Result) string {
	const noAnswer = "tell your user that no answer came"
	var mine []string
	for i := range r.Open {
		if v := &r.Open[i]; v.Mine {
			mine = append(mine, kit.Clean(v.ID))
		} else if !v.Talk.PollingPaused && !v.Talk.GaveUp {
			return noAnswer
		}
	}
	if len(mine) == 0 {
		return noAnswer
	}
	return "it is your turn in " + strings.Join(mine, ", ") + "; tell your user what keeps you"
}

// showNews prints one message that came: never its body.
func showNews(c *kit.Call, n *poll.News) {
	j := n.Judgement
	c.Line("new: " + kit.Clean(j.Name))
	c.Line("  decision: " + string(j.Word))
	if j.Reason != "" {
		c.Prose("  reason: ", 10, kit.Clean(j.Reason))
	}
	if j.Word == protocol.Process {
		c.Line("  " + string(j.Message.Type) + " from " + kit.Clean(j.Sender))
		c.Line("  title, text of a peer: | " + kit.Clean(j.Message.Title))
	}
	if len(j.Warnings) > 0 {
		c.Line("  warnings: " + kit.Clean(strings.Join(j.Warnings, ", ")))
	}
	if r := j.Reply; r != nil {
		c.Prose("  answer with a "+string(r.Type)+": | ", 4, kit.Clean(r.Text))
	}
	if j.Word != protocol.Reject {
		c.Line("  file: " + kit.Clean(c.App.Shown(j.File)))
	}
	for _, path := range j.Artifacts {
		c.Line("  artifact: " + kit.Clean(c.App.Shown(path)))
	}
	if n.Talk != nil {
		c.Line("  " + kit.Clean(n.Talk.Line()) + releasedWords(n.Talk))
		if j.Message.Type == protocol.Release && n.Talk.Open {
			c.Prose("  note: ", 8, protocol.SendWarning(protocol.WarnReleaseByReceiver))
		}
	}
	if n.Say != "" {
		c.Prose("  say: ", 7, kit.Clean(n.Say))
	}
	if n.Answer != "" {
		showAnswer(c, n.Answer, n.Done)
	}
}

// showAnswer prints what to type next, and what to type once the work is done.
func showAnswer(c *kit.Call, answer, done string) {
	c.Line("  answer: " + kit.Clean(answer))
	if done != "" {
		c.Line("  when done: " + kit.Clean(done))
	}
	if strings.HasPrefix(answer, "tutti send "+poll.UnknownMachine) {
		c.Prose("  ", 2, `MACHINE is what you call that machine: "tutti comms discover" lists the names`)
	}
}

// releasedWords says how a conversation ended, "" when it has not.
func releasedWords(talk *overview.Conversation) string {
	if !talk.Terminal {
		return ""
	}
	return ": released (" + kit.Clean(talk.ReleaseStatus) + ")"
}
