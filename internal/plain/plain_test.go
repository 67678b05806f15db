package plain

import "testing"

// TestPrintable: what is taken for clean at a glance is what cleaning leaves as it is.
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
