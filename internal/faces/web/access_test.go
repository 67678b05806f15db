package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"tutti/internal/app"
	"tutti/internal/attention/overview"
)

// A rig is a running server, and what its verbs were.
type rig struct {
	*Server
	ran  chan Command
	next chan *Snapshot
}

func serve(t *testing.T, cannot string) (*rig, string) {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	r := &rig{ran: make(chan Command, 10), next: make(chan *Snapshot, 1)}
	r.next <- Of(nil, nil)
	s, err := Listen(Config{
		Follow: func(ctx context.Context, changed func(*Snapshot)) error {
			for snap := range r.next {
				changed(snap)
			}
			return nil
		},
		Shown:  func(path string) string { return path },
		Screen: func(_ context.Context, a Agent) ([]string, error) { return strings.Split(a.Asks, "\n"), nil },
		docs:   docsFS(t),
		Buses:  func(func(*app.World) error) []overview.BusProblem { return nil },
		Run: func(_ context.Context, c Command) (Answer, error) {
			r.ran <- c
			return Answer{OK: true, Text: "done: " + strings.Join(c.Args, " ")}, nil
		},
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	r.Server = s
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		close(r.next)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return r, s.Link(cannot)
}

func (r *rig) put(s *Snapshot) { r.next <- s }

// login uses a link and returns the cookie.
func login(t *testing.T, link string) *http.Cookie {
	t.Helper()
	resp, err := http.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || len(resp.Cookies()) != 1 {
		t.Fatalf("login: %s, %d cookies", resp.Status, len(resp.Cookies()))
	}
	c := resp.Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" {
		t.Errorf("the cookie is %+v", c)
	}
	return c
}

// A try is a request, and how it must end.
type try struct {
	name, method, path, host, body string
	header                         map[string]string
	stranger                       bool
	want                           int
}

func (r *rig) try(t *testing.T, cookie *http.Cookie, c try) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(c.method, fmt.Sprintf("http://127.0.0.1:%d%s", r.port, c.path), strings.NewReader(c.body))
	if err != nil {
		t.Fatal(err)
	}
	if c.host != "" {
		req.Host = c.host
	}
	for k, v := range c.header {
		req.Header.Set(k, v)
	}
	if c.method == "POST" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if !c.stranger {
		req.AddCookie(cookie)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != c.want {
		t.Errorf("%s: %s, want %d: %.200s", c.name, resp.Status, c.want, text)
	}
	return resp, string(text)
}

func TestRefused(t *testing.T) {
	r, link := serve(t, "")
	cookie := login(t, link)
	port := fmt.Sprint(r.port)
	halt := url.Values{"kind": {"halt"}, "reason": {"x"}}.Encode()
	for _, c := range []try{
		{name: "rebound name", method: "GET", path: "/", host: "evil.example:" + port, want: 421},
		{name: "rebound name with our address in it", method: "GET", path: "/", host: "127.0.0.1.evil.example", want: 421},
		{name: "rebound name posts", method: "POST", path: "/act", body: halt, host: "evil.example:" + port, header: map[string]string{"Origin": "http://evil.example:" + port}, want: 421},
		{name: "address of the network", method: "GET", path: "/", host: "192.168.1.7:" + port, want: 421},
		{name: "every address", method: "GET", path: "/", host: "0.0.0.0:" + port, want: 421},
		{name: "login under a rebound name", method: "GET", path: "/login?t=x", host: "evil.example", want: 421},
		{name: "cross-site post", method: "POST", path: "/act", body: halt, header: map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}, want: 403},
		{name: "post of another port", method: "POST", path: "/act", body: halt, header: map[string]string{"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:1"}, want: 403},
		{name: "post with another origin", method: "POST", path: "/act", body: halt, header: map[string]string{"Origin": "http://evil.example"}, want: 403},
		{name: "post without an origin of its own", method: "POST", path: "/act", body: halt, header: map[string]string{"Origin": "null"}, want: 403},
		{name: "cross-site read", method: "GET", path: "/", header: map[string]string{"Sec-Fetch-Site": "cross-site"}, want: 403},
		{name: "read of another port", method: "GET", path: "/events", header: map[string]string{"Sec-Fetch-Site": "same-site"}, want: 403},
		{name: "cross-site script", method: "GET", path: "/page.js", header: map[string]string{"Sec-Fetch-Site": "cross-site"}, want: 403},
		{name: "no cookie", method: "GET", path: "/", stranger: true, want: 401},
		{name: "no cookie, events", method: "GET", path: "/events", stranger: true, want: 401},
		{name: "no cookie, act", method: "POST", path: "/act", body: halt, stranger: true, want: 401},
		{name: "guessed cookie", method: "GET", path: "/", stranger: true, header: map[string]string{"Cookie": cookieName(r.port) + "=guess"}, want: 401},
		{name: "cookie of another port", method: "GET", path: "/", stranger: true, header: map[string]string{"Cookie": "tutti-1=" + cookie.Value}, want: 401},
		{name: "no token", method: "GET", path: "/login", stranger: true, want: 403},
		{name: "guessed token", method: "GET", path: "/login?t=AAAA", stranger: true, want: 403},
		{name: "stolen token", method: "GET", path: strings.TrimPrefix(link, "http://127.0.0.1:"+port), stranger: true, want: 403},
		{name: "act by GET", method: "GET", path: "/act?" + halt, want: 405},
		{name: "unknown action", method: "POST", path: "/act", body: "kind=run", want: 400},
		{name: "too long", method: "POST", path: "/act", body: "kind=halt&reason=" + strings.Repeat("x", maxForm), want: 400},
		{name: "lift without the tick", method: "POST", path: "/act", body: "kind=lift", want: 400},
		{name: "a page that is not there", method: "GET", path: "/etc/passwd", want: 404},
	} {
		resp, text := r.try(t, cookie, c)
		if h := resp.Header; h.Get("Content-Security-Policy") != policy || h.Get("X-Content-Type-Options") != "nosniff" ||
			h.Get("Referrer-Policy") != "no-referrer" || h.Get("Cross-Origin-Opener-Policy") != "same-origin" || h.Get("Cross-Origin-Resource-Policy") != "same-origin" {
			t.Errorf("%s: headers are missing: %v", c.name, h)
		}
		if strings.Contains(text, cookie.Value) {
			t.Errorf("%s: the answer has the cookie", c.name)
		}
	}
	select {
	case c := <-r.ran:
		t.Errorf("a refused request ran %q", c.Args)
	default:
	}
}

