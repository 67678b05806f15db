package snapshot

import (
	"cmp"

	"tutti/internal/attention/overview"
	"tutti/internal/attention/todo"
	"tutti/internal/bus/envelope"
	"tutti/internal/bus/identity"
	"tutti/internal/bus/members"
	comms "tutti/internal/comms/overview"
	"tutti/internal/core/render"
	"tutti/internal/platform/proc"
	"tutti/internal/sessions/observe"
)

// Snapshot is the view for programs.
func (v *View) Snapshot() *overview.Snapshot {
	s := &overview.Snapshot{
		OK: true, Halted: v.Halted.Halted, HaltReason: v.Halted.Reason, Root: v.Root.Path, RootSource: string(v.Root.Source), Exists: v.Exists,
		Agents:   render.Each(v.Agents, func(r members.Row) overview.PeerView { return overview.ViewPeer(&r, v.denied.Peer(&r)) }),
		Sessions: render.Each(v.Sessions, func(l Session) overview.SessionRow { return l.view(ofSession(&v.denied, &l)) }),
		Unread:   v.Unread, UnreadMore: v.More, Newest: render.Each(v.Newest, Mail.view), Unseen: render.Each(v.unseen(), func(m unseen) overview.UnseenMail { return m.UnseenMail }), Conductor: v.Conductor.view(),
		Waiting: render.Each(v.Waiting, todo.Item.View), Comms: v.Letters.view(), Hints: render.List(v.Hints), Machine: render.Each(v.Rows, func(r Agent) overview.Row { return r.Row }),
		Outgoing: v.Away, Problems: v.Problems, Pauses: render.List(v.Pauses), Lifts: render.List(v.Lifts),
	}
	if u := v.Up; u != nil {
		s.Up = &overview.UpRow{PID: u.ID.PID, Since: envelope.Stamp(u.Since)}
	}
	if v.You != nil {
		s.You = &overview.YouRow{Instance: v.You.Instance, Role: v.You.Role, How: v.You.How, Mark: v.denied.Of(v.You.Instance, v.Folder)}
	} else if v.WhoErr != nil {
		s.Nobody = identity.Why(v.WhoErr)
	}
	if v.Blind != nil {
		s.WaitingFault = v.Blind.Error()
	}
	return s
}

func (l *Session) view(m overview.Mark) overview.SessionRow {
	return overview.SessionRow{
		Name: l.Row.Name, Status: string(l.Row.Status), Found: l.sight.State.String(), Agent: l.Row.Kind(), Instance: l.Row.Instance, Live: l.live, Mark: m,
		Conversation: l.Row.Conversation(), Job: l.Row.Job, JobState: l.Job, Asks: l.asks(), TmuxServer: cmp.Or(l.Row.ServerName(), "default"),
		Cwd: l.Row.Pane.Cwd, Machine: proc.Hostname(), Kind: observe.InTmux,
	}
}

func (m Mail) view() overview.NewestRow {
	return overview.NewestRow{
		ID: m.ID, From: m.From, Trust: m.Verdict.Word.String(), AddressedTo: string(m.Verdict.AddressedTo), At: envelope.Stamp(m.At),
	}
}

func (s *Conductor) view() *overview.ConductorRow {
	if s == nil {
		return nil
	}
	return &overview.ConductorRow{Instance: render.OrNull(s.Instance), Agents: s.Agents, Next: s.Next}
}

func (v *Letters) view() overview.CommsRow {
	if v.Err != nil {
		return overview.CommsRow{Error: v.Err.Error()}
	}
	c := &overview.CommsCounts{Waiting: v.Waiting, Holding: v.Holding, Mailboxes: v.Boxes, Unreadable: v.Trouble, FailedSends: v.Failed}
	if v.Here != nil {
		c.Project = &overview.ProjectRow{Name: v.Here.Name, Path: v.Here.Path}
		if v.Box != nil && v.Box.Err == nil {
			c.Project.Mailbox, c.Project.BoxRow = true, viewBox(v.Box)
		}
	}
	return overview.CommsRow{CommsCounts: c}
}

func viewBox(p *comms.Project) *overview.BoxRow {
	b := &overview.BoxRow{Waiting: p.Pending, Open: []overview.OpenRow{}}
	if m := p.Latest; m != nil {
		b.Latest = &overview.LatestRow{
			Name: m.Name, From: m.Sender, Type: string(m.Type), Conversation: m.Conversation, Age: int64(m.Age.Seconds()),
		}
	}
	for i := range p.Conversations {
		if t := &p.Conversations[i]; t.Open {
			b.Open = append(b.Open, overview.OpenRow{
				ID: t.ID, With: t.Partner, Sequence: t.NextSequence - 1, Awaited: string(t.Awaited), AwaitedProject: t.AwaitedName, Waiting: t.Waiting,
			})
		}
	}
	return b
}
