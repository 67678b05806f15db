package web

import (
	"net/http"
	"path"
	"sync"

	"tutti/internal/faces/site"

	tutti "tutti"
)

// docsPolicy also lets the pages of the documentation show their pictures.
const docsPolicy = policy + "; img-src 'self'"

// docsKinds are the kinds of files in the documentation. The tables of the operating system, which may differ, are not asked.
var docsKinds = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".png": "image/png", ".svg": "image/svg+xml", ".webp": "image/webp",
}

// documentation serves the documentation that is inside the program, without a login: it is the same for everyone and says nothing of this
// machine, and a browser that has no link yet may need it. It is made once, when a browser first asks.
func documentation() http.HandlerFunc {
	made := sync.OnceValues(func() (map[string][]byte, error) { return site.Make(tutti.Pages, "/") })
	return func(w http.ResponseWriter, r *http.Request) {
		files, err := made()
		if err != nil { // the tests of package site let no such build pass
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		name := r.PathValue("file")
		if name == "" {
			name = "index.html"
		}
		content, ok := files[name]
		if !ok {
			notice(w, http.StatusNotFound, "No such page", "The documentation has no page of this name.")
			return
		}
		w.Header().Set("Content-Security-Policy", docsPolicy)
		file(docsKinds[path.Ext(name)], content)(w, r)
	}
}
