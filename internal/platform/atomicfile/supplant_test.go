package atomicfile

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSupplant(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		there func(path string) error // makes what has the name
		fails bool
	}{
		{name: "a free name", there: func(string) error { return nil }},
		{name: "a file", there: func(p string) error { return os.WriteFile(p, []byte("old"), 0o600) }},
		{name: "a link", there: func(p string) error { return os.Symlink("elsewhere", p) }},
		{name: "a folder", there: func(p string) error { return os.Mkdir(p, 0o700) }, fails: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := t.TempDir()
			if err := test.there(filepath.Join(path, "name")); err != nil {
				t.Fatal(err)
			}
			d, err := OpenDir(path)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			tmp, err := d.Stage([]byte("new"), 0o600, true)
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Supplant(tmp, d, "name"); (err != nil) != test.fails {
				t.Fatalf("Supplant over %s: %v, want an error: %v", test.name, err, test.fails)
			}
			if i, err := d.Stat("name"); test.fails {
				if err != nil || i.Regular() {
					t.Fatalf("%s is now %+v, %v", test.name, i, err)
				}
				return
			}
			got, _, err := d.Read("name", 0)
			if err != nil || string(got) != "new" {
				t.Errorf("Supplant over %s: read %q, %v, want %q", test.name, got, err, "new")
			}
			if names, err := d.Names(); err != nil || len(names) != 1 {
				t.Errorf("Supplant over %s left %q, %v", test.name, names, err)
			}
		})
	}
}
