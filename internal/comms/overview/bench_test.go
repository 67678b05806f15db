package overview

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tutti/internal/comms/exchange"
	"tutti/internal/comms/protocol"
)

// BenchmarkLook is the time of one survey over ten thousand messages, in one mailbox and in fifty. The
// promise is 400 ms. The one mailbox is that of a project which has sent as many.
func BenchmarkLook(b *testing.B) {
	for _, boxes := range []int{1, 50} {
		r := newRig(b)
		for i := range boxes {
			p := r.project(fmt.Sprintf("project-%d", i))
			for j := range 10_000 / boxes {
				kind := protocol.Progress
				if j%10 == 0 {
					kind = protocol.Request
				}
				r.put(p, note{from: "web", conv: fmt.Sprintf("talk-%d", j/10), kind: kind, seq: j%10 + 1, after: time.Duration(j) * time.Second})
			}
		}
		if boxes == 1 {
			r.record("project-0", 10_000)
		}
		b.Run(fmt.Sprint(boxes), func(b *testing.B) {
			for range b.N {
				r.look()
			}
		})
	}
}

// record writes a record of sends in one go.
func (r *rig) record(project string, n int) {
	r.t.Helper()
	path := r.Office.Sent(exchange.Project{Name: project, Path: filepath.Join(r.Office.Home, "projects", project)}).Path()
	must(r.t, os.MkdirAll(filepath.Dir(path), 0o700))
	var text []byte
	for j := range n {
		at := start.Add(time.Duration(j) * time.Second)
		text = fmt.Appendf(text, `{"t":%q,"name":"%s-from-%s-talk-%d.org","to":"beta.web","conversation_id":"talk-%d","sequence":%d,"sha256":"%064d","type":"progress","timestamp":%q,"title":"T","key":"k"}`+"\n",
			protocol.FormatTime(at), protocol.Stamp(at), project, j/10, j/10, j%10+1, j, protocol.FormatTime(at))
	}
	must(r.t, os.WriteFile(path, text, 0o600))
}
