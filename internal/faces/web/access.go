package web

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// linkTime is how long a link may be used. It is on a screen until then.
const linkTime = 10 * time.Minute

// An Access knows the links that were printed, and the browsers that used one.
type Access struct {
	mu      sync.Mutex
	links   map[string]*link
	reached map[string]*visitor // by their cookie
}

// A link lets one browser in, once.
type link struct {
	until time.Time
	who   visitor
	used  bool
}

// A visitor is a browser that has used a link.
type visitor struct {
	Cannot string // why it may only look; "": it acts for the user
}

// newSecret returns a text that cannot be guessed.
func newSecret() string {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // it never fails
	return base64.RawURLEncoding.EncodeToString(raw)
}

// grant makes a link. cannot says why its page may only look; "" lets it act for the user.
func (a *Access) grant(cannot string, now time.Time) (token string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.links == nil {
		a.links, a.reached = map[string]*link{}, map[string]*visitor{}
	}
	token = newSecret()
	a.links[token] = &link{until: now.Add(linkTime), who: visitor{Cannot: cannot}}
	return token
}

// use takes a link and returns the cookie of the browser. again tells that the link was used before.
func (a *Access) use(token string, now time.Time) (cookie string, again bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for t, l := range a.links {
		if subtle.ConstantTimeCompare([]byte(t), []byte(token)) != 1 {
			continue
		}
		if l.used || now.After(l.until) {
			return "", l.used
		}
		l.used = true
		cookie = newSecret()
		who := l.who
		a.reached[cookie] = &who
		return cookie, false
	}
	return "", false
}

// of returns the visitor of a request, nil for a stranger.
func (a *Access) of(r *http.Request, port int) *visitor {
	c, err := r.Cookie(cookieName(port))
	if err != nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for secret, v := range a.reached {
		if subtle.ConstantTimeCompare([]byte(secret), []byte(c.Value)) == 1 {
			return v
		}
	}
	return nil
}

// cookieName has the port in it: browsers send the cookies of one port of a machine to all others.
func cookieName(port int) string { return "tutti-" + strconv.Itoa(port) }

// ownHost tells whether a Host header names this machine itself. A name of DNS that leads here does not.
func ownHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.IsLoopback()
}

// policy lets the page load its own script and style sheet and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; " +
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// guarded refuses what does not come from a page of this server, before anything else looks at it.
func guarded(next http.Handler) http.Handler {
	next = http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		for name, value := range map[string]string{
			"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
		} {
			h.Set(name, value)
		}
		if !ownHost(r.Host) {
			http.Error(w, "this page is reached as 127.0.0.1 or localhost only", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// fromOutside tells whether another site or another port had the browser ask. Programs other than browsers do not say.
func fromOutside(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site != "" && site != "same-origin" && site != "none"
}

type visitorKey struct{}

// visitorOf returns who asks, which known put there.
func visitorOf(ctx context.Context) *visitor { return ctx.Value(visitorKey{}).(*visitor) }

// known lets only visitors through.
func (s *Server) known(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if fromOutside(r) {
			http.Error(w, "another site asked for this", http.StatusForbidden)
			return
		}
		v := s.access.of(r, s.port)
		if v == nil {
			notice(w, http.StatusUnauthorized, "Not logged in", `This browser has not used a link of this server. "tutti web" prints one; press Enter there for a new one.`)
			return
		}
		next(w, r.WithContext(context.WithValue(r.Context(), visitorKey{}, v)))
	}
}

// login takes the token of a link and gives the browser its cookie. The page that it sends moves on by itself: browsers keep a strict cookie
// from a request that another site began, and a redirect would be part of that request.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	cookie, again := s.access.use(r.URL.Query().Get("t"), time.Now())
	if cookie == "" {
		text := "The link is wrong, or older than ten minutes."
		if again {
			text = "The link was used before. If that was not you, end this server and look at who may read your screen."
			s.tell("a link was used twice; the second use was refused")
		}
		notice(w, http.StatusForbidden, "No entry", text+` Press Enter where "tutti web" runs for a new link.`)
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookieName(s.port), Value: cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	s.tell("a browser has used the link")
	page := el("html", el("head", el("meta").with("charset", "utf-8"), el("title", txt("tutti")),
		el("meta").with("http-equiv", "refresh", "content", "0;url=/")),
		el("body", el("p", el("a", txt("go on")).with("href", "/")))).with("lang", "en")
	sendHTML(w, http.StatusOK, page)
}

// notice sends a page of one paragraph. Without a login there is no way to the overview.
func notice(w http.ResponseWriter, status int, title, text string) {
	ways := []node{el("a.button", txt("documentation")).with("href", "/docs/")}
	if status != http.StatusUnauthorized && status != http.StatusForbidden {
		ways = slices.Insert(ways, 0, el("a.button", txt("to the overview")).with("href", "/"), txt(" "))
	}
	sendHTML(w, status, el("html",
		el("head", el("meta").with("charset", "utf-8"), el("meta").with("name", "viewport", "content", "width=device-width,initial-scale=1"),
			el("title", txt(title+" · tutti")), el("link").with("rel", "stylesheet", "href", "/page.css")),
		el("body", el("main", el("h1", txt(title)), el("p", txt(text)), el("p", ways...)))).with("lang", "en"))
}

func sendHTML(w http.ResponseWriter, status int, page node) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte("<!doctype html>\n" + html(page)))
}
