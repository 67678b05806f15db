package status

import (
	"tutti/internal/app"
	"tutti/internal/attention/todo"
	"tutti/internal/faces/cli/kit"
)

// asking are the sessions whose program asks its user something. An agent cannot answer for a person.
func (v *statusView) asking(person func() bool) (all []todo.Item) {
	for i := range v.sessions {
		l := &v.sessions[i]
		if l.asks() != "" && person() {
			all = append(all, todo.Item{
				Kind: todo.Permission, ID: l.row.Name, From: l.row.Instance, About: l.row.Name + " asks " + l.asks(),
				Command: "tutti session attach " + app.QuoteArg(l.row.Name),
			})
		}
	}
	return all
}

func (v *statusView) waitingJSON() []byte {
	var all kit.List
	for n := range v.waiting {
		all.Raw(v.waiting[n].JSON())
	}
	return all.Bytes()
}
