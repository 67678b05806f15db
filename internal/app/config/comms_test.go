package config

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestComms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, want string // want: part of the error, "" for none
		config     Comms
	}{
		{"", "", Comms{}},
		{"[bus]\nname = \"x\"\n", "", Comms{}},
		{
			"[comms]\nsender = \"web\"\nproject_roots = [\"~/projects\", \"/srv/p\"]\nnotify_command = [\"say\", \"{body}\"]\nextra_tools = [\"mcp:calendar\"]\n" +
				"timestamp_skew_seconds = 60\nlocal_fallback = true\nmax_message_bytes = 4096\n", "",
			Comms{
				Sender: "web", ProjectRoots: []string{"~/projects", "/srv/p"}, NotifyCommand: []string{"say", "{body}"}, ExtraTools: []string{"mcp:calendar"},
				Skew: time.Minute, LocalFallback: true, MaxMessage: 4096,
			},
		},
		{"[comms]\nsendr = \"web\"\n", "line 2: there is no setting comms.sendr; the table has sender,", Comms{}},
		{"[comms]\nsender = \"---\"\n", "line 2: comms.sender: nothing of", Comms{}},
		{"[comms]\nproject_roots = [\"projects\"]\n", "line 2: comms.project_roots: \"projects\" is not an absolute path", Comms{}},
		{"[comms]\nproject_roots = \"~/projects\"\n", "line 2", Comms{}},
		{"[comms]\nextra_tools = [\"a/b\"]\n", "line 2: comms.extra_tools:", Comms{}},
		{"[comms]\nnotify_command = [\"\"]\n", "comms.notify_command:", Comms{}},
		{"[comms]\ntimestamp_skew_seconds = 0\n", "is not between 1 and 86400", Comms{}},
		{"[comms]\nmax_message_bytes = 1048577\n", "is not between 1024 and 1048576", Comms{}},
	} {
		f, err := read(t, c.text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.Comms()
		switch {
		case c.want != "":
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: got %v, want %q in it", c.text, err, c.want)
			}
		case err != nil || !reflect.DeepEqual(*got, c.config):
			t.Errorf("%q: got %+v, %v, want %+v", c.text, got, err, c.config)
		}
	}
}
