package wire

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A tool hears that its answer was written: after that, before the next call begins, and only when it was.
func TestSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log []string // no two of these happen at once, and that is what is tested
		begun := make(chan string, 1)
		note := func(what string) func() { return func() { log = append(log, what) } }
		p := serve(t,
			Tool{Name: "good", Schema: object, Call: func(_ context.Context, a *Args) Result {
				log = append(log, "good")
				return Result{Object: a.Raw, Sent: func() { time.Sleep(grace / 2); log = append(log, "good sent") }}
			}},
			Tool{Name: "large", Schema: object, Call: func(context.Context, *Args) Result {
				return Result{Object: []byte(`{"a":"` + strings.Repeat("x", MaxResult) + `"}`), Sent: note("large sent")}
			}},
			Tool{Name: "panics", Schema: object, Call: func(_ context.Context, a *Args) Result {
				return Result{Object: a.Raw, Sent: func() { panic("behind the answer") }}
			}},
			Tool{Name: "waits", Schema: object, Call: func(ctx context.Context, a *Args) Result {
				begun <- ""
				<-ctx.Done()
				return Result{Object: a.Raw, Sent: note("cancelled sent")}
			}})
		p.send(callLine(1, "good", `{}`), callLine(2, "large", `{}`), callLine(3, "panics", `{}`), callLine(4, "good", `{}`), callLine(5, "waits", `{}`))
		p.want(resultOf(1, `{}`))
		if l := p.next(); !strings.Contains(l, `"isError":true`) {
			t.Errorf("too large: %.200s", l)
		}
		p.want(resultOf(3, `{}`), resultOf(4, `{}`))
		<-begun
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`)
		if err := p.end(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if got, want := strings.Join(log, ", "), "good, good sent, good, good sent"; got != want {
			t.Errorf("what happened: %s; want %s", got, want)
		}
	})
}

// A client that has an answer finds on record that it has, in its next call, also when the first one took long.
func TestSentBeforeNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorded := false
		p := serve(t,
			Tool{Name: "slow", Schema: object, Call: func(_ context.Context, a *Args) Result {
				time.Sleep(3 * grace)
				return Result{Object: a.Raw, Sent: func() { time.Sleep(3 * grace); recorded = true }}
			}},
			Tool{Name: "next", Schema: object, Call: func(_ context.Context, a *Args) Result {
				if !recorded {
					t.Error("the next call begins before what the client has got is on record")
				}
				return Result{Object: a.Raw}
			}})
		p.send(callLine(1, "slow", `{}`))
		p.want(resultOf(1, `{}`))
		p.send(callLine(2, "next", `{}`))
		p.want(resultOf(2, `{}`))
		if err := p.end(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// An answer that could not be written was not sent.
func TestNotSent(t *testing.T) {
	t.Parallel()
	in, write := io.Pipe()
	read, out := io.Pipe()
	_ = read.Close()
	sent := false
	s := New(Options{In: in, Out: out, Tools: []Tool{{Name: "good", Schema: object, Call: func(_ context.Context, a *Args) Result {
		return Result{Object: a.Raw, Sent: func() { sent = true }}
	}}}})
	go func() { _, _ = io.WriteString(write, callLine(1, "good", `{}`)+"\n") }()
	if err := s.Run(t.Context()); err == nil || sent {
		t.Errorf("Run: %v; sent: %v", err, sent)
	}
}
