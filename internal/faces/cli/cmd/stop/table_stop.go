package stop

import (
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

var Verbs = []kit.Verb{fast.HaltRow.With(haltFully), fast.ResumeRow.With(resumeFully), fast.PauseRow, fast.UnpauseRow}
