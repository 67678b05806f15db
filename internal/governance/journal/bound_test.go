package journal_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"tutti/internal/core/address"
	"tutti/internal/core/signature"
	"tutti/internal/governance/journal"
	"tutti/internal/store/filestore"
	"tutti/internal/test/boundtest"
)

// TestBound reads and verifies a journal of a mebibyte: one long entry of what costs most, and many that are next to nothing.
func TestBound(t *testing.T) {
	all := boundtest.JSON(1<<20 - 512)
	all = append(all, boundtest.Input{Name: "tiny lines", Make: func() []byte { return bytes.Repeat([]byte("{}\n"), 1<<20/3) }})
	boundtest.Each(t, all, func(t *testing.T, raw []byte) {
		root := filepath.Join(t.TempDir(), ".h2a")
		m, err := filestore.Open(root, filestore.Options{Create: true})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		k, _ := journal.KeyOf("nego:1")
		if bytes.Count(raw, []byte("\n")) == 0 {
			raw = append([]byte(`{"protocol":"sentropic.h2a","version":"0.1","sequence":0,"contentHash":"x",`), raw[1:]...)
		}
		path := filepath.Join(root, filepath.FromSlash(k.Path()))
		if os.MkdirAll(filepath.Dir(path), 0o700) != nil || os.WriteFile(path, append(raw, '\n'), 0o600) != nil {
			t.Fatal("no journal")
		}
		j := journal.New(m)
		if _, err := j.Catch(t.Context(), "nego:1", nil); err == nil {
			t.Error("it is good")
		}
		key := signature.Generate().Public()
		_, _ = j.Verify(t.Context(), "nego:1", journal.Checks{Keys: func(context.Context, address.Instance) (journal.Keys, error) {
			return journal.Keys{Active: []signature.Public{key}}, nil
		}})
	})
}
