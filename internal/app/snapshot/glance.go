package snapshot

import "tutti/internal/attention/glance"

// KeepGlance writes how much waits for the user where "tutti status --short" reads it.
func (v *View) KeepGlance() error {
	state, err := v.App.StateDir()
	if err != nil {
		return err
	}
	g := glance.Glance{At: v.At.UTC(), Mail: v.Unread - v.announced(), Waiting: len(v.Waiting)}
	for _, m := range v.unseen() {
		g.Mail += m.Unread
	}
	return glance.Write(state, g)
}
