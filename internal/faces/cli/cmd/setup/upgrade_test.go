package setup

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestLatest(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("9.9.9")) }))
	defer elsewhere.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/plain":
			w.Write([]byte(" 1.2.3\n"))
		case "/json":
			w.Write([]byte(`{"name":"tutti","version":"1.2.4"}`))
		case "/near":
			http.Redirect(w, r, "/plain", http.StatusFound)
		case "/far":
			http.Redirect(w, r, elsewhere.URL, http.StatusFound)
		case "/page":
			w.Write([]byte("<html> no version </html>"))
		case "/long":
			w.Write([]byte(strings.Repeat("1", 2*maxAnswer)))
		case "/hang":
			<-r.Context().Done()
		default:
			http.NotFound(w, r)
		}
	}))
	defer s.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "latest")
	if err := os.WriteFile(file, []byte("1.2.5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]string{
		s.URL + "/plain": "1.2.3", s.URL + "/json": "1.2.4", s.URL + "/near": "1.2.3", file: "1.2.5",
		s.URL + "/far": "", s.URL + "/page": "", s.URL + "/long": "", s.URL + "/none": "", dir: "", filepath.Join(dir, "absent"): "",
		"http://releases.invalid/latest": "", "ftp://127.0.0.1/latest": "",
	} {
		if got, err := Latest(t.Context(), source, "1.0.0"); got.Version != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v, want %q", source, got, err, want)
		}
	}
	secret := strings.Replace(s.URL, "http://", "http://ana:hush@", 1)
	if _, err := Latest(t.Context(), secret+"/none", "1.0.0"); err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("a password is shown: %v", err)
	}
	if got, err := Latest(t.Context(), "file://"+file, "1.0.0"); got.Version != "1.2.5" {
		t.Errorf("a file as an address: %q, %v", got, err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := Latest(t.Context(), pipe, "1.0.0")
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil {
			t.Error("a pipe has a version")
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits for a writer of a pipe")
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Latest(ctx, s.URL+"/hang", "1.0.0"); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	text := "# Changes\n\nAll of them.\n\n## 1.3.0 (2027-01-02)\n\n- One goes on\n  in the next line.\n- Two\n\nNot this.\n\n## Notes\n\n- Not this.\n\n## 1.2.1\n\n### Repairs\n\n- Three\n\n## 1.2.0\n\n- Old\n"
	for current, want := range map[string][]string{"1.2.0": {"One goes on in the next line.", "Two", "Three"}, "1.2.9": {"One goes on in the next line.", "Two"}, "1.3.0": nil, "2.0.0": nil} {
		if got := changesIn([]byte(text), current); got.Version != "1.3.0" || !slices.Equal(got.Changes, want) {
			t.Errorf("since %s: %q", current, got)
		}
	}
	if got := changesIn([]byte("## Unreleased\n- a\n## 1.4.0 (unreleased)\n- b\n## v1.2.0\n* c\n## [1.3.0] - 2027-01-02\n* d\n  #12\n"), "1.1.0"); got.Version != "1.3.0" || !slices.Equal(got.Changes, []string{"c", "d #12"}) {
		t.Errorf("other forms: %q", got)
	}
	for _, text := range []string{"", "## ", "## x", "# 1.2.3", "- a", "##1.2.3"} {
		if got := changesIn([]byte(text), "1.0.0"); got.Version != "" || len(got.Changes) > 0 {
			t.Errorf("%q: %q", text, got)
		}
	}
}
