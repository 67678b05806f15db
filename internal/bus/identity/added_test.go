package identity

import (
	"errors"
	"testing"

	"tutti/internal/agents/driver"
)

// TestAddedAgents: an agent CLI of the settings is known by the name of its process, by its script and by the folder of that; programs
// around it are not. It cannot act for the user.
func TestAddedAgents(t *testing.T) { // not parallel: what is added counts for the whole process
	driver.AddFrom(driver.Settings{
		Programs: func() []driver.Added {
			return []driver.Added{
				{Name: "cursor", Program: "cursor-agent"},
				{Name: "ada", Program: "ada", Package: "@ada/code"},
				{Name: "long", Program: "a-very-long-agent-name"},
			}
		},
		Drivers: func() []*driver.Driver { return nil },
	})
	t.Cleanup(func() {
		driver.AddFrom(driver.Settings{Programs: func() []driver.Added { return nil }, Drivers: func() []*driver.Driver { return nil }})
	})
	for name, c := range map[string]struct {
		p    Process
		want string
	}{
		"the program":            {process(10, "/usr/bin/cursor-agent", "cursor-agent"), "cursor"},
		"the editor":             {process(10, "/opt/cursor/cursor", "/opt/cursor/cursor", "--type=zygote"), ""},
		"a helper of the editor": {process(10, "/opt/cursor/cursor", "cursor", "/opt/cursor/out/cursor-agent-host/main.js"), ""},
		"a script":               {process(10, "/usr/bin/node", "node", "/usr/bin/ada"), "ada"},
		"a script with an end":   {process(10, "/usr/bin/python3", "python3", "/usr/bin/ada.py"), "ada"},
		"of its package":         {process(10, "/usr/bin/node", "node", "--expose-gc", "/usr/lib/node_modules/@ada/code/dist/cli.js", "-x"), "ada"},
		"of another package":     {process(10, "/usr/bin/node", "node", "/usr/lib/node_modules/@ada/code-lint/cli.js"), ""},
		"a file in a folder":     {process(10, "/usr/bin/node", "node", "/home/ana/@ada/code/build.js"), ""},
		"code on a command line": {process(10, "/usr/bin/node", "node", "-e", "ada"), ""},
		"an argument":            {process(10, "/usr/bin/vim", "vim", "/usr/bin/ada"), ""},
		"a longer name":          {process(10, "/usr/bin/adapter", "adapter"), ""},
		"a name that is cut":     {Process{Comm: "a-very-long-age", Exe: "/usr/bin/node", Args: []string{"node", "/x/main.js"}}, "long"},
		"one that is shipped":    {process(10, "/usr/bin/claude", "claude"), "claude"},
	} {
		if got := c.p.Agent(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	f := facts().below(process(50, "/bin/bash", "bash", "-c", "tutti resume"), process(40, "/usr/bin/node", "node", "/usr/bin/ada"), process(1, "/sbin/init"))
	_, err := f.ForUser("lift a halt")
	var not *NotUserError
	if !errors.As(err, &not) || not.Host != "ada" || not.PID != 40 {
		t.Errorf("below an added agent CLI: %v", err)
	}
}
