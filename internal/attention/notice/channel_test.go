package notice

import (
	"context"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tutti/internal/core/termsafe"
	"tutti/internal/test/progfile"
)

// nasty is a name and a text that attack terminals, headers and marked-up text.
const nasty = "a\x1b]0;x\a\r\nX-Evil: 1\u202e<b>&$(touch pwned)`x`"

func hostileMessage() *Message {
	m := compose([]Condition{{Kind: Approval, Of: "x", Agent: nasty, About: nasty, Command: "tutti status"}})
	return &m
}

func TestNtfy(t *testing.T) {
	t.Parallel()
	m := hostileMessage()
	var title, body, auth string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	release := make(chan struct{})
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/accepts":
			raw, _ := io.ReadAll(r.Body)
			title, body, auth = r.Header.Get("Title"), string(raw), r.Header.Get("Authorization")
			if r.Header.Get("X-Evil") != "" {
				t.Error("a header of the text")
			}
		case "/refuses":
			http.Error(w, "no", http.StatusForbidden)
		case "/redirects":
			http.Redirect(w, r, elsewhere.URL+"/x", http.StatusTemporaryRedirect)
		case "/hangs":
			<-release
		}
	}))
	defer far.Close()
	defer close(release)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("tk_1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (Ntfy{URL: far.URL + "/accepts", TokenFile: token}).Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if plain, err := new(mime.WordDecoder).DecodeHeader(title); err != nil || plain != m.Title || auth != "Bearer tk_1" {
		t.Errorf("%q, %v, %q", title, err, auth)
	}
	if body != m.Outside || strings.Contains(body, "tutti status") {
		t.Errorf("body %q", body)
	}
	for path, want := range map[string]string{"/refuses": "403", "/redirects": "307"} {
		if err := (Ntfy{URL: far.URL + path}).Send(t.Context(), m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := (Ntfy{URL: far.URL + "/hangs"}).Send(short, m); err == nil {
		t.Error("a server that hangs accepted it")
	}
	if err := (Ntfy{URL: "http://127.0.0.1:1/secret-topic"}).Send(t.Context(), m); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("no server: %v", err)
	}
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	for url, ok := range map[string]bool{
		"https://ntfy.sh/x": true, "http://127.0.0.1:8080/x": true, "http://localhost/x": true, "http://[::1]/x": true,
		"http://ntfy.sh/x": false, "https://ntfy.sh/": false, "https://u:p@ntfy.sh/x": false, "file:///x": false, "x": false,
		"http://localhost.evil.example/x": false,
	} {
		if err := CheckURL(url); err == nil != ok {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "say")
	if err := progfile.Write(program, []byte("#!/bin/sh\ncd "+dir+"\nprintf '%s|%s' \"$TUTTI_NOTICE_TITLE\" \"$TUTTI_NOTICE_KINDS\" >env\ncat >in\n[ \"$1\" = ok ] || { echo \"no $1\" >&2; exit 3; }\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	m := hostileMessage()
	if err := (Command{[]string{program, "ok"}}).Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	env, _ := os.ReadFile(filepath.Join(dir, "env"))
	in, _ := os.ReadFile(filepath.Join(dir, "in"))
	if string(env) != m.Title+"|approval" || string(in) != m.Title+"\n"+m.Text+"\n" {
		t.Errorf("%q, %q", env, in)
	}
	if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
		t.Error("a shell read the text")
	}
	if err := (Command{[]string{program, "way"}}).Send(t.Context(), m); err == nil || !strings.Contains(err.Error(), "no way") {
		t.Errorf("a command that fails: %v", err)
	}
	if err := (Command{[]string{filepath.Join(dir, "none")}}).Send(t.Context(), m); err == nil {
		t.Error("a command that is not there accepted it")
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := (Command{[]string{"sleep", "600"}}).Send(short, m); err == nil {
		t.Error("a command that hangs accepted it")
	}
}

func TestBellAndTexts(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := (Ringer{&b}).Send(t.Context(), hostileMessage()); err != nil || b.String() != "\a" {
		t.Errorf("%q, %v", b.String(), err)
	}
	if (Ringer{}).Ready() == nil {
		t.Error("a bell without a terminal is ready")
	}
	m := hostileMessage()
	many := compose([]Condition{{Kind: Ended, Agent: nasty, About: nasty}, {Kind: Limited, Agent: nasty, About: nasty}})
	for _, text := range []string{m.Title, m.Text, m.Outside, many.Text, many.Outside, many.Agents[0]} {
		for line := range strings.SplitSeq(text, "\n") {
			if line != termsafe.Clean(line) || strings.ContainsAny(line, "\x1b\a\r\u202e") {
				t.Errorf("%q", line)
			}
		}
	}
}
