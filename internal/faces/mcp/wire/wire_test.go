package wire

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// A peer is the other end of a server that runs: it writes lines and reads what comes.
type peer struct {
	t     testing.TB
	s     *Server
	in    *io.PipeWriter
	out   *io.PipeReader
	lines chan string // closed when the server writes no more
	ended chan error  // what Run returned
	stop  context.CancelFunc

	mu   sync.Mutex
	logs []string
	seen int // lines that the activity hook was told of
}

// serve starts a server with the given tools and a few of its own.
func serve(t testing.TB, tools ...Tool) *peer {
	t.Helper()
	return serveWith(t, Options{Tools: tools})
}

func serveWith(t testing.TB, o Options) *peer {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &peer{t: t, in: inW, out: outR, lines: make(chan string), ended: make(chan error, 1)}
	o.Name, o.Version, o.In, o.Out = "test", "1.2.3", inR, outW
	o.Tools = append([]Tool{{Name: "echo", Description: "gives back", Schema: object, Whole: true, ReadOnly: true, Call: echo}}, o.Tools...)
	o.Log = func(line string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.logs = append(p.logs, line)
	}
	o.Activity = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.seen++
	}
	p.s = New(o)
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	go func() {
		err := p.s.Run(ctx)
		_ = outW.Close()
		p.ended <- err
	}()
	done := make(chan struct{})
	go func() {
		defer close(p.lines)
		r := bufio.NewReader(outR)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			select {
			case p.lines <- strings.TrimSuffix(line, "\n"):
			case <-done:
				return
			}
		}
	}()
	t.Cleanup(func() {
		stop()
		close(done)
		_ = inW.Close()
		_ = outR.Close()
		_ = inR.Close()
	})
	return p
}

var object = []byte(`{"type":"object"}`)

func echo(_ context.Context, a *Args) Result { return Result{Object: a.Raw} }

// blocking is a tool that waits for its context, and says so.
func blocking(begun chan<- string) Tool {
	return Tool{Name: "block", Schema: object, Call: func(ctx context.Context, a *Args) Result {
		begun <- string(a.Raw)
		<-ctx.Done()
		return Error("ended early")
	}}
}

func (p *peer) send(lines ...string) {
	p.t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(p.in, l+"\n"); err != nil {
			p.t.Fatalf("write %.100q: %v", l, err)
		}
	}
}

func (p *peer) next() string {
	p.t.Helper()
	select {
	case l, ok := <-p.lines:
		if !ok {
			p.t.Fatal("the server wrote no more")
		}
		return l
	case <-time.After(20 * time.Second):
		p.t.Fatal("nothing was written in 20 s")
	}
	return ""
}

func (p *peer) want(lines ...string) {
	p.t.Helper()
	for _, w := range lines {
		if got := p.next(); got != w {
			p.t.Errorf("wrote\n %.2000s\nwant\n %.2000s", got, w)
		}
	}
}

// quiet asserts that all that was sent is dealt with and nothing is to be read, by a ping.
func (p *peer) quiet() {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":"quiet?","method":"ping"}`)
	p.want(`{"jsonrpc":"2.0","id":"quiet?","result":{}}`)
}

// end closes the input and returns what Run returned, after it wrote nothing more.
func (p *peer) end() error {
	p.t.Helper()
	_ = p.in.Close()
	return p.wait()
}

func (p *peer) wait() error {
	p.t.Helper()
	for l := range p.lines {
		p.t.Errorf("wrote at the end: %.500s", l)
	}
	return <-p.ended
}

func (p *peer) logged() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.logs, "\n")
}

// callLine is a call of a tool; arguments are left out when empty.
func callLine(id any, tool, arguments string) string {
	raw, err := json.Marshal(id)
	if err != nil {
		panic(err)
	}
	name, _ := json.Marshal(tool)
	if arguments != "" {
		arguments = `,"arguments":` + arguments
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%s%s}}`, raw, name, arguments)
}

// resultOf is the answer to a call whose tool answered object.
func resultOf(id any, object string) string {
	raw, _ := json.Marshal(id)
	text := strings.ReplaceAll(strings.ReplaceAll(object, `\`, `\\`), `"`, `\"`)
	failed := strings.Contains(object, `"error":`)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}],"isError":%t,"structuredContent":%s}}`,
		raw, text, failed, object)
}
