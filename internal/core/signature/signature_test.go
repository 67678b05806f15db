package signature

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tutti/internal/test/boundtest"
)

func fixed(b byte) *Private { return &Private{newKey(bytes.Repeat([]byte{b}, 32))} }

func TestKeysMatchStandardLibrary(t *testing.T) {
	t.Parallel()
	for range 20 {
		k := Generate()
		block, rest := pem.Decode(k.PEM())
		if block == nil || len(rest) != 0 {
			t.Fatalf("%s is not PEM", k.PEM())
		}
		std, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil || !bytes.Equal(std.(ed25519.PrivateKey), k.key) {
			t.Fatalf("the standard library reads %v, %v", std, err)
		}
		der, err := x509.MarshalPKIXPublicKey(std.(ed25519.PrivateKey).Public())
		if err != nil {
			t.Fatal(err)
		}
		if want := string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})); k.Public().PEM() != want {
			t.Errorf("public key\n got %q\nwant %q", k.Public().PEM(), want)
		}
		again, err := ParsePrivate(k.PEM())
		if err != nil || !bytes.Equal(again.key, k.key) {
			t.Errorf("read again: %v", err)
		}
	}
}

// TestSignAgainstStandardLibrary signs 10,000 random messages with both libraries: Ed25519 is deterministic, so the bytes
// must be the same.
func TestSignAgainstStandardLibrary(t *testing.T) {
	boundtest.OneGoroutine(t)
	t.Parallel()
	r := rand.NewChaCha8([32]byte{1})
	seed, message := make([]byte, 32), make([]byte, 600)
	var k, want []byte
	for n := range 10_000 {
		if n%10 == 0 { // a key for every ten messages
			r.Read(seed)
			k, want = newKey(seed), ed25519.NewKeyFromSeed(seed)
			if !bytes.Equal(k, want) {
				t.Fatalf("seed %x: key %x, want %x", seed, k, want)
			}
		}
		m := message[:n%len(message)]
		r.Read(m)
		if got, want := sign(k, m), ed25519.Sign(want, m); !bytes.Equal(got, want) {
			t.Fatalf("seed %x, message %x\n got %x\nwant %x", seed, m, got, want)
		}
	}
}

func TestParsePublicSpellings(t *testing.T) {
	t.Parallel()
	want := fixed(1).Public()
	text := want.PEM()
	line := strings.Split(text, "\n")[1]
	for name, s := range map[string]string{
		"exact":        text,
		"CRLF":         strings.ReplaceAll(text, "\n", "\r\n"),
		"no final LF":  strings.TrimSuffix(text, "\n"),
		"space around": "\n  " + text + "\n\n",
		"two lines":    strings.Replace(text, line, line[:20]+"\n"+line[20:], 1),
	} {
		if got, err := ParsePublic(s); err != nil || got != want {
			t.Errorf("%s: got %x, %v; want %x", name, got, err, want)
		}
	}
	other := base64.StdEncoding.EncodeToString([]byte(pkcs8Head + strings.Repeat("x", 32)))
	for name, s := range map[string]string{
		"empty":               "",
		"a private key":       string(fixed(1).PEM()),
		"wrong container":     strings.Replace(text, line, other, 1),
		"cut":                 strings.Replace(text, line, line[:40], 1),
		"31 bytes":            strings.Replace(text, line, base64.StdEncoding.EncodeToString([]byte(spkiHead+strings.Repeat("x", 31))), 1),
		"33 bytes":            strings.Replace(text, line, base64.StdEncoding.EncodeToString([]byte(spkiHead+strings.Repeat("x", 33))), 1),
		"two keys":            text + text,
		"text behind":         text + "x",
		"no end":              strings.Split(text, "-----END")[0],
		"begin is the end":    "-----BEGIN PUBLIC KEY-----",
		"not base64":          strings.Replace(text, line, "!"+line[1:], 1),
		"too long":            text + strings.Repeat("\n", maxPEM),
		"headers in the text": strings.Replace(text, line, "Proc-Type: 4\n\n"+line, 1),
	} {
		if got, err := ParsePublic(s); !errors.Is(err, ErrKey) {
			t.Errorf("%s: got %x, %v; want ErrKey", name, got, err)
		}
	}
}

func TestParsePrivateNeverQuotes(t *testing.T) {
	t.Parallel()
	text := fixed(2).PEM()
	secret := strings.Split(string(text), "\n")[1]
	_, err := ParsePrivate(bytes.Replace(text, []byte(secret), []byte(secret+"AAAA"), 1))
	if err == nil || strings.Contains(err.Error(), secret[30:]) {
		t.Errorf("got %v", err)
	}
	k, err := ParsePrivate(bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")))
	if err != nil || k.Public() != fixed(2).Public() {
		t.Errorf("CRLF: %v", err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
		if got := fmt.Sprintf(verb, k); got != "private key of "+k.Public().Fingerprint() {
			t.Errorf("%s shows %q", verb, got)
		}
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	key, message := fixed(3), []byte(`{"n":1}`)
	good := key.Object("claude:a", message)
	url := strings.NewReplacer("+", "-", "/", "_").Replace(good.Value)
	tests := []struct {
		name string
		o    Object
		want bool
	}{
		{"as made", good, true},
		{"by another signer", Object{"x", Alg, good.Value}, true}, // not covered: a check of the callers
		{"url alphabet", Object{"", Alg, url}, true},
		{"no padding", Object{"", Alg, strings.TrimRight(good.Value, "=")}, true},
		{"one pad", Object{"", Alg, strings.TrimSuffix(good.Value, "=")}, true},
		{"other algorithm", Object{"", "Ed25519", good.Value}, false},
		{"no algorithm", Object{"", "", good.Value}, false},
		{"empty", Object{"", Alg, ""}, false},
		{"three pads", Object{"", Alg, good.Value + "="}, false},
		{"cut", Object{"", Alg, good.Value[:85]}, false},
		{"junk inside", Object{"", Alg, good.Value[:40] + "\n" + good.Value[40:]}, false},
		{"junk for a digit", Object{"", Alg, "\x00" + good.Value[1:]}, false},
		{"zeros", Object{"", Alg, strings.Repeat("A", 86)}, false},
		{"very long", Object{"", Alg, strings.Repeat("A", 1<<20)}, false},
	}
	for _, c := range tests {
		if got := c.o.Verify(message, key.Public()); got != c.want {
			t.Errorf("%s: %+v: got %v, want %v", c.name, c.o, got, c.want)
		}
	}
	if good.Verify([]byte(`{"n":2}`), key.Public()) || good.Verify(message, fixed(4).Public()) || good.Verify(message, Public{}) {
		t.Error("verifies another message or under another key")
	}
}

func TestDecodeAgainstStandardLibrary(t *testing.T) {
	t.Parallel()
	r := rand.NewChaCha8([32]byte{2})
	var raw [64]byte
	for range 2000 {
		r.Read(raw[:])
		for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
			if got, ok := decode(e.EncodeToString(raw[:])); !ok || got != raw {
				t.Fatalf("%s: got %x, %v; want %x", e.EncodeToString(raw[:]), got, ok, raw)
			}
		}
	}
}

func BenchmarkSign(b *testing.B) {
	k, m := fixed(5), bytes.Repeat([]byte("x"), 500)
	for b.Loop() {
		k.Sign(m)
	}
}

func BenchmarkVerify(b *testing.B) {
	k, m := fixed(5), bytes.Repeat([]byte("x"), 500)
	o := k.Object("a", m)
	for b.Loop() {
		o.Verify(m, k.Public())
	}
}
