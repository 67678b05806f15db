package ssh

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		host Host
		ok   bool
	}{
		{"host alone", Host{Host: "beta"}, true},
		{"everything", Host{Host: "beta.example", User: "dev", Port: 22, Options: []string{"IdentityFile=~/.ssh/agents", "ProxyCommand=nc %h %p"}, Root: "~/projects"}, true},
		{"address", Host{Host: "fd7a:115c::1"}, true},
		{"no host", Host{}, false},
		{"host is an option", Host{Host: "-oProxyCommand=x"}, false},
		{"host with a user", Host{Host: "a@b"}, false},
		{"host with a path", Host{Host: "a/b"}, false},
		{"host with a blank", Host{Host: "a b"}, false},
		{"host with a line end", Host{Host: "a\nb"}, false},
		{"host is not UTF-8", Host{Host: "a\xff"}, false},
		{"user is an option", Host{Host: "a", User: "-lroot"}, false},
		{"user with a host", Host{Host: "a", User: "b@c"}, false},
		{"port", Host{Host: "a", Port: 65536}, false},
		{"negative port", Host{Host: "a", Port: -1}, false},
		{"empty option", Host{Host: "a", Options: []string{""}}, false},
		{"option is an option", Host{Host: "a", Options: []string{"-F/x"}}, false},
		{"option with a line end", Host{Host: "a", Options: []string{"User=x\nProxyCommand=y"}}, false},
		{"root of another user", Host{Host: "a", Root: "~dev/projects"}, false},
		{"root with a line end", Host{Host: "a", Root: "/a\nb"}, false},
	} {
		if err := c.host.Check(); (err == nil) != c.ok {
			t.Errorf("%s: %+v: got %v", c.name, c.host, err)
		}
	}
}

func TestDir(t *testing.T) {
	t.Parallel()
	for root, want := range map[string]string{
		"": "./projects/a/b", "~/projects": "./projects/a/b", "~": "./a/b", "~/": "./a/b", "~/x/": "./x/a/b", "x": "./x/a/b", "-x": "./-x/a/b",
		"/srv/p": "/srv/p/a/b", "/srv/p//": "/srv/p/a/b", "/": "/./a/b", "/it's $HOME": "/it's $HOME/a/b", "~//x": "./x/a/b",
	} {
		got, err := Host{Root: root}.Dir("a", "b")
		if want == "./a/b" {
			want = strings.TrimPrefix(got, "./") // "./a/b" and "a/b" are one
			want = "./" + want
		}
		if err != nil || got != want && "./"+got != want {
			t.Errorf("root %q: got %q, %v; want %q", root, got, err, want)
		}
	}
}

