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
	// maxAnswer is how much of an answer is read, in bytes: a version has ten, a list of changes grows.
	maxAnswer = 256 << 10
	// maxVersion is the longest text that is taken for one.
	maxVersion = 64
)

// An Announced is what a source of releases says.
type Announced struct {
	Version string
	Changes []string // since the version that was asked with, in the order of the source; empty where the source has only a version
}

// Latest returns the latest version that a source announces, and what it changes since the current one. It asks the one place that the
// user has named: a file, or an address by https. The answer is a version on a line of its own, JSON with the member "version", or a list of
// changes such as CHANGELOG.md. It waits for at most [Limit], reads little, goes nowhere else than it was sent, and fetches and replaces
// no program.
func Latest(ctx context.Context, source, current string) (Announced, error) {
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
	var found Announced
	if err == nil {
		if found = changesIn(text, current); found.Version == "" {
			found.Version, err = versionIn(text)
		}
	}
	if err != nil {
		return Announced{}, fmt.Errorf("ask %s for the latest version: %w", shown, err)
	}
	return found, nil
}

// changesIn reads a list of changes: a heading "## 1.2.3" for each version, also as [1.2.3] or v1.2.3, and an item for each change, which may
// go on in the next lines. What is not released yet does not count. Without such a heading there is no version.
func changesIn(text []byte, current string) (found Announced) {
	newer, goesOn := false, false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			v, _, _ := strings.Cut(heading, " ") // behind it there may be a date
			v = strings.TrimPrefix(strings.Trim(v, "[]"), "v")
			newer, goesOn = false, false
			if !isVersion(v) || strings.Contains(strings.ToLower(heading), "unreleased") {
				continue
			}
			if found.Version == "" || Newer(v, found.Version) {
				found.Version = v
			}
			newer = Newer(v, current)
			continue
		}
		change, begins := strings.CutPrefix(line, "- ")
		if !begins {
			change, begins = strings.CutPrefix(line, "* ")
		}
		switch {
		case newer && begins:
			found.Changes, goesOn = append(found.Changes, change), true
		case goesOn && line != "" && !strings.HasPrefix(line, "##"):
			found.Changes[len(found.Changes)-1] += " " + line
		default:
			goesOn = false
		}
	}
	return found
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
