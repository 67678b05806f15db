package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"tutti/internal/test/boundtest"
	"tutti/internal/test/chromium"
	"tutti/internal/test/hostile"
)

// notRaced skips a test in a browser under the race detector, beside which it takes too long; tests without a browser ask the same server.
func notRaced(t *testing.T) {
	t.Helper()
	if boundtest.Race {
		t.Skip("a browser beside the detector is too slow")
	}
}

// browser starts a Chromium, and skips the test where there is none.
func browser(t *testing.T) context.Context {
	t.Helper()
	ctx, late := context.WithTimeout(t.Context(), 5*time.Minute) // on a busy machine; quiet, a test takes seconds
	t.Cleanup(late)
	ctx, stop, err := chromium.Start(ctx, chromedp.Flag("host-resolver-rules", "MAP evil.example 127.0.0.1"))
	if err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	t.Cleanup(stop)
	return ctx
}

func do(t *testing.T, ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

func eval[T any](t *testing.T, ctx context.Context, script string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%.200s: %v", script, err)
	}
	return v
}

// until waits until the page says that a condition is true.
func until(t *testing.T, ctx context.Context, condition string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		// A page that moves on answers with an error.
		is, err := chromedp.Run(ctx, chromedp.Poll[bool](condition, chromedp.WithPollingTimeout(time.Second)))
		if err == nil && is {
			return
		}
		if time.Now().After(end) {
			text, _ := chromedp.Run(ctx, chromedp.Evaluate[string]("document.body.innerText"))
			t.Fatalf("%s: %v; the page is\n%s", condition, err, text)
		}
	}
}

// A browser logs in by the link, is kept by the cookie, and sees the halt switch change.
func TestBrowser(t *testing.T) {
	ctx := browser(t)
	r, link := serve(t, "")
	do(t, ctx, chromedp.Navigate(link))
	until(t, ctx, `location.pathname === "/" && document.getElementById("connection").textContent.startsWith("live")`)
	if got := eval[string](t, ctx, "location.href"); strings.Contains(got, "t=") {
		t.Errorf("the token is in the address: %s", got)
	}
	do(t, ctx, chromedp.SendKeys("#halt-reason", "runaway loop"), chromedp.Click("button.red"))
	until(t, ctx, `document.getElementById("said").textContent === "done: halt -- runaway loop"`)
	if c := <-r.ran; strings.Join(c.Args, " ") != "halt -- runaway loop" {
		t.Errorf("the button ran %q", c.Args)
	}
	if got := eval[string](t, ctx, `try { const d = document.createElement("div"); d.innerHTML = "<b>x</b>"; "set" } catch (e) { e.name }`); got != "TypeError" {
		t.Errorf("innerHTML: %s", got)
	}
}

