package cmd

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A webRig is a home folder with a bus on which two agents are registered, and a page.
type webRig struct {
	t      *testing.T
	env    []string
	a, b   string
	base   string
	client *http.Client
	cmd    *exec.Cmd
	only   bool // its page only shows
}

func newWebRig(t *testing.T, env ...string) *webRig {
	home := t.TempDir()
	r := &webRig{t: t, env: append(os.Environ(), "HOME="+home, "H2A_ROOT="+filepath.Join(home, ".h2a"), "NO_COLOR=1")}
	r.tutti("init")
	r.a, r.b = r.connect("claude"), r.connect("codex")
	r.cmd = exec.Command("tutti", "web", "--no-open", "--json")
	r.cmd.Env = append(r.env, env...)
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.cmd.Process.Kill(); _ = r.cmd.Wait() })
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var link struct {
		URL      string
		ReadOnly bool
	}
	if err != nil || json.Unmarshal(line, &link) != nil {
		t.Fatalf("web printed %q, %v", line, err)
	}
	r.only = link.ReadOnly
	r.base, _, _ = strings.Cut(link.URL, "/login")
	jar, _ := cookiejar.New(nil)
	r.client = &http.Client{Jar: jar, Timeout: 20 * time.Second}
	if resp, err := r.client.Get(link.URL); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("login: %v, %v", resp, err)
	}
	return r
}

func (r *webRig) tutti(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("tutti", args...)
	cmd.Env = r.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("tutti %q: %v: %s", args, err, out)
	}
	return string(out)
}

func (r *webRig) connect(host string) string {
	var made struct{ Instance string }
	if err := json.Unmarshal([]byte(r.tutti("connect", "--host", host, "--json")), &made); err != nil || made.Instance == "" {
		r.t.Fatalf("connect: %v, %+v", err, made)
	}
	return made.Instance
}

func (r *webRig) page(path string) string {
	r.t.Helper()
	resp, err := r.client.Get(r.base + path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		r.t.Fatalf("%s: %s, %v: %s", path, resp.Status, err, text)
	}
	return string(text)
}

func (r *webRig) act(values url.Values) (int, string) {
	r.t.Helper()
	resp, err := r.client.PostForm(r.base+"/act", values)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// A message between two agents comes to a page that is open. The page halts and lifts with the verbs, and leaves nothing when it ends.
func TestWeb(t *testing.T) {
	r := newWebRig(t)
	stream, err := (&http.Client{Jar: r.client.Jar}).Get(r.base + "/events?view=/")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	lines.Buffer(nil, 1<<20)
	until := func(part string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), part) {
				return
			}
		}
		t.Fatalf("the stream ended before %q: %v", part, lines.Err())
	}
	until("Nothing is halted")
	r.tutti("send", "--as", r.a, r.b, "do the migrations pass?")
	sent := time.Now()
	until("do the migrations pass?")
	t.Logf("on the page %s after send returned", time.Since(sent).Round(time.Millisecond))

	if status, text := r.act(url.Values{"kind": {"halt"}, "reason": {"runaway loop"}}); status != http.StatusOK || !strings.Contains(text, "<h1>Done</h1>") {
		t.Errorf("halt: %d %s", status, text)
	}
	until("runaway loop")
	if text := r.page("/"); !strings.Contains(text, "Halted") || !strings.Contains(text, "Lift the halt") {
		t.Errorf("the page of a halt: %s", text)
	}
	if status, text := r.act(url.Values{"kind": {"lift"}, "sure": {"yes"}}); status != http.StatusOK || !strings.Contains(text, "<h1>Done</h1>") {
		t.Errorf("lift: %d %s", status, text)
	}
	until("Nothing is halted")
	for _, path := range []string{"/agreements", "/organisation", "/machines", "/thread?id=x", "/screen?agent=x", "/agreement?id=x"} {
		r.page(path)
	}
	if err := r.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = r.cmd.Wait()
	if code := r.cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("an interrupted page ends with %d", code)
	}
	if resp, err := r.client.Get(r.base); err == nil {
		t.Errorf("the page still answers: %s", resp.Status)
	}
}

// In a session of an agent the page only shows, whatever it is asked.
func TestWebInsideAgentSession(t *testing.T) {
	r := newWebRig(t, "TUTTI_SESSION=api")
	if text := r.page("/"); !r.only || !strings.Contains(text, "This page only shows") || strings.Contains(text, "<button") {
		t.Errorf("the page of an agent: %v %s", r.only, text)
	}
	for _, v := range []url.Values{{"kind": {"halt"}}, {"kind": {"lift"}, "sure": {"yes"}}} {
		if status, text := r.act(v); status != http.StatusForbidden {
			t.Errorf("%v: %d %s", v, status, text)
		}
	}
}
