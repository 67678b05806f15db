package cmd

import (
	"path/filepath"
	"strings"
	"testing"

	"tutti/internal/faces/cli/kit"
	"tutti/internal/test/progfile"
)

// On a terminal the page goes through the program man, which is given no file name and no shell; where there is none, or it
// fails, the text is shown.
func TestManOnTerminal(t *testing.T) {
	t.Parallel()
	fake, failing, none := t.TempDir(), t.TempDir(), t.TempDir()
	for dir, script := range map[string]string{
		fake:    "#!/bin/sh\necho \"man got $*\"; while read -r line; do case $line in .TH*) echo \"$line\";; esac; done\n",
		failing: "#!/bin/sh\nexit 16\n",
	} {
		if err := progfile.Write(filepath.Join(dir, "man"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		path string
		args []string
		want string
		not  string
	}{
		{fake, []string{"send"}, "man got -l -\n.TH \"TUTTI\\-SEND\" 1", "Usage:"},
		{fake, []string{"inbox", "read"}, "man got -l -\n.TH \"TUTTI\\-INBOX\\-READ\" 1", "Usage:"},
		{fake, nil, "man got -l -\n.TH \"TUTTI\" 1", "Usage:"},
		{fake, []string{"send", "--roff"}, ".SH SYNOPSIS", "man got"},
		{failing, []string{"send"}, "Usage: tutti send ", ".SH"},
		{none, []string{"send"}, "Usage: tutti send ", ".SH"},
		{none, nil, "Usage: tutti <verb>", ".SH"},
		{none, []string{"h2a"}, "Hosts: codex", ".SH"},
		{none, []string{"cross-agent-halt"}, "Usage: cross-agent-halt ", ".SH"},
	} {
		env := []string{"PATH=" + tc.path, "HOME=" + none, "TERM=dumb"}
		got := onTerminal(t, 80, env, append([]string{"man"}, tc.args...)...)
		if !strings.Contains(got, tc.want) || strings.Contains(got, tc.not) {
			t.Errorf("man %q, PATH=%s: got\n%s\nwant %q and no %q", tc.args, tc.path, got, tc.want, tc.not)
		}
	}
}

// A narrow terminal gets help that it does not break, and a wide one no lines that are hard to read.
func TestHelpWidths(t *testing.T) {
	t.Parallel()
	env := []string{"HOME=" + t.TempDir(), "TERM=dumb"}
	for _, tc := range []struct {
		columns     uint16
		least, most int
	}{{60, 50, 60}, {80, 70, 80}, {200, 90, 100}} {
		widest := 0
		text := onTerminal(t, tc.columns, env, "send", "--help")
		for line := range strings.SplitSeq(text, "\n") {
			if !strings.HasPrefix(line, "    $ ") && !strings.HasPrefix(line, "Usage: ") { // what is pasted stays in one piece
				widest = max(widest, kit.Width(line))
			}
		}
		if widest < tc.least || widest > tc.most {
			t.Errorf("%d columns: the widest line has %d, want %d to %d:\n%s", tc.columns, widest, tc.least, tc.most, text)
		}
	}
}
