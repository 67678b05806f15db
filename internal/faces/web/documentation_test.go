package web

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"tutti/internal/faces/site"
)

// pagesOf makes the documentation as it is in this checkout.
var pagesOf = sync.OnceValues(func() (map[string][]byte, error) { return site.Make(os.DirFS("../../.."), "/") })

func docsFS(t *testing.T) fs.FS {
	t.Helper()
	files, err := pagesOf()
	if err != nil {
		t.Fatal(err)
	}
	tree := fstest.MapFS{}
	for name, data := range files {
		tree[name] = &fstest.MapFile{Data: data}
	}
	return tree
}

// Everyone on this machine may read the documentation. Other sites may not, and it is never what changes something.
func TestDocs(t *testing.T) {
	r, link := serve(t, "")
	for _, page := range []try{{name: "the overview", want: 200}, {name: "no cookie", stranger: true, want: 401}} {
		page.method, page.path = "GET", "/"
		cookie := &http.Cookie{}
		if !page.stranger {
			cookie = login(t, link)
		}
		if _, text := r.try(t, cookie, page); !strings.Contains(text, `href="/docs/"`) {
			t.Errorf("%s has no link to the documentation", page.name)
		}
	}
	files, err := pagesOf()
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		resp, got := r.try(t, nil, try{name: name, method: "GET", path: "/docs/" + name, stranger: true, want: 200})
		if kind := resp.Header.Get("Content-Type"); kind == "" || kind != docsKinds[path.Ext(name)] || got != string(content) {
			t.Errorf("%s: %q, %d bytes, want %d", name, kind, len(got), len(content))
		}
		want := docsPolicy
		if path.Ext(name) == ".svg" {
			want = picturePolicy
		}
		if resp.Header.Get("Content-Security-Policy") != want {
			t.Errorf("%s: policy %q", name, resp.Header.Get("Content-Security-Policy"))
		}
	}
	for _, c := range []try{
		{name: "the first page", path: "/docs/", want: 200},
		{name: "without the slash", path: "/docs", want: 307},
		{name: "unknown page", path: "/docs/gone.html", want: 404},
		{name: "a folder", path: "/docs/pictures/", want: 404},
		{name: "out of the site", path: "/docs/%2e%2e/%2e%2e/etc/passwd", want: 404},
		{name: "rebound name", path: "/docs/", host: "evil.example", want: 421},
		{name: "cross-site read", path: "/docs/", header: map[string]string{"Sec-Fetch-Site": "cross-site"}, want: 403},
		{name: "post", method: "POST", path: "/docs/", want: 405},
	} {
		c.method, c.stranger = cmp.Or(c.method, "GET"), true
		r.try(t, nil, c)
	}
}

// A program that was not built by make says so.
func TestNoDocs(t *testing.T) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/docs/", nil)
	documentation(fstest.MapFS{})(w, r)
	if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "make build") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// faults collects what a browser complains of: in its console, about the policy, and failed requests.
type faults struct {
	all  chan string
	ends int
}

func (f *faults) heard(ev any) {
	switch ev := ev.(type) {
	case *log.EventEntryAdded:
		f.all <- ev.Entry.Text + " " + ev.Entry.URL
	case *runtime.EventConsoleAPICalled:
		text := "console:"
		for _, arg := range ev.Args {
			text += fmt.Sprintf(" %s", arg.Value)
		}
		f.all <- text
	case *runtime.EventExceptionThrown:
		f.all <- ev.ExceptionDetails.Text
	}
}

// until returns what was heard before the fault that has a text in it.
func (f *faults) until(t *testing.T, ctx context.Context, text string) (before []string) {
	t.Helper()
	for {
		select {
		case fault := <-f.all:
			if strings.Contains(fault, text) {
				return before
			}
			before = append(before, fault)
		case <-ctx.Done():
			t.Fatalf("the browser did not say %q but %q", text, before)
		}
	}
}

// none requires that nothing was heard of the page that is open.
func (f *faults) none(t *testing.T, ctx context.Context, page string) {
	t.Helper()
	f.ends++
	end := fmt.Sprintf("end of page %d.", f.ends)
	eval[any](t, ctx, fmt.Sprintf("console.info(%q);0", end))
	for _, fault := range f.until(t, ctx, end) {
		t.Errorf("%s: %s", page, fault)
	}
}

// The pages fit a phone and a desktop, without a complaint of the browser, and the search finds a section: from the server, and in a folder.
func TestDocsBrowser(t *testing.T) {
	notRaced(t)
	ctx := browser(t)
	r, _ := serve(t, "")
	folder := t.TempDir()
	files, err := site.Make(os.DirFS("../../.."), "")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		at := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	bad := faults{all: make(chan string, 1000)}
	if err := chromedp.Listen(ctx, bad.heard); err != nil {
		t.Fatal(err)
	}
	for _, base := range []string{fmt.Sprintf("http://127.0.0.1:%d/docs/", r.port), "file://" + folder + "/"} {
		for _, width := range []int64{390, 1200} {
			do(t, ctx, chromedp.EmulateViewport(width, 844))
			for _, name := range []string{"index.html", "halt.html", "search.html?q=lift+halt"} {
				do(t, ctx, chromedp.Navigate(base+name))
				until(t, ctx, `document.readyState === "complete" && [...document.images].every(i => i.complete && i.naturalWidth > 0)`)
				if wide := eval[int64](t, ctx, "document.documentElement.scrollWidth"); wide > width {
					t.Errorf("%s%s is %d wide on a screen of %d", base, name, wide, width)
				}
				bad.none(t, ctx, fmt.Sprintf("%s%s, %d wide", base, name, width))
			}
		}
		do(t, ctx, chromedp.Navigate(base+"index.html"), chromedp.SendKeys("input[name=q]", "worktree rebase\r"))
		until(t, ctx, `location.pathname.endsWith("/search.html") && [...document.querySelectorAll("main li a")].some(a => a.textContent.includes("rebase"))`)
		if first := eval[string](t, ctx, `document.querySelector("main li a").getAttribute("href")`); first != "reference.html#tutti-worktree-rebase" {
			t.Errorf("the first result is %s", first)
		}
		do(t, ctx, chromedp.Click("main li a"))
		until(t, ctx, `location.hash === "#tutti-worktree-rebase" && document.querySelector(location.hash).getBoundingClientRect().top < innerHeight`)
		bad.none(t, ctx, base+", searching")
	}
	eval[any](t, ctx, `document.body.append(document.createElement("style"));document.querySelector("body > style").textContent = "b {}";0`)
	bad.until(t, ctx, "inline style") // so complaints about the policy are heard
}
