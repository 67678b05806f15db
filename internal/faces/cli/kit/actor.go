package kit

import (
	"fmt"
	"os"

	"tutti/internal/agents/driver"
	"tutti/internal/sessions/job"
)

// JobActor is who acts on a job, and whether it is a person. It tells apart who submitted from who works; it proves nothing,
// because all of them are programs of one user.
func (c *Call) JobActor() (by string, person bool) {
	if session := os.Getenv(job.SessionVariable); session != "" && job.CheckID(session) == nil {
		return "session:" + session, false
	}
	for _, d := range driver.All() {
		if v := d.Hooks.Conversation; v != "" && os.Getenv(v) != "" {
			return d.Name + ":" + Truncate(Clean(os.Getenv(v)), 80), false
		}
	}
	f := FactsOf(c.App)
	if p, ok := f.AgentProcess(); ok {
		return fmt.Sprintf("agent:%d.%d", p.ID.PID, p.ID.Start), false
	}
	return "user:" + f.Login(), true
}
