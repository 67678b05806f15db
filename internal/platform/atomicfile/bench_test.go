//go:build linux

package atomicfile

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// BenchmarkCreate sets the durable create of a 4 KiB message beside the least that any program could do: create, write, sync,
// close, sync the folder. Run it with -benchtime=1000x -count=3 and take the best: the cost of a file depends on the folder.
func BenchmarkCreate(b *testing.B) {
	data := make([]byte, 4000)
	for _, v := range []struct {
		name   string
		create func(d *Dir, name string) error
	}{
		{"bare", func(d *Dir, name string) error { return bare(d, name, data) }},
		{"create", func(d *Dir, name string) error { return d.Create(name, data, 0o600, true) }},
		{"create-by-temporary-name", func(d *Dir, name string) error {
			d.needNames.Store(true)
			return d.Create(name, data, 0o600, true)
		}},
		{"create-unsynced", func(d *Dir, name string) error { return d.Create(name, data, 0o600, false) }},
		{"create-unsynced-by-temporary-name", func(d *Dir, name string) error {
			d.needNames.Store(true)
			return d.Create(name, data, 0o600, false)
		}},
		{"replace", func(d *Dir, name string) error { return d.Replace(name, data, 0o600, true) }},
	} {
		b.Run(v.name, func(b *testing.B) {
			dir, err := os.MkdirTemp(b.TempDir(), "fresh")
			if err != nil {
				b.Fatal(err)
			}
			d, err := OpenDir(dir)
			if err != nil {
				b.Fatal(err)
			}
			defer d.Close()
			n := 0
			for b.Loop() {
				n++
				if err := v.create(d, "m"+strconv.Itoa(n)+".json"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func bare(d *Dir, name string, data []byte) error {
	fd, err := unix.Openat(d.fd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := writeAll(fd, data); err != nil {
		return err
	}
	if err := unix.Fsync(fd); err != nil {
		return err
	}
	return unix.Fsync(d.fd)
}

func BenchmarkRead(b *testing.B) {
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "m.json"), make([]byte, 4000), 0o600); err != nil {
		b.Fatal(err)
	}
	d, err := OpenDir(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := d.Read("m.json", 1<<20); err != nil {
			b.Fatal(err)
		}
	}
}
