package remote

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkServe takes envelopes in over as many connections as a busy team has agents.
func BenchmarkServe(b *testing.B) {
	const conns = 32
	x := open(b)
	now := time.Now()
	all := make([][]byte, b.N)
	for i := range all {
		raw := letter(b, fmt.Sprintf("env-bench-%06d", i), now)
		all[i] = append(fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", Path, len(raw)), raw...)
	}
	var next atomic.Int64
	var busy sync.WaitGroup
	b.ResetTimer()
	for range conns {
		busy.Go(func() {
			c, err := net.Dial("tcp", x.addr)
			if err != nil {
				b.Error(err)
				return
			}
			defer c.Close()
			in := bufio.NewReader(c)
			for n := next.Add(1) - 1; n < int64(len(all)); n = next.Add(1) - 1 {
				if _, err := c.Write(all[n]); err != nil {
					b.Error(err)
					return
				}
				a, err := http.ReadResponse(in, nil)
				if err != nil || a.StatusCode != http.StatusAccepted {
					b.Error(a, err)
					return
				}
				_, _ = io.Copy(io.Discard, a.Body)
			}
		})
	}
	busy.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "envelopes/s")
}
