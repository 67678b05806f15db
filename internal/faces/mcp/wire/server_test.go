package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestWaitingCallDoesNotBlock: a waiting call delays other calls only briefly, and is answered when its result is ready.
func TestWaitingCallDoesNotBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := make(chan string, 2)
		p := serve(t, blocking(begun))
		start := time.Now()
		p.send(callLine(1, "block", `{"n":1}`), callLine(2, "block", `{"n":2}`), callLine(3, "echo", `{}`), `{"jsonrpc":"2.0","id":4,"method":"ping"}`)
		p.want(resultOf(3, `{}`), result("4", "{}"))
		if took := time.Since(start); took != 2*grace {
			t.Errorf("two calls that wait held the third up for %v, want %v", took, 2*grace)
		}
		if a, b := <-begun, <-begun; a != `{"n":1}` || b != `{"n":2}` {
			t.Errorf("the calls began as %s and %s", a, b)
		}
		p.stop()
		p.next()
		p.next()
		if err := p.wait(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// Calls that are quick are done one after the other in the order of their lines, even when many come at once. A busy machine
// is not to make them slow here.
func TestQuickCallsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 2000
		var last, wrong atomic.Int64
		p := serve(t, Tool{Name: "count", Schema: object, Call: func(_ context.Context, a *Args) Result {
			var i int64
			_, _ = fmt.Sscanf(string(a.Raw), `{"i":%d}`, &i)
			if !last.CompareAndSwap(i, i+1) {
				wrong.Add(1)
			}
			return Result{Object: a.Raw}
		}})
		go func() {
			for i := range n {
				_, _ = io.WriteString(p.in, callLine(i, "count", fmt.Sprintf(`{"i":%d}`, i))+"\n")
			}
			_ = p.in.Close()
		}()
		for i := range n {
			p.want(resultOf(i, fmt.Sprintf(`{"i":%d}`, i)))
		}
		if err := p.wait(); err != nil || wrong.Load() > 0 {
			t.Errorf("Run: %v; %d calls were out of order", err, wrong.Load())
		}
	})
}

// TestCancel: a call that the client cancels sees the cancellation, is not answered, and its id may be used again.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := make(chan string, 1)
		told := make(chan struct{})
		p := serve(t, Tool{Name: "block", Schema: object, Call: func(ctx context.Context, _ *Args) Result {
			begun <- ""
			<-ctx.Done()
			close(told)
			return Error("cancelled")
		}})
		p.send(callLine("a", "block", ""))
		<-begun
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"b"}}`)
		p.quiet()
		select {
		case <-told:
			t.Fatal("the wrong call was cancelled")
		default:
		}
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a","reason":"enough"}}`, callLine("a", "echo", `{}`))
		<-told
		p.want(resultOf("a", `{}`))
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`) // as one client does after each answer
		p.quiet()
		if err := p.end(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// TestCancelIsFirst: a cancellation is delivered before the next request starts.
func TestCancelIsFirst(t *testing.T) {
	t.Parallel()
	const most = 200
	begun := make(chan context.Context)
	var blocked context.Context
	p := serve(t,
		Tool{Name: "block", Schema: object, Call: func(ctx context.Context, a *Args) Result {
			begun <- ctx
			<-ctx.Done()
			return Result{Object: a.Raw}
		}},
		Tool{Name: "look", Schema: object, Call: func(context.Context, *Args) Result {
			return Result{Object: fmt.Appendf(nil, `{"told":%t}`, blocked.Err() != nil)}
		}})
	for n := range most {
		p.send(callLine("a", "block", ""))
		blocked = <-begun
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`, callLine(n, "look", ""))
		p.want(resultOf(n, `{"told":true}`))
	}
	if err := p.end(); err != nil {
		t.Errorf("Run: %v", err)
	}
}