// A browser that is logged in does nothing for a page of another site, and nothing for a name of DNS that leads here.
func TestOtherSites(t *testing.T) {
	ctx := browser(t)
	r, link := serve(t, "")
	do(t, ctx, chromedp.Navigate(link))
	until(t, ctx, `location.pathname === "/" && document.getElementById("connection").textContent.startsWith("live")`)
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<title>evil</title><form method=post action="http://127.0.0.1:%d/act"><input name=kind value=halt></form>`, r.port)
	}))
	defer evil.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(evil.URL, "http://"), ":")
	for _, host := range []string{"evil.example", "127.0.0.1"} {
		do(t, ctx, chromedp.Navigate("http://"+host+":"+port+"/"))
		until(t, ctx, `document.title === "evil"`)
		for _, script := range []string{
			`fetch("http://127.0.0.1:%d/act", {method: "POST", mode: "no-cors", credentials: "include", body: new URLSearchParams("kind=halt")}).then(() => "sent", e => e.name)`,
			`fetch("http://127.0.0.1:%d/", {credentials: "include"}).then(r => r.text(), e => e.name)`,
			`new Promise(done => { const e = new EventSource("http://127.0.0.1:%d/events?view=/", {withCredentials: true}); e.onerror = () => done("refused"); e.onmessage = e.onopen = () => done("Halt all agents") })`,
		} {
			if got := eval[string](t, ctx, fmt.Sprintf(script, r.port)); strings.Contains(got, "Halt all agents") {
				t.Errorf("%s reads the page by %s", host, script)
			}
		}
		do(t, ctx, chromedp.Evaluate[chromedp.Void](`document.forms[0].submit()`))
		until(t, ctx, `document.title !== "evil" && document.readyState === "complete"`)
		if text := eval[string](t, ctx, "document.body.innerText"); strings.Contains(text, "done:") {
			t.Errorf("a form of %s was taken: %s", host, text)
		}
	}
	do(t, ctx, chromedp.Navigate(fmt.Sprintf("http://evil.example:%d/", r.port)))
	until(t, ctx, `document.body.innerText.includes("reached as 127.0.0.1")`)
	if len(r.ran) > 0 {
		t.Errorf("another site ran %q", (<-r.ran).Args)
	}
}

// Nothing that others wrote becomes an element of the page, neither in its first form nor when the script draws it.
func TestHostileTexts(t *testing.T) {
	notRaced(t)
	ctx := browser(t)
	texts := hostile.Texts(t)
	for _, more := range []string{`<img src=x onerror="document.title='owned'">`, `"><script>document.title='owned'</script>`, `</bdi></p><form action=/act method=post><button>`, `<a href="javascript:1">x</a>`, "&lt;b&gt;"} {
		texts = append(texts, hostile.Text{Class: "html", Text: more})
	}
	r, link := serve(t, "")
	snap := fullSnapshot("plain")
	<-r.next
	r.put(snap)
	do(t, ctx, chromedp.Navigate(link))
	until(t, ctx, `location.pathname === "/" && document.getElementById("connection").textContent.startsWith("live")`)
	count := `JSON.stringify([...document.querySelectorAll("body *")].map(e => e.tagName + "|" + e.getAttributeNames().filter(n => n.startsWith("on")).join()).sort())`
	want := eval[string](t, ctx, count)
	for _, text := range texts {
		s := fullSnapshot(text.Text)
		r.put(s)
		until(t, ctx, fmt.Sprintf(`Date.parse(%q) === asOf`, s.At.Format(time.RFC3339Nano)))
		if got := eval[string](t, ctx, count); got != want {
			t.Fatalf("%s %q changes the elements of the page:\n%s\n%s", text.Class, text.Text, got, want)
		}
		if shown := eval[string](t, ctx, `document.body.innerText.replaceAll("\t", " ")`); hostile.Harm(shown) != "" {
			t.Errorf("%s %q: the page shows %s", text.Class, text.Text, hostile.Harm(shown))
		}
	}
	do(t, ctx, chromedp.Reload())
	until(t, ctx, `document.getElementById("connection").textContent.startsWith("live")`)
	if title := eval[string](t, ctx, "document.title"); title != "Now · tutti" {
		t.Errorf("the title became %q", title)
	}
}

// axe finds no fault of accessibility on any page, in light and in dark, on a desktop and on a phone.
func TestAccessible(t *testing.T) {
	notRaced(t)
	axe, err := os.ReadFile(os.Getenv("TUTTI_AXE"))
	if err != nil {
		t.Skip("SKIPPED: axe-core is not installed (TUTTI_AXE names the file)")
	}
	ctx := browser(t)
	r, link := serve(t, "")
	<-r.next
	r.put(fullSnapshot("migrations pass on postgres"))
	do(t, ctx, chromedp.Navigate(link))
	until(t, ctx, `location.pathname === "/" && document.getElementById("connection").textContent.startsWith("live")`)
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1200, 390} {
			do(t, ctx, chromedp.EmulateViewport(width, 844), media(scheme))
			paths := []string{"/docs/", "/docs/web.html", "/docs/search.html?q=halt"}
			for _, v := range views {
				paths = append(paths, strings.TrimSuffix(v.path, "{$}"))
			}
			for _, path := range paths {
				do(t, ctx, chromedp.Navigate(fmt.Sprintf("http://127.0.0.1:%d%s", r.port, path)))
				until(t, ctx, `document.readyState === "complete"`)
				for _, f := range inaccessible(t, ctx, axe) {
					t.Errorf("%s, %s, %d wide: %s", path, scheme, width, f)
				}
				if wide := eval[int](t, ctx, "document.documentElement.scrollWidth"); int64(wide) > width {
					t.Errorf("%s is %d wide on a screen of %d", path, wide, width)
				}
				if strings.HasPrefix(path, "/docs/") && width > 1000 {
					continue // its menu has 34 links, for a mouse
				}
				if small := eval[string](t, ctx, `[...document.querySelectorAll("button, summary, nav a, input[type=text], select")].filter(e => e.offsetParent && e.getBoundingClientRect().height < 44).map(e => e.outerHTML).join()`); small != "" {
					t.Errorf("%s: lower than 44 pixels: %s", path, small)
				}
			}
		}
	}
}

// inaccessible returns what axe finds on the page that is open.
func inaccessible(t *testing.T, ctx context.Context, axe []byte) (faults []string) {
	t.Helper()
	eval[any](t, ctx, string(axe)+";0")
	found := eval[string](t, ctx, `axe.run().then(r => JSON.stringify(r.violations.map(v => v.impact + " " + v.id + ": " + v.nodes.map(n => n.html).join(" ").slice(0, 300))))`)
	if err := json.Unmarshal([]byte(found), &faults); err != nil {
		t.Fatal(err)
	}
	return faults
}

func media(scheme string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		return err
	})
}
