package glance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLine(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		mail, waiting int
		age           time.Duration
		utf8          bool
		want          string
	}{
		{0, 0, 0, true, ""},
		{0, 0, 5 * time.Hour, true, ""},
		{2, 1, time.Second, true, "2✉ 1❗"},
		{2, 1, time.Second, false, "2m 1!"},
		{2, 0, time.Minute, true, "2✉"},
		{0, 3, 5*time.Minute + 2*time.Second, true, "3❗ 5m"},
		{2, 1, 3 * time.Hour, false, "2m 1! 3h"},
		{2, 1, 75 * time.Hour, true, "tutti? 3d"},
		{0, 0, 75 * time.Hour, true, "tutti? 3d"},
		{2, 1, -time.Hour, true, "tutti? 0m"},
	} {
		g := &Glance{At: now.Add(-c.age), Mail: c.mail, Waiting: c.waiting}
		if got := g.Line(now, c.utf8); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	if g, err := Read(dir); g != nil || err != nil {
		t.Fatalf("without a file: %v, %v", g, err)
	}
	wrote := Glance{At: time.Now().UTC(), Mail: 2, Waiting: 1}
	if err := Write(dir, wrote); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, Name)
	if i, err := os.Stat(path); err != nil || i.Mode().Perm() != 0o600 {
		t.Fatalf("the file: %v, %v", i, err)
	}
	if g, err := Read(dir); err != nil || g.Mail != 2 || g.Waiting != 1 || !g.At.Equal(wrote.At) {
		t.Fatalf("%+v, %v", g, err)
	}
	for what, text := range map[string]string{
		"cut off": `{"at":"2026-`, "negative": `{"at":"2026-03-01T12:00:00Z","mail":-1}`, "without a time": `{"mail":1}`,
		"long": `{"at":"2026-03-01T12:00:00Z"` + strings.Repeat(" ", maxFile) + "}", "empty": "",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if g, err := Read(dir); err == nil {
			t.Errorf("%s: %+v", what, g)
		}
	}
}
