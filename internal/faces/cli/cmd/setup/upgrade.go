package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"tutti/internal/core/canonjson"
	"tutti/internal/platform/smallfile"
)

const (
	// Limit is how long an answer is waited for: that of existing programs.
	Limit = 15 * time.Second
	// maxAnswer is how much of an answer is read, in bytes: a version has ten.
	maxAnswer = 64 << 10
	// maxVersion is the longest text that is taken for one.
	maxVersion = 64
)

// Latest returns the latest version that a source announces. It asks the one place that the user has named: a file, or an address
// by https. The answer is a version on a line of its own, or JSON with the member "version". It waits for at most [Limit], reads little,
// goes nowhere else than it was sent, and fetches and replaces no program.
func Latest(ctx context.Context, source string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, Limit)
	defer stop()
	shown := source
	var text []byte
	var err error
	switch u, bad := url.Parse(source); {
	case bad == nil && u.Scheme != "" && u.Host != "":
		shown = u.Redacted() // a password is for that place alone
		text, err = fetch(ctx, u)
	case bad == nil && u.Scheme == "file" && u.Path != "":
		text, _, err = smallfile.Read(u.Path, maxAnswer, smallfile.Follow)
	default:
		text, _, err = smallfile.Read(source, maxAnswer, smallfile.Follow)
	}
	var version string
	if err == nil {
		version, err = versionIn(text)
	}
	if err != nil {
		return "", fmt.Errorf("ask %s for the latest version: %w", shown, err)
	}
	return version, nil
}

func limited(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxAnswer+1))
	if err == nil && len(text) > maxAnswer {
		err = fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	}
	return text, err
}

// fetch gets a page. Without encryption only from this machine: anybody on the way could announce a version.
func fetch(ctx context.Context, u *url.URL) ([]byte, error) {
	if ip := net.ParseIP(u.Hostname()); u.Scheme != "https" && (u.Scheme != "http" || !(u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())) {
		return nil, errors.New("only https is asked")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	client := http.Client{CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if len(via) > 3 || req.URL.Host != u.Host || req.URL.Scheme != u.Scheme {
			return errors.New("it leads elsewhere")
		}
		return nil
	}}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers with status %d", res.StatusCode)
	}
	return limited(res.Body)
}

func versionIn(text []byte) (string, error) {
	text = bytes.TrimSpace(text)
	version := string(text)
	if canonjson.Valid(text) && canonjson.IsObject(text) {
		v, _ := canonjson.Get(text, "version")
		version, _ = canonjson.String(v)
	}
	version = strings.TrimSpace(version)
	if version == "" || len(version) > maxVersion || strings.ContainsFunc(version, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return "", errors.New("the answer is not a version")
	}
	return version, nil
}
