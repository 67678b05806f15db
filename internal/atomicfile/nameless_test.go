package atomicfile

import (
	"errors"
	"io/fs"
	"testing"
)

func TestNameless(t *testing.T) {
	t.Parallel()
	d, err := OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	make := func() *Nameless {
		n, err := d.Nameless([]byte("text"), 0o600)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip("SKIPPED: the file system has no files without a name, so these are NOT tested")
		}
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	n := make()
	if names, err := d.Names(); err != nil || len(names) > 0 {
		t.Errorf("before it has a name: %q, %v", names, err)
	}
	if err := n.Name("a"); err != nil {
		t.Fatal(err)
	}
	data, info, err := d.Read("a", 0)
	if err != nil || string(data) != "text" || info.Mode&0o777 != 0o600 || info.Nlink != 1 {
		t.Errorf("it holds %q, %+v, %v", data, info, err)
	}
	if err := make().Name("a"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a taken name: %v", err)
	}
	for _, bad := range []string{"", "..", "a/../b"} {
		if err := make().Name(bad); err == nil {
			t.Errorf("name %q: no error", bad)
		}
	}
	make().Close()
	if names, err := d.Names(); err != nil || len(names) != 1 {
		t.Errorf("at the end: %q, %v", names, err)
	}
}
