package tmux

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"
)

// shell is a run of a shell script.
func shell(in, script string) (*spawn, *limited, *limited) {
	out, said := &limited{max: maxOutput}, &limited{max: maxErrors, drop: true}
	return &spawn{path: "/bin/sh", args: []string{"sh", "-c", script}, env: []string{"A=b"}, in: in, out: out, err: said}, out, said
}

func TestSpawn(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("0123456789abcde\n", 1<<16) // more than all pipes hold
	for name, c := range map[string]struct{ in, script, out, said, fault string }{
		"nothing":          {script: ":"},
		"both":             {script: "echo one; echo two >&2", out: "one\n", said: "two\n"},
		"fails":            {script: "echo one; exit 3", out: "one\n", fault: "exit status 3"},
		"is killed":        {script: "kill -9 $$", fault: "signal: killed"},
		"no input":         {script: "cat; echo end", out: "end\n"},
		"input":            {in: "x\ny", script: "cat", out: "x\ny"},
		"much":             {in: large, script: "cat; cat /dev/null >&2", out: large},
		"input unread":     {in: large, script: "exec <&-; echo end", out: "end\n"},
		"its environment":  {script: "echo $A", out: "b\n"},
		"much that is bad": {script: "i=0; while [ $i -lt 3000 ]; do echo 0123456789; i=$((i+1)); done >&2", said: strings.Repeat("0123456789\n", 3000)[:maxErrors]},
		"one closes early": {script: "exec 2>&-; sleep 0.05; echo one", out: "one\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, out, said := shell(c.in, c.script)
			err := s.run(t.Context())
			if got := out.buf.String(); got != c.out {
				t.Errorf("printed %d bytes, %.60q, want %d, %.60q", len(got), got, len(c.out), c.out)
			}
			if got := said.buf.String(); got != c.said {
				t.Errorf("said %.60q, want %.60q", got, c.said)
			}
			switch {
			case err == nil && c.fault != "":
				t.Errorf("no error, want %s", c.fault)
			case err != nil && err.Error() != c.fault:
				t.Errorf("%v, want %q", err, c.fault)
			}
		})
	}
}

func TestSpawnRefuses(t *testing.T) {
	t.Parallel()
	s, _, _ := shell("", ":")
	s.path = "/no/such/program"
	if err := s.run(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no program: %v", err)
	}
	s, out, _ := shell("", "while :; do echo 0123456789; done")
	out.max = 100
	if err := s.run(t.Context()); !errors.Is(err, errLarge) {
		t.Errorf("too much: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s, _, _ = shell("", "echo; exec sleep 600")
	s.out = &limited{max: 100}
	go func() { time.Sleep(20 * time.Millisecond); cancel() }()
	began := time.Now()
	if err := s.run(ctx); err == nil || time.Since(began) > 30*time.Second {
		t.Errorf("cancelled: %v after %s", err, time.Since(began))
	}
	if err := s.run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
}