// A tool that does not heed its cancellation does not hold back the end.
func TestEndDoesNotWaitForCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, free := make(chan string, 1), make(chan struct{})
		p := serve(t, Tool{Name: "deaf", Schema: object, Call: func(context.Context, *Args) Result {
			begun <- ""
			<-free
			return Error("late")
		}})
		p.send(callLine(1, "deaf", ""))
		<-begun
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		start := time.Now()
		if err := p.end(); err != nil || time.Since(start) > 100*time.Millisecond {
			t.Errorf("Run returned %v after %v", err, time.Since(start))
		}
		close(free)
	})
}

// The end of the input is held back until what was read has been answered.
func TestEndOfInput(t *testing.T) {
	for _, c := range []struct {
		what   string
		work   time.Duration // of the tool
		deaf   bool          // it does not heed its context
		took   time.Duration // until the end
		answer string        // part of it; empty for none
	}{
		{"a call that takes a while", 1500 * time.Millisecond, false, 1500 * time.Millisecond, `done`},
		{"a call that waits for mail", 50 * time.Second, false, settle, `ended early`},
		{"a call that takes long to come to an end", 2500 * time.Millisecond, true, 2500 * time.Millisecond, `done`},
		{"a call that hangs", time.Hour, true, patience, ``},
	} {
		t.Run(c.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := serve(t, working(c.work, c.deaf))
				p.send(callLine(1, "work", ""))
				start := time.Now()
				_ = p.in.Close()
				if c.answer != "" {
					if got := p.next(); !strings.Contains(got, c.answer) {
						t.Errorf("answered %s, want %s", got, c.answer)
					}
				}
				err := p.wait()
				if took := time.Since(start); err != nil || took < c.took || took > c.took+60*time.Millisecond {
					t.Errorf("Run returned %v after %v, want nil after %v", err, took, c.took)
				}
				time.Sleep(2 * time.Hour) // for the tool that hangs
			})
		})
	}
}

// working is a tool that takes that long.
func working(d time.Duration, deaf bool) Tool {
	return Tool{Name: "work", Schema: object, Call: func(ctx context.Context, _ *Args) Result {
		if deaf {
			ctx = context.WithoutCancel(ctx)
		}
		select {
		case <-time.After(d):
			return Result{Object: []byte(`{"work":"done"}`)}
		case <-ctx.Done():
			return Error("ended early")
		}
	}}
}

// TestEndOfContext: when the caller's context ends, calls are cancelled at once, and Run returns within a second, also while it waits for
// the end of the input.
func TestEndOfContext(t *testing.T) {
	for _, c := range []struct {
		what   string
		eof    bool
		deaf   bool
		within time.Duration
		answer string
	}{
		{"a call that waits", false, false, 0, `ended early`},
		{"a call that hangs", false, true, farewell, ``},
		{"a call that waits at the end of the input", true, false, 0, `ended early`},
		{"a call that hangs at the end of the input", true, true, farewell, ``},
	} {
		t.Run(c.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := serve(t, working(time.Hour, c.deaf))
				p.send(callLine(1, "work", ""))
				if c.eof {
					_ = p.in.Close()
				}
				time.Sleep(100 * time.Millisecond)
				start := time.Now()
				p.stop()
				if c.answer != "" {
					if got := p.next(); !strings.Contains(got, c.answer) {
						t.Errorf("answered %s, want %s", got, c.answer)
					}
				}
				err := p.wait()
				if took := time.Since(start); err != nil || took < c.within || took > c.within+60*time.Millisecond {
					t.Errorf("Run returned %v after %v, want nil after %v", err, took, c.within)
				}
				if err := p.s.Notify("x", nil); !errors.Is(err, ErrEnded) {
					t.Errorf("Notify after the end: %v", err)
				}
				time.Sleep(2 * time.Hour) // for the tool that hangs
			})
		})
	}
}

