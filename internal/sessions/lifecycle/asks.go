package lifecycle

import (
	"context"

	"tutti/internal/agents/driver"
	"tutti/internal/platform/proc"
	"tutti/internal/platform/tmux"
	"tutti/internal/sessions/registry"
)

// maxScreens is of how many sessions Asks takes the screens. Each costs tmux as much as the list of all sessions.
const maxScreens = 8

// Asks is [Glance] that also tells, row by row, what a program asks its user, as far as that costs little: what it writes of itself,
// and where few sessions run the screens of those that write nothing. "" is no proof that it asks nothing.
func (o *Observer) Asks(ctx context.Context, rows []registry.Row) (*View, []string) {
	l := &looker{Observer: o, ctx: ctx, owners: map[string]tmux.Pane{}, sheets: map[proc.ID]driver.SelfReport{}, dirs: map[string]string{}}
	v := &View{servers: map[string]*Served{}, brief: len(rows) > maxScreens}
	var wants func(*registry.Row) bool
	if len(rows) <= maxScreens {
		wants = l.wantsScreen
	}
	v.observe(ctx, rows, wants, func(*View) {}, nil)
	asks := make([]string, len(rows))
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
				f.Doing = Doing{Word: word(sheet.Doing), From: "program", Asks: sheet.Asks}
			}
		}
		if text, ok := v.servers[r.ServerName()].screens[sight.Pane.ID]; ok && needsScreen(f.Doing.Word) && d.Life.Screen != nil {
			f.seen(text)
		}
		if f.Doing.Word == Asking {
			asks[n] = f.Doing.Asks
			if asks[n] == "" {
				asks[n] = "something"
			}
		}
	}
	return v, asks
}
