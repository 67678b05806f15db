package setup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"aead.dev/minisign"

	"tutti/internal/faces/cli/kit"
	"tutti/internal/platform/smallfile"
)

// ReleaseKey is the minisign key that signs releases; the build of a release sets it by -ldflags "-X …/setup.ReleaseKey=RWQ…". Without it
// --key names one.
var ReleaseKey string

const (
	sumsFile      = "SHA256SUMS"
	signatureFile = sumsFile + ".minisig"
	maxSums       = 64 << 10 // bytes of the sums, and of their signature
	maxKey        = 1 << 10  // bytes of a file with a key
)

// A verified is a file of a release that is what the key signed.
type verified struct {
	OK     bool   `json:"ok"`
	File   string `json:"file"`
	SHA256 string `json:"sha256"` // hexadecimal
	Key    string `json:"key"`    // the id of the key that signed the sums
}

// verifyFile checks a file that the user fetched, by the sums and their signature, which lie beside it.
func verifyFile(path, given string) (*verified, error) {
	key, err := releaseKey(given)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(path)
	sums, err := smallRead(filepath.Join(dir, sumsFile), maxSums)
	if err != nil {
		return nil, err
	}
	signed, err := smallRead(filepath.Join(dir, signatureFile), maxSums)
	if err != nil {
		return nil, err
	}
	if !minisign.Verify(key, sums, signed) {
		return nil, kit.Refuse("", "%s was not signed with the key %X, or was changed afterwards: do not install", sumsFile, key.ID())
	}
	want, err := sumIn(sums, filepath.Base(path))
	if err != nil {
		return nil, err
	}
	got, err := sumOfFile(path)
	if err != nil {
		return nil, err
	}
	if got != want {
		return nil, kit.Refuse("", "%s is not the file that was signed: do not install; its SHA-256 is %s, and %s says %s", kit.Clean(filepath.Base(path)), got, sumsFile, want)
	}
	return &verified{OK: true, File: path, SHA256: got, Key: fmt.Sprintf("%X", key.ID())}, nil
}

// releaseKey reads the key that is given as text or as a file, or is that of the releases.
func releaseKey(given string) (key minisign.PublicKey, err error) {
	text := given
	if text == "" {
		text = ReleaseKey
	}
	if text == "" {
		return key, kit.UsageHint("name the key that the project publishes: --key RWQ… or a file", "upgrade --verify: this build has no release key")
	}
	if key.UnmarshalText([]byte(text)) == nil {
		return key, nil
	}
	data, _, err := smallfile.Read(text, maxKey, smallfile.Follow)
	if err != nil {
		return key, kit.Usagef("--key: neither a minisign key, which begins with RW, nor a file that can be read")
	}
	if err := key.UnmarshalText(data); err != nil {
		return key, kit.Usagef("--key: the file has no minisign key")
	}
	return key, nil
}

// sumIn finds the sum of a file in the sums, whose lines are those of sha256sum.
func sumIn(sums []byte, name string) (string, error) {
	for line := range bytes.Lines(sums) {
		sum, file, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), "  ")
		if ok && file == name && len(sum) == hex.EncodedLen(sha256.Size) {
			return sum, nil
		}
	}
	return "", kit.Refuse("", "%s does not name %s", sumsFile, kit.Clean(name))
}

func sumOfFile(path string) (string, error) {
	f, err := smallfile.Open(path, smallfile.Follow)
	if err != nil {
		return "", &kit.Fault{Code: kit.ExitIO, Err: err}
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", &kit.Fault{Code: kit.ExitIO, Err: err}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func smallRead(path string, limit int64) ([]byte, error) {
	data, _, err := smallfile.Read(path, limit, smallfile.Follow)
	if errors.Is(err, os.ErrNotExist) {
		return nil, kit.FailIO("fetch it from where you got the file, into the same folder", nil, "no file %s", kit.Clean(path))
	}
	if err != nil {
		return nil, &kit.Fault{Code: kit.ExitIO, Err: err}
	}
	return data, nil
}
