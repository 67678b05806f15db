package kit

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tutti/internal/core/termsafe"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, want string }{
		{"plain text", "plain text"},
		{"", ""},
		{"a\x1b[2Jb\nsecond", "a[2Jbsecond"},
		{"bell\a tab\t del\x7f", "bell tab del"},
		{"c1 \u009b31m", "c1 31m"},
		{"invoice\u202efdp.exe", "invoicefdp.exe"},
		{"\u2066isolated\u2069 \u200fmark", "isolated mark"},
		{"zero\u200bwidth\ufeff", "zerowidth"},
		{"tag\U000e0041", "tag"},
		{"line\u2028sep", "linesep"},
		{"bad \xff byte", "bad \ufffd byte"},
		{"日本 é ü 👩‍👧", "日本 é ü 👩‍👧"},
	} {
		if got := Clean(tc.in); got != tc.want {
			t.Errorf("Clean(%q): got %q, want %q", tc.in, got, tc.want)
		}
	}
	if got, want := CleanBlock("a\tb\n\x1b]0;x\ac"), "a    b\n]0;xc"; got != want {
		t.Errorf("CleanBlock: got %q, want %q", got, want)
	}
}

func TestWidthAndTruncate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in    string
		width int
		at    int
		cut   string
	}{
		{"hello", 5, 5, "hello"},
		{"hello", 5, 4, "hel…"},
		{"hello", 5, 1, "…"},
		{"hello", 5, 0, ""},
		{"日本語", 6, 6, "日本語"},
		{"日本語", 6, 5, "日本…"},
		{"日本語", 6, 4, "日…"},
		{"e\u0301tude", 5, 3, "e\u0301t…"},
		{"👍 ok", 5, 4, "👍 …"},
		{"한글", 4, 3, "한…"},
		{"ｆｕｌｌ", 8, 3, "ｆ…"},
		{"\xff\xff\xff\xff", 4, 3, "\xff\xff…"},
	} {
		if got := Width(tc.in); got != tc.width {
			t.Errorf("Width(%q): got %d, want %d", tc.in, got, tc.width)
		}
		got := Truncate(tc.in, tc.at)
		if got != tc.cut {
			t.Errorf("Truncate(%q, %d): got %q, want %q", tc.in, tc.at, got, tc.cut)
		}
	}
}

func TestWideTableIsSorted(t *testing.T) {
	t.Parallel()
	for i, r := range wide {
		if r[0] > r[1] || i > 0 && r[0] <= wide[i-1][1] {
			t.Errorf("range %d (%U to %U) is out of order; the search would miss it", i, r[0], r[1])
		}
	}
}

// Whatever a peer sends, what is shown is valid text without one character that steers a terminal, and fits.
func FuzzShow(f *testing.F) {
	for _, s := range []string{"", "\x1b]52;c;QQ==\a", "\u202e", "日本\xff", "a\u0301\u0302", "\xc2"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, max int) {
		got := Clean(s)
		if !utf8.ValidString(got) {
			t.Errorf("Clean(%q) is not valid: %q", s, got)
		}
		if i := strings.IndexFunc(got, termsafe.Unsafe); i >= 0 {
			t.Errorf("Clean(%q) left %q", s, got[i:])
		}
		if again := Clean(got); again != got {
			t.Errorf("Clean(%q) is not stable: %q, then %q", s, got, again)
		}
		if cut := Truncate(got, max%100); Width(cut) > max%100 && max%100 >= 0 {
			t.Errorf("Truncate(%q, %d) takes %d columns", got, max%100, Width(cut))
		}
	})
}

func TestAgo(t *testing.T) {
	t.Parallel()
	if got := Ago(90 * time.Minute); got != "1 h ago" {
		t.Errorf("90 minutes: %q", got)
	}
}
