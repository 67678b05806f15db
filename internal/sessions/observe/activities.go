package observe

import (
	"cmp"
	"context"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/registry"
)

// maxScreens is the number of sessions up to which Doings takes the screens. Each costs tmux as much as the list of all sessions.
const maxScreens = 8

// Doings is [Glance] that also tells, row by row, what an agent does, as far as that costs little: what the program writes about
// itself, and where few sessions run the screens of those that write nothing. The zero value means that it is not known. Where a
// program asks its user, [Doing.Asks] is never "".
func (o *Observer) Doings(ctx context.Context, rows []registry.Row) (*View, []Doing) {
	l := &looker{Observer: o, ctx: ctx, owners: map[string]tmux.Pane{}, sheets: map[proc.ID]driver.SelfReport{}, dirs: map[string]string{}}
	v := &View{servers: map[string]*Served{}, brief: len(rows) > maxScreens}
	var wants func(*registry.Row) bool
	if len(rows) <= maxScreens {
		wants = l.wantsScreen
	}
	v.observe(ctx, rows, wants, func(*View) {}, nil)
	all := make([]Doing, len(rows))
	for n := range rows {
		r := &rows[n]
		sight := v.Observe(r)
		d, ok := driver.Kind(r.Kind())
		if !ok || sight.State != Alive {
			continue
		}
		f := Found{Row: r, Kind: r.Kind(), Observation: sight}
		if d.Life.Sheet != nil && d.Life.ReadSheet != nil {
			if sheet, ok := l.sheetOf(d, sight.Process); ok {
				if w := word(sheet.Doing); w != "" {
					f.Doing = Doing{Word: w, From: "program", Asks: sheet.Asks, Since: sheet.Since}
				}
			}
		}
		if text, ok := v.servers[r.ServerName()].screens[sight.Pane.ID]; ok && needsScreen(f.Doing.Word) && d.Life.Screen != nil {
			f.seen(text)
		}
		if f.Doing.Word == Asking {
			f.Doing.Asks = cmp.Or(f.Doing.Asks, "something")
		}
		all[n] = f.Doing
	}
	return v, all
}
