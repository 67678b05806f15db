//go:build e2e

package e2etest

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"tutti/internal/agents/driver"
	"tutti/internal/test/chromium"
	"tutti/internal/test/progfile"
)

// A stage is a Claude Code that asks for permissions, with everything that shows them to its user: top in tmux, the page in Chromium and
// tutti up, which sends notices.
type stage struct {
	*scene
	l       *loop
	page    context.Context
	notices string // the file of the notices that were sent
}

// program starts one of ours as the user does.
func (s *stage) program(args ...string) (c *exec.Cmd, line string) {
	s.t.Helper()
	c = exec.Command(filepath.Join(filepath.Dir(here.full), "tutti"), args...)
	c.Dir, c.Env = s.d.work, s.d.command(s.t).Env
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGINT)
		_ = c.Wait()
	})
	r := bufio.NewReader(out)
	if line, err = r.ReadString('\n'); err != nil {
		s.t.Fatalf("%q: %v", args, err)
	}
	go func() { _, _ = r.WriteTo(os.Stderr) }()
	return c, line
}

func staged(t *testing.T, version string) *stage {
	l := &loop{}
	s := &stage{scene: haltable(t, seated(version), l, []string{"--permission-mode", "default"}), l: l}
	s.notices = filepath.Join(s.d.home, "notices")
	tell := filepath.Join(s.d.home, "tell")
	if err := progfile.Write(tell, []byte("#!/bin/sh\necho \"$TUTTI_NOTICE_TITLE\" >>'"+s.notices+"'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.d.write(t, ".config/tutti/config.toml", "[notify]\nenabled = true\ndesktop = false\ncommand = [\""+tell+"\"]\n")
	s.program("up", "--json")
	_, line := s.program("web", "--no-open", "--json")
	var link struct{ URL string }
	if err := json.Unmarshal([]byte(line), &link); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	s.keys("new-session", "-d", "-s", "top", "-x", "160", "-y", "45", "--", "env", "HOME="+s.d.home, filepath.Join(filepath.Dir(here.full), "tutti"), "top")
	s.until("top is there", func() bool { return strings.Contains(s.top(), "nothing waits for you") })
	page, stop, err := chromium.Start(t.Context())
	if err != nil {
		t.Skipf("NOT TRIED: %v", err)
	}
	t.Cleanup(stop)
	s.page = page
	if err := chromedp.Do(s.page, chromedp.Navigate(link.URL)); err != nil {
		t.Fatal(err)
	}
	s.until("the page is there", func() bool { return strings.Contains(s.text(), "Nothing waits for you.") })
	return s
}

func (s *stage) top() string { return s.keys("capture-pane", "-p", "-t", "=top:") }

// text is what the page shows; "" while it moves on.
func (s *stage) text() string {
	text, _ := chromedp.Run(s.page, chromedp.Evaluate[string]("document.body.innerText"))
	return text
}

// opens has Claude ask for a command, and waits until each screen shows it.
func (s *stage) opens(name string, noticed bool) {
	s.t.Helper()
	s.l.mu.Lock()
	s.l.next = func() move { return bash("touch " + name) }
	s.l.mu.Unlock()
	s.tell("loop on", "it asks", func() bool { return s.look().Doing == driver.Asking })
	began := time.Now()
	s.l.mu.Lock()
	s.l.next = nil
	s.l.mu.Unlock()
	asks := "asks to use Bash: touch " + name
	for what, is := range map[string]func() bool{
		"top":  func() bool { return strings.Contains(s.top(), asks) },
		"page": func() bool { return strings.Contains(s.text(), asks) },
	} {
		s.until(what+" shows it", is)
		s.t.Logf("MEASURED %s: shown %v after the dialog", what, time.Since(began).Round(10*time.Millisecond))
	}
	if noticed {
		s.until("a notice is sent", func() bool {
			raw, _ := os.ReadFile(s.notices)
			return strings.Contains(string(raw), "waits for your approval")
		})
		s.t.Logf("MEASURED notice: sent at most %v after the dialog", time.Since(began).Round(10*time.Millisecond))
	}
}

// TestEveryScreenAnswers: a dialog of Claude Code is shown in top, on the page and in a notice, and is answered from top and from the page.
// What was approved has run; what was denied has not.
func TestEveryScreenAnswers(t *testing.T) {
	s := staged(t, "330")
	for n, c := range []struct {
		name, key, button string
		runs              bool
	}{{"one", "a", "", true}, {"two", "", "Yes", true}, {"three", "d", "", false}, {"four", "", "No", false}} {
		s.opens(c.name, n == 0)
		began := time.Now()
		if c.key != "" {
			s.keys("send-keys", "-t", "=top:", "Tab")
			s.until("top asks for a yes", func() bool {
				s.keys("send-keys", "-t", "=top:", c.key)
				return s.within(time.Second, func() bool { return strings.Contains(s.top(), "y yes") })
			})
			s.keys("send-keys", "-t", "=top:", "y")
		} else {
			click := `[...document.querySelectorAll("li")].find(e => e.innerText.includes("touch ` + c.name + `")).querySelectorAll("button").forEach(b => { if (b.innerText === "` + c.button + `") b.click() })`
			if _, err := chromedp.Run(s.page, chromedp.Evaluate[any](click)); err != nil {
				t.Fatal(err)
			}
		}
		s.until("the dialog is closed", func() bool { return s.look().Doing != driver.Asking })
		s.shows("it rests", driver.Seen.Free)
		t.Logf("MEASURED %s%s: it went on and rests after %v", c.key, c.button, time.Since(began).Round(10*time.Millisecond))
		if there(filepath.Join(s.d.work, c.name)) != c.runs {
			t.Errorf("%s: the tool ran: %v", c.name, !c.runs)
		}
		calm := func() bool {
			return strings.Contains(s.top(), "nothing waits for you") && strings.Contains(s.text(), "Nothing waits for you.")
		}
		if !s.within(10*time.Second, calm) {
			t.Fatalf("something still waits:\n%s\n%s", s.top(), s.text())
		}
	}
	kept := string(tutti(t, s.d.home, "approve", "--decisions"))
	if strings.Count(kept, "top, ") != 2 || strings.Count(kept, "web, ") != 2 {
		t.Errorf("the decisions:\n%s", kept)
	}
}
