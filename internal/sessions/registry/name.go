package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
)

const (
	creator  = "-creator-"
	maxSlug  = 100 // bytes of the part of a name that comes from the folder
	rootSlug = "root"
)

// Name makes the name of a session: the last two components of the workspace, lower-case, and the kind of program, as in
// landing-page-refer-landing-page-creator-claude. Links in the path are followed first, because the programs follow them, too.
// Only letters, digits and hyphens are used: tmux rewrites dots and colons in silence, and the row would never match again.
//
// Different folders can have one slug. taken reports whether a row or a live session has a name for another folder than cwd;
// then digits of the hash of the path precede the kind, six or as many as it takes. taken may be nil.
func Name(workspace, agent string, taken func(name, cwd string) bool) string {
	cwd := workspace
	if abs, err := filepath.Abs(cwd); err == nil {
		cwd = abs
	}
	if real, err := filepath.EvalSymlinks(cwd); err == nil {
		cwd = real
	}
	base, kind := slug(cwd), squeeze(agent)
	if kind == "" {
		kind = "custom"
	}
	name := base + creator + kind
	if taken == nil || !taken(name, cwd) {
		return name
	}
	sum := sha256.Sum256([]byte(cwd))
	hash := hex.EncodeToString(sum[:])
	for n := 6; ; n += 2 {
		name = strings.TrimRight(base[:min(len(base), maxSlug-n-1)], "-") + "-" + hash[:n] + creator + kind
		if n+2 > len(hash) || !taken(name, cwd) {
			return name
		}
	}
}

// slug makes a word of the last two components of a path. Where there is nothing to use it is "root".
func slug(path string) string {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	if len(parts) > 2 {
		parts = parts[len(parts)-2:]
	}
	s := squeeze(strings.Join(parts, "-"))
	if len(s) > maxSlug {
		s = strings.TrimRight(s[:maxSlug], "-")
	}
	if s == "" {
		return rootSlug
	}
	return s
}

// squeeze lowers letters and makes one hyphen of every run of anything but letters and digits, none at the ends.
func squeeze(s string) string {
	out := make([]byte, 0, len(s))
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' {
			out = append(out, c)
		} else if len(out) > 0 && out[len(out)-1] != '-' {
			out = append(out, '-')
		}
	}
	return strings.TrimRight(string(out), "-")
}

// CheckName returns an error unless a name is fit for a new session: tmux keeps it as it is, and no command takes it for
// anything but a name.
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("a session needs a name")
	case len(name) > maxName:
		return fmt.Errorf("the session name has %d bytes, and %d are the limit", len(name), maxName)
	case !onlyWord(name):
		return fmt.Errorf("session name %q: only letters, digits, - and _ are taken; tmux rewrites or misreads others", name)
	case name[0] == '-' || name[0] == '_':
		return fmt.Errorf("session name %q: it has to begin with a letter or a digit", name)
	}
	return nil
}
