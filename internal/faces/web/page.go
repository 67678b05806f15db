package web

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"tutti/internal/attention/overview"

	"tutti/internal/core/termsafe"
	"tutti/internal/halt"
)

// A view is one address of the page.
type view struct {
	path, title, tab string
	body             func(s *Server, ctx context.Context, snap *Snapshot, v *visit) []node
	live             bool          // its body follows the snapshot
	again            time.Duration // and is made again so often; 0: never
}

// A visit is one page that is made: for whom, and with which values in its address.
type visit struct {
	who   *visitor
	q     func(name string) string
	shown func(path string) string // a path as people see it
}

// views are all pages. Those with a tab are in the menu.
var views = []view{
	{path: "/{$}", title: "Now", tab: "/", body: (*Server).now, live: true},
	{path: "/agreements", title: "Agreements", tab: "/agreements", body: (*Server).agreements},
	{path: "/agreement", title: "Agreement", body: (*Server).agreement},
	{path: "/organisation", title: "Organisation", tab: "/organisation", body: (*Server).organisation},
	{path: "/machines", title: "Machines", tab: "/machines", body: (*Server).machinesPage, live: true},
	{path: "/thread", title: "Thread", body: (*Server).threadPage, live: true},
	{path: "/screen", title: "Screen", body: (*Server).screen, live: true, again: 700 * time.Millisecond},
}

// page sends a view. Everything is in it already: it can be read without the script.
func (s *Server) page(v view) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, stop := context.WithTimeout(r.Context(), 10*time.Second)
		defer stop()
		snap, err := s.hub.wait(ctx)
		if err != nil {
			notice(w, http.StatusServiceUnavailable, "Not ready", "Your agents could not be read within ten seconds. Try again.")
			return
		}
		sendHTML(w, http.StatusOK, s.document(ctx, v, snap, visitorOf(r.Context()), r.URL))
	}
}

func (s *Server) document(ctx context.Context, v view, snap *Snapshot, who *visitor, at *url.URL) node {
	var menu []node
	for _, o := range views {
		if o.tab == "" {
			continue
		}
		a := el("a", txt(o.title)).with("href", o.tab)
		if o.path == v.path {
			a = a.with("aria-current", "page")
		}
		menu = append(menu, el("li", a))
	}
	menu = append(menu, el("li", el("a", txt("Docs")).with("href", "/docs/")))
	body := el("body",
		el("a.skip", txt("to the content")).with("href", "#main"),
		el("header",
			el("div.brand", el("strong", txt("tutti")),
				el("p", txt("as of "+snap.At.Local().Format("15:04:05")+"; load the page again for newer facts")).keyed("connection")),
			s.head(snap, who),
			el("p").keyed("said").with("role", "status", "aria-live", "polite"),
		),
		el("nav", el("ul", menu...)).with("aria-label", "views"),
		el("main", el("h1.page", txt(v.title)), s.part(ctx, v, snap, who, at.Query().Get)).keyed("main"),
	).with("data-view", at.RequestURI())
	return el("html",
		el("head", el("meta").with("charset", "utf-8"), el("meta").with("name", "viewport", "content", "width=device-width,initial-scale=1"),
			el("meta").with("name", "color-scheme", "content", "light dark"), el("title", txt(v.title+" · tutti")),
			el("link").with("rel", "stylesheet", "href", "/page.css"), el("script").with("src", "/page.js", "defer", "")),
		body).with("lang", "en")
}

// part is the body of a view.
func (s *Server) part(ctx context.Context, v view, snap *Snapshot, who *visitor, q func(string) string) node {
	return el("div", v.body(s, ctx, snap, &visit{who, q, s.Shown})...).keyed("body")
}

// partsOf are the parts of a page that change: the head, and the body of a live view. uri is the address of the page.
func (s *Server) partsOf(ctx context.Context, uri string, snap *Snapshot, who *visitor) []part {
	parts := []part{{"head", s.head(snap, who)}}
	if v := viewOf(uri); v.live {
		u, _ := url.ParseRequestURI(uri) // viewOf has done so
		parts = append(parts, part{"body", s.part(ctx, v, snap, who, u.Query().Get)})
	}
	return parts
}