func TestActs(t *testing.T) {
	r, link := serve(t, "")
	cookie := login(t, link)
	for body, want := range map[string]string{
		"kind=halt":                           "halt",
		"kind=halt&reason=runaway+loop":       "halt -- runaway loop",
		"kind=halt&reason=--tailnet%0A--kill": "halt -- --tailnet --kill",
		"kind=lift&sure=yes":                  "resume",
	} {
		_, text := r.try(t, cookie, try{name: body, method: "POST", path: "/act", body: body, want: 200, header: map[string]string{"Sec-Fetch-Site": "same-origin"}})
		if got := strings.Join((<-r.ran).Args, " "); got != want {
			t.Errorf("%s ran %q, want %q", body, got, want)
		}
		if !strings.Contains(text, "done: ") {
			t.Errorf("%s: the answer does not say what was done: %s", body, text)
		}
	}
	_, text := r.try(t, cookie, try{name: "JSON", method: "POST", path: "/act", body: "kind=halt", want: 200, header: map[string]string{"Accept": "application/json"}})
	if text != "{\"ok\":true,\"text\":\"done: halt\"}\n" {
		t.Errorf("as JSON: %s", text)
	}
	for _, host := range []string{"localhost", "LOCALHOST:1", "[::1]:9", "127.0.0.2"} {
		r.try(t, cookie, try{name: host, method: "GET", path: "/", host: host, want: 200})
	}
}

