package mqtt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"tutti/internal/sessions/job"
)

// patience is how long something may take on a machine that is busy with other things.
const patience = 30 * time.Second

// A rig is a broker in this process, which can be stopped and started again on what it has stored.
type rig struct {
	t    *testing.T
	dir  string
	port int

	mu sync.Mutex
	s  *server.Server
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), port: -1}
	r.start()
	t.Cleanup(r.stop)
	return r
}

func (r *rig) start() {
	r.t.Helper()
	if r.port < 0 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			r.t.Fatal(err)
		}
		r.port = l.Addr().(*net.TCPAddr).Port
		_ = l.Close()
	}
	s, err := server.NewServer(&server.Options{
		ServerName: "broker", DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: r.dir,
		JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: 256 << 20, MaxPayload: 8 << 20,
		MQTT: server.MQTTOpts{Host: "127.0.0.1", Port: r.port, Username: "ana", Password: "secret"},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(patience) {
		r.t.Fatal("the broker does not start")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.s = s
}

func (r *rig) stop() {
	r.mu.Lock()
	s := r.s
	r.s = nil
	r.mu.Unlock()
	if s != nil {
		s.Shutdown()
		s.WaitForShutdown()
	}
}

func (r *rig) broker() job.Broker {
	return job.Broker{Host: "127.0.0.1", Port: r.port, Username: "ana", Password: "secret"}
}

func (r *rig) dial() *Client {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	c, err := Dial(ctx, r.broker())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

func newBook(t *testing.T) (*job.Book, *job.Job) {
	t.Helper()
	b, _, err := job.At(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b.Halted = func(string) error { return nil }
	j, err := b.Register(t.Context(), job.Order{Prompt: "count the files", Agent: "claude", Timeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return b, j
}

func publish(t *testing.T, b *job.Book, id string, k job.Kind, detail string) {
	t.Helper()
	if _, _, err := b.Publish(t.Context(), id, job.Draft{Kind: k, Detail: detail}, job.ByAgent); err != nil {
		t.Fatal(err)
	}
}

// A heard is one message.
type heard struct {
	text string
	size int64
}

// listen subscribes and returns what is heard.
func listen(t *testing.T, c *Client, topic string) <-chan heard {
	t.Helper()
	all := make(chan heard, 100)
	if err := c.Subscribe(t.Context(), topic, func(p []byte, size int64) { all <- heard{string(p), size} }); err != nil {
		t.Fatal(err)
	}
	return all
}

func next(t *testing.T, all <-chan heard) heard {
	t.Helper()
	select {
	case h := <-all:
		return h
	case <-time.After(patience):
		t.Fatal("nothing was heard")
		return heard{}
	}
}

// TestEvents: events reach each subscriber in order. A late subscriber learns how the job ended.
func TestEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b, j := newBook(t)
	p := r.dial()
	early := listen(t, r.dial(), j.Topic())
	for i, k := range []job.Kind{job.Started, job.Progress, job.Done} {
		publish(t, b, j.ID, k, fmt.Sprint("step ", i))
		if n, err := b.Flush(t.Context(), j.ID, p); n != 1 || err != nil {
			t.Fatalf("flush: %d %v", n, err)
		}
	}
	for i := range 3 {
		if h := next(t, early); !strings.Contains(h.text, fmt.Sprint("step ", i)) {
			t.Errorf("message %d: %s", i, h.text)
		}
	}
	if h := next(t, listen(t, r.dial(), j.Topic())); !strings.Contains(h.text, `"event":"completed"`) {
		t.Errorf("who came late heard %s", h.text)
	}
}

// TestBrokerAway: events from while the broker was unreachable are sent later, in order, and subscriptions are restored.
func TestBrokerAway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b, j := newBook(t)
	listener := r.dial()
	all := listen(t, listener, j.Topic())
	p := r.dial()
	r.stop()
	publish(t, b, j.ID, job.Started, "one")
	publish(t, b, j.ID, job.Progress, "two")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if n, err := b.Flush(ctx, j.ID, p); n != 0 || err == nil {
		t.Fatalf("flush without a broker: %d %v", n, err)
	}
	if got, err := b.Get(j.ID); err != nil || got.LastSeq != 2 || b.Unpublished(got) != 2 {
		t.Fatalf("%+v %v", got, err)
	}
	if _, err := Dial(ctx, r.broker()); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("dial without a broker: %v", err)
	}
	r.start()
	back := make(chan struct{})
	go func() { // the listener comes back by itself; it has when it hears itself
		defer close(back)
		for h := range all {
			if h.text == "ping" {
				return
			}
		}
	}()
	fresh := r.dial()
	for {
		if err := fresh.Publish(t.Context(), job.Message{Topic: j.Topic(), Payload: []byte("ping")}); err != nil {
			t.Fatal(err)
		}
		select {
		case <-back:
		case <-time.After(100 * time.Millisecond):
			continue
		}
		break
	}
	if n, err := b.Flush(t.Context(), j.ID, fresh); n != 2 || err != nil {
		t.Fatalf("flush later: %d %v", n, err)
	}
	var got []string
	for len(got) < 2 {
		if h := next(t, all); h.text != "ping" {
			got = append(got, h.text)
		}
	}
	if !strings.Contains(got[0], "one") || !strings.Contains(got[1], "two") {
		t.Errorf("heard %q", got)
	}
}

// Hostile messages on the topic of a job change nothing, and what is too large is never held: the connection goes on behind it.
func TestHostile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b, j := newBook(t)
	publish(t, b, j.ID, job.Started, "")
	receipts := make(chan job.Receipt, 100)
	listener := r.dial()
	err := listener.Subscribe(t.Context(), j.Topic(), func(p []byte, size int64) {
		if len(p) > job.MaxEvent+room {
			t.Errorf("%d bytes were held", len(p))
		}
		got, err := b.Receive(context.Background(), j.ID, p, size)
		if err != nil {
			t.Error(err)
		}
		receipts <- got
	})
	if err != nil {
		t.Fatal(err)
	}
	p := r.dial()
	lines, _, err := b.Log(j.ID, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	own := string(lines[1].Event.Raw)
	for _, c := range []struct{ payload, word, reason string }{
		{strings.Replace(own, "started", "completed", 1), job.Dropped, "signature"},
		{own, job.Known, "taken before"},
		{"", job.Dropped, "no JSON"},
		{strings.Repeat("x", 6<<20), job.Dropped, "6291456 bytes"},
		{`{"schema_version":1,"seq":2,"job_id":"` + j.ID + `","event":"error","detail":""}`, job.Dropped, "not signed"},
	} {
		if err := p.Publish(t.Context(), job.Message{Topic: j.Topic(), Payload: []byte(c.payload)}); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-receipts:
			if got.Word != c.word || !strings.Contains(got.Reason, c.reason) {
				t.Errorf("%.60s: got %s %q, want %s %q", c.payload, got.Word, got.Reason, c.word, c.reason)
			}
		case <-time.After(patience):
			t.Fatalf("%.60s: was not heard", c.payload)
		}
	}
	if got, err := b.Get(j.ID); err != nil || got.LastSeq != 1 || got.Status != job.StatusRunning {
		t.Errorf("%+v %v", got, err)
	}
	// A copy of the jobs on another machine learns what happens here.
	publish(t, b, j.ID, job.Done, "all")
	if n, err := b.Flush(t.Context(), j.ID, p); n != 2 || err != nil {
		t.Errorf("flush: %d %v", n, err)
	}
	for _, want := range []string{job.Known, job.Known} {
		if got := <-receipts; got.Word != want {
			t.Errorf("our own: %s %q", got.Word, got.Reason)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	wrong := r.broker()
	wrong.Password = "wrong"
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := Dial(ctx, wrong); err == nil || strings.Contains(err.Error(), "wrong") {
		t.Errorf("a wrong password: %v", err)
	}
	for _, b := range []job.Broker{
		{Host: "127.0.0.1", Port: r.port, TLS: true}, // which it does not speak
		{Host: "127.0.0.1", Port: r.port, TLS: true, CA: filepath.Join(t.TempDir(), "none")},
	} {
		short, cancel := context.WithTimeout(t.Context(), patience)
		if _, err := Dial(short, b); err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%+v: %v", b, err)
		}
		cancel()
	}
}

// Packets of all kinds pass; one that claims a length that is none ends the connection.
func TestGuard(t *testing.T) {
	t.Parallel()
	large := append([]byte{0x32, 0x8c, 0x40, 0, 1, 't', 0, 7}, make([]byte, 0x2000+12-5)...) // qos 1, id 7
	for _, c := range []struct {
		name string
		in   []byte
		out  []byte
		ack  []byte
		size int64
	}{
		{name: "small ones", in: []byte{0x20, 2, 0, 0, 0xd0, 0}, out: []byte{0x20, 2, 0, 0, 0xd0, 0}},
		{name: "a large one", in: append(slices.Clone(large), 0xd0, 0), out: []byte{0xd0, 0}, ack: []byte{0x40, 2, 0, 7}, size: 0x2000 + 12 - 5},
		{name: "a length without end", in: []byte{0x30, 0xff, 0xff, 0xff, 0xff, 0xff, 1}},
		{name: "QoS 2", in: []byte{0x34, 5, 0, 1, 't', 0, 7}},
		{name: "an answer of another size", in: []byte{0x90, 4, 0, 1, 1, 1}},
		{name: "a large one that is not a message", in: []byte{0x90, 0xff, 0xff, 0xff, 0x7f}},
		{name: "a large one that ends within its topic", in: []byte{0x30, 0xff, 0xff, 0x7f, 0xff, 0xff, 'x'}},
	} {
		here, there := net.Pipe()
		var size int64
		g := newGuard(here, 1<<10, func(_ string, _ []byte, n int64) { size = n })
		acked, read := make(chan []byte, 1), make(chan struct{})
		go func() {
			defer close(read)
			buf := make([]byte, len(c.ack))
			_, _ = io.ReadFull(there, buf)
			acked <- buf
		}()
		go func() {
			_, _ = there.Write(c.in)
			<-read
			_ = there.Close()
		}()
		got := make([]byte, 0, 64)
		buf := make([]byte, 3)
		for {
			n, err := g.Read(buf)
			got = append(got, buf[:n]...)
			if err != nil || len(c.out) > 0 && len(got) >= len(c.out) {
				break
			}
		}
		if string(got) != string(c.out) || size != c.size {
			t.Errorf("%s: got %x and %d bytes, want %x and %d", c.name, got, size, c.out, c.size)
		}
		_ = here.Close()
		if ack := <-acked; string(ack) != string(c.ack) {
			t.Errorf("%s: acknowledged with %x, want %x", c.name, ack, c.ack)
		}
	}
}
