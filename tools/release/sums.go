package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"aead.dev/minisign"
)

// sums writes SHA256SUMS, in the form that sha256sum -c reads, and returns its path.
func (r *release) sums() (string, error) {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, e := range entries {
		sum, err := sumOf(filepath.Join(r.out, e.Name()))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s  %s\n", sum, e.Name())
	}
	path := filepath.Join(r.out, "SHA256SUMS")
	return path, os.WriteFile(path, []byte(b.String()), 0o644)
}

func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return fmt.Sprintf("%x", h.Sum(nil)), err
}

// sign signs the sums. The password of the key is in TUTTI_RELEASE_PASSWORD; a key without one has none.
func sign(sums, key string) error {
	text, err := os.ReadFile(key)
	if err != nil {
		return err
	}
	var private minisign.PrivateKey
	if minisign.IsEncrypted(text) {
		private, err = minisign.DecryptKey(os.Getenv("TUTTI_RELEASE_PASSWORD"), text)
	} else {
		err = private.UnmarshalText(text)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	f, err := os.Open(sums)
	if err != nil {
		return err
	}
	defer f.Close()
	r := minisign.NewReader(f)
	if _, err := io.Copy(io.Discard, r); err != nil {
		return err
	}
	const comment = "SHA256SUMS of tutti"
	return os.WriteFile(sums+".minisig", r.SignWithComments(private, comment, comment), 0o644)
}
