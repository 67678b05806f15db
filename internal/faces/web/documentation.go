package web

import (
	"embed"
	"io/fs"
	"net/http"
	"path"
)

// made has the documentation as "make build" makes it of docs/. It is empty after a plain "go build".
//
//go:embed all:made
var made embed.FS

// docsPolicy also lets the pages of the documentation show their pictures.
const docsPolicy = policy + "; img-src 'self'"

// picturePolicy lets a picture that is opened alone have colours and movement. It may load nothing and run no script.
const picturePolicy = "default-src 'none'; style-src 'unsafe-inline'"

// docsKinds are the kinds of files in the documentation. The tables of the operating system, which may differ, are not asked.
var docsKinds = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".png": "image/png", ".svg": "image/svg+xml", ".webp": "image/webp",
}

// documentation serves the documentation, without a login: it is the same for everyone and says nothing of this machine, and a browser that has
// no link yet may need it.
func documentation(pages fs.FS) http.HandlerFunc {
	if pages == nil {
		pages, _ = fs.Sub(made, "made/docs") // the name is valid
	}
	return func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("file")
		if name == "" {
			name = "index.html"
		}
		content, err := fs.ReadFile(pages, name)
		if err != nil {
			text := "The documentation has no such page."
			if _, err := fs.Stat(pages, "index.html"); err != nil {
				text = `This program was built without its documentation. "make build" includes it.`
			}
			notice(w, http.StatusNotFound, "Not found", text)
			return
		}
		w.Header().Set("Content-Security-Policy", docsPolicy)
		if path.Ext(name) == ".svg" {
			w.Header().Set("Content-Security-Policy", picturePolicy)
		}
		file(docsKinds[path.Ext(name)], content)(w, r)
	}
}
