package wire

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
)

// TestNotifyWaitsForTheClient: notifications wait until the client has got its first answer.
func TestNotifyWaitsForTheClient(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what  string
		lines []string // what the client writes
		after int      // answers before the notifications
	}{
		{"initialize", []string{`{"jsonrpc":"2.0","id":1,"method":"initialize"}`}, 1},
		{"a call", []string{callLine(1, "echo", "")}, 1},
		{"the list", []string{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`}, 1},
		{"initialized alone", []string{`{"jsonrpc":"2.0","method":"notifications/initialized"}`}, 0},
		{"a probe first", []string{`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `[]`, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`}, 3},
	} {
		p := serve(t)
		select {
		case <-p.s.Spoken():
			t.Errorf("%s: it has spoken", c.what)
		default:
		}
		if err := p.s.Notify("notifications/h2a", nil); !errors.Is(err, ErrNotReady) {
			t.Errorf("%s: %v, want %v", c.what, err, ErrNotReady)
		}
		told := make(chan error, 1)
		go func() {
			<-p.s.Spoken()
			told <- p.s.Notify("notifications/h2a", []byte("{\n\"n\": 1}"))
		}()
		p.send(c.lines...)
		for range c.after {
			if l := p.next(); strings.Contains(l, "notifications/h2a") {
				t.Errorf("%s: %s came before the answer", c.what, l)
			}
		}
		p.want(`{"jsonrpc":"2.0","method":"notifications/h2a","params":{"n":1}}`)
		if err := <-told; err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		if err := p.s.Notify("notifications/bare", nil); err != nil {
			t.Fatal(err)
		}
		p.want(`{"jsonrpc":"2.0","method":"notifications/bare"}`)
	}
}

func TestNotifyRefuses(t *testing.T) {
	t.Parallel()
	p := serve(t)
	for _, params := range []string{"", "{", `{} {}`, "x"} {
		if err := p.s.Notify("m", []byte(params)); err == nil {
			t.Errorf("params %q were taken", params)
		}
	}
}

// Notifications from many goroutines and answers, all at once and long, come as whole lines.
func TestNotifyUnderLoad(t *testing.T) {
	t.Parallel()
	const writers, each, calls = 8, 100, 500
	long := strings.Repeat("n", 9000)
	p := serve(t)
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	p.quiet()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if err := p.s.Notify("notifications/h2a", fmt.Appendf(nil, `{"w":%d,"i":%d,"long":"%s"}`, w, i, long)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		for i := range calls {
			_, _ = io.WriteString(p.in, callLine(i, "echo", `{"long":"`+long[:4000]+`"}`)+"\n")
		}
	})
	next, seen := [writers]int{}, map[int]bool{}
	for range writers*each + calls {
		var w, i int
		l := p.next()
		if _, err := fmt.Sscanf(l, `{"jsonrpc":"2.0","method":"notifications/h2a","params":{"w":%d,"i":%d,`, &w, &i); err == nil {
			if want := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/h2a","params":{"w":%d,"i":%d,"long":"%s"}}`, w, next[w], long); l != want {
				t.Fatalf("a notification is broken or out of order: %.200s", l)
			}
			next[w]++
			continue
		}
		id := -1 // on a busy machine a call may take longer than others wait for it
		if _, err := fmt.Sscanf(l, `{"jsonrpc":"2.0","id":%d,`, &id); err != nil || seen[id] || l != resultOf(id, `{"long":"`+long[:4000]+`"}`) {
			t.Fatalf("an answer is broken: %v: %.200s", err, l)
		}
		seen[id] = true
	}
	wg.Wait()
	if err := p.end(); err != nil {
		t.Errorf("Run: %v", err)
	}
}
