package hook

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"tutti/internal/agents/driver"
	"tutti/internal/comms/exchange"
)

// TestEventProjectIsCached: an event looks for its project once. Later changes are reported with the next event, which sees another mark.
func TestEventProjectIsCached(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	web := exchange.Project{Name: "web", Path: filepath.Join(home, "web")}
	if err := os.MkdirAll(filepath.Join(web.Path, ".ai"), 0o700); err != nil {
		t.Fatal(err)
	}
	next := func() *event {
		return &event{o: Options{Projects: Elsewhere(home, nil)}, call: driver.Call{Dir: web.Path}, now: time.Now()}
	}
	e := next()
	if _, _, ok := e.project(); ok {
		t.Error("a project without mail has some")
	}
	if err := os.MkdirAll(web.MailboxPath(), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, ok := e.project(); ok {
		t.Error("it was looked for twice")
	}
	if p, mark, ok := next().project(); !ok || p != web || mark == "/" {
		t.Errorf("the next event: %+v %q %v", p, mark, ok)
	}
}
