package setup

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aead.dev/minisign"
)

// signedRelease is a folder with a file, the sums and their signature, and the key as text.
func signedRelease(t *testing.T) (dir, key string, private minisign.PrivateKey) {
	t.Helper()
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	data := []byte("a package")
	sums := fmt.Appendf(nil, "%x  other.deb\n%x  tutti.deb\n", sha256.Sum256(nil), sha256.Sum256(data))
	put(t, filepath.Join(dir, "tutti.deb"), data)
	put(t, filepath.Join(dir, sumsFile), sums)
	put(t, filepath.Join(dir, signatureFile), minisign.Sign(private, sums))
	return dir, public.String(), private
}

func put(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	dir, key, private := signedRelease(t)
	file := filepath.Join(dir, "tutti.deb")
	v, err := verifyFile(file, key)
	if err != nil || !v.OK || v.Key != fmt.Sprintf("%X", private.ID()) {
		t.Fatalf("%+v, %v", v, err)
	}
	put(t, filepath.Join(dir, "key.pub"), []byte("untrusted comment: minisign public key\n"+key+"\n"))
	if _, err := verifyFile(file, filepath.Join(dir, "key.pub")); err != nil {
		t.Errorf("a key in a file: %v", err)
	}
}

func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	_, other, stranger := signedRelease(t)
	for name, c := range map[string]struct {
		spoil func(dir string)
		key   string
		want  string
	}{
		"changed file":    {func(d string) { put(t, filepath.Join(d, "tutti.deb"), []byte("another")) }, "", "not the file that was signed"},
		"changed sums":    {func(d string) { put(t, filepath.Join(d, sumsFile), []byte("0  tutti.deb\n")) }, "", "was not signed with the key"},
		"other key":       {func(string) {}, other, "was not signed with the key"},
		"no signature":    {func(d string) { os.Remove(filepath.Join(d, signatureFile)) }, "", "no file"},
		"not in the sums": {func(d string) { os.Rename(filepath.Join(d, "tutti.deb"), filepath.Join(d, "x.deb")) }, "", "does not name x.deb"},
		"stranger signs":  {func(d string) { put(t, filepath.Join(d, signatureFile), minisign.Sign(stranger, []byte("x"))) }, "", "was not signed with the key"},
		"key of nonsense": {func(string) {}, "RWnonsense", "neither a minisign key"},
		"huge signature":  {func(d string) { put(t, filepath.Join(d, signatureFile), make([]byte, maxSums+1)) }, "", signatureFile},
		"empty signature": {func(d string) { put(t, filepath.Join(d, signatureFile), nil) }, "", "was not signed with the key"},
		"folder as a file": {func(d string) {
			os.Remove(filepath.Join(d, "tutti.deb"))
			os.Mkdir(filepath.Join(d, "tutti.deb"), 0o700)
		}, "", "not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, key, _ := signedRelease(t)
			if c.key != "" {
				key = c.key
			}
			c.spoil(dir)
			file := filepath.Join(dir, "tutti.deb")
			if name == "not in the sums" {
				file = filepath.Join(dir, "x.deb")
			}
			if v, err := verifyFile(file, key); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v, %v; want %q", v, err, c.want)
			}
		})
	}
	if _, err := releaseKey(""); err == nil {
		t.Error("without a key it verifies")
	}
}
