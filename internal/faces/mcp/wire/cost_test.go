package wire

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"tutti/internal/test/boundtest"
)

// Ten thousand calls leave the heap where it was.
func TestMemoryIsConstant(t *testing.T) {
	if boundtest.Race {
		t.Skip("the race detector takes memory of its own")
	}
	p := serve(t)
	text := strings.Repeat("m", 2000)
	round := func(n int) uint64 {
		for i := range n {
			p.send(callLine(i, "echo", `{"text":"`+text+`"}`))
			p.next()
		}
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := round(500)
	after := round(10000)
	if after > before+256<<10 {
		t.Errorf("the heap has %d bytes, %d before", after, before)
	}
	if err := p.end(); err != nil {
		t.Errorf("Run: %v", err)
	}
}

// A call from line to line, through pipes in memory, with little and with as much as fits.
func BenchmarkCall(b *testing.B) {
	for _, size := range []int{10, 5000, 11000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			inR, inW := io.Pipe()
			answers := make(chan struct{}, 1)
			s := New(Options{In: inR, Out: writer(func([]byte) { answers <- struct{}{} }), Tools: []Tool{{Name: "echo", Schema: object, Call: echo}}})
			ended := make(chan error, 1)
			go func() { ended <- s.Run(context.Background()) }()
			line := []byte(callLine(1, "echo", `{"text":"`+strings.Repeat("m", size)+`"}`) + "\n")
			b.ReportAllocs()
			for b.Loop() {
				_, _ = inW.Write(line)
				<-answers
			}
			_ = inW.Close()
			if err := <-ended; err != nil {
				b.Error(err)
			}
		})
	}
}

type writer func(b []byte)

func (w writer) Write(b []byte) (int, error) {
	w(b)
	return len(b), nil
}