// TestArguments holds the command lines to what is promised of them.
func TestArguments(t *testing.T) {
	t.Parallel()
	c := &Client{Extra: []string{"-F", "/dev/null"}}
	args := c.options(Host{Host: "beta", Port: 2222, Options: []string{"BatchMode=no", "User=x"}})
	line := strings.Join(args, " ")
	if !strings.HasPrefix(line, "-F /dev/null -o BatchMode=yes -o ConnectTimeout=5 -o ServerAliveInterval=5 -o ServerAliveCountMax=2 ") {
		t.Errorf("got %q", line)
	}
	if slices.Index(args, "BatchMode=yes") > slices.Index(args, "BatchMode=no") {
		t.Errorf("an option of the peer comes before ours, and the first one counts: %q", line)
	}
	if !strings.HasSuffix(line, "-o BatchMode=no -o User=x -p 2222") {
		t.Errorf("got %q", line)
	}
	typed := Host{Host: "beta", User: "eva", Port: 2222, Options: []string{"IdentityFile=~/.ssh/agents", "ProxyCommand=nc it's %h"}}.Typed()
	if want := `ssh -p 2222 -o 'IdentityFile=~/.ssh/agents' -o 'ProxyCommand=nc it'\''s %h' eva@beta`; typed != want {
		t.Errorf("by hand: got %s, want %s", typed, want)
	}
	words := []string{"ssh", "-o", "ProxyCommand=sh -c 'nc \"%h\" %p'", "", "x"}
	if got, want := remoteShell(words), `ssh -o 'ProxyCommand=sh -c ''nc "%h" %p''' '' x`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	const broken = "rsync: connection unexpectedly closed (0 bytes received so far) [sender]\nrsync error: unexplained error (code 255) at io.c(228) [sender=3.2.7]\n"
	for _, c := range []struct {
		op    string
		exit  int
		said  string
		kind  Kind
		again bool
		last  string
	}{
		{"ssh", 255, "ssh: connect to host b port 22: Connection refused\r\n", Unreachable, true, "ssh: connect to host b port 22: Connection refused"},
		{"ssh", 255, "", Unreachable, true, ""},
		{"ssh", 255, "a@b: Permission denied (publickey).\n", Refused, false, "a@b: Permission denied (publickey)."},
		{"ssh", 255, "@@@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.\n", Refused, false, "Host key verification failed."},
		{"ssh", 255, "No ED25519 host key is known for b and you have requested strict checking.\nHost key verification failed.\n", Refused, false, "Host key verification failed."},
		{"ssh", 255, "command-line: line 0: Bad configuration option: blah\n", Refused, false, "command-line: line 0: Bad configuration option: blah"},
		{"ssh", 127, "bash: line 1: x: command not found\n", Missing, false, "bash: line 1: x: command not found"},
		{"ssh", 1, "cat: x: Permission denied (os error)\n", Remote, false, "cat: x: Permission denied (os error)"},
		{"ssh", 3, "", Remote, false, ""},
		{"rsync", 255, "a@b: Permission denied (publickey).\n" + broken, Refused, false, "a@b: Permission denied (publickey)."},
		{"rsync", 255, "ssh: connect to host b port 22: No route to host\n" + broken, Unreachable, true, "ssh: connect to host b port 22: No route to host"},
		{"rsync", 255, broken, Unreachable, true, "rsync: connection unexpectedly closed (0 bytes received so far) [sender]"},
		{"rsync", 12, "ssh: connect to host b port 22: Connection refused\nrsync: [sender] safe_write failed to write 6 bytes to fd 4: Broken pipe (32)\n" + broken, Unreachable, true, "ssh: connect to host b port 22: Connection refused"},
		{"rsync", 10, "", Unreachable, true, ""},
		{"rsync", 12, "rsync error: error in rsync protocol data stream (code 12)\n", Unreachable, true, "rsync error: error in rsync protocol data stream (code 12)"},
		{"rsync", 30, "", Timeout, true, ""},
		{"rsync", 35, "", Timeout, true, ""},
		{"rsync", 1, "", Usage, false, ""},
		{"rsync", 2, "", Usage, false, ""},
		{"rsync", 3, "", Remote, false, ""},
		{"rsync", 4, "", Usage, false, ""},
		{"rsync", 11, "rsync: [receiver] write failed: No space left on device (28)\n", Remote, false, "rsync: [receiver] write failed: No space left on device (28)"},
		{"rsync", 23, "", Remote, false, ""},
		{"rsync", 23, "rsync: [receiver] mkstemp \"/b/.x.org.Kq\" failed: Permission denied (13)\n", Remote, false, "rsync: [receiver] mkstemp \"/b/.x.org.Kq\" failed: Permission denied (13)"},
		{"rsync", 12, "bash: line 1: rsync: command not found\nrsync: connection unexpectedly closed (0 bytes received so far) [sender]\n", Missing, false, "bash: line 1: rsync: command not found"},
		{"rsync", 127, "sh: rsync: not found\nrsync error: remote command not found (code 127)\n", Missing, false, "sh: rsync: not found"},
		{"ssh", 255, "\x1b[31mred\x07\x9b\u202e!\n", Unreachable, true, "[31mred?!"},
	} {
		e := &Error{Op: c.op, Host: "b", Exit: c.exit}
		e.classify(c.said)
		if e.Kind != c.kind || e.Again != c.again || e.Last != c.last {
			t.Errorf("%s exit %d, %q: got %s, again %v, %q; want %s, %v, %q", c.op, c.exit, c.said, e.Kind, e.Again, e.Last, c.kind, c.again, c.last)
		}
		if Retryable(e) != c.again {
			t.Errorf("%v: Retryable is %v", e, !c.again)
		}
	}
	e := &Error{Op: "ssh", Host: "beta", Exit: 255, Last: "no route to host"}
	if e.Error() != "ssh beta exit 255: no route to host" || e.Cause() != "ssh exit 255: no route to host" {
		t.Errorf("got %q and %q", e.Error(), e.Cause())
	}
	if Retryable(nil) || Retryable(errors.New("x")) || Retryable(context.Canceled) {
		t.Error("a failure that is not of the network is retried")
	}
}

// FuzzRemoteShell compares our quoting with a splitter written after that of rsync (do_cmd in its main.c).
func FuzzRemoteShell(f *testing.F) {
	f.Add("ssh", "-o", "a b")
	f.Add("'", `''"`, "")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		words := []string{a, b, c}
		if got := splitAsRsync(remoteShell(words)); !slices.Equal(got, words) {
			t.Errorf("%q became %q", words, got)
		}
	})
}

func splitAsRsync(line string) (words []string) {
	for i := 0; i < len(line); i++ {
		if line[i] == ' ' {
			continue
		}
		var word []byte
		var quote byte
		for i < len(line) && (line[i] != ' ' || quote != 0) {
			if c := line[i]; c == '\'' || c == '"' {
				if quote == 0 {
					quote = c
					i++
					continue
				}
				if c == quote {
					if i++; i >= len(line) || line[i] != quote {
						quote = 0
						continue
					}
				}
			}
			word = append(word, line[i])
			i++
		}
		words = append(words, string(word))
	}
	return words
}

// TestRealSplitter asks the real rsync how it splits.
func TestRealSplitter(t *testing.T) {
	t.Parallel()
	rsync, err := exec.LookPath("rsync")
	if err != nil {
		t.Skip("SKIPPED: rsync is not installed: how it splits words is not tested")
	}
	shell := remoteShell([]string{"/bin/sh", "-c", `for a in "$@"; do echo "<$a>" >&2; done; exit 9`, "sh", "it's", `a "b" c`, "", "''"})
	out, _ := exec.Command(rsync, "-e", shell, "--", "/dev/null", "host:x").CombinedOutput()
	if want := "<it's>\n<a \"b\" c>\n<>\n<''>\n<host>\n"; !strings.HasPrefix(string(out), want) {
		t.Errorf("rsync starts its shell with %s, want %s", out, want)
	}
}
