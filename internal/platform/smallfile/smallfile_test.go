package smallfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tutti/internal/test/progfile"
)

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.WriteFile(at("full"), []byte(strings.Repeat("x", 10)), 0o600), os.WriteFile(at("large"), []byte(strings.Repeat("x", 11)), 0o600),
		progfile.Write(at("empty"), nil, 0o600), os.Symlink("full", at("link")), os.Symlink("none", at("dangling")), os.Mkdir(at("folder"), 0o700),
		syscall.Mkfifo(at("pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name  string
		links Links
		want  int // bytes; -1: it fails
		is    error
	}{
		{"full", NoLinks, 10, nil},
		{"empty", NoLinks, 0, nil},
		{"large", NoLinks, -1, nil},
		{"link", Follow, 10, nil},
		{"link", NoLinks, -1, syscall.ELOOP},
		{"dangling", Follow, -1, fs.ErrNotExist},
		{"none", NoLinks, -1, fs.ErrNotExist},
		{"folder", Follow, -1, ErrNotRegular},
		{"pipe", Follow, -1, ErrNotRegular},
		{"/dev/zero", Follow, -1, ErrNotRegular},
	} {
		path := c.name
		if !filepath.IsAbs(path) {
			path = at(path)
		}
		data, info, err := Read(path, 10, c.links)
		if (err != nil) != (c.want < 0) || err == nil && (len(data) != c.want || info.Size() != int64(c.want)) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %d bytes, %v; want %d, %v", c.name, len(data), err, c.want, c.is)
		}
		if err != nil && (!strings.Contains(err.Error(), path) || strings.Contains(Cause(err).Error(), path)) {
			t.Errorf("%s: %v, and its cause %v", c.name, err, Cause(err))
		}
	}
}
