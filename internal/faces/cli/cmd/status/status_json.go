package status

import (
	"tutti/internal/core/canonjson"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

func (v *statusView) json() []byte {
	var o canonjson.Object
	o.Bool("ok", true)
	o.Bool("halted", v.halted.Halted)
	o.Opt("haltReason", v.halted.Reason)
	o.Str("root", v.root.Path)
	o.Str("rootSource", string(v.root.Source))
	o.Bool("exists", v.exists)
	upJSON(&o, v.up)
	if v.you != nil {
		var you canonjson.Object
		you.Str("instance", string(v.you.Instance))
		you.Opt("role", v.you.Role)
		you.Str("how", v.you.How)
		v.denied.Of(v.you.Instance, v.folder).Json(&you)
		o.Raw("you", you.Bytes())
	} else {
		o.Null("you")
		if v.nobody != nil {
			o.Str("nobody", kit.WhyNobody(v.nobody))
		}
	}
	var agents, newest kit.List
	for i := range v.agents {
		agents.Raw(fast.PeerJSON(&v.agents[i], v.denied.Peer(&v.agents[i])))
	}
	o.Raw("agents", agents.Bytes())
	if len(v.sessions) > 0 {
		var all kit.List
		for i := range v.sessions {
			all.Raw(v.sessions[i].json(ofSession(&v.denied, &v.sessions[i])))
		}
		o.Raw("sessions", all.Bytes())
	}
	o.Int("unread", int64(v.unread))
	if v.more {
		o.Bool("unreadMore", true)
	}
	for _, m := range v.newest {
		var one canonjson.Object
		one.Str("id", m.id)
		one.Str("from", m.from)
		one.Str("trust", m.verdict.Word.String())
		one.Opt("addressedTo", string(m.verdict.AddressedTo))
		one.Str("at", m.at.UTC().Format(kit.JSONTime))
		newest.Obj(&one)
	}
	o.Raw("newest", newest.Bytes())
	if all := v.unseen(); len(all) > 0 {
		o.Raw("unseen", render.JSON(all))
	}
	v.seat.json(&o)
	o.Raw("waiting", v.waitingJSON())
	if v.blind != nil {
		o.Str("waitingFault", v.blind.Error())
	}
	o.Raw("comms", v.letters.json())
	o.Strs("hints", v.hints)
	if v.rows == nil {
		v.rows = []agentRow{}
	}
	o.Raw("machineAgents", render.JSON(v.rows))
	if len(v.away) > 0 {
		o.Raw("outgoing", render.JSON(v.away))
	}
	if len(v.problems) > 0 {
		o.Raw("problems", render.JSON(v.problems))
	}
	o.Raw("pauses", render.JSON(v.news.Pauses))
	o.Raw("lifts", render.JSON(v.news.Lifts))
	return o.Bytes()
}
