package server

import (
	"fmt"

	"tutti/internal/core/render"
)

// Each answer has the type that the row of its tool names.
func init() {
	checkResult = func(t *tool, result any) {
		if !render.Is(result, t.result) {
			panic(fmt.Sprintf("%s answers with a %T, and its row says %T", t.name, result, t.result))
		}
	}
}
