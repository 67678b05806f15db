package watcher

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"tutti/internal/comms/protocol"
)

// BenchmarkLine is the time from the rename of a message to its line. The promise is 2 ms.
func BenchmarkLine(b *testing.B) {
	r := newRig(b)
	r.NoNotify = true
	first := r.put("first", "first", protocol.Request, 1)
	stop := r.run()
	r.line("first", first, false)
	box := r.mailbox("first")
	tmp := filepath.Join(box, ".tmp.x")
	at := time.Now()
	for n := range b.N {
		b.StopTimer()
		name, err := protocol.FormatName(at.Add(time.Duration(n)*time.Second), "web", "many")
		must(b, err)
		must(b, os.WriteFile(tmp, nil, 0o600))
		b.StartTimer()
		must(b, os.Rename(tmp, filepath.Join(box, name)))
		<-r.lines
	}
	b.StopTimer()
	must(b, stop())
}
