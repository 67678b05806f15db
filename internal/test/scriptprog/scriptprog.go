// Package scriptprog prepares the programs that the test scripts of the command line start: each verb has to print what its row
// says, and an agent that runs the tests does not count as one that a script has started.
package scriptprog

import (
	"fmt"
	"os"
	"strconv"

	"tutti/internal/app"
	"tutti/internal/bus/identity"
	"tutti/internal/core/render"
	"tutti/internal/faces/cli/kit"
)

// TopVariable names the process at which a program stops looking at its ancestors: an agent may run the tests, and the scripts are
// about the agents that they start.
const TopVariable = "TUTTI_TEST_TOP"

// Prepare is called before the program runs. It panics in the program when a verb prints something else than its row says.
func Prepare() {
	kit.CheckResult = declared
	cutAncestors(os.Getenv(TopVariable))
}

func declared(v *kit.Verb, result any) {
	if !render.Is(result, v.Result) {
		panic(fmt.Sprintf("%s prints a %T, and its row says %T", v.Name, result, v.Result))
	}
}

// cutAncestors lets the program see only the processes below top, which a script started.
func cutAncestors(top string) {
	if top == "" {
		return
	}
	kit.FactsOf = func(a *app.App) *identity.Facts {
		f := a.Facts()
		all := f.Ancestors
		f.Ancestors = func() []identity.Process {
			var own []identity.Process
			for _, p := range all() {
				if strconv.Itoa(p.ID.PID) == top {
					break
				}
				own = append(own, p)
			}
			return own
		}
		return f
	}
}
