package setup

import (
	"slices"
	"testing"
)

func TestOwnPaths(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`"command": "/opt/tutti", "x": "/opt/my tools/tutti"`:      {"/opt/tutti", "/opt/my tools/tutti"},
		`command = '/opt/tutti'`:                                   {"/opt/tutti"},
		"command: /opt/tutti\n":                                    {"/opt/tutti"},
		`"command": "'/opt/my tools/tutti' hook claude Stop"`:      {"/opt/my tools/tutti"},
		`"command": "/opt/tutti hook claude Stop"`:                 {"/opt/tutti"},
		`["/opt/tutti","mcp-serve"]`:                               {"/opt/tutti"},
		`"/opt/tuttifrutti", "tutti", "bin/tutti", "/opt/tutti/x"`: nil,
		`"projects": {"/home/ana/tutti": {}}`:                      nil,
		`[projects."/home/ana/tutti"]`:                             nil,
		``:                                                         nil,
	} {
		if got := pathsOfOurs(text); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
