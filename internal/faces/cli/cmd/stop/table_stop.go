package stop

import (
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

var Verbs = []kit.Verb{
	fast.HaltRow.With(nil, kit.WithFlags(haltFully)), fast.ResumeRow.With(nil, kit.WithFlags(resumeFully)),
	fast.PauseRow.With(bySession(fast.PauseRow.Run), nil), fast.UnpauseRow.With(bySession(fast.UnpauseRow.Run), nil),
}