// viewOf is the view at an address, the zero one if there is none.
func viewOf(uri string) view {
	if u, err := url.ParseRequestURI(uri); err == nil {
		for _, v := range views {
			if v.path == u.Path || v.path == u.Path+"{$}" {
				return v
			}
		}
	}
	return view{}
}

// head has the halt switch, which is on every page.
func (s *Server) head(snap *Snapshot, who *visitor) node {
	h := halt.Read()
	class, text := "div.halt", []node{el("strong", txt("Nothing is halted."))}
	if h.Halted {
		class = "div.halt on"
		text = []node{el("strong.bad", txt("Halted"))}
		if h.By != "" {
			text = append(text, txt(" by "), word(h.By))
		}
		if !h.Since.IsZero() {
			text = append(text, txt(" "), since(h.Since), txt(" ago"))
		}
		if why := cmp.Or(h.Reason, h.Problem); why != "" {
			text = append(text, txt(": "), word(why))
		}
	}
	kids := []node{el("p", text...)}
	switch {
	case who.Cannot != "":
		kids = append(kids, el("p.wait", txt("This page only shows: "+who.Cannot)))
	case h.Halted:
		kids = append(kids, el("details",
			el("summary", txt("Let all agents go on")),
			form("ask", hidden("kind", "lift"),
				el("label.check", el("input").with("type", "checkbox", "name", "sure", "value", "yes", "required", ""), txt("I want every agent to continue")),
				button("", "Lift the halt"))).keyed("lifting"))
	default:
		kids = append(kids, form("ask", hidden("kind", "halt"), field("halt-reason", "reason", "Reason", false), button("red", "Halt all agents")))
	}
	return el(class, kids...).keyed("head")
}

func problemsOf(all []overview.BusProblem) (out []node) {
	for _, p := range all {
		out = append(out, el("p.bad", word(p.Bus), txt(": "), peer(p.Error)))
	}
	return out
}

func add(n node, kids ...node) node {
	n.Kids = append(n.Kids[:len(n.Kids):len(n.Kids)], kids...)
	return n
}

// table makes a table, or says that there is nothing.
func table(caption, none string, rows []node, columns ...string) node {
	if len(rows) == 0 {
		return el("div", el("h2", txt(caption)), el("p.quiet", txt(none)))
	}
	var heads []node
	for _, c := range columns {
		heads = append(heads, el("th", txt(c)).with("scope", "col"))
	}
	return el("div", el("h2", txt(caption)), el("table", el("thead", el("tr", heads...)), el("tbody", rows...)).with("aria-label", caption))
}

func name(s string) node { return el("th", word(s)).with("scope", "row") }

// cell is a cell of a table; on a phone the name of its column is beside it.
func cell(column string, kids ...node) node { return el("td", kids...).with("data-name", column) }

// clock is a time of day.
func clock(t time.Time) node {
	return el("time", txt(t.Local().Format("2006-01-02 15:04:05"))).with("datetime", t.UTC().Format(time.RFC3339))
}

// since is how long ago a time is. Its text is not part of it: the script keeps it up to date.
func since(t time.Time) node {
	return el("time").with("datetime", t.UTC().Format(time.RFC3339Nano), "data-ago", "")
}

func ago(at string) string {
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(termsafe.Ago(max(0, time.Since(t))), " ago")
}

// href is the address of a page with parameters: name, value.
func href(path string, pairs ...string) string {
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return path + "?" + v.Encode()
}

func form(class string, kids ...node) node {
	return el("form."+class, kids...).with("method", "post", "action", "/act")
}

func hidden(name, value string) node {
	return el("input").with("type", "hidden", "name", name, "value", value)
}

func button(class, label string) node {
	b := el("button", txt(termsafe.Clean(label))).with("type", "submit")
	if class != "" {
		b = b.with("class", class)
	}
	return b
}

// field is an input line with its label.
func field(id, name, label string, required bool) node {
	in := el("input").with("type", "text", "id", id, "name", name, "maxlength", "2000", "autocomplete", "off")
	if required {
		in = in.with("required", "")
	}
	return el("div", el("label", txt(termsafe.Clean(label))).with("for", id), in)
}
