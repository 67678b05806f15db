package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRoleOfConnect: a role that the user names at a terminal counts at once. Of an agent that was connected before its maker was
// remembered, the same command gives the role.
func TestRoleOfConnect(t *testing.T) {
	t.Parallel()
	d := newSitting(t)
	connect := []string{"connect", "--host", "claude", "--name", "lead", "--role", "CONDUCTOR"}
	d.run(0, connect...)
	lead := "claude:lead:" + strings.Fields(strings.SplitN(d.run(0, "whoami", "--as", "claude:lead"), "claude:lead:", 2)[1])[0]
	const contract = `{"kind":"CONTRACT","id":"contract-1","scope":"scope:default","parties":["claude:lead"],"clauses":[{"id":"c","text":"x"}],"policies":[],"engagements":[],"signatures":[]}`
	d.run(0, "negotiate", "open", "--id", "nego:1", "--subject", "contract", "--parties", lead, "--instance", lead)
	d.run(0, "negotiate", "offer", "nego:1", contract, "--force", "--instance", lead)
	d.run(0, "negotiate", "sign", "nego:1", "--instance", lead)
	d.run(0, "negotiate", "verify", "nego:1")

	if err := os.Remove(filepath.Join(d.home, ".local", "state", "tutti", "pins")); err != nil {
		t.Fatal(err)
	}
	d.has(strings.Join(strings.Fields(d.run(2, "negotiate", "verify", "nego:1")), " "), lead+" calls itself CONDUCTOR in its registration", "tutti role "+lead+" CONDUCTOR")
	d.run(0, connect...)
	d.has(d.run(0, "negotiate", "verify", "nego:1"), "valid")
}
