package protocol

import (
	"slices"
	"strings"
	"testing"
)

func TestSigners(t *testing.T) {
	t.Parallel()
	a, b, c := strings.Repeat("A", 40), strings.Repeat("B", 40), strings.Repeat("C", 64)
	s, err := ParseSigners([]byte("# whose keys\n[signers]\nweb = [\"" + strings.ToLower(a[:4]+" "+a[4:]) + "\"]\nnone = []\n\"*\" = [\"" + b + "\", \"" + c + "\"]\n"))
	if err != nil || !s.Present() || s.Fault() != nil || !slices.Equal(s.Senders(), []string{"none", "web"}) {
		t.Fatalf("%+v, %v", s, err)
	}
	for _, x := range []struct {
		sender, key string
		want        bool
	}{
		{"web", a, true},
		{"web", b, false}, // the default is for those who are not listed
		{"none", b, false},
		{"other", b, true},
		{"other", c, true},
		{"other", a, false},
		{"other", "", false},
		{"*", a, false},
	} {
		if got := s.Allowed(x.sender, x.key); got != x.want {
			t.Errorf("%s, %.4s…: got %v", x.sender, x.key, got)
		}
	}
	var absent Signers
	if absent.Present() || absent.Allowed("web", a) || absent.Senders() != nil {
		t.Error("no map is a map")
	}
}

// TestBrokenSigners: an invalid signers map allows no signer.
func TestBrokenSigners(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("A", 40)
	for _, text := range []string{
		"", "[signers", "[signer]\nweb = [\"" + key + "\"]", "[signers]\nweb = \"" + key + "\"", "[signers]\nweb = [1]", "[signers]\nWeb = [\"" + key + "\"]",
		"[signers]\nweb = [\"" + key[1:] + "\"]", "[signers]\nweb = [\"" + key + "\"]\nweb = []", "[signers]\nweb = [\"" + key + "\"]\n[more]\n", "web = [\"" + key + "\"]",
		"[signers]\nweb = [\"" + key[:39] + "G\"]", "\xff", "signers = 1",
	} {
		s, err := ParseSigners([]byte(text))
		if err == nil || s.Fault() == nil || !s.Present() || s.Allowed("web", key) || s.Allowed("x", key) {
			t.Errorf("%q: got %+v, %v", text, s, err)
		}
	}
}

func FuzzSigners(f *testing.F) {
	key := strings.Repeat("A", 40)
	f.Add("[signers]\nweb = [\"" + key + "\"]")
	f.Add("[signers]\n\"*\" = []")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSigners([]byte(text))
		if !s.Present() || (err == nil) != (s.Fault() == nil) {
			t.Fatalf("%q: %+v, %v", text, s, err)
		}
		if s.Allowed("web", key) && !strings.Contains(strings.ToUpper(strings.ReplaceAll(text, " ", "")), key) && !strings.Contains(text, `\`) {
			t.Fatalf("%q allows a key that is not in it", text)
		}
	})
}
