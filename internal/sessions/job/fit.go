package job

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"tutti/internal/core/termsafe"
)

const removed = "[removed]"

// fit makes a detail fit to travel: no key, no absolute path, no character that steers a terminal, and no more than MaxDetail bytes.
func (b *Book) fit(s, token string) string {
	s = termsafe.CleanBlock(s) // first: what it takes away may have stood within a key
	if token != "" {
		s = strings.ReplaceAll(s, token, removed)
	}
	return termsafe.Head(b.withoutPlaces(s), MaxDetail)
}

// secrets are how keys of well-known services begin. They have at least shortest bytes.
var secrets = [...]string{
	"sk-", "ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "npm_", "hf_", "AKIA", "AIza", "eyJhbGci",
}

const shortest = 20

// withoutPlaces takes keys and absolute paths out of a text, wherever in a word they begin.
func (b *Book) withoutPlaces(s string) string {
	var out strings.Builder
	before := ' ' // the character in front of the place that is looked at
	address := 0  // where an address of the web ends, whose slashes are not paths
	for at := 0; at < len(s); {
		r, size := utf8.DecodeRuneInString(s[at:])
		text, used := s[at:at+size], size
		switch {
		case unicode.IsLetter(before) || unicode.IsDigit(before) || before == '_':
		case secret(s[at:]) > 0:
			text, used = removed, secret(s[at:])
		case r == '/' && at >= address && !strings.ContainsRune("./~-", before):
			if before == ':' && strings.HasPrefix(s[at:], "//") && !strings.HasSuffix(s[:at], "file:") {
				address = at + strings.IndexFunc(s[at:]+" ", endsPath)
				break
			}
			text, used = b.path(s[at:])
		}
		out.WriteString(text)
		before, _ = utf8.DecodeLastRuneInString(s[:at+used])
		at += used
	}
	return out.String()
}

// secret is how many bytes of a text are a key, 0 when it begins with none.
func secret(s string) int {
	for _, head := range secrets {
		if !strings.HasPrefix(s, head) {
			continue
		}
		n := strings.IndexFunc(s, func(r rune) bool {
			return r >= utf8.RuneSelf || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-./+=~", r)
		})
		if n < 0 {
			n = len(s)
		}
		if n >= shortest {
			return n
		}
	}
	return 0
}

// endsPath tells whether a character ends a path within a text. A blank may be part of one, which cannot be known.
func endsPath(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("\"'`()[]{}<>,;:|", r) }

// path is what is said in place of the absolute path with which a text begins, and how long that is: within the workspace it begins
// there, elsewhere its last part is left. One that has a single part, as /etc, stays.
func (b *Book) path(s string) (text string, used int) {
	if rest, inside := strings.CutPrefix(s, b.Workspace); inside && b.Workspace != "" {
		if r, _ := utf8.DecodeRuneInString(rest); rest == "" || r == '/' || endsPath(r) {
			return ".", len(b.Workspace)
		}
	}
	used = len(s)
	if n := strings.IndexFunc(s, endsPath); n >= 0 {
		used = n
	}
	whole := s[:used]
	if last := strings.LastIndexByte(strings.TrimRight(whole, "/"), '/'); strings.Contains(strings.TrimLeft(whole, "/"), "/") && last >= 0 {
		return "…" + whole[last:], used
	}
	return whole, used
}