// The actions of what waits, and prompts, come from the snapshot. A form chooses among them and adds a text, which is never a flag.
func TestOffered(t *testing.T) {
	r, link := serve(t, "")
	cookie := login(t, link)
	<-r.next
	snap := shopSnapshot()
	r.put(snap)
	question, api := short("wait", "q"), short("agent", snap.Agents[0].Key())
	for _, c := range []struct {
		form     url.Values
		want, in string
		refused  error
	}{
		{form: url.Values{"kind": {"item"}, "item": {question}, "action": {"answer"}, "text": {"--as=x\nno"}}, want: "answer evt-1 -- --as=x no"},
		{form: url.Values{"kind": {"item"}, "item": {question}, "action": {"answer"}, "text": {" "}}, refused: errEmpty},
		{form: url.Values{"kind": {"item"}, "item": {question}, "action": {"delete"}}, refused: errGone},
		{form: url.Values{"kind": {"item"}, "item": {"wait-gone"}, "action": {"answer"}, "text": {"yes"}}, refused: errGone},
		{form: url.Values{"kind": {"prompt"}, "agent": {api}, "text": {"run the tests\nall of them"}}, want: "session send --registry r -- api -", in: "run the tests\nall of them"},
		{form: url.Values{"kind": {"prompt"}, "agent": {"agent-gone"}, "text": {"x"}}, refused: errGone},
		{form: url.Values{"kind": {"prompt"}, "agent": {api}}, refused: errEmpty},
	} {
		a := try{name: c.form.Encode(), method: "POST", path: "/act", body: c.form.Encode(), want: 200}
		if c.refused != nil {
			a.want = 400
		}
		_, text := r.try(t, cookie, a)
		if c.refused != nil {
			if !strings.Contains(text, c.refused.Error()) {
				t.Errorf("%s: %s", a.name, text)
			}
			continue
		}
		if ran := <-r.ran; strings.Join(ran.Args, " ") != c.want || ran.Input != c.in {
			t.Errorf("%s ran %q with %q", a.name, ran.Args, ran.Input)
		}
	}
	if len(r.ran) > 0 {
		t.Errorf("a refused form ran %q", (<-r.ran).Args)
	}
}

// TestReadOnly: the rights of a link's page are fixed when the link is made.
func TestReadOnly(t *testing.T) {
	r, link := serve(t, "refused below claude (pid 7)")
	cookie := login(t, link)
	_, text := r.try(t, cookie, try{name: "page", method: "GET", path: "/", want: 200})
	if !strings.Contains(text, "This page only shows: refused below claude (pid 7)") || strings.Contains(text, "<form") || strings.Contains(text, "<button") {
		t.Errorf("the page does not say that it only shows: %s", text)
	}
	for _, body := range []string{"kind=halt", "kind=lift&sure=yes", "kind=item", "kind=prompt"} {
		r.try(t, cookie, try{name: body, method: "POST", path: "/act", body: body, want: 403})
	}
	if len(r.ran) > 0 {
		t.Errorf("a page that only shows ran %q", (<-r.ran).Args)
	}
	full := login(t, r.Link(""))
	r.try(t, full, try{name: "the user's own link beside it", method: "POST", path: "/act", body: "kind=halt", want: 200})
}

func TestLinkEnds(t *testing.T) {
	var a Access
	now := time.Now()
	token := a.grant("", now)
	if c, _ := a.use(token, now.Add(linkTime+time.Second)); c != "" {
		t.Error("an old link lets a browser in")
	}
	token = a.grant("", now)
	if c, _ := a.use(token, now); c == "" {
		t.Error("a fresh link does not let a browser in")
	}
	if c, again := a.use(token, now); c != "" || !again {
		t.Error("a link lets two browsers in")
	}
}
