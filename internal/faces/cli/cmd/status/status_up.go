package status

import (
	"strconv"
	"time"

	"tutti/internal/app"
	"tutti/internal/faces/cli/kit"
)

// UpText says who looks after the bus.
func UpText(u *app.Up) string {
	if u == nil {
		return `not running; "tutti up" tells you about mail for agents that are not live`
	}
	return "process " + strconv.Itoa(u.ID.PID) + ", started " + kit.Ago(max(0, time.Since(u.Since)))
}