// A client that does not read does not hold back the end either. In real time: a lock is held while a write hangs.
func TestEndWithoutReader(t *testing.T) {
	t.Parallel()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	s := New(Options{In: inR, Out: outW, Tools: []Tool{{Name: "echo", Schema: object, Call: echo}}})
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	for i := range 3 {
		_, _ = io.WriteString(inW, callLine(i, "echo", "")+"\n")
	}
	start := time.Now()
	stop()
	// Far less than for ever; it takes a few milliseconds where the machine is not busy.
	if err := <-ended; err != nil || time.Since(start) > 20*time.Second {
		t.Errorf("Run returned %v after %v", err, time.Since(start))
	}
	_, _, _ = outR.Close(), inR.Close(), inW.Close()
}

func TestBrokenOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := make(chan string, 1)
		p := serve(t, blocking(begun))
		p.send(callLine(1, "block", ""))
		<-begun
		_ = p.out.CloseWithError(io.ErrClosedPipe)
		p.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		start := time.Now()
		err := <-p.ended
		if !errors.Is(err, io.ErrClosedPipe) || time.Since(start) > 100*time.Millisecond {
			t.Errorf("Run returned %v after %v, want the fault of the pipe", err, time.Since(start))
		}
		if err := p.s.Notify("x", nil); err == nil {
			t.Error("a notification was taken after that")
		}
	})
}

func TestBrokenInput(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.send(callLine(1, "echo", ""))
	p.want(resultOf(1, `{}`))
	broken := errors.New("the disk is on fire")
	_, _ = io.WriteString(p.in, `{"jsonrpc":"2.0","id":2,"method":"ping"}`) // no line yet: it may go on
	_ = p.in.CloseWithError(broken)
	if err := p.wait(); !errors.Is(err, broken) {
		t.Errorf("Run: %v, want the fault of the input", err)
	}
}

func TestRunsOnce(t *testing.T) {
	t.Parallel()
	p := serve(t)
	if err := p.end(); err != nil {
		t.Fatal(err)
	}
	if err := p.s.Run(t.Context()); err == nil {
		t.Error("a server ran twice")
	}
}

// No more than a number of calls is in hand. The next is refused, and meanwhile a ping is answered and a cancellation frees a place.
func TestConcurrentCallLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		var now atomic.Int64
		p := serve(t, Tool{Name: "hold", Schema: object, Call: func(ctx context.Context, _ *Args) Result {
			now.Add(1)
			defer now.Add(-1)
			select {
			case <-free:
			case <-ctx.Done():
			}
			return Result{Object: []byte(`{}`)}
		}})
		for i := range maxCalls {
			p.send(callLine(i, "hold", ""))
		}
		p.send(callLine("more", "hold", ""))
		if got := p.next(); !strings.Contains(got, `"id":"more"`) || !strings.Contains(got, "64 calls are in progress") || !strings.Contains(got, `"isError":true`) {
			t.Errorf("the call beyond the last place: %s", got)
		}
		p.send(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
		p.want(result(`"p"`, "{}"))
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}`)
		p.quiet()
		synctest.Wait() // the tools have ended or begun
		if got := now.Load(); got != maxCalls-1 {
			t.Errorf("%d calls are in hand after one was cancelled, want %d", got, maxCalls-1)
		}
		p.send(callLine("again", "hold", ""))
		p.quiet()
		synctest.Wait() // the tools have ended or begun
		if got := now.Load(); got != maxCalls {
			t.Errorf("%d calls are in hand, want %d", got, maxCalls)
		}
		close(free)
		for range maxCalls {
			p.next()
		}
	})
}

// Nothing is left behind but what the caller holds open.
func TestNoGoroutineLeak(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 20 {
		p := serve(t)
		p.send(callLine(1, "echo", ""), `bad`)
		p.next()
		p.next()
		if err := p.end(); err != nil {
			t.Fatal(err)
		}
	}
	for range 500 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	buf := make([]byte, 1<<20)
	t.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
}
