//go:build e2e

package e2etest

import (
	"slices"
	"strings"
	"testing"
)

// steps is a script of calls, one after the other. A tool that is not offered is looked for where the program has a tool
// for that. args may use the results so far.
func (a agent) steps(t *testing.T, steps ...step) script {
	return func(now turn) move {
		for _, s := range steps {
			name := a.tool(s.tool)
			if got, done := now.result(name); done && (s.until == nil || s.until(got)) {
				continue
			}
			if slices.Contains(now.offered, name) {
				return move{tool: name, args: s.args(now)}
			}
			if _, searched := now.result("ToolSearch"); !searched && slices.Contains(now.offered, "ToolSearch") {
				var all []string
				for _, s := range steps {
					all = append(all, a.tool(s.tool))
				}
				return move{tool: "ToolSearch", args: object{"query": "select:" + strings.Join(all, ","), "max_results": len(all)}}
			}
			t.Errorf("%s is not offered: %q", name, now.offered)
			return move{say: "the tool is missing"}
		}
		return move{say: "done"}
	}
}

// A step is one call; with until it is repeated until its result will do.
type step struct {
	tool  string
	args  func(turn) object
	until func(result string) bool
}

func with(o object) func(turn) object { return func(turn) object { return o } }
