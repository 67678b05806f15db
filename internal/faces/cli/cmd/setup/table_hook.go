package setup

import (
	"tutti/internal/faces/cli/fast"
	"tutti/internal/faces/cli/kit"
)

var HookVerbs = []kit.Verb{fast.HookRow.With(hookFully)}
