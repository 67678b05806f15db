//go:build e2e

package e2etest

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/mcp-conformance.md")

// The scenarios of the runner. Those with a reason do not apply to this server: they ask for a capability that it does
// not declare, or for tools of the runner's own example server. They are run all the same, and what came of it is told.
var scenarios = []struct{ name, reason string }{
	{"server-initialize", ""},
	{"ping", ""},
	{"tools-list", ""},
	{"tools-call-simple-text", "calls a tool of the runner's example server, which is unknown here"},
	{"tools-call-error", "calls a tool of the runner's example server, which is unknown here"},
	{"tools-call-with-progress", "calls a tool of the runner's example server, which is unknown here"},
	{"tools-call-with-logging", "logging is not declared"},
	{"logging-set-level", "logging is not declared"},
	{"completion-complete", "completions are not declared"},
	{"resources-list", "resources are not declared"},
	{"prompts-list", "prompts are not declared"},
	{"dns-rebinding-protection", "there is no HTTP listener"},
}

var checks = regexp.MustCompile(`(?i)passed:?\s*(\d+)/(\d+)`)

func TestConformance(t *testing.T) {
	home := t.TempDir()
	bridge := here.command(t, home, here.script(t, "bridge.mjs"), here.full, "mcp-serve", "--root", filepath.Join(home, "bus"), "--auto-open",
		"--host", "claude", "--name", "ana")
	in, err := bridge.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := bridge.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	bridge.Stderr = &errs
	if err := bridge.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		bridge.Wait()
	}()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the bridge did not start: %v\n%s", err, errs.Bytes())
	}

	var table strings.Builder
	for _, s := range scenarios {
		c := here.command(t, home, filepath.Join(here.clients, "node_modules/.bin/conformance"), "server",
			"--url", strings.TrimSpace(url), "--scenario", s.name, "-o", filepath.Join(home, "results"))
		said, err := c.CombinedOutput()
		result := "failed"
		if err == nil {
			result = "passed"
		}
		if m := checks.FindSubmatch(said); m != nil {
			result += fmt.Sprintf(" (%s of %s checks)", m[1], m[2])
		}
		if err != nil && s.reason == "" {
			t.Errorf("%s: %v\n%s", s.name, err, said)
		}
		t.Logf("%s: %s\n%s", s.name, result, said)
		applies := "yes"
		if s.reason != "" {
			applies = "no: " + s.reason
		}
		fmt.Fprintf(&table, "| %s | %s | %s |\n", s.name, applies, result)
	}
	const page = "../../../docs/mcp-conformance.md"
	if *update {
		if err := os.WriteFile(page, []byte(conformancePage(table.String())), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(old), table.String()) {
		t.Errorf("%s does not say what came out (%v): run scripts/e2e.sh -update", page, err)
	}
}

func conformancePage(table string) string {
	return `# The conformance runner

What the official runner for MCP servers says of ` + "`tutti mcp-serve`" + `. It speaks HTTP only, so it reaches the
server through a bridge (tools/e2e/bridge.mjs) that hands every message on as it is. ` + "`make e2e`" + ` runs it and
fails when this page says something else; the runner's version is pinned in tools/e2e/package.json.

| scenario | applies | result |
| --- | --- | --- |
` + table
}
