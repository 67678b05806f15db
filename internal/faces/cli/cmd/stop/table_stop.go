package stop

import (
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

var Verbs = []kit.Verb{
	fast.HaltRow.With(haltFully), fast.ResumeRow.With(resumeFully),
	fast.PauseRow.With(bySession(fast.PauseRow.Run)), fast.UnpauseRow.With(bySession(fast.UnpauseRow.Run)),
}
