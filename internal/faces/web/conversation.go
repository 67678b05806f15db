package web

import (
	"cmp"
	"context"
	"fmt"

	"tutti/internal/app"
	"tutti/internal/core/address"
)

// threadsList shows the conversations of the user's agents, the latest first.
func threadsList(snap *Snapshot, v *visit) node {
	kids := []node{el("h2", txt("Threads"))}
	if len(snap.threads) == 0 {
		kids = append(kids, el("p.quiet", txt("Your agents have not written to each other yet.")))
	}
	for i := range snap.threads {
		kids = append(kids, threadCard(&snap.threads[i], v))
	}
	return el("section", append(problemsOf(snap.problems), kids...)...)
}

func threadCard(t *thread, v *visit) node {
	kids := []node{}
	for i := range t.messages {
		kids = append(kids, messageNode(&t.messages[i]))
	}
	label := "whole thread"
	if more := t.count - len(t.messages); more > 0 {
		label = fmt.Sprintf("whole thread, %d more", more)
	}
	kids = append(kids, el("p", el("a", txt(label)).with("href", href("/thread", "bus", t.bus, "id", t.id)), txt(" on "), word(v.shown(t.bus))))
	return el("article.thread", kids...).keyed("thread-" + t.id)
}

// messageNode shows sender, recipient and the verdict above the text of the sender.
func messageNode(m *message) node {
	class := "span.wait"
	if m.counts {
		class = "span.good"
	}
	head := el("p", el("strong", who(m.from)), txt(" → "), who(m.to), txt(" · "), since(m.at), txt(" ago · "), el(class, word(m.verdict)))
	return el("div.message", head, peer(m.text))
}

// who is an agent by its short name; the whole one is its title.
func who(instance string) node {
	return word(cmp.Or(address.Instance(instance).Channel(), instance)).with("title", instance)
}

// threadPage shows one conversation.
func (s *Server) threadPage(ctx context.Context, _ *Snapshot, v *visit) []node {
	var found *thread
	problems := s.Buses(func(w *app.World) (err error) {
		if w.Root.Path == v.q("bus") {
			found, err = threadOn(ctx, w, v.q("id"))
		}
		return err
	})
	out := problemsOf(problems)
	if found == nil {
		return append(out, el("p", txt("None of your agents has a message of this thread.")))
	}
	if more := found.count - len(found.messages); more > 0 {
		out = append(out, el("p.quiet", txt(fmt.Sprintf("%d older messages are not shown", more))))
	}
	for i := range found.messages {
		out = append(out, el("article.thread", messageNode(&found.messages[i])))
	}
	return out
}
