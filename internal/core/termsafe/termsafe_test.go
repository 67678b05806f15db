package termsafe

import (
	"testing"
	"time"
)

// TestPrintable: text that the quick check accepts is unchanged by cleaning.
func TestPrintable(t *testing.T) {
	t.Parallel()
	base := "0123456789 abcdef ~ ABCDEF"
	for at := range len(base) {
		for c := range 256 {
			b := []byte(base)
			b[at] = byte(c)
			s := string(b)
			if want := c >= 0x20 && c < 0x7f; Printable(s) != want || Printable(s[at:]) != want {
				t.Fatalf("Printable(%q): not %v", s, want)
			}
			if got, want := Clean(s), cleanSlow(s, false); got != want {
				t.Fatalf("Clean(%q): got %q, want %q", s, got, want)
			}
		}
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{{"abc", 3, "abc"}, {"abc", 2, "ab"}, {"aäb", 2, "a"}, {"aäb", 3, "aä"}, {"😀", 3, ""}, {"abc", 0, ""}, {"abc", -1, "abc"}} {
		if got := Head(c.in, c.n); got != c.want {
			t.Errorf("Head(%q, %d): got %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		time.Minute: "1m", 90 * time.Second: "1m30s", time.Hour: "1h", 10 * time.Hour: "10h", 70 * time.Minute: "1h10m", 10 * time.Second: "10s",
		time.Hour + time.Second: "1h0m1s", 0: "0s", 10 * time.Minute: "10m",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

// TestFillers: invisible filler characters are removed, and an emoji stays one.
func TestFillers(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\u3164b": "ab", "a\u115fb": "ab", "a\u2800b": "ab", "a\ufe0fb": "ab", "a\ufe00b": "ab", "a\u034fb": "ab",
		"❤\ufe0f!": "❤\ufe0f!", "❤\ufe0f\ufe0f": "❤\ufe0f", "❤\ufe01": "❤",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q): got %q, want %q", in, got, want)
		}
	}
}

// TestVisible: no character of a text that is judged before it is used goes unseen.
func TestVisible(t *testing.T) {
	t.Parallel()
	const text = "a\tb\r\nc\x1b\u2028\u202e\x7f ❤\ufe0f"
	for lines, want := range map[bool]string{
		true:  "a\tb␍\nc␛<U+2028><U+202E>␡ ❤\ufe0f",
		false: "a\tb␍⏎c␛<U+2028><U+202E>␡ ❤\ufe0f",
	} {
		if got := Visible(text, lines); got != want {
			t.Errorf("lines %v: %q, want %q", lines, got, want)
		}
	}
}
