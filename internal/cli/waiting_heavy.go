package cli

import (
	"cmp"
	"context"
	"time"

	"tutti/internal/app"
	"tutti/internal/blockage"
	"tutti/internal/conversation"
	"tutti/internal/escalation"
	"tutti/internal/identity"
	"tutti/internal/job"
)

// offerMatters offers what waits for somebody.
func offerMatters(ctx context.Context, k *completer, w *app.World) {
	all, _, err := w.Agreements().Matters().All(ctx)
	if err != nil {
		return
	}
	now := time.Now()
	for _, m := range all {
		if m.State(now) == escalation.Open && k.fits(m.ID) {
			k.say(m.ID, Truncate(Clean(m.About()), maxRemark))
		}
	}
}

// waitingHere finds what waits for who looks: on the bus, which may be nil, between projects, and among the jobs of this folder.
func waitingHere(ctx context.Context, c *Call, w *app.World, v *statusView, person func() bool) error {
	if w != nil && v.you != nil {
		if err := c.waitingOnBus(ctx, w, v); err != nil {
			return err
		}
	}
	v.waitingLetters(person)
	c.waitingJobs(v)
	return nil
}

// waitingOnBus finds matters to be answered, mail that was held back, and peers that say that this one could help.
func (c *Call) waitingOnBus(ctx context.Context, w *app.World, v *statusView) error {
	me, now := v.you.Instance, time.Now()
	matters, _, err := w.Agreements().Matters().All(ctx)
	if err != nil {
		return err
	}
	for _, m := range matters {
		if m.State(now) == escalation.Open && m.For(me) {
			command := "tutti escalation show " + app.QuoteArg(m.ID)
			if m.Channel == "alert" && len(m.Options) == 0 && me.Canonical().Host() == identity.Human {
				command = answerLine(m)
			}
			v.waitsOn(waitItem{kind: "escalation", id: m.ID, from: string(m.By), about: m.About(), at: m.At, command: command})
		}
	}
	held, _, err := w.Mail.ListQuarantine(ctx, me)
	if err != nil {
		return err
	}
	for _, h := range held {
		v.waitsOn(waitItem{
			kind: "held", id: h.ID, from: string(h.Envelope.Actor.Instance), about: cmp.Or(h.Why, "it was held back"), at: h.Stored, command: "tutti inbox held",
		})
	}
	blocked, _, err := blockage.New(w.Store).List(ctx, blockage.Filter{Active: true})
	if err != nil {
		return err
	}
	for _, b := range blocked {
		if b.Names(me) && b.Instance.Canonical() != me.Canonical() {
			at, _ := b.Since()
			v.waitsOn(waitItem{
				kind: "blockage", id: string(b.Instance), from: string(b.Instance), about: b.Reason, at: at,
				command: "tutti send " + app.QuoteArg(string(b.Instance)) + " TEXT",
			})
		}
	}
	return nil
}

// waitingLetters finds conversations that were handed to the user, and what is said to be complete and was not looked at by the
// project of this folder.
func (v *statusView) waitingLetters(person func() bool) {
	if v.letters == nil {
		return
	}
	for _, p := range v.letters.projects {
		if p.Err != nil {
			continue
		}
		here := v.letters.here != nil && p.Path == v.letters.here.Path
		for i := range p.Conversations {
			t := &p.Conversations[i]
			item := waitItem{id: t.ID, from: t.Partner, at: t.Last.Time, command: "tutti comms status --project " + app.QuoteArg(p.Name) + " --conversations"}
			switch {
			case !t.Open:
				continue
			case t.Awaited == conversation.User && person():
				item.kind, item.about = "comms", p.Name+": "+t.ID+" was handed to you: decide, and tell one side"
			case t.VerificationDue && t.AwaitedName == p.Name && here:
				item.kind, item.about = "complete", p.Name+": "+t.ID+" is said to be complete: look at it, then release it"
			default:
				continue
			}
			v.waitsOn(item)
		}
	}
}

// waitingJobs finds the jobs of this folder that claim to be done and were neither accepted nor rejected.
func (c *Call) waitingJobs(v *statusView) {
	s, err := c.sessionsHere(c.opener)
	if err != nil {
		return
	}
	b, _, err := job.At(s.workspace())
	if err != nil {
		return
	}
	all, _, err := b.List()
	if err != nil {
		return
	}
	by, person := "", false
	for _, j := range all {
		asks := j.Status == job.StatusRunning && j.Last == job.Permission && j.Session == ""
		if j.Verdict != "" || j.Status != job.StatusCompleted && !asks {
			continue
		}
		if by == "" {
			by, person = c.jobActor()
		}
		item := waitItem{kind: "job", id: j.ID, from: cmp.Or(j.Session, j.Agent), at: j.Updated}
		switch {
		case asks && person:
			item.kind, item.about, item.command = "permission", "job "+j.ID+" asks for a permission", "tutti job show "+app.QuoteArg(j.ID)
		case !asks && (person || by == j.Submitter):
			item.about, item.command = "says that it is done: "+firstLine(j.Prompt, ""), "tutti job accept "+app.QuoteArg(j.ID)
		default:
			continue
		}
		v.waitsOn(item)
	}
}
