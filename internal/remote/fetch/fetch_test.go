package fetch

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestGet(t *testing.T) {
	t.Parallel()
	var stolen bool
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		stolen = true
	}))
	defer elsewhere.Close()
	plain := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { stolen = true }))
	defer plain.Close()
	mux := http.NewServeMux()
	done := make(chan struct{})
	defer close(done)
	mux.HandleFunc("/e", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"a":1}`))
	})
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/e", http.StatusFound) })
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) })
	mux.HandleFunc("/down", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, plain.URL, http.StatusFound) })
	mux.HandleFunc("/round", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/round", http.StatusFound) })
	mux.HandleFunc("/large", func(w http.ResponseWriter, r *http.Request) {
		for range maxBytes/1024 + 2 {
			if _, err := w.Write([]byte(strings.Repeat(" ", 1024))); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		select { // it begins to answer, and goes no further
		case <-done:
		case <-r.Context().Done():
		}
	})
	server := httptest.NewTLSServer(mux)
	defer server.Close()
	trusted := &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	c := &Client{Token: "secret", TLS: trusted, Limit: 5 * time.Second}
	for path, want := range map[string]string{
		"/e": "", "/moved": "", "/none": "HTTP 404", "/away": "redirects elsewhere", "/down": "redirects elsewhere", "/round": "more than 5 redirects",
		"/large": "more than 5 MiB",
	} {
		data, err := c.Get(t.Context(), server.URL+path)
		switch {
		case want == "" && (err != nil || string(data) != `{"a":1}`):
			t.Errorf("%s: got %q, %v", path, data, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want %q", path, err, want)
		case err != nil && strings.Contains(err.Error(), "secret"):
			t.Errorf("%s: the error tells the token: %v", path, err)
		}
	}
	if stolen {
		t.Error("another server was asked")
	}
	if _, err := (&Client{TLS: trusted}).Get(t.Context(), server.URL+"/e"); err == nil || err.Error() != "HTTP 401" {
		t.Errorf("without a token: %v", err)
	}
	if _, err := (&Client{}).Get(t.Context(), server.URL+"/e"); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a server without a trusted certificate: %v", err)
	}
	local := httptest.NewServer(mux)
	defer local.Close()
	if _, err := (&Client{Token: "secret"}).Get(t.Context(), local.URL+"/e"); err == nil || !strings.Contains(err.Error(), "only https") {
		t.Errorf("http to this machine that was not typed: %v", err)
	}
	if data, err := (&Client{Token: "secret", Loopback: true}).Get(t.Context(), local.URL+"/e"); err != nil || string(data) != `{"a":1}` {
		t.Errorf("http to this machine: %s, %v", data, err)
	}
	if _, err := (&Client{Loopback: true}).Get(t.Context(), "http://192.0.2.1/e"); err == nil || !strings.Contains(err.Error(), "only https") {
		t.Errorf("http to another machine: %v", err)
	}
	if _, err := c.Get(t.Context(), plain.URL); err == nil || !strings.Contains(err.Error(), "only https") {
		t.Errorf("plain http: %v", err)
	}
	slow := &Client{TLS: trusted, Limit: 200 * time.Millisecond}
	if _, err := slow.Get(t.Context(), server.URL+"/slow"); err == nil || !strings.Contains(err.Error(), "no answer within 200ms") {
		t.Errorf("a server that hangs: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Get(gone, server.URL+"/e"); err == nil {
		t.Error("an answer after the end")
	}
}
